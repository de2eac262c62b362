"""Legs and arms of a skeleton as chains from hip and shoulder to toe and hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import JointName
from deepphase.motion.kinematics import end_positions, global_transforms, velocities
from deepphase.motion.limbs import (
    LimbPair,
    ancestors,
    common_ancestor,
    limb_pairs,
    long_bones,
    longest_chains,
    path_length,
    tip_end,
)
from deepphase.motion.skeleton import Skeleton

UP = np.array([0.0, 1.0, 0.0])
GROUND = np.array([1.0, 0.0, 1.0])
# An estimate of the front is accepted if it agrees with the sides over time to this share.
_AGREEMENT = 0.3
# A trunk whose elevation has a smaller sine than this is a quadruped's: its front is ahead.
_UPRIGHT = 0.6


def rest_clip(skeleton: Skeleton) -> Clip:
    """The rest pose as a clip of one frame."""
    rotations = np.tile(quaternions.IDENTITY, (1, len(skeleton), 1))
    return Clip(skeleton, rotations, skeleton.offsets[None, :1].copy(), 60.0)


def tip_positions(clip: Clip, transforms: tuple[Array, Array], joint: int) -> Array:
    """(frames, 3) metres: the tip of a limb whose last joint is `joint`."""
    end = tip_end(clip.skeleton, joint)
    return transforms[1][:, joint] if end is None else end_positions(clip, transforms)[:, end]


def lowest_limbs(limbs: list[LimbPair], clip: Clip | None) -> list[LimbPair]:
    """Limb pairs whose mean tip height is close to the lowest; all pairs if there is no clip."""
    if clip is None or not limbs:
        return limbs
    transforms = global_transforms(clip)
    heights = np.array(
        [
            np.mean([tip_positions(clip, transforms, end)[:, 1] for end in limb.last_joints])
            for limb in limbs
        ]
    )
    allowed = heights.min() + 0.3 * max(limb.length for limb in limbs)
    return [limb for limb, height in zip(limbs, heights, strict=True) if height <= allowed]


def on_same_side(skeleton: Skeleton, first: LimbPair, second: LimbPair, clip: Clip | None) -> bool:
    """Whether the first chains of two pairs of limbs are on one side of the body."""
    positions = global_transforms(clip or rest_clip(skeleton))[1]
    return bool((_across(positions, first) * _across(positions, second)).sum() >= 0)


def first_limb_is_left(
    skeleton: Skeleton, leg: LimbPair, trunk_top: int | None, clip: Clip | None
) -> tuple[bool, str]:
    """Whether the first chain of a pair of legs is the left one, and a note on the evidence.

    The front is the direction of a horizontal trunk, else of the feet, else of travel; left is
    up x front. The motion is tried first, then the rest pose, and finally the rest pose's +X.
    """
    for pose, name in ((clip, "motion"), (rest_clip(skeleton), "rest pose")):
        if pose is None:
            continue
        transforms = global_transforms(pose)
        across = _across(transforms[1], leg) * GROUND
        for front, evidence in _fronts(pose, transforms, leg, trunk_top):
            left = np.cross(UP, front)
            agreement = np.einsum("fc,fc->f", across, left)
            scale = (np.linalg.norm(across, axis=1) * np.linalg.norm(left, axis=1)).sum()
            if scale > 0 and abs(agreement.sum()) > _AGREEMENT * scale:
                note = f"left and right distinguished by {evidence} in the {name}"
                return bool(agreement.sum() > 0), note
    across = _across(global_transforms(rest_clip(skeleton))[1], leg)
    return bool(across[0, 0] >= 0), "left and right from the rest pose: left is its +X"


def _across(positions: Array, limb: LimbPair) -> Array:
    # The joints nearest the trunk: further out, the swing of legs and arms exceeds their distance
    # from the middle. Joints that coincide with the middle line (folded, helpers) are skipped.
    for first, second in zip(limb.first, limb.second, strict=True):
        across = positions[:, first] - positions[:, second]
        if np.linalg.norm(across, axis=1).mean() > 0.02 * limb.length:
            return across
    return positions[:, limb.first[-1]] - positions[:, limb.second[-1]]


def _fronts(
    clip: Clip, transforms: tuple[Array, Array], leg: LimbPair, trunk_top: int | None
) -> Iterator[tuple[Array, str]]:
    positions = transforms[1]
    hips = positions[:, leg.attachment]
    if trunk_top is not None and trunk_top != leg.attachment:
        trunk = positions[:, trunk_top] - hips
        elevation = trunk[:, 1].sum() / max(np.linalg.norm(trunk, axis=1).sum(), 1e-12)
        if abs(elevation) < _UPRIGHT:
            yield trunk * GROUND, "the direction of the trunk"
    ankle = long_bones(clip.skeleton, leg.first) + 2
    if ankle < len(leg.first):
        feet = sum(
            tip_positions(clip, transforms, chain[-1]) - positions[:, chain[ankle]]
            for chain in (leg.first, leg.second)
        )
        if np.linalg.norm(feet * GROUND, axis=1).mean() > 0.05 * leg.length:
            yield feet * GROUND, "the direction of the feet"
    travel = velocities(hips, clip.fps) * GROUND
    # Locomotion covers about a leg length per second or more.
    size = path_length(clip.skeleton, leg.first[0], leg.first[-1])
    if np.linalg.norm(travel.mean(axis=0)) > 0.25 * size:
        yield travel, "the direction of travel"


# Names of the joints of a limb from the trunk outwards, the most specific first.
_LEG = (("upper leg", "hip", "leg"), ("knee", "leg"), ("ankle", "foot"), ("toe", "foot"))
_ARM = (("upper arm", "arm", "shoulder"), ("elbow", "arm"), ("wrist", "hand"), ())
_FORELEG = (
    ("upper leg", "upper arm", "hip", "arm", "shoulder", "leg"),
    ("knee", "elbow", "leg", "arm"),
    ("ankle", "wrist", "foot", "hand"),
    (),
)
# A limb has at least this share of the longest one's length; fingers and ears are shorter.
_SHORTEST_LIMB = 0.35


@dataclass(frozen=True)
class Limb:
    """Joints of one leg or arm; None for a joint that was not found."""

    upper: int
    middle: int | None
    last: int | None
    toe: int | None


# Left, right.
LimbsBySide = tuple[Limb, Limb]


def find_limb_roles(
    skeleton: Skeleton, names: list[JointName], pairs: Array, clip: Clip | None
) -> tuple[LimbsBySide | None, LimbsBySide | None, list[str], bool]:
    """Find the legs and the arms of a skeleton, by names first and then by structure."""
    notes = []
    legs = _limbs_by_name(skeleton, names, _LEG, fore=False)
    arms = None
    if any(name.quarter == "fore" for name in names):
        arms = _limbs_by_name(skeleton, names, _FORELEG, fore=True)
    arms = arms or _limbs_by_name(skeleton, names, _ARM, fore=False)
    if legs is not None:
        notes.append("legs found by the names of their joints")
    if arms is not None:
        notes.append("arms or front legs found by the names of their joints")
    if legs is not None and arms is not None:
        return legs, arms, notes, False
    return (*_with_structure(skeleton, names, pairs, clip, legs, arms, notes), True)


def _limbs_by_name(
    skeleton: Skeleton, names: list[JointName], order: tuple[tuple[str, ...], ...], *, fore: bool
) -> LimbsBySide | None:
    limbs = []
    for side in ("left", "right"):
        candidates = [
            joint
            for joint, name in enumerate(names)
            if name.side == side and (order is _ARM or (name.quarter == "fore") == fore)
        ]
        chain: list[int | None] = []
        for parts in order:
            above = next((joint for joint in reversed(chain) if joint is not None), None)
            chain.append(_first_below(skeleton, names, candidates, parts, above))
        upper, middle, last, toe = chain
        if upper is None:
            return None
        limbs.append(_completed(skeleton, Limb(upper, middle, last, toe), has_toe=order is _LEG))
    return limbs[0], limbs[1]


def _first_below(
    skeleton: Skeleton,
    names: list[JointName],
    candidates: list[int],
    parts: tuple[str, ...],
    above: int | None,
) -> int | None:
    for part in parts:
        for joint in candidates:
            below = above is None or (joint != above and above in ancestors(skeleton, joint))
            if names[joint].part == part and below:
                return joint
    return None


def _completed(skeleton: Skeleton, limb: Limb, *, has_toe: bool) -> Limb:
    """A limb whose unnamed joints are filled in from the hierarchy."""
    upper, middle, last, toe = limb.upper, limb.middle, limb.last, limb.toe
    through = longest_chains(skeleton)[1]

    def below(joint: int | None) -> int | None:
        return None if joint is None or through[joint] < 0 else int(through[joint])

    if middle is None and last is not None:
        path = ancestors(skeleton, last)
        path = path[: path.index(upper)]
        middle = path[-1] if len(path) > 1 else None
    elif middle is None:
        middle = below(upper)
    if last is None:
        last = below(middle)
    if has_toe and toe is None:
        toe = below(last)
    return Limb(upper, middle, last, toe if has_toe else None)


def _with_structure(
    skeleton: Skeleton,
    names: list[JointName],
    pairs: Array,
    clip: Clip | None,
    legs: LimbsBySide | None,
    arms: LimbsBySide | None,
    notes: list[str],
) -> tuple[LimbsBySide | None, LimbsBySide | None, list[str]]:
    candidates = limb_pairs(skeleton, pairs)
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
        leg_pair = min(
            lowest_limbs(candidates, clip), key=lambda limb: (round(limb.distance, 9), -limb.length)
        )
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
        first_left, note = _first_is_left(skeleton, names, leg_pair, top, clip)
        notes.append(note)
        legs = _as_limbs(skeleton, leg_pair, first_left, has_toe=True)
    if arm_pair is not None and legs is not None:
        side = _side_by_name(names, arm_pair)
        leg_pair = leg_pair or _as_pair(skeleton, legs)
        leg_left = leg_pair.first[0] in ancestors(skeleton, legs[0].upper)
        same_side = on_same_side(skeleton, leg_pair, arm_pair, clip)
        first_left = side == "left" if side else leg_left == same_side
        arms = _as_limbs(skeleton, arm_pair, first_left, has_toe=False)
    return legs, arms, notes


def _side_by_name(names: list[JointName], limb: LimbPair) -> str:
    sides = {names[joint].side for joint in limb.first} - {""}
    return sides.pop() if len(sides) == 1 else ""


def _first_is_left(
    skeleton: Skeleton, names: list[JointName], limb: LimbPair, top: int | None, clip: Clip | None
) -> tuple[bool, str]:
    side = _side_by_name(names, limb)
    if side:
        return side == "left", "left and right distinguished by names"
    return first_limb_is_left(skeleton, limb, top, clip)


def _as_limbs(
    skeleton: Skeleton, limb: LimbPair, first_is_left: bool, *, has_toe: bool
) -> LimbsBySide:
    start = long_bones(skeleton, limb.first)
    limbs = []
    for chain in (limb.first, limb.second):
        middle, last, toe = [*chain[start + 1 : start + 4], None, None, None][:3]
        limbs.append(Limb(chain[start], middle, last, toe if has_toe else None))
    return (limbs[0], limbs[1]) if first_is_left else (limbs[1], limbs[0])


def _as_pair(skeleton: Skeleton, limbs: LimbsBySide) -> LimbPair:
    left, right = (
        [joint for joint in (limb.upper, limb.middle, limb.last) if joint is not None]
        for limb in limbs
    )
    count = min(len(left), len(right))
    meeting = common_ancestor(skeleton, left[0], right[0])
    length = path_length(skeleton, left[0], left[-1])
    return LimbPair(tuple(left[:count]), tuple(right[:count]), meeting, length, 0.0)
