"""Skeleton: joints with their parents and rest offsets, and what their names say of the body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import SkeletonError


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints with their parents and their rest offsets.

    Parameters
    ----------
    names
        (joints,) unique joint names.
    parents
        (joints,) index of each joint's parent; -1 for the root, which is joint 0. Parents stand
        before their children.
    offsets
        (joints, 3) metres, in the parent's frame at rest.
    end_parents, end_offsets
        (ends,) and (ends, 3) metres: end sites, the tips of the last joints (BVH's "End Site").
        They carry no motion of their own; feet, heads and pictures use them.

    Raises
    ------
    SkeletonError
        If the arrays do not describe one tree.
    """

    names: tuple[str, ...]
    parents: Array
    offsets: Array
    end_parents: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    end_offsets: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "names", tuple(str(name) for name in self.names))
        set_field(self, "parents", np.asarray(self.parents, dtype=np.int64))
        set_field(self, "offsets", np.asarray(self.offsets, dtype=np.float64).reshape(-1, 3))
        set_field(self, "end_parents", np.asarray(self.end_parents, dtype=np.int64))
        set_field(self, "end_offsets", np.asarray(self.end_offsets, np.float64).reshape(-1, 3))
        count, ends = len(self.names), len(self.end_parents)
        if count == 0:
            raise SkeletonError("this is a skeleton without joints", hint="give at least one")
        if self.parents.shape != (count,) or self.offsets.shape != (count, 3):
            raise SkeletonError(
                f"there are {count} joint names, but parents have shape {self.parents.shape} "
                f"and offsets {self.offsets.shape}",
                hint="parents are (joints,) and offsets (joints, 3)",
            )
        if self.end_offsets.shape != (ends, 3):
            raise SkeletonError(
                f"{ends} end sites, but {len(self.end_offsets)} end offsets",
                hint="give one of both for each end site",
            )
        if len(set(self.names)) != count:
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise SkeletonError(f"joint names that occur twice: {', '.join(twice)}")
        if self.parents[0] != -1:
            raise SkeletonError("joint 0 is not the root: its parent must be -1")
        late = np.flatnonzero((self.parents[1:] >= np.arange(1, count)) | (self.parents[1:] < 0))
        if late.size:
            raise SkeletonError(
                f"joint {self.names[late[0] + 1]!r} comes before its parent",
                hint="order the joints from the root on",
            )
        if ((self.end_parents < 0) | (self.end_parents >= count)).any():
            fact = "an end site has a parent that does not exist"
            raise SkeletonError(fact, hint="parents count from 0")
        if not (np.isfinite(self.offsets).all() and np.isfinite(self.end_offsets).all()):
            hint = "find where the first NaN comes from"
            raise SkeletonError("an offset is not finite", hint=hint)

    def __repr__(self) -> str:
        ends = counted(len(self.end_parents), "end site") if len(self.end_parents) else ""
        return short_repr(self, counted(len(self), "joint"), f"root {self.names[0]!r}", ends)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Index of the joint of a name. Raises SkeletonError, with all names, if there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            hint = f"this skeleton has {', '.join(self.names)}"
            raise SkeletonError(f"there is no joint {name!r}", hint=hint) from None

    @property
    def rest_positions(self) -> Array:
        """(joints, 3) metres: the joints in the world at rest."""
        positions = self.offsets.copy()
        for joint, parent in enumerate(self.parents[1:].tolist(), start=1):
            positions[joint] += positions[parent]
        return positions

    def children(self, joint: int) -> list[int]:
        """Indices of the children of `joint`, in their order."""
        return np.flatnonzero(self.parents == joint).tolist()

    def same_hierarchy(self, other: Skeleton) -> bool:
        """Whether both have the same joint names under the same parents, in any order."""
        return self.hierarchy == other.hierarchy

    @property
    def hierarchy(self) -> frozenset[tuple[str, str | None]]:
        """Pairs of joint and parent names: equal for skeletons of one group, in any order."""
        return frozenset(
            (name, None if parent < 0 else self.names[parent])
            for name, parent in zip(self.names, self.parents.tolist(), strict=True)
        )

    @property
    def group_name(self) -> str:
        """Root name and number of joints, such as "Hips-22", usable on a command line."""
        root = re.sub(r"\W+", "_", self.names[0]).strip("_") or "skeleton"
        return f"{root}-{len(self)}"

    def order_of(self, other: Skeleton) -> Array:
        """(joints,) index in `other` of each joint; SkeletonError if the hierarchies differ."""
        if not self.same_hierarchy(other):
            raise SkeletonError(
                "this is another skeleton",
                hint=f"expected {', '.join(self.names)}; found {', '.join(other.names)}",
            )
        return np.array([other.names.index(name) for name in self.names])


def ancestors(skeleton: Skeleton, joint: int) -> list[int]:
    """The joint, its parent, and so on up to the root."""
    path = [joint]
    while skeleton.parents[path[-1]] >= 0:
        path.append(int(skeleton.parents[path[-1]]))
    return path


