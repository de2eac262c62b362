"""Limbs of a skeleton: mirrored pairs of joints, and legs and arms by names or by structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, end_positions, global_transforms, velocities
from deepphase.motion.skeleton import (
    JointName,
    Skeleton,
    ancestors,
    bone_lengths,
    common_ancestor,
    longest_chain,
    longest_chains,
    path_length,
    subtree_mask,
    tip_end,
)

_UP, _GROUND = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
# Two subtrees mirror each other where their lengths agree to this share.
_LENGTH_TOLERANCE = 0.08
# A limb has at least this share of the longest one's length; fingers and ears are shorter.
_SHORTEST_LIMB = 0.35
# An estimate of the front is accepted if it agrees with the sides over time to this share.
_AGREEMENT = 0.3
# Feet beside the body are this many lengths of the upper part of their limb from the middle joint.
_FARTHEST_FOOT = 3.0
UPRIGHT = 0.6
"""Sine of the elevation below which a trunk is a quadruped's: its front is ahead."""

# Names of the joints of a limb from the trunk outwards, the most specific first.
_LEG = (
    ("upper leg", "hip", "leg"),
    ("knee", "leg"),
    ("ankle", "foot"),
    ("toe", "metatarsal", "foot"),
)
_ARM = (("upper arm", "arm", "shoulder"), ("elbow", "arm"), ("wrist", "hand"))
_FORELEG = (
    ("upper leg", "upper arm", "hip", "arm", "shoulder", "leg"),
    ("knee", "elbow", "leg", "arm"),
    ("ankle", "wrist", "foot", "hand"),
)


def pair_joints(skeleton: Skeleton, names: list[JointName]) -> tuple[Array, int]:
    """(joints,) mirror partner of each by names, then structure, and how many by name."""
    count, parents = len(skeleton), skeleton.parents
    pairs = np.arange(count)
    by_key = {(name.side, name.key): joint for joint, name in enumerate(names)}
    for joint, name in enumerate(names):
        other = by_key.get(("right", name.key)) if name.side == "left" else None
        if other is not None and pairs[other] == other:
            pairs[joint], pairs[other] = other, joint
    for joint in range(1, count):
        # Names that pair joints of unpaired parents are not evidence of mirroring.
        if pairs[joint] != joint and pairs[parents[joint]] != parents[pairs[joint]]:
            pairs[pairs[joint]], pairs[joint] = pairs[joint], joint
    named = int((pairs != np.arange(count)).sum())
    _pair_by_structure(skeleton, names, pairs)
    return pairs, named


def _pair_by_structure(skeleton: Skeleton, names: list[JointName], pairs: Array) -> None:
    bones = bone_lengths(skeleton)
    total, below = bones.copy(), np.ones(len(skeleton))
    # An ancestor of both joints of a pair is on the middle line.
    holds_pair = np.zeros(len(skeleton), bool)
    for joint in range(len(skeleton) - 1, 0, -1):
        parent = skeleton.parents[joint]
        total[parent] += total[joint]
        below[parent] += below[joint]
        holds_pair[parent] |= holds_pair[joint] or pairs[joint] != joint
    # Equal for mirrored subtrees.
    lengths = np.stack([total, bones, longest_chains(skeleton)[0]], axis=1)
    scale = max(total.max(), 1e-12)
    for parent in range(len(skeleton)):
        partner = int(pairs[parent])
        if partner < parent:
            continue
        own, others = (
            [c for c in skeleton.children(joint) if pairs[c] == c and not holds_pair[c]]
            for joint in (parent, partner)
        )
        candidates = sorted(
            (np.abs(lengths[a] - lengths[b]).max() / max(total[a], total[b], 1e-12), a, b)
            for a in own
            for b in others
            # The fingers of one hand are alike, and no sides.
            if (partner != parent or (a < b and names[a].part != "finger"))
            and below[a] == below[b]
            and _may_mirror(names[a], names[b])
        )
        for difference, a, b in candidates:
            alike = difference < _LENGTH_TOLERANCE and total[a] > 1e-3 * scale
            if (alike or partner != parent) and pairs[a] == a and pairs[b] == b:
                pairs[a], pairs[b] = b, a


def _may_mirror(first: JointName, second: JointName) -> bool:
    if first.side and second.side:
        return first.side != second.side
    return first.part == second.part


