"""Legs and arms of a skeleton as chains from hip and shoulder to toe and hand."""

from __future__ import annotations

from dataclasses import dataclass

from deepphase.motion import sides
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import JointName
from deepphase.motion.limbs import (
    LimbPair,
    ancestors,
    common_ancestor,
    limb_pairs,
    long_bones,
    path_length,
    reach,
)
from deepphase.motion.skeleton import Array, Skeleton

# What the joints of a limb may be called, from the trunk outwards, the surest word first.
_LEG = (("upper leg", "hip", "leg"), ("knee", "leg"), ("ankle", "foot"), ("toe", "foot"))
_ARM = (("upper arm", "arm", "shoulder"), ("elbow", "arm"), ("wrist", "hand"), ())
_FORELEG = (
    ("upper leg", "upper arm", "hip", "arm", "shoulder", "leg"),
    ("knee", "elbow", "leg", "arm"),
    ("ankle", "wrist", "foot", "hand"),
    (),
)
# A limb is at least this share of the longest one: fingers and ears are none.
_SHORTEST_LIMB = 0.35


@dataclass(frozen=True)
class Limb:
    """One leg or arm, each field a joint or None.

    Parameters
    ----------
    upper, middle, last, toe
        Hip, knee, ankle and toe of a leg; shoulder, elbow and wrist of an arm or front leg.
    """

    upper: int
    middle: int | None
    last: int | None
    toe: int | None


Limbs = tuple[Limb, Limb]


def find_limbs(
    skeleton: Skeleton, names: list[JointName], pairs: Array, clip: Clip | None
) -> tuple[Limbs | None, Limbs | None, list[str], bool]:
    """Left and right leg, left and right arm, and how they were found, in sentences.

    The last value says whether another clip of this skeleton can give others: where names do not
    give both.
    """
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
) -> Limbs | None:
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
    """A limb with what its names left out put in from the hierarchy."""
    upper, middle, last, toe = limb.upper, limb.middle, limb.last, limb.toe
    through = reach(skeleton)[1]

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
    legs: Limbs | None,
    arms: Limbs | None,
    notes: list[str],
) -> tuple[Limbs | None, Limbs | None, list[str]]:
    candidates = limb_pairs(skeleton, pairs)
    longest = max((limb.length for limb in candidates), default=0.0)
    taken = {limb.upper for limbs in (legs, arms) if limbs for limb in limbs}
    candidates = [
        limb
        for limb in candidates
        if limb.length >= _SHORTEST_LIMB * longest
        and len(limb.first) >= 2
        and not taken & {*limb.first, *limb.second}
    ]
    leg_pair = arm_pair = None
    if legs is None and candidates:
        leg_pair = min(
            sides.lowest(candidates, clip), key=lambda limb: (round(limb.distance, 9), -limb.length)
        )
        candidates.remove(leg_pair)
        notes.append("legs found by structure: the low mirrored chains nearest the root")
    if arms is None and candidates and (legs or leg_pair):
        # Ears and horns hang in pairs as well: the arms are the longest that remain.
        arm_pair = candidates[0]
        notes.append("arms found by structure: the longest mirrored chains besides the legs")
    if leg_pair is not None:
        top = arm_pair.attachment if arm_pair else None
        if arms is not None:
            top = common_ancestor(skeleton, arms[0].upper, arms[1].upper)
        first_left, said = _first_is_left(skeleton, names, leg_pair, top, clip)
        notes.append(said)
        legs = _as_limbs(skeleton, leg_pair, first_left, has_toe=True)
    if arm_pair is not None and legs is not None:
        said = _said_side(names, arm_pair)
        leg_pair = leg_pair or _as_pair(skeleton, legs)
        leg_left = leg_pair.first[0] in ancestors(skeleton, legs[0].upper)
        same_side = sides.on_same_side(skeleton, leg_pair, arm_pair, clip)
        first_left = said == "left" if said else leg_left == same_side
        arms = _as_limbs(skeleton, arm_pair, first_left, has_toe=False)
    return legs, arms, notes


def _said_side(names: list[JointName], limb: LimbPair) -> str:
    said = {names[joint].side for joint in limb.first} - {""}
    return said.pop() if len(said) == 1 else ""


def _first_is_left(
    skeleton: Skeleton, names: list[JointName], limb: LimbPair, top: int | None, clip: Clip | None
) -> tuple[bool, str]:
    said = _said_side(names, limb)
    if said:
        return said == "left", "left and right told apart by names"
    return sides.first_is_left(skeleton, limb, top, clip)


def _as_limbs(skeleton: Skeleton, limb: LimbPair, first_is_left: bool, *, has_toe: bool) -> Limbs:
    start = long_bones(skeleton, limb.first)
    limbs = []
    for chain in (limb.first, limb.second):
        middle, last, toe = [*chain[start + 1 : start + 4], None, None, None][:3]
        limbs.append(Limb(chain[start], middle, last, toe if has_toe else None))
    return (limbs[0], limbs[1]) if first_is_left else (limbs[1], limbs[0])


def _as_pair(skeleton: Skeleton, limbs: Limbs) -> LimbPair:
    left, right = (
        [joint for joint in (limb.upper, limb.middle, limb.last) if joint is not None]
        for limb in limbs
    )
    count = min(len(left), len(right))
    meeting = common_ancestor(skeleton, left[0], right[0])
    length = path_length(skeleton, left[0], left[-1])
    return LimbPair(tuple(left[:count]), tuple(right[:count]), meeting, length, 0.0)
