"""The structure of a skeleton: mirrored pairs of joints and the limbs that they form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.joint_names import JointName
from deepphase.motion.skeleton import Skeleton

# Two subtrees mirror each other where their lengths agree to this share.
LENGTH_TOLERANCE = 0.08


@dataclass(frozen=True)
class LimbPair:
    """Two mirrored chains of joints, from the joint nearest the trunk to the last one.

    Parameters
    ----------
    first, second
        Joints of each chain; both have the same number.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    attachment: int
    length: float
    distance: float

    @property
    def last_joints(self) -> tuple[int, int]:
        """The last joint of each chain."""
        return self.first[-1], self.second[-1]


def bone_lengths(skeleton: Skeleton) -> Array:
    """(joints,) distance of each joint from its parent; 0 for the root."""
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    lengths[0] = 0.0
    return lengths


def ancestors(skeleton: Skeleton, joint: int) -> list[int]:
    """The joint, its parent, and so on up to the root."""
    path = [joint]
    while skeleton.parents[path[-1]] >= 0:
        path.append(int(skeleton.parents[path[-1]]))
    return path


def subtree_mask(skeleton: Skeleton, joint: int) -> Array:
    """(joints,) bool: the joint and its descendants."""
    found = np.zeros(len(skeleton), bool)
    found[joint] = True
    # Parents stand before their children.
    for each, parent in enumerate(skeleton.parents.tolist()[joint + 1 :], start=joint + 1):
        found[each] = found[parent]
    return found


def path_length(skeleton: Skeleton, upper: int, lower: int) -> float:
    """Length along the joints from `upper` down to `lower`; 0 if `upper` is not an ancestor."""
    path = ancestors(skeleton, lower)
    return float(bone_lengths(skeleton)[path[: path.index(upper)]].sum()) if upper in path else 0.0


def common_ancestor(skeleton: Skeleton, first: int, second: int) -> int:
    """The lowest joint that is an ancestor of both (or one of them)."""
    above = set(ancestors(skeleton, second))
    return next(joint for joint in ancestors(skeleton, first) if joint in above)


def longest_chains(skeleton: Skeleton) -> tuple[Array, Array]:
    """Length of the longest chain below each joint, and the child through which it goes.

    Returns
    -------
    lengths : (joints,)
        To the farthest tip below, end sites included.
    children : (joints,)
        The child that leads there; -1 at the last joint.
    """
    count = len(skeleton)
    lengths, children = np.zeros(count), np.full(count, -1)
    ends = np.linalg.norm(skeleton.end_offsets, axis=1)
    np.maximum.at(lengths, skeleton.end_parents, ends)
    bones = bone_lengths(skeleton)
    for joint in range(count - 1, 0, -1):
        parent = skeleton.parents[joint]
        through = lengths[joint] + bones[joint]
        if children[parent] < 0 or through > lengths[parent]:
            lengths[parent] = max(lengths[parent], through)
            children[parent] = joint
    return lengths, children


def pair_joints(skeleton: Skeleton, names: list[JointName]) -> tuple[Array, int]:
    """Mirror partner of every joint, by names first and then by structure.

    Returns
    -------
    pairs : (joints,)
        Index of the partner, whose parent is the parent's partner; a joint's own index on the
        middle line, and for joints without a partner (a prop in one hand).
    named
        Number of joints that were paired by name.
    """
    count = len(skeleton)
    pairs = np.arange(count)
    by_key = {(name.side, name.key): joint for joint, name in enumerate(names)}
    for joint, name in enumerate(names):
        other = by_key.get(("right", name.key)) if name.side == "left" else None
        if other is not None and pairs[other] == other:
            pairs[joint], pairs[other] = other, joint
    parents = skeleton.parents
    for joint in range(1, count):
        # Names that pair joints of unpaired parents are not evidence of mirroring.
        if pairs[joint] != joint and pairs[parents[joint]] != parents[pairs[joint]]:
            pairs[pairs[joint]], pairs[joint] = pairs[joint], joint
    named = int((pairs != np.arange(count)).sum())
    _pair_by_structure(skeleton, names, pairs)
    return pairs, named


