"""Inference of a file's unit and up axis, and rotation and scaling of clips.

Unit and up axis are inferred from body proportions and motion, not from the rest pose: some files
fold it up, with every joint on one axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import (
    Skeleton,
    bone_lengths,
    longest_chains,
    parse_names,
    path_length,
    subtree_mask,
)

# Share of a body's length by which the floor of a clip differs from that of most clips.
_OTHER_FLOOR = 0.05

AXES = ("x", "y", "z", "-x", "-y", "-z")

# Axis and angle of the turn that brings each up axis to +Y. For z it is the usual -90 degrees
# about X: what faced -Y then faces +Z. For x and -y the turn is about Z, so +Z stays the front.
_X, _Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
_QUARTER = np.pi / 2
_TURN = {"x": (_Z, _QUARTER), "y": (_Z, 0.0), "z": (_X, -_QUARTER)} | {
    "-x": (_Z, -_QUARTER),
    "-y": (_Z, np.pi),
    "-z": (_X, _QUARTER),
}


# Metres in a unit, and a prior penalty on it in the same logarithm as sizes: without the penalty
# a child in centimetres would be read as a man in inches.
_UNITS = {
    "metres": (1.0, 0.0),
    "centimetres": (0.01, 0.0),
    "millimetres": (0.001, 0.0),
    "inches": (0.0254, 0.25),
    "feet": (0.3048, 0.3),
    "decimetres": (0.1, 0.4),
    "the CMU unit (1/0.45 inch)": (0.0254 / 0.45, 0.2),
}
# Metres of an adult along the joints, after the proportions of Winter, Biomechanics (2009), for a
# stature of 1.72 m; captured skeletons differ by 10 %, and the median of the ratios is taken.
_HUMAN_STATURE, _HUMAN_LEG, _HUMAN_ARM = 1.72, 0.82, 0.53
# Longest path along the joints of any other body, metres, from a cat to a horse.
SMALLEST_BODY, LARGEST_BODY = 0.3, 6.0
FRAMES_LOOKED_AT = 1000
# An up axis with less than this share of the length of (hips - feet) is a guess.
_CLEAR_SHARE = 0.8
# Joints of a prop, whose names are not those of a body's parts.
_MOST_PROP_JOINTS = 6
NOT_A_BODY = "the unit is not inferred from what is not a body: metres are assumed"
# Beginning of the note on an up axis that no file states.
ASSUMED_UP = "up axis assumed to be "
# Share of a body's length: a clip whose lowest joint stays this near to the floor of the others
# stands, sits or lies on it.
_ON_FLOOR_SHARE = 0.05
# The same of a body that lies or crawls, at the floor at 0: its joints are inside its flesh.
_BELOW_FLOOR_SHARE, _LYING_SHARE = 0.015, 0.06


def infer_unit(skeleton_in_file_units: Skeleton) -> tuple[float, str]:
    """Metres in one unit of a file, inferred from the size of its body, and a note on the evidence.

    A human's thigh and shin, upper arm and forearm decide among `_UNITS`; any other body is in the
    first of metres, centimetres, millimetres and inches that makes it 0.3 to 6 m long. The size of
    a hand alone or of a prop tells nothing: it is in metres.
    """
    skeleton = skeleton_in_file_units
    roles = find_roles(skeleton)
    if not is_body(skeleton, roles):
        return 1.0, NOT_A_BODY
    longest = body_length(skeleton, roles)
    if longest <= 0:
        return 1.0, "unit assumed to be metres: the skeleton has no length"
    ratios = []
    if roles.kind == "biped":
        for upper, last, human in (("hip", "foot", _HUMAN_LEG), ("shoulder", "hand", _HUMAN_ARM)):
            ends = zip(roles.both(upper) or (), roles.both(last) or (), strict=False)
            ratios += [path_length(skeleton, *pair) / human for pair in ends]
    ratios = [ratio for ratio in ratios if ratio > 0]
    if ratios:
        size = float(np.exp(np.median(np.log(ratios))))
        name = min(_UNITS, key=lambda unit: abs(np.log(size * _UNITS[unit][0])) + _UNITS[unit][1])
        metres = _UNITS[name][0]
        evidence = f"the limbs are then {size * metres:.2f} times an adult's"
        return metres, f"unit assumed to be {name}: {evidence}"
    for name in ("metres", "centimetres", "millimetres", "inches"):
        metres = _UNITS[name][0]
        if SMALLEST_BODY <= longest * metres <= LARGEST_BODY:
            return metres, (
                f"unit assumed to be {name}: the longest path along the joints is then "
                f"{longest * metres:.2f} m"
            )
    return 1.0, f"unit assumed to be metres: a body {longest:.3g} units long matches no unit better"


def stature(leg: float) -> float:
    """Height of a person of average proportions, from the length of thigh and shin; metres."""
    return leg / _HUMAN_LEG * _HUMAN_STATURE


def is_body(skeleton: Skeleton, roles: Roles) -> bool:
    """Whether a skeleton is of a person or an animal, and not of a hand alone or of a prop."""
    parts = [name.part for name in parse_names(skeleton.names)]
    hand = sum(part in ("finger", "hand", "wrist") for part in parts)
    if 2 * hand > len(parts):
        return {"hips", "upper leg", "foot", "head"}.intersection(parts) != set()
    return roles.kind != "other" or any(parts) or len(parts) > _MOST_PROP_JOINTS


def body_length(skeleton: Skeleton, roles: Roles | None = None) -> float:
    """Length of the longest path along the joints of a body, from tip to tip."""
    roles = roles or find_roles(skeleton)
    lengths, longest = longest_chains(skeleton)[0], np.zeros(len(skeleton))
    through = lengths + bone_lengths(skeleton)
    for joint in range(len(skeleton)):
        longest[joint] = max(lengths[joint], np.sort(through[skeleton.children(joint)])[-2:].sum())
    return float(longest[subtree_mask(skeleton, roles.hips)].max() or longest.max())


def other_floors(heights: Sequence[float], length: float) -> dict[int, str]:
    """A sentence on each clip whose lowest joint is a twentieth of the body off the others'."""
    usual = float(np.median(heights))
    apart = np.flatnonzero(np.abs(np.asarray(heights) - usual) > _OTHER_FLOOR * length)
    return {
        index: f"its lowest joint is at {heights[index]:.2f} m, in most clips of its skeleton at "
        f"{usual:.2f} m: its heights may be wrong, or it was captured on other ground"
        for index in apart.tolist()
    }


