"""Doubts about clips: sizes, places, speeds and limbs that are not those of a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.formats.reading import ANOTHER_RATE, CHECK, with_notes
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.orientation import (
    ASSUMED_UP,
    LARGEST_BODY,
    SMALLEST_BODY,
    body_length,
    is_body,
    nearest_axis,
    stature,
    thinned,
    turn_to_y,
)
from deepphase.motion.roles import PAIRED_PARTS, Roles, find_roles
from deepphase.motion.skeleton import Skeleton, path_length

# No body is faster, none is captured in fewer frames, and none but a bird is as far above 0.
_FASTEST_M_S, _FEWEST_FPS, _HIGHEST_M = 15.0, 5.0, 10.0
# Metres: statures of people, from a newborn child.
_SMALLEST_PERSON, _LARGEST_PERSON = 0.3, 3.0
# A body of fewer joints or frames may stand still. Radians that were read as degrees are below two
# pi; a body whose limbs do is as stiff.
_FEWEST_JOINTS, _FEWEST_FRAMES, _STIFF_DEGREES = 10, 20, 6.3
_LEAST_TRAVEL_M = 0.5
# Units of bones in one of a root, and how far the height of hips may be from that of legs.
_OTHER_UNITS, _SAME_LEG = (0.1, 1 / 0.0254, 100.0, 1000.0), 0.3
# Poses nearer than this are one; share of the poses that are repeated alike.
_SAME_POSE, _REPEATED = 1e-7, 0.9
# Gravity alone pulls a body down: the middle of people in 1,393 captured clips falls at 15 m/s2 at
# most for so many seconds together, as masses are guessed. Seconds of the parabolas that a fall is
# read off, and frames a second that are enough for it.
_FASTEST_FALL, _FALL_S, _MEASURED_S, _FALL_FPS = 20.0, 0.1, 0.15, 30.0
# Shares of a body's mass, by the role of the joint that they are near: half of every limb.
_MASSES = {"hips": 0.15, "chest": 0.26, "head": 0.11, "hip": 0.06, "knee": 0.085, "foot": 0.025}
_MASSES |= {"shoulder": 0.015, "elbow": 0.025, "hand": 0.01}
# Feet swing as fast as legs do, as pendulums: in 277 captured clips up to 1.3 sqrt(g / leg) times a
# second over 4 s and 1.11 over 8 s, in an elite sprint 1.5. A swing goes on at a speed, as a share
# of sqrt(g leg), over a way, as a share of the leg. Frames a second and seconds that are looked at.
_MOST_SWINGS, _SWING_SPEED, _SWING_WAY = ((4.0, 1.4), (8.0, 1.2)), 0.18, 0.1
_SWING_FPS, _SWINGS_SEEN_S = 60.0, 40.0
# All joints are over the floor, by a share of the leg, for seconds, and the feet go, in m/s; the
# body's middle is on a parabola, but for a share of the leg, and not pulled sideways (m/s2). At
# half the speed gravity is a quarter of itself: none of 640 captured clips falls so.
_FLIES, _FLIGHT_S, _FEET_FLY, _OFF_PARABOLA, _STRAIGHT = 0.06, 0.3, 0.6, 0.004, 0.6
_SLOW = (1.7, 3.6)
# The lower foot stands where it is this near to the floor, as a share of the leg. In 1,300 captured
# clips it slides at up to .31 of the speed of a body that goes faster than the first two (m/s, over
# the feet and over the ground), and the places of a path are 7 times as far off its steps.
_STANDS, _GOES, _TRAVELS, _SLIDES, _ARE_STEPS = 0.05, 0.8, 0.3, 0.4, 0.7
# Joints exchange their places where they come nearer to them than this share of their steps, which
# are that much longer than before and after, and than metres. Radians of a leap.
_EXCHANGED, _LEAPS, _LEAST_LEAP_M, _LEAST_TURN = 0.3, 5.0, 0.05, 0.3
# How far a knee is beside the line from hip to foot where it is bent, as a share of the shin, in at
# least as large a share of the frames; and share of these in which it points backwards.
_BENT, _BACKWARDS = 0.15, 0.9
# A body that was upright, by the height of its hips over the feet as a share of their distance, in
# this share of the frames has the right up axis.
_UPRIGHT, _STOOD = 0.9, 0.1
# Frames in which the place of a body and its limbs are looked at.
_FRAMES_DOUBTED = 100


def with_doubts(clip: Clip) -> Clip:
    """The clip, with notes where a value is not that of a body, and on the way out."""
    roles = find_roles(clip.skeleton)
    checks = (_doubts_of_limbs, _doubts_of_repeats, _doubts_of_exchange)
    doubts = [*_doubts_of_speed(clip, roles)]
    doubts += [doubt for check in checks for doubt in check(clip)]
    if is_body(clip.skeleton, roles):
        doubts = [*_doubts_of_size(clip.skeleton, roles), *_doubts_of_place(clip, roles), *doubts]
        # A wrong unit or a speed says as much.
        for others in (_doubts_of_sides, _doubts_of_fall, _doubts_of_steps):
            doubts = doubts or [*others(clip, roles)]
    return with_notes(clip, [f"{CHECK}{doubt}" for doubt in doubts])


def _doubts_of_size(skeleton: Skeleton, roles: Roles) -> Iterator[str]:
    size, smallest, largest = body_length(skeleton, roles), SMALLEST_BODY, LARGEST_BODY
    hips, feet = roles.both("hip"), roles.both("foot")
    if roles.kind == "biped" and hips and feet:
        size = stature(path_length(skeleton, hips[0], feet[0]))
        smallest, largest = _SMALLEST_PERSON, _LARGEST_PERSON
    if size > 0 and not smallest <= size <= largest:
        yield f"the body is {size:.3g} m long: give the unit with --unit"


def _doubts_of_place(clip: Clip, roles: Roles) -> Iterator[str]:
    """Doubts about the height of the hips over the feet, and of the feet over 0."""
    feet = roles.both("foot")
    if feet is None:
        return
    positions = joint_positions(thinned(clip, _FRAMES_DOUBTED))
    level = float(np.median(positions[:, list(feet), 1].min(axis=1)))
    if abs(level) > _HIGHEST_M:
        side = "above" if level > 0 else "below"
        yield f"the feet are {abs(level):.3g} m {side} 0: give the unit with --unit"
    heights = np.quantile(positions[:, roles.hips, 1], (0.05, 0.95))
    leg = float(np.median(positions[:, roles.hips, 1])) - level
    if any((abs(other * heights - leg) < _SAME_LEG * leg).all() for other in _OTHER_UNITS):
        low = f"the hips are {leg:.3g} m above the feet, and {heights[1]:.2g} m above 0"
        yield f"{low}: is the root in another unit than the bones? export both in one"
    if any(note.startswith(ASSUMED_UP) for note in clip.source.notes):
        return
    rises = (positions[:, [roles.hips]] - positions[:, list(feet)]).mean(axis=1)
    if (rises[:, 1] > _UPRIGHT * np.linalg.norm(rises, axis=-1)).mean() > _STOOD:
        return  # It falls, or lies down.
    rise = rises.mean(axis=0)
    rise = quaternions.rotate(quaternions.conjugate(turn_to_y(clip.source.up)), rise)
    axis, clear = nearest_axis(rise)
    if clear and axis != clip.source.up:
        way = f"if the body does not lie, give the up axis with --up {axis}"
        yield f"the hips are along {axis} from the feet, not along {clip.source.up}: {way}"


def _doubts_of_speed(clip: Clip, roles: Roles) -> Iterator[str]:
    # Handles of rigs, which are joints that travel, are faster.
    carries = np.isin(clip.translated_joints, (0, roles.hips)) | (not clip.has_rotations)
    moved = np.linalg.norm(np.diff(clip.translations[:, carries], axis=0), axis=-1)
    speed = clip.fps * float(np.percentile(moved, 95, axis=0).max()) if moved.size else 0.0
    if speed > _FASTEST_M_S:
        way = "give the unit with --unit, or the rate with --file-fps"
        yield f"the body goes at {speed:.3g} m/s: {way}"
    if clip.fps < _FEWEST_FPS:
        way = "is this the rate? --file-fps gives another, as 60 or 120"
        yield f"{clip.fps:.3g} frames a second: {way}"


def _doubts_of_sides(clip: Clip, roles: Roles) -> Iterator[str]:
    """Doubts about a person whose knees bend backwards, or who is mirrored."""
    parts = [roles.both(part) for part in ("hip", "knee", "foot")]
    if roles.kind != "biped" or None in parts:
        return
    positions = joint_positions(thinned(clip, _FRAMES_DOUBTED))
    hip, knee, foot = (positions[:, list(part or ())] for part in parts)
    leg, shin = foot - hip, foot - knee
    along = np.vecdot(shin, leg) / np.maximum(np.vecdot(leg, leg), 1e-12)
    ahead = foot - along[..., None] * leg - knee
    # What is in front of a body that lies is above it.
    upright = -leg[..., 1] > 0.5 * np.linalg.norm(leg, axis=-1)
    bent = upright & (np.linalg.norm(ahead, axis=-1) > _BENT * np.linalg.norm(shin, axis=-1))
    front = np.cross(hip[:, :1] - hip[:, 1:], (0.0, 1.0, 0.0))
    toe = foot - positions[:, list(roles.both("toe") or parts[2] or ())]
    behind = (np.vecdot(ahead, toe)[bent] < 0, np.vecdot(ahead, -front)[bent] < 0)
    if bent.mean() > _BENT and behind[0].mean() > _BACKWARDS:
        yield "the knees bend backwards: are the angles of other axes, signs or orders?"
    elif bent.mean() > _BENT and behind[1].mean() > _BACKWARDS:
        yield "what is named left is on the right: negate one axis of the file"


def _doubts_of_fall(clip: Clip, roles: Roles) -> Iterator[str]:
    """Doubts about a person that falls faster than gravity; animals are often drawn so."""
    # Most need not be looked at: nothing that carries them falls so fast.
    if roles.kind != "biped" or _fastest_fall(clip.translations[..., 1], clip.fps) < GRAVITY:
        return
    step = max(int(clip.fps // _FALL_FPS), 1)
    middle = _middle(joint_positions(thinned(clip, len(clip) // step)), roles)
    fall = _fastest_fall(middle[:, 1:2], clip.fps / step)
    if fall > _FASTEST_FALL:
        slower = clip.fps / max(round(np.sqrt(fall / GRAVITY)), 2)
        way = f"give the rate with --file-fps, as {slower:g}, or the unit with --unit"
        yield f"the body falls at {fall:.3g} m/s2, gravity is {GRAVITY:.3g}: {way}"


def _middle(places: Array, roles: Roles) -> Array:
    """(frames, 3) middle of a body's mass, as guessed."""
    mass = {
        joint: share
        for role, share in _MASSES.items()
        for joint in (roles.both(role) or () if role in PAIRED_PARTS else (getattr(roles, role),))
        if joint is not None
    }
    return np.asarray(np.average(places[:, list(mass)], axis=1, weights=list(mass.values())))