def _pair_by_structure(skeleton: Skeleton, names: list[JointName], pairs: Array) -> None:
    signatures = _subtree_signatures(skeleton)
    scale = max(signatures[:, 0].max(), 1e-12)
    # An ancestor of both joints of a pair is on the middle line.
    holds_pair = np.zeros(len(skeleton), bool)
    for joint in range(len(skeleton) - 1, 0, -1):
        holds_pair[skeleton.parents[joint]] |= holds_pair[joint] or pairs[joint] != joint
    for parent in range(len(skeleton)):
        partner = int(pairs[parent])
        if partner < parent:
            continue
        own, others = (
            [
                child
                for child in skeleton.children(joint)
                if pairs[child] == child and not holds_pair[child]
            ]
            for joint in (parent, partner)
        )
        candidates = sorted(
            (_difference(signatures[a], signatures[b]), a, b)
            for a in own
            for b in others
            if (a < b or partner != parent) and _may_mirror(names[a], names[b])
        )
        for difference, a, b in candidates:
            alike = difference < LENGTH_TOLERANCE and signatures[a, 0] > 1e-3 * scale
            if (alike or partner != parent) and pairs[a] == a and pairs[b] == b:
                pairs[a], pairs[b] = b, a


def _may_mirror(first: JointName, second: JointName) -> bool:
    if first.side and second.side:
        return first.side != second.side
    return first.part == second.part


def _subtree_signatures(skeleton: Skeleton) -> Array:
    """(joints, 4) total length, own length, reach, joints below: equal for mirrored subtrees."""
    bones = bone_lengths(skeleton)
    total, below = bones.copy(), np.ones(len(skeleton))
    for joint in range(len(skeleton) - 1, 0, -1):
        total[skeleton.parents[joint]] += total[joint]
        below[skeleton.parents[joint]] += below[joint]
    return np.stack([total, bones, longest_chains(skeleton)[0], below], axis=1)


def _difference(first: Array, second: Array) -> float:
    if first[3] != second[3]:
        return np.inf
    scale = max(first[0], second[0], 1e-12)
    return float(np.abs(first[:3] - second[:3]).max() / scale)


def limb_pairs(skeleton: Skeleton, pairs: Array) -> list[LimbPair]:
    """Mirrored chains that start at the middle line, the longest first."""
    lengths, through = longest_chains(skeleton)
    bones = bone_lengths(skeleton)
    found = []
    for joint, partner in enumerate(pairs.tolist()):
        parent = int(skeleton.parents[joint])
        if partner <= joint or parent < 0 or pairs[parent] != parent:
            continue
        first, second = [joint], [partner]
        while through[first[-1]] >= 0:
            following = int(through[first[-1]])
            first.append(following)
            second.append(int(pairs[following]) if pairs[following] != following else -1)
        second = second[: second.index(-1)] if -1 in second else second
        found.append(
            LimbPair(
                tuple(first[: len(second)]),
                tuple(second),
                parent,
                float(lengths[joint] + bones[joint]),
                path_length(skeleton, 0, parent),
            )
        )
    return sorted(found, key=lambda limb: -limb.length)


def long_bones(skeleton: Skeleton, chain: tuple[int, ...]) -> int:
    """Index in the chain where its two longest consecutive segments begin: hip or shoulder."""
    bones = bone_lengths(skeleton)[list(chain[1:])]
    if len(bones) < 2:
        return 0
    return int(np.argmax(bones[1:] + bones[:-1]))


def tip_end(skeleton: Skeleton, joint: int) -> int | None:
    """The end site at the tip of the longest chain below a joint; None if it has no length."""
    through = longest_chains(skeleton)[1]
    while through[joint] >= 0:
        joint = int(through[joint])
    lengths = np.linalg.norm(skeleton.end_offsets, axis=1)
    own = [end for end in np.flatnonzero(skeleton.end_parents == joint) if lengths[end] > 0]
    return int(max(own, key=lambda end: lengths[end])) if own else None