def infer_up(clip_in_file_units: Clip) -> tuple[str, str]:
    """The up axis of a file, inferred from the position of the hips over the feet, and a note."""
    clip = thinned(clip_in_file_units, FRAMES_LOOKED_AT)
    roles = find_roles(clip.skeleton)
    positions = joint_positions(clip)
    feet = roles.both("foot")
    if feet is not None and is_body(clip.skeleton, roles):
        rise = (positions[:, [roles.hips]] - positions[:, list(feet)]).mean(axis=(0, 1))
        if rise.any():
            up, clear = nearest_axis(rise)
            lain = _up_of_lying(clip.skeleton, roles.hips, feet, positions, up)
            if lain:
                return lain, f"{ASSUMED_UP}{lain}: the body stands along it at rest, and lies here"
            doubt = "" if clear else ", but leans far: check it"
            return up, f"{ASSUMED_UP}{up}: from the feet to the hips on average{doubt}"
    # A body travels along the ground and keeps its height above it.
    travel = positions[:, roles.hips]
    mean, spread = travel.mean(axis=0), travel.std(axis=0)
    steadiness = np.abs(mean) / np.maximum(spread, 1e-6 * max(np.abs(mean).max(), 1e-12))
    axis = int(np.argmax(steadiness))
    if spread.max() > 0 and steadiness[axis] > 3.0 * max(np.delete(steadiness, axis).max(), 1.0):
        up = nearest_axis(mean * np.eye(3)[axis])[0]
        return up, f"{ASSUMED_UP}{up}: the root keeps its distance along it alone"
    return "y", f"{ASSUMED_UP}y: no legs found, and the root's path is not conclusive"


def _up_of_lying(
    skeleton: Skeleton, hips: int, feet: tuple[int, int], positions: Array, up: str
) -> str:
    """The up axis of a body whose hips are along `up` from its feet as it lies or crawls; empty if
    not."""
    rest = skeleton.rest_positions
    stands, clear = nearest_axis(rest[hips] - rest[list(feet)].mean(axis=0))
    if not clear or stands == up:
        return ""
    levels = axis_levels(positions, "y") / body_length(skeleton)
    low, high = levels[AXES.index(stands)]
    # A body around the origin, whose floor is nowhere near it, has joints below its hips.
    is_on_floor = low > -_BELOW_FLOOR_SHARE and high < _LYING_SHARE
    return stands if is_on_floor and np.abs(levels[AXES.index(up)]).max() > high else ""