def common_ancestor(skeleton: Skeleton, first: int, second: int) -> int:
    """The lowest joint that is an ancestor of both (or one of them)."""
    above = set(ancestors(skeleton, second))
    return next(joint for joint in ancestors(skeleton, first) if joint in above)


def subtree_mask(skeleton: Skeleton, joint: int) -> Array:
    """(joints,) bool: the joint and its descendants."""
    found = np.zeros(len(skeleton), bool)
    found[joint] = True
    # Parents stand before their children.
    for other, parent in enumerate(skeleton.parents.tolist()[joint + 1 :], start=joint + 1):
        found[other] = found[parent]
    return found


def joint_depths(skeleton: Skeleton) -> Array:
    """(joints,) number of ancestors of each joint: 0 for the root."""
    depths = np.zeros(len(skeleton), np.int64)
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        depths[joint] = depths[parent] + 1
    return depths


def bone_lengths(skeleton: Skeleton) -> Array:
    """(joints,) distance of each joint from its parent; 0 for the root."""
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    lengths[0] = 0.0
    return lengths


def path_length(skeleton: Skeleton, upper: int, lower: int) -> float:
    """Length along the joints from `upper` down to `lower`, and the gap to one beside them."""
    path = ancestors(skeleton, lower)
    if upper in path:
        return float(bone_lengths(skeleton)[path[: path.index(upper)]].sum())
    chain, places = longest_chain(skeleton, upper), skeleton.rest_positions
    gap = np.linalg.norm(places[chain[-1]] - places[lower])
    return float(bone_lengths(skeleton)[chain[1:]].sum() + gap)


def longest_chains(skeleton: Skeleton) -> tuple[Array, Array]:
    """(joints,) length of the longest chain below each joint, and the child through which it goes.

    Lengths are to the farthest tip below, end sites included; the child of a last joint is -1.
    """
    count = len(skeleton)
    lengths, children = np.zeros(count), np.full(count, -1)
    np.maximum.at(lengths, skeleton.end_parents, np.linalg.norm(skeleton.end_offsets, axis=1))
    bones = bone_lengths(skeleton)
    for joint in range(count - 1, 0, -1):
        parent = skeleton.parents[joint]
        through = lengths[joint] + bones[joint]
        if children[parent] < 0 or through > lengths[parent]:
            lengths[parent] = max(lengths[parent], through)
            children[parent] = joint
    return lengths, children


def longest_chain(skeleton: Skeleton, joint: int) -> list[int]:
    """The joints below a joint to its farthest tip, from the joint on."""
    through, chain = longest_chains(skeleton)[1], [joint]
    while through[chain[-1]] >= 0:
        chain.append(int(through[chain[-1]]))
    return chain


def tip_end(skeleton: Skeleton, joint: int) -> int | None:
    """The end site at the tip of the longest chain below a joint; None if it has no length."""
    at_tip = skeleton.end_parents == longest_chain(skeleton, joint)[-1]
    lengths = np.linalg.norm(skeleton.end_offsets, axis=1) * at_tip
    return int(lengths.argmax()) if lengths.any() else None


