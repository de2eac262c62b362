"""The nodes of a glTF file, and which of them are the joints of a skeleton."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.gltf.document import Item, is_index
from deepphase.formats.reading import MAX_JOINTS, check_joint_count, numbered, unique_names
from deepphase.motion.quaternions import IDENTITY
from deepphase.motion.skeleton import children_of

# How far exporters' rounding may carry a scale from 1, or the axes of a matrix from right angles.
SCALE_TOLERANCE = 1e-3
NO_SCALE = np.ones(3)
# How our files mark, and other tools name, the tips of last joints.
EXTRAS_KEY, END_SITE_KEY = "deepphase", "end_site"
_END_SUFFIX = "_end"


@dataclass(frozen=True, eq=False, slots=True)
class Transform:
    """Where a node stands in its parent: translation (3,), unit quaternion (4,), scale (3,)."""

    translation: Array
    rotation: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class NodeTree:
    """All nodes under one `world` node, which the file does not have."""

    document: Item
    # (nodes + 1,) index of each node's parent; the world is the last, its own parent is -1
    parents: list[int]
    order: list[int]  # All nodes behind the world, parents before children

    @property
    def world(self) -> int:
        """Index of the node above all."""
        return len(self.parents) - 1

    def item(self, node: int) -> Item:
        """The node's object."""
        return self.document.element("nodes", node)

    def name(self, node: int) -> str:
        """The node's name, or one made of its number."""
        if node == self.world:
            return "root"
        return self.item(node).text("name").strip() or f"node_{node}"

    def is_end(self, node: int, animated: Collection[int]) -> bool:
        """Whether a node is the tip of a joint: it holds nothing, and is marked or named so."""
        item = self.item(node)
        if node in animated or any(map(item.has, ("children", "mesh", "camera", "skin"))):
            return False
        if our_extras(item).get(END_SITE_KEY) is True:
            return True
        return item.text("name").lower().endswith(_END_SUFFIX)

    def rest_transform(self, node: int) -> Transform:
        """A node's own transform, without animation."""
        if node == self.world:
            return Transform(np.zeros(3), IDENTITY, NO_SCALE)
        item = self.item(node)
        if item.has("matrix"):
            return _decomposed(item)
        rotation = item.numbers("rotation", IDENTITY)
        if rotation is not IDENTITY:
            length = np.linalg.norm(rotation)
            if not length > SCALE_TOLERANCE:
                raise item.fault("a rotation without direction")
            rotation = rotation / length
        translation = item.numbers("translation", np.zeros(3))
        return Transform(translation, rotation, item.numbers("scale", NO_SCALE))


def our_extras(item: Item) -> dict[str, object]:
    """What our writer says of an object; empty for other programs' files."""
    extras = item.value.get("extras")
    ours = extras.get(EXTRAS_KEY) if isinstance(extras, dict) else None
    return ours if isinstance(ours, dict) else {}


def read_nodes(document: Item) -> NodeTree:
    """The hierarchy of a document's nodes."""
    nodes = document.array("nodes")
    count = len(nodes)
    parents = [count] * count + [-1]
    for node, value in enumerate(nodes):
        if isinstance(value, dict) and "children" not in value:
            continue
        item = document.element("nodes", node)
        for child in item.array("children"):
            if not is_index(child) or not 0 <= child < count:
                raise item.fault(f"a child {str(child)[:20]}, but there are {count} nodes")
            if parents[child] != count:
                raise item.fault(f"node {child} hangs from node {parents[child]} already")
            parents[child] = node
    order, children = [count], children_of(parents)
    for node in order:
        order.extend(children[node])
    if len(order) != count + 1:
        lost = min(set(range(count)).difference(order))
        raise document.element("nodes", lost).fault("hangs from itself, by way of its children")
    return NodeTree(document, parents, order)


def _decomposed(item: Item) -> Transform:
    # Written column by column.
    matrix = item.numbers("matrix", np.eye(4).ravel()).reshape(4, 4).T
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > SCALE_TOLERANCE:
        raise item.fault("a matrix whose last row is not 0 0 0 1")
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if not (scale > 0).all():
        raise item.fault("a matrix that makes the node flat", "bake the scale in the exporter")
    axes = matrix[:3, :3] / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > SCALE_TOLERANCE:
        raise item.fault("a sheared matrix", "bake the scale in the exporter")
    if np.linalg.det(axes) < 0:
        # One way of many to mirror; which one does not matter, for none is taken.
        axes, scale = -axes, -scale
    return Transform(matrix[:3, 3].copy(), Rotation.from_matrix(axes).as_quat(), scale)