def thinned(clip: Clip, frames: int) -> Clip:
    """About as many frames of a clip, evenly spread, where it has more."""
    step = max(1, len(clip) // frames)
    return replace(clip, rotations=clip.rotations[::step], translations=clip.translations[::step])


def axis_levels(positions: Array, up: str) -> Array:
    """(6, 2) metres: 5th and 95th percentile of the lowest joint, if each of `AXES` were up."""
    step = max(1, len(positions) // FRAMES_LOOKED_AT)
    in_file = quaternions.rotate(quaternions.conjugate(turn_to_y(up)), positions[::step])
    lowest = np.concatenate([in_file.min(axis=1), -in_file.max(axis=1)], axis=1)
    return np.percentile(lowest, (5, 95), axis=0).T


def agreed_up(
    ups: Sequence[str], assumed: Sequence[bool], levels: Array, length: float
) -> tuple[str, tuple[int, ...]]:
    """The up axis of the clips of one skeleton, and the clips that were misread on their own.

    A body that sits or lies has its hips beside its feet, but it is on the same floor as the other
    clips if it is read with their axis. `levels` (clips, 6, 2) are those of `axis_levels`.
    """
    votes = Counter(ups)
    up = max(votes, key=lambda axis: (votes[axis], -AXES.index(axis)))
    floor = float(np.median(levels[[axis == up for axis in ups], AXES.index(up), 0]))
    # (clips, axes) how far the lowest joint is from the floor, if an axis is up.
    off_floor = np.abs(levels - floor).max(axis=2) / length
    as_others = off_floor[:, AXES.index(up)]
    return up, tuple(
        index
        for index, own in enumerate(ups)
        if assumed[index] and own != up
        if as_others[index] < max(_ON_FLOOR_SHARE, off_floor[index, AXES.index(own)])
    )


def nearest_axis(vector: Array) -> tuple[str, bool]:
    """The axis nearest to a direction, and whether it clearly is."""
    axis = int(np.argmax(np.abs(vector)))
    is_clear = abs(vector[axis]) > _CLEAR_SHARE * np.linalg.norm(vector)
    return AXES[axis if vector[axis] > 0 else axis + 3], bool(is_clear)


def rotate_up(clip: Clip, up: str) -> Clip:
    """Rotate a clip, by its root alone, whose up axis is `up` to Y up."""
    return _turned(clip, turn_to_y(up))


def rotate_from_y_up(clip: Clip, up: str) -> Clip:
    """Rotate a clip with Y up so that its up axis is `up`: the inverse of `rotate_up`."""
    return _turned(clip, quaternions.conjugate(turn_to_y(up)))


def turn_to_y(up: str) -> Array:
    """(4,) quaternion of the rotation by `rotate_up`; raises the same ParameterError."""
    if up not in AXES:
        raise ParameterError(
            f"an up axis {up!r} is not possible", hint=f"choose one of {', '.join(AXES)}"
        )
    axis, angle = _TURN[up]
    return quaternions.about_axis(axis, np.array(angle))


def quarter_turned(vectors: Array, turn: Array) -> Array:
    """Vectors (..., 3) turned by quarters of a circle: exactly, as these exchange coordinates."""
    matrix = np.rint(np.stack([quaternions.rotate(turn, axis) for axis in np.eye(3)]))
    return vectors @ matrix.astype(vectors.dtype)


def _turned(clip: Clip, turn: Array) -> Clip:
    if turn[3] == 1.0:
        return clip
    skeleton, dtype = clip.skeleton, clip.rotations.dtype
    offsets = skeleton.offsets.copy()
    offsets[0] = quarter_turned(offsets[0], turn)
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[:, 0] = quaternions.multiply(turn.astype(dtype), rotations[:, 0])
    translations[:, 0] = quarter_turned(translations[:, 0], turn)
    return replace(
        clip,
        skeleton=replace(skeleton, offsets=offsets),
        rotations=rotations,
        translations=translations,
    )


def scaled(clip: Clip, factor: float) -> Clip:
    """The clip with all lengths times `factor`: offsets, end sites and translations."""
    if not (np.isfinite(factor) and factor > 0):
        raise ParameterError(
            f"a scale of {factor} is not possible", hint="a scale is a positive number"
        )
    skeleton = clip.skeleton
    return replace(
        clip,
        skeleton=replace(
            skeleton, offsets=skeleton.offsets * factor, end_offsets=skeleton.end_offsets * factor
        ),
        translations=clip.translations * clip.translations.dtype.type(factor),
    )