# Names of joints: the side and the part of the body that each stands for.
_WORDS = re.compile(r"[LR](?=[UF]Arm)|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LEFT = {"left", "l", "lft", "lf", "lt"}
_RIGHT = {"right", "r", "rgt", "rt"}
_CENTRE = {"c", "m", "center", "centre", "bip"}
# Corner letters as in "FL_thigh": used only if the names have at least a front pair.
_CORNERS = {
    f"{end}{letter}": (side, "fore" if end == "f" else "hind")
    for end in "fhbr"
    for letter, side in (("l", "left"), ("r", "right"))
}
_FORE = {"fore", "front"}
_HIND = {"hind", "rear", "back"}
# Helper joints of a rig, and ends of chains: they have no role.
_RIGGING = {"twist", "roll", "ik", "fk", "pole", "ctrl", "nub", "end", "helper", "target", "tip"}

# First match wins; searched in the name's words joined together, without its side.
_PARTS = tuple(
    (part, re.compile(pattern))
    for part, pattern in (
        ("toe", r"toe|ball|footindex|phalan|digit"),
        ("metatarsal", r"metatars"),
        ("finger", r"thumb|index|middle|(^|hand)(mid|ring)|pinky|little|finger|carpal|^prop"),
        ("collar", r"collar|clavicle|scapula"),
        ("leg root", r"hipjoint|buttock|glute"),
        ("upper leg", r"upleg|upperleg|legupper|thigh|femur"),
        ("knee", r"lowleg|lowerleg|leglower|shin|shank|calf|tibia|knee|stifle|crus"),
        ("ankle", r"ankle|hock|tarsus"),
        ("foot", r"foot|paw|hoof|feet|fetlock"),
        ("leg", r"leg"),
        ("elbow", r"forearm|lowerarm|armlower|lowarm|^farm|^larm|elbow|radius|ulna"),
        ("upper arm", r"upperarm|armupper|uparm|^uarm|humerus|shldr"),
        ("wrist", r"wrist|carpus"),
        ("hand", r"hand"),
        ("arm", r"arm"),
        ("shoulder", r"shoulder"),
        ("tail", r"tail"),
        ("hips", r"^hips?$|pelvis|spinebase|^hips?center|^midhip|^hiproot"),
        ("hip", r"hip"),
        ("neck", r"neck"),
        ("head", r"^head$|^head\d*$|skull|^headbase"),
        ("chest", r"chest|thorax|upperback|ribcage"),
        ("spine", r"spine|abdomen|lowerback|waist|torso|belly|lumbar|^back"),
    )
)
# A side of one letter without a separator counts only before one of these words.
_GLUED = re.compile(
    r"(?:hip|hipjoint|thigh|femur|(?:up|upper|low|lower)?leg|knee|shin|calf|tibia|ankle|foot|toes?|"
    r"toebase|collar|clavicle|shoulder|shldr|(?:up|upper|fore|low|lower)?arm|humerus|elbow|"
    r"radius|ulna|wrist|hand|fingers?|thumb|buttock|eye|paw)"
)


@dataclass(frozen=True)
class JointName:
    """The parts of one joint name."""

    side: str  # "left", "right" or ""
    part: str  # Part of the body ("upper leg", "knee", "hips", "tail", ...); "" if it is not known
    key: str
    quarter: str = ""  # "fore" or "hind" if the name states which legs of a quadruped, else ""


# Files of one folder mostly have the same names; all callers share the list.
@lru_cache(maxsize=128)
def parse_names(names: tuple[str, ...]) -> list[JointName]:
    """Parse all joint names of a skeleton together, so that common prefixes are recognized.

    Covers the conventions of the usual sources: namespaces ("mixamorig:LeftUpLeg"), prefixes common
    to all joints ("Bip01 L Thigh", "Character1_LeftLeg"), sides as word, letter, prefix or suffix
    in camel case, snake case or neither ("lThigh", "LHipJoint", "hand_l", "Foot.R", "rfemur").
    """
    split = [
        [part for word in _WORDS.findall(re.split(r"[:|/]", name)[-1]) for part in _unglued(word)]
        for name in names
    ]
    # "Bip01 L Thigh" and "Character1_Hips" begin with the character's name, at times in two words.
    while len(split) >= 4:
        first, count = Counter(words[0] if words else "" for words in split).most_common(1)[0]
        if first == "" or first in _LEFT | _RIGHT or count < 0.8 * len(split):
            break
        split = [words[1:] if words and words[0] == first else words for words in split]
    used = {word for words in split for word in words}
    corners = _CORNERS if {"fl", "fr"} <= used else {}
    return [_parse(words, corners) for words in split]


def _unglued(word: str) -> list[str]:
    """The words of "lThigh", "handleft", "hindleg" and "foot", in lower case."""
    word = word.lower()
    for side in ("left", "right"):
        if word.startswith(side) and len(word) > len(side):
            return [side, word[len(side) :]]
        if word.endswith(side) and len(word) > len(side):
            return [word[: -len(side)], side]
    glued = re.fullmatch(r"(front|fore|hind|rear|l|r)(.+)", word)
    if glued and word != "forearm" and _GLUED.fullmatch(glued[2]):
        return [glued[1], glued[2]]
    return [word]


def _parse(words: list[str], corners: dict[str, tuple[str, str]]) -> JointName:
    side, quarter = "", ""
    rest: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=False):
        # "L5" and "L3" are lumbar vertebrae.
        vertebra = word == "l" and following.isdigit() and len(words) == 2
        if not side and word in _LEFT and not vertebra:
            side = "left"
        elif not side and word in _RIGHT:
            side = "right"
        elif not side and word in corners:
            side, quarter = corners[word]
        elif word in _FORE and following != "arm":
            quarter = "fore"
        elif word not in _CENTRE:
            rest.append(word)
    if side and not quarter and _HIND & set(rest):
        quarter = "hind"
        rest = [word for word in rest if word not in _HIND]
    key = " ".join([*rest, quarter])
    if _RIGGING & set(rest):
        return JointName(side, "", key, quarter)
    joined = "".join(word for word in rest if not word.isdigit())
    part = next((part for part, pattern in _PARTS if pattern.search(joined)), "")
    if not side and part == "hip":
        part = "hips"
    elif side and part == "hips":
        part = "hip" if joined.startswith("hip") else ""
    elif not side and re.fullmatch(r"[lt]\d+", "".join(words)):
        part = "spine"
    return JointName(side, part, key, quarter)


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """(joints,) children of each joint, from their parents in any order; below 0 for roots."""
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def depth_first(root: int, children: Sequence[Sequence[int]]) -> list[int]:
    """A joint and all below it, each right behind what hangs from its parent's earlier children."""
    order, waiting = [], [root]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(children[joint]))
    return order


def parents_first(parents: Sequence[int]) -> tuple[list[int], Array]:
    """Joints below the first root, parents before children, and their new parents."""
    root = next((joint for joint, parent in enumerate(parents) if parent < 0), None)
    order = [] if root is None else depth_first(root, children_of(parents))
    if len(order) == len(parents) and all(above < joint for joint, above in enumerate(parents)):
        order.sort()
    row = {joint: place for place, joint in enumerate(order)}
    return order, np.array([row.get(parents[joint], -1) for joint in order], np.int64)