@dataclass(frozen=True, eq=False)
class JointTree:
    """The joints of one skeleton and the nodes that move them."""

    # (joints,) the node of each joint, parents before children; the first is the root
    nodes: list[int]
    parents: list[int]  # (joints,) index of each joint's parent joint; -1 for the root
    names: tuple[str, ...]  # (joints,) unique names
    # Nodes at which a joint's or end site's place hangs, parents before children: these, all
    # between them and all above the root.
    path_nodes: list[int]
    ends: list[int]  # (ends,) nodes that are end sites
    end_parents: list[int]  # (ends,) the joint above each
    notes: tuple[str, ...]  # What was chosen


def find_joints(tree: NodeTree, animated: Collection[int], skin: str | int | None) -> JointTree:
    """The joints of a skin, or the animated nodes of a file without one."""
    skins, animated, path = tree.document.elements("skins"), set(animated), tree.document.path
    joints, notes = _chosen_skin(tree, skins, animated, skin)
    if not joints:
        below = set(animated)
        for node in tree.order[1:]:
            if tree.parents[node] in below and not tree.is_end(node, below):
                below.add(node)
        joints = [node for node in tree.order if node in below]
        notes = ("no skin: the animated nodes and what hangs from them are the joints",)
        if skins:
            notes = ("no animation moves a skin's joints: the animated nodes are the joints",)
    if not joints:
        raise FormatError("no animation of nodes: the file holds only a rest pose", path=path)
    check_joint_count(len(joints), path)
    return _joint_tree(tree, joints, animated, notes)


def _chosen_skin(
    tree: NodeTree, skins: list[Item], animated: set[int], given: str | int | None
) -> tuple[list[int], tuple[str, ...]]:
    if given is not None:
        names = [skin.text("name") for skin in skins]
        return _skin_joints(tree, skins[numbered(names, given, "skin")]), ()
    every = [_skin_joints(tree, skin) for skin in skins]
    moved = [len(animated.intersection(joints)) for joints in every]
    if not any(moved):
        return [], ()
    best = moved.index(max(moved))
    shown = [f"{number} {skin.text('name')!r}" for number, skin in enumerate(skins)]
    chosen = shown.pop(best)
    if not shown:
        return every[best], ()
    others = ", ".join(shown)[:300]
    return every[best], (f"skin {chosen} was read; there are also {others}",)


def _skin_joints(tree: NodeTree, item: Item) -> list[int]:
    joints = item.array("joints")
    if not joints:
        raise item.fault("a skin without joints")
    for place, node in enumerate(joints):
        if not is_index(node) or not 0 <= node < tree.world:
            fact = f"joints[{place}] is {str(node)[:20]}, but there are {tree.world} nodes"
            raise item.fault(fact)
    if len(set(joints)) != len(joints):
        raise item.fault("a joint that is named twice")
    return joints


def _joint_tree(
    tree: NodeTree, joints: list[int], animated: set[int], notes: tuple[str, ...]
) -> JointTree:
    members = set(joints)
    above: dict[int, int] = {-1: -1}  # For every node the nearest joint at or above it.
    for node in tree.order:
        above[node] = node if node in members else above[tree.parents[node]]
    roots = [node for node in joints if above[tree.parents[node]] < 0]
    if len(roots) > 1:
        root = _common_ancestor(tree, roots)
        notes += (f"{len(roots)} root joints hang from {tree.name(root)!r}, which is the root",)
        return _joint_tree(tree, [root, *joints], animated, notes)
    sequence, index = joints, {node: joint for joint, node in enumerate(joints)} | {-1: -1}
    if any(index[above[tree.parents[node]]] >= index[node] for node in joints):
        sequence = [node for node in tree.order if node in members]
        index |= {node: joint for joint, node in enumerate(sequence)}
    names, renamed = unique_names([tree.name(node) for node in sequence])
    if renamed:
        notes += (f"{len(renamed)} joints share a name with another and were numbered",)
    below = [node for node in range(tree.world) if above[node] >= 0 and node not in members]
    ends = [node for node in below if tree.is_end(node, animated)]
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


def _common_ancestor(tree: NodeTree, roots: list[int]) -> int:
    """The lowest node above all roots; in a file of several trees that is the world."""
    first = [roots[0]]
    while first[-1] != tree.world:
        first.append(tree.parents[first[-1]])
    rank = {node: place for place, node in enumerate(first)}
    # The rank of the lowest node of the first root's line above every other node.
    meets: dict[int, int] = {}
    for node in tree.order:
        meets[node] = rank[node] if node in rank else meets[tree.parents[node]]
    return first[max(meets[node] for node in roots)]