def _doubts_of_flight(
    places: Array, feet: Array, roles: Roles, leg: float, fps: float, step: int
) -> Iterator[str]:
    """Doubts about a person that flies on a parabola which gravity would bend more.

    `feet` (frames - 1, 2) m/s.
    """
    middle, low = _middle(places, roles), places[..., 1].min(axis=1)
    for start, stop in true_runs(low > np.quantile(low, 0.1) + _FLIES * leg):
        if start == 0 or stop == len(low) or stop - start < max(_FLIGHT_S * fps, 4):
            continue
        seconds = (np.arange(start, stop) - 0.5 * (start + stop - 1)) / fps
        (bend, *_), off, *_ = np.polyfit(seconds, middle[start:stop], 2, full=True)
        away, fall = np.sqrt(off.sum() / len(seconds)), -2.0 * float(bend[1])
        straight = 2.0 * np.abs(bend[[0, 2]]).max() < _STRAIGHT
        flies = np.median(feet[start : stop - 1].min(axis=1)) > _FEET_FLY
        if flies and straight and away < _OFF_PARABOLA * leg and _SLOW[0] < fall < _SLOW[1]:
            way = ANOTHER_RATE(2 * fps * step)
            yield f"the body flies, and falls at {fall:.2g} m/s2, gravity is {GRAVITY:.3g}: {way}"
            return