class Limb(NamedTuple):
    """Joints of one leg or arm; None for a joint that was not found."""

    upper: int
    middle: int | None
    last: int | None
    toe: int | None = None


# Left, right.
Limbs = tuple[Limb, Limb]


class _LimbPair(NamedTuple):
    """Two mirrored chains of joints, from the joint nearest the trunk to the last one."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    attachment: int
    length: float
    distance: float = 0.0


def find_limbs(
    skeleton: Skeleton, names: list[JointName], pairs: Array, clip: Clip | None
) -> tuple[Limbs | None, Limbs | None, list[str], bool]:
    """Legs, arms, notes, and whether the clip was needed: by names first, then by structure."""
    fore = [joint for joint, name in enumerate(names) if name.quarter == "fore"]
    others = [joint for joint, name in enumerate(names) if name.quarter != "fore"]
    legs = _limbs_by_name(skeleton, names, _LEG, others)
    arms = _limbs_by_name(skeleton, names, _FORELEG, fore)
    arms = arms or _limbs_by_name(skeleton, names, _ARM, range(len(names)))
    notes = [
        f"{limbs} found by the names of their joints"
        for limbs, found in (("legs", legs), ("arms or front legs", arms))
        if found is not None
    ]
    by_motion = legs is None or arms is None
    if by_motion:
        legs, arms, notes = _limbs_by_structure(skeleton, names, pairs, clip, legs, arms, notes)
    uppers = [limb.upper for limbs in (legs, arms) for limb in limbs or ()]
    body = reduce(partial(common_ancestor, skeleton), uppers or [0])
    found = [
        limbs and _with_feet_beside(skeleton, names, pairs, limbs, body) for limbs in (legs, arms)
    ]
    if found != [legs, arms]:
        notes.append("feet that hang beside the body are those nearest to its legs at rest")
    return found[0], found[1], notes, by_motion


def _with_feet_beside(
    skeleton: Skeleton, names: list[JointName], pairs: Array, limbs: Limbs, body: int
) -> Limbs:
    """Limbs whose last joints hang beside the body, as feet of rigs hang from IK roots."""
    places, feet = skeleton.rest_positions, []
    beside = ~subtree_mask(skeleton, body) & (pairs != np.arange(len(pairs)))
    for side, limb in zip(("left", "right"), limbs, strict=True):
        if limb.middle is None or limb.last is not None:
            return limbs
        away = np.linalg.norm(places - places[limb.middle], axis=1)
        near = beside & (places[:, 1] < places[limb.middle, 1])
        near &= away < _FARTHEST_FOOT * path_length(skeleton, limb.upper, limb.middle)
        own = [joint for joint in np.flatnonzero(near).tolist() if names[joint].side in (side, "")]
        if not own:
            return limbs
        feet.append(min(own, key=lambda joint: away[joint]))
    if pairs[feet[0]] != feet[1]:
        return limbs
    left, right = (
        limb._replace(last=foot, toe=[*longest_chain(skeleton, foot), None][1])
        for limb, foot in zip(limbs, feet, strict=True)
    )
    return left, right


def _limbs_by_name(
    skeleton: Skeleton,
    names: list[JointName],
    order: tuple[tuple[str, ...], ...],
    allowed: Iterable[int],
) -> Limbs | None:
    limbs = []
    for side in ("left", "right"):
        chain: list[int | None] = []
        on_side = [joint for joint in allowed if names[joint].side == side]
        for parts in order:
            above = next((joint for joint in reversed(chain) if joint is not None), None)
            found = (
                joint
                for part in parts
                for joint in on_side
                if names[joint].part == part
                if above is None or above in ancestors(skeleton, joint)[1:]
            )
            chain.append(next(found, None))
        if chain[0] is None:
            return None
        limbs.append(_completed(skeleton, chain[0], *chain[1:]))
    return limbs[0], limbs[1]


def _completed(
    skeleton: Skeleton, upper: int, middle: int | None, last: int | None, *toe: int | None
) -> Limb:
    """A limb whose unnamed joints are filled in from the hierarchy."""

    def below(joint: int | None) -> int | None:
        return None if joint is None else [*longest_chain(skeleton, joint), None][1]

    if middle is None and last is not None:
        path = ancestors(skeleton, last)
        middle = path[path.index(upper) - 1]
        middle = None if middle == last else middle
    elif middle is None:
        middle = below(upper)
    last = below(middle) if last is None else last
    return Limb(upper, middle, last, *(below(last) if joint is None else joint for joint in toe))


def _mirrored_chains(skeleton: Skeleton, pairs: Array) -> list[_LimbPair]:
    """Mirrored chains that start at the middle line, the longest first."""
    lengths = longest_chains(skeleton)[0] + bone_lengths(skeleton)
    found = []
    for joint, partner in enumerate(pairs.tolist()):
        parent = int(skeleton.parents[joint])
        if partner <= joint or parent < 0 or pairs[parent] != parent:
            continue
        chain = longest_chain(skeleton, joint)
        first = tuple(takewhile(lambda other: pairs[other] != other, chain))
        second, distance = tuple(pairs[list(first)].tolist()), path_length(skeleton, 0, parent)
        found.append(_LimbPair(first, second, parent, float(lengths[joint]), distance))
    return sorted(found, key=lambda limb: -limb.length)


def _limbs_by_structure(
    skeleton: Skeleton,
    names: list[JointName],
    pairs: Array,
    clip: Clip | None,
    legs: Limbs | None,
    arms: Limbs | None,
    notes: list[str],
) -> tuple[Limbs | None, Limbs | None, list[str]]:
    candidates = _mirrored_chains(skeleton, pairs)
    longest = max((limb.length for limb in candidates), default=0.0)
    used = {limb.upper for limbs in (legs, arms) if limbs for limb in limbs}
    candidates = [
        limb
        for limb in candidates
        if limb.length >= _SHORTEST_LIMB * longest
        and len(limb.first) >= 2
        and not used & {*limb.first, *limb.second}
    ]
    leg_pair = arm_pair = None
    if legs is None and candidates:
        lowest = candidates if clip is None else _lowest_limbs(candidates, clip)
        leg_pair = min(lowest, key=lambda limb: (round(limb.distance, 9), -limb.length))
        candidates.remove(leg_pair)
        notes.append("legs found by structure: the low mirrored chains nearest the root")
    if arms is None and candidates and (legs or leg_pair):
        # Ears and horns come in pairs as well: the arms are the longest remaining pair.
        arm_pair = candidates[0]
        notes.append("arms found by structure: the longest mirrored chains besides the legs")
    if leg_pair is not None:
        top = arm_pair.attachment if arm_pair else None
        if arms is not None:
            top = common_ancestor(skeleton, arms[0].upper, arms[1].upper)
        side = _side_by_name(names, leg_pair)
        first_left, note = side == "left", "left and right distinguished by names"
        if not side:
            first_left, note = _first_limb_is_left(skeleton, leg_pair, top, clip)
        notes.append(note)
        legs = _as_limbs(skeleton, leg_pair, first_left, len(_LEG))
    if arm_pair is not None and legs is not None:
        side = _side_by_name(names, arm_pair)
        leg_pair = leg_pair or _as_pair(skeleton, legs)
        positions = global_transforms(clip or rest_clip(skeleton))[1]
        same_side = (_across(positions, leg_pair) * _across(positions, arm_pair)).sum() >= 0
        leg_left = leg_pair.first[0] in ancestors(skeleton, legs[0].upper)
        first_left = side == "left" if side else leg_left == bool(same_side)
        arms = _as_limbs(skeleton, arm_pair, first_left, len(_ARM))
    return legs, arms, notes


def _side_by_name(names: list[JointName], limb: _LimbPair) -> str:
    sides = {names[joint].side for joint in limb.first} - {""}
    return sides.pop() if len(sides) == 1 else ""


def _as_limbs(skeleton: Skeleton, pair: _LimbPair, first_is_left: bool, joints: int) -> Limbs:
    start = _long_bones(skeleton, pair.first)
    first, second = (
        Limb(*[*chain[start : start + joints], None, None][:joints])  # type: ignore[arg-type]
        for chain in (pair.first, pair.second)
    )
    return (first, second) if first_is_left else (second, first)


def _as_pair(skeleton: Skeleton, limbs: Limbs) -> _LimbPair:
    left, right = ([joint for joint in limb[:3] if joint is not None] for limb in limbs)
    count = min(len(left), len(right))
    meeting = common_ancestor(skeleton, left[0], right[0])
    length = path_length(skeleton, left[0], left[-1])
    return _LimbPair(tuple(left[:count]), tuple(right[:count]), meeting, length)


def _long_bones(skeleton: Skeleton, chain: tuple[int, ...]) -> int:
    """Index in the chain where its two longest consecutive segments begin: hip or shoulder."""
    bones = bone_lengths(skeleton)[list(chain[1:])]
    return int(np.argmax(bones[1:] + bones[:-1])) if len(bones) >= 2 else 0


def rest_clip(skeleton: Skeleton) -> Clip:
    """The rest pose as a clip of one frame."""
    rotations = np.tile(quaternions.IDENTITY, (1, len(skeleton), 1))
    return Clip(skeleton, rotations, skeleton.offsets[None, :1].copy(), 60.0)


def tip_positions(clip: Clip, transforms: tuple[Array, Array], joint: int) -> Array:
    """(frames, 3) metres: the tip of a limb whose last joint is `joint`."""
    end = tip_end(clip.skeleton, joint)
    return transforms[1][:, joint] if end is None else end_positions(clip, transforms)[:, end]


def _lowest_limbs(limbs: list[_LimbPair], clip: Clip) -> list[_LimbPair]:
    """Limb pairs whose mean tip height is close to the lowest."""
    transforms = global_transforms(clip)
    tips = [[tip_positions(clip, transforms, chain[-1]) for chain in limb[:2]] for limb in limbs]
    heights = np.array(tips)[..., 1].mean(axis=(1, 2))
    allowed = heights.min() + 0.3 * max(limb.length for limb in limbs)
    return [limb for limb, height in zip(limbs, heights, strict=True) if height <= allowed]


def _first_limb_is_left(
    skeleton: Skeleton, leg: _LimbPair, trunk_top: int | None, clip: Clip | None
) -> tuple[bool, str]:
    """Whether the first chain of a pair of legs is the left one, and a note on the evidence."""
    rest = rest_clip(skeleton)
    for pose, name in ((clip, "motion"), (rest, "rest pose")):
        if pose is None:
            continue
        transforms = global_transforms(pose)
        across = _across(transforms[1], leg) * _GROUND
        for front, evidence in _fronts(pose, transforms, leg, trunk_top):
            left = np.cross(_UP, front)
            agreement = np.einsum("fc,fc->", across, left)
            scale = (np.linalg.norm(across, axis=1) * np.linalg.norm(left, axis=1)).sum()
            if scale > 0 and abs(agreement) > _AGREEMENT * scale:
                note = f"left and right distinguished by {evidence} in the {name}"
                return bool(agreement > 0), note
    across = _across(global_transforms(rest)[1], leg)
    return bool(across[0, 0] >= 0), "left and right from the rest pose: left is its +X"


def _across(positions: Array, limb: _LimbPair) -> Array:
    # The joints nearest the trunk: further out, the swing of legs and arms exceeds their distance
    # from the middle. Joints that coincide with the middle line (folded, helpers) are skipped.
    for first, second in zip(limb.first, limb.second, strict=True):
        across = positions[:, first] - positions[:, second]
        if np.linalg.norm(across, axis=1).mean() > 0.02 * limb.length:
            break
    return across


def _fronts(
    clip: Clip, transforms: tuple[Array, Array], leg: _LimbPair, trunk_top: int | None
) -> Iterator[tuple[Array, str]]:
    positions = transforms[1]
    hips = positions[:, leg.attachment]
    if trunk_top is not None and trunk_top != leg.attachment:
        front = level_trunk(positions[:, trunk_top] - hips)
        if front is not None:
            yield front, "the direction of the trunk"
    ankle = _long_bones(clip.skeleton, leg.first) + 2
    if ankle < len(leg.first):
        feet = sum(
            tip_positions(clip, transforms, chain[-1]) - positions[:, chain[ankle]]
            for chain in (leg.first, leg.second)
        )
        if np.linalg.norm(feet * _GROUND, axis=1).mean() > 0.05 * leg.length:
            yield feet * _GROUND, "the direction of the feet"
    travel = velocities(hips, clip.fps) * _GROUND
    # Locomotion covers about a leg length per second or more.
    size = path_length(clip.skeleton, leg.first[0], leg.first[-1])
    if np.linalg.norm(travel.mean(axis=0)) > 0.25 * size:
        yield travel, "the direction of travel"


def level_trunk(trunk: Array) -> Array | None:
    """(frames, 3) direction of a trunk on the ground, None if it is closer to upright."""
    elevation = trunk[:, 1].sum() / max(np.linalg.norm(trunk, axis=1).sum(), 1e-12)
    return trunk * _GROUND if abs(elevation) < UPRIGHT else None
