"""Which nodes of a glTF file are the joints of a skeleton."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.gltf.document import Item, is_index
from deepphase.formats.gltf.nodes import NodeTree
from deepphase.formats.reading import MAX_JOINTS, check_joint_count, unique_names

# How our files mark, and other tools name, the tips of last joints.
EXTRAS_KEY, END_SITE_KEY = "deepphase", "end_site"
_END_SUFFIX = "_end"


@dataclass(frozen=True, eq=False)
class JointTree:
    """The joints of one skeleton and the nodes that move them."""

    # (joints,) the node of each joint, parents before children; the first is the root
    nodes: list[int]
    # (joints,) index of each joint's parent joint; -1 for the root
    parents: list[int]
    # (joints,) unique names
    names: tuple[str, ...]
    # Nodes at which a joint's or end site's place hangs, parents before children: these, all
    # between them and all above the root.
    path_nodes: list[int]
    # (ends,) nodes that are end sites, and the joint above each
    ends: list[int]
    end_parents: list[int]
    # What was chosen
    notes: tuple[str, ...]


def find_joints(tree: NodeTree, animated: Collection[int], skin: str | int | None) -> JointTree:
    """The joints of a skin, or the animated nodes of a file without one."""
    skins = tree.document.elements("skins")
    joints, notes = _chosen_skin(tree, skins, set(animated), skin)
    if not joints:
        joints = _animated_nodes(tree, animated)
        if skins:
            notes = ("no animation moves a skin's joints: the animated nodes are the joints",)
        else:
            notes = ("no skin: the animated nodes and what hangs from them are the joints",)
    if not joints:
        raise FormatError(
            "no animation of nodes: the file holds only a rest pose", path=tree.document.path
        )
    check_joint_count(len(joints), tree.document.path)
    return _joint_tree(tree, joints, set(animated), notes)


def named_number(items: list[Item], given: str | int, what: str) -> int:
    """Which of the objects a name or a number means."""
    names = [item.text("name") for item in items]
    if isinstance(given, str):
        if given in names:
            return names.index(given)
        if given.isdecimal() and len(given) < 10:
            given = int(given)
    if isinstance(given, str) or not 0 <= given < len(items):
        shown = ", ".join(f"{i} {name!r}" for i, name in enumerate(names[:12])) or "none"
        raise ParameterError(f"there is no {what} {given!r}", hint=f"there are: {shown}")
    return given


def _chosen_skin(
    tree: NodeTree, skins: list[Item], animated: set[int], given: str | int | None
) -> tuple[list[int], tuple[str, ...]]:
    if given is not None:
        return _skin_joints(tree, skins[named_number(skins, given, "skin")]), ()
    every = [_skin_joints(tree, each) for each in skins]
    moved = [len(animated.intersection(joints)) for joints in every]
    if not any(moved):
        return [], ()
    best = moved.index(max(moved))
    if len(skins) == 1:
        return every[best], ()
    others = ", ".join(
        f"{number} {each.text('name')!r}" for number, each in enumerate(skins) if number != best
    )
    chosen = f"{best} {skins[best].text('name')!r}"
    return every[best], (f"skin {chosen} was read; there are also {others[:300]}",)


def _skin_joints(tree: NodeTree, item: Item) -> list[int]:
    joints = item.array("joints")
    if not joints:
        raise item.fault("a skin without joints")
    for place, node in enumerate(joints):
        if not is_index(node) or not 0 <= node < tree.world:
            raise item.fault(
                f"joints[{place}] is {str(node)[:20]}, but there are {tree.world} nodes"
            )
    if len(set(joints)) != len(joints):
        raise item.fault("a joint that is named twice")
    return joints


def _animated_nodes(tree: NodeTree, animated: Collection[int]) -> list[int]:
    below = set(animated)
    for node in tree.order[1:]:
        if tree.parents[node] in below and not _is_end(tree, node, below):
            below.add(node)
    return [node for node in tree.order if node in below]


def _joint_tree(
    tree: NodeTree, joints: list[int], animated: set[int], notes: tuple[str, ...]
) -> JointTree:
    members = set(joints)
    # For every node the nearest joint at or above it.
    above: dict[int, int] = {-1: -1}
    for node in tree.order:
        above[node] = node if node in members else above[tree.parents[node]]
    roots = [node for node in joints if above[tree.parents[node]] < 0]
    if len(roots) > 1:
        root = _common_ancestor(tree, roots)
        notes += (f"{len(roots)} root joints hang from {tree.name(root)!r}, which is the root",)
        return _joint_tree(tree, [root, *joints], animated, notes)
    sequence = joints
    if not _is_ordered(tree, joints, above):
        sequence = [node for node in tree.order if node in members]
    index = {node: joint for joint, node in enumerate(sequence)} | {-1: -1}
    names, renamed = unique_names([tree.name(node) for node in sequence])
    if renamed:
        notes += (f"{len(renamed)} joints share a name with another and were numbered",)
    ends = [
        node
        for node in range(tree.world)
        if above[node] >= 0 and node not in members and _is_end(tree, node, animated)
    ]
    on_path: set[int] = set()
    for node in (*sequence, *ends):
        while node >= 0 and node not in on_path:
            on_path.add(node)
            node = tree.parents[node]
    if len(on_path) > MAX_JOINTS:
        raise FormatError(
            f"{len(on_path):,} nodes hold {len(sequence):,} joints together: at most "
            f"{MAX_JOINTS:,} are read",
            hint="export the joints without the nodes between them",
            path=tree.document.path,
        )
    return JointTree(
        sequence,
        [index[above[tree.parents[node]]] for node in sequence],
        names,
        [node for node in tree.order if node in on_path],
        ends,
        [index[above[node]] for node in ends],
        notes,
    )


def _is_ordered(tree: NodeTree, joints: list[int], above: dict[int, int]) -> bool:
    seen = {-1}
    for node in joints:
        if above[tree.parents[node]] not in seen:
            return False
        seen.add(node)
    return True


def _common_ancestor(tree: NodeTree, roots: list[int]) -> int:
    """The lowest node above all roots; in a file of several trees that is the world."""
    first = []
    node = roots[0]
    while node >= 0:
        first.append(node)
        node = tree.parents[node]
    rank = {node: place for place, node in enumerate(first)}
    # The rank of the lowest node of the first root's line above every other node.
    meets: dict[int, int] = {}
    for node in tree.order:
        meets[node] = rank[node] if node in rank else meets[tree.parents[node]]
    return first[max(meets[node] for node in roots)]


def _is_end(tree: NodeTree, node: int, animated: Collection[int]) -> bool:
    """Whether a node is the tip of a joint: it holds nothing, and is marked or named so."""
    item = tree.item(node)
    if node in animated or any(item.has(key) for key in ("children", "mesh", "camera", "skin")):
        return False
    extras = item.value.get("extras")
    ours = extras.get(EXTRAS_KEY) if isinstance(extras, dict) else None
    if isinstance(ours, dict) and ours.get(END_SITE_KEY) is True:
        return True
    return item.text("name").lower().endswith(_END_SUFFIX)