def _doubts_of_steps(clip: Clip, roles: Roles) -> Iterator[str]:
    """Doubts about a person who goes on feet that slide, or that swing faster than legs can."""
    hips, feet = roles.both("hip"), roles.both("foot")
    if roles.kind != "biped" or not hips or not feet or len(clip) < 2.0 * clip.fps:
        return
    leg = path_length(clip.skeleton, hips[0], feet[0])
    step = max(round(clip.fps / _SWING_FPS), 1)
    begin = clip.sliced(0, min(int(_SWINGS_SEEN_S * clip.fps), len(clip)))
    places = joint_positions(thinned(begin, len(begin) // step))
    fps = clip.fps / step
    yield from _doubts_of_path(places[::2], roles, leg, fps / 2.0, 2 * step)
    moved = np.linalg.norm(np.diff(places[:, list(feet)], axis=0), axis=-1)
    yield from _doubts_of_flight(places, fps * moved, roles, leg, fps, step)
    swings = np.zeros(len(moved))
    for foot in moved.T:
        for start, stop in true_runs(foot * fps > _SWING_SPEED * np.sqrt(GRAVITY * leg)):
            swings[start] += foot[start:stop].sum() > _SWING_WAY * leg
    for seconds, most in _MOST_SWINGS:
        fastest = np.convolve(swings, np.ones(round(seconds * fps))).max() / seconds
        if fastest > most * np.sqrt(GRAVITY / leg):
            yield f"the feet step {fastest:.3g} times a second: {ANOTHER_RATE(clip.fps / 2.0)}"
            return


def _doubts_of_path(
    places: Array, roles: Roles, leg: float, fps: float, step: int
) -> Iterator[str]:
    """Doubts about a path that is not that of the feet that stand; `step` frames of a file each."""
    ends = [list(pair) for part in ("foot", "toe") if (pair := roles.both(part))]
    feet = places[:, ends].mean(axis=1)
    low = feet[..., 1].argmin(axis=1)[:-1, None]
    height = feet[..., 1].min(axis=1)
    stands = height[:-1] < np.quantile(height, 0.1) + _STANDS * leg
    hips = places[:, roles.hips, ::2]
    slide = np.take_along_axis(np.diff(feet[..., ::2], axis=0), low[..., None], axis=1)[:, 0]
    moved = np.diff(hips, axis=0)

    def speed(steps: Array) -> float:
        return fps * float(np.median(np.linalg.norm(steps[stands], axis=-1)))

    ground, walked = speed(moved), speed(moved - slide)
    if max(ground, walked) < _GOES:
        return
    if ground > _TRAVELS and (slides := speed(slide)) > _SLIDES * max(ground, walked):
        fact = f"both feet slide at {slides:.2g} m/s"
        yield f"{fact}: is the root's path of other axes, signs, unit or frames than the pose?"
    if speed(step * hips[1:] - (moved - slide)) < _ARE_STEPS * walked:
        yield "the root's places are as long as its steps: add them up where they are steps"


def _doubts_of_exchange(clip: Clip) -> Iterator[str]:
    """Doubts about joints or points that exchange their places from one frame to the next."""
    if len(clip) < 4:
        return
    if clip.has_rotations:
        turns = np.abs(np.einsum("fjc,fjc->fj", clip.rotations[1:], clip.rotations[:-1]))
        leaps = turns.min(axis=1) < np.cos(_LEAST_TURN / 2.0)
    else:
        leaps = (np.abs(np.diff(clip.translations, axis=0)) > _LEAST_LEAP_M / 2.0).any(axis=(1, 2))
    # Many a first pose stands apart, turned around.
    leaps[[0, -1]] = False
    if not leaps.any():
        return
    # Frames before, from, to and behind each leap.
    frames = np.flatnonzero(leaps)[:, None] + np.arange(-1, 3)
    some = np.clip(frames, 0, len(clip) - 1).ravel()
    part = replace(clip, rotations=clip.rotations[some], translations=clip.translations[some])
    places = joint_positions(part).reshape(*frames.shape, -1, 3)
    before, steps, behind = np.linalg.norm(np.diff(places, axis=1), axis=-1).swapaxes(0, 1)
    leaping = steps > np.maximum(_LEAPS * np.maximum(before, behind), _LEAST_LEAP_M)
    for row in np.flatnonzero(leaping.sum(axis=1) > 1).tolist():
        joints = np.flatnonzero(leaping[row])
        gaps = np.linalg.norm(places[row, 2, joints, None] - places[row, 1, joints], axis=-1)
        other, near = gaps.argmin(axis=1), gaps.min(axis=1) < _EXCHANGED * steps[row, joints]
        ones = np.flatnonzero(near & near[other] & (other[other] == np.arange(len(joints))))
        if len(ones) > 1:
            pair = (joints[ones[0]], joints[other[ones[0]]])
            names = " and ".join(clip.skeleton.names[joint] for joint in pair)
            yield f"{names} exchange their places at frame {frames[row, 2]}"
            return


def _fastest_fall(heights: Array, fps: float) -> float:
    """m/s2 at which one of (frames, points) heights falls for some time at least."""
    half = max(int(0.5 * _MEASURED_S * fps), 2)
    if len(heights) < 6 * half:
        return 0.0
    # The second derivative of the parabola through the frames around each, by least squares.
    square = np.arange(-half, half + 1.0) ** 2
    square -= square.mean()
    kernel = -2.0 * fps * fps * square / (square @ square)
    longest = max(round(_FALL_S * fps), 1)
    falls = (np.convolve(column, kernel, mode="valid") for column in heights.T)
    return max(float(np.partition(fall, -longest)[-longest]) for fall in falls)


def _doubts_of_repeats(clip: Clip) -> Iterator[str]:
    """Doubts about poses of a slower capture that were written again and again."""
    arrays = (clip.rotations, clip.translations)
    moved = [np.abs(np.diff(values, axis=0)).max(axis=(1, 2)) > _SAME_POSE for values in arrays]
    gaps = np.diff(np.flatnonzero(moved[0] | moved[1]))
    each = round(float(np.median(gaps))) if len(gaps) >= _FEWEST_FRAMES else 1
    if each > 1 and (gaps == each).mean() > _REPEATED:
        way = f"convert --fps {clip.fps / each:g} gives one of each"
        yield f"every pose stands in {each} frames: {way}"


def _doubts_of_limbs(clip: Clip) -> Iterator[str]:
    """Doubts about joints that do not turn from their pose at rest, or while the body travels."""
    few = len(clip) < _FEWEST_FRAMES or len(clip.skeleton) < _FEWEST_JOINTS
    if few or not clip.has_rotations:
        return
    turns = thinned(clip, _FRAMES_DOUBTED).rotations[:, 1:]
    still = np.cos(np.deg2rad(_STIFF_DEGREES) / 2.0)
    travels = np.ptp(clip.translations, axis=0)[:, [0, 2]].max() > _LEAST_TRAVEL_M
    alike = np.abs(np.einsum("fjc,jc->fj", turns, turns[0])).min()
    if np.abs(turns[..., 3]).min() > still or (travels and alike > still):
        # Of all files, only BVH has angles whose unit it does not say.
        way = "its angles may be radians: --radians, or " if clip.source.rotation_orders else ""
        yield f"no joint turns by more than {_STIFF_DEGREES:g} degrees: {way}no limb moves"
