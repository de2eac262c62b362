"""Quality of generated motion: smoothness, skating, means by speed, and response times.

For response times, velocities of the root are smoothed by a Gaussian with a standard deviation of
0.12 s, which removes the sway of steps. The smoothing looks ahead: a body that changes its velocity
at once has 90 % of it after 0.15 s, and a turn round after 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d, uniform_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import derivative_sizes, velocities
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.resample import BANDS_HZ, low_passed
from deepphase.steering.springs import wrapped_angle

BLEND_S = 0.1
"""Time after a jump in seconds in which its blend is visible."""
# Speeds below this share of sqrt(g * leg length), which scales with the body, count as standing.
_STANDING = 0.12
# Bins with fewer frames say little; data at 60 Hz has this many in a second.
_MIN_FRAMES = 60
# Share of the frames whose speeds must occur in the data.
_MIN_COVERED = 0.5


def standing_speed(leg_length: float) -> float:
    """m/s below which a body with legs of this length in metres stands: a Froude number."""
    return _STANDING * float(np.sqrt(GRAVITY * leg_length))


def joint_accelerations(positions: Array, fps: float) -> Array:
    """(frames,) m/s^2: the largest acceleration of (frames, joints, 3) joints in each frame."""
    return derivative_sizes(positions, fps, order=2).max(axis=1)


def joint_jerks(positions: Array, fps: float) -> Array:
    """(frames,) m/s^3: mean over joints of the third derivative's size in each frame."""
    return derivative_sizes(positions, fps, order=3).mean(axis=1)


def below(name: str, edge_hz: float) -> str:
    """Name of a measure of what a low-pass at a frequency leaves of a motion."""
    return f"{name}_below_{edge_hz:g}_hz"


def jerks_in_bands(positions: Array, fps: float) -> dict[str, Array]:
    """``jerk`` by `joint_jerks`, and below each of `BANDS_HZ`, where captures have less noise."""
    positions = positions.astype(np.float64)
    return {"jerk": joint_jerks(positions, fps)} | {
        below("jerk", edge): joint_jerks(low_passed(positions, edge, fps), fps) for edge in BANDS_HZ
    }


def joint_rotation_rates(rotations: Array, fps: float) -> Array:
    """(frames - 1, joints) degrees per second: rotation rate of each joint.

    `rotations` (frames, joints, 4) quaternions. With local rotations a swinging arm counts once, at
    the shoulder; in the world or in root space it would count for every descendant. Starke et al.
    2022, table 2, which does not state space and unit.
    """
    if len(rotations) < 2:
        raise ParameterError(f"rotation rates need at least 2 frames, not {len(rotations)}")
    exact = quaternions.normalized(rotations.astype(np.float64))
    turns = quaternions.vectors_between(exact[:-1], exact[1:])
    return np.degrees(np.linalg.norm(turns, axis=-1)) * fps


def near_marked(marked: Array, frames: int) -> Array:
    """(count,) bool: marked frames, the frame before each, and some frames after it."""
    near = np.array(marked, bool)
    for shift in range(1, min(frames, len(marked) - 1) + 1):
        near[shift:] |= marked[:-shift]
    near[:-1] |= marked[1:]
    return near


def foot_speeds(feet: Sequence[Array], fps: float) -> Array:
    """(frames - 1, feet) m/s over the ground of each foot's slowest point.

    A foot that rolls from heel to toe has a point at rest at any time, and does not slide. `feet`:
    for each foot (frames, points, 3) metres.
    """
    steps = [np.diff(points[..., ::2].astype(np.float64), axis=0) * fps for points in feet]
    return np.stack([np.linalg.norm(step, axis=-1).min(axis=1) for step in steps], axis=1)


def foot_skating(speeds: Array, largest: float) -> float:
    """Mean of v / v_max of feet in contact (Starke et al. 2022, table 3)."""
    if not largest > 0:
        raise ParameterError(f"the largest contact speed must be above 0, not {largest} m/s")
    return float(np.mean(speeds) / largest) if len(speeds) else 0.0


def means_by_speed(
    speeds: Array, measures: Mapping[str, Array], width: float, of: Callable[..., Any] = np.mean
) -> dict[str, Any]:
    """Means in bins of speed from 0, 1, 2... times `width` m/s on, as plain values.

    `speeds` (frames,) m/s of the root. `measures`: name -> (frames,) values. Returns ``width``, and
    for each name a list with the mean, or `of`, of each bin; None in bins of fewer than 60 frames.
    """
    bins = (speeds / width).astype(np.int64)
    stops = np.cumsum(np.bincount(bins))
    groups = np.split(np.argsort(bins, kind="stable"), stops[:-1])
    found: dict[str, Any] = {"width": width}
    for name, values in measures.items():
        inside = [np.asarray(values, np.float64)[group] for group in groups]
        found[name] = [
            round(float(of(own)), 4) if len(own) >= _MIN_FRAMES else None for own in inside
        ]
    return found


def ratio_at_speed(
    speeds: Array, values: Array, name: str, reference: Mapping[str, Any]
) -> float | None:
    """Mean of a measure over the data's at the same speeds; None if the data lack most of them."""
    means = np.array([np.nan if value is None else value for value in reference[name]], np.float64)
    bins = (speeds / reference["width"]).astype(np.int64)
    expected = np.where(bins < len(means), means[np.minimum(bins, len(means) - 1)], np.nan)
    covered = np.isfinite(expected)
    if covered.mean() < _MIN_COVERED or not expected[covered].sum() > 0:
        return None
    return float(values[covered].sum() / expected[covered].sum())


def seconds_of(values: Array, fps: float) -> Array:
    """(seconds,) means of values (frames,) over whole seconds, without the remainder."""
    length = max(1, round(fps))
    whole = len(values) // length
    return np.asarray(values, np.float64)[: whole * length].reshape(whole, length).mean(axis=1)


CHANGES = ("start", "stop", "turn_90", "turn_180")
"""Kinds of changes; turns are those by 60 to 120 and by 150 to 180 degrees."""
SMOOTHING_S = 0.12
MAX_RESPONSE_S = 4.0
"""A response that takes longer counts as none."""

_REACHED = 0.9
_BEGUN = 0.1
_TURNS = {"turn_90": (60.0, 120.0), "turn_180": (150.0, 180.0)}
# A goal changes abruptly if its velocity changes faster than twice the speed in a second, which no
# curve of a made path does, and is at its new value within this time.
_ABRUPT = 2.0
_MAX_CHANGE_S = 0.5
_MERGED_S = 0.1
# Goals that change again sooner leave no time to respond.
_MIN_WINDOW_S = 1.5
# The data's own changes: half the time between the means before and after, the time of those
# means, and the largest change within them, as a share of the speed.
_HALF_S, _MEAN_S, _STEADY = 1.0, 0.5, 0.3
_MIN_HEADING = np.radians(30.0)


def smoothed_velocities(positions: Array, fps: float) -> Array:
    """(frames, 2) m/s of root positions (frames, 2) m, smoothed over 0.12 s."""
    rough = velocities(np.asarray(positions, np.float64), fps)
    return np.asarray(gaussian_filter1d(rough, SMOOTHING_S * fps, axis=0, mode="nearest"))


def kind_of_change(old: Array, new: Array, standing: float) -> str | None:
    """The kind of a change between two velocities (2,), m/s; None if it is none of `CHANGES`."""
    before, after = float(np.linalg.norm(old)), float(np.linalg.norm(new))
    if min(before, after) <= standing:
        if max(before, after) <= standing:
            return None
        return "start" if after > standing else "stop"
    angle = np.degrees(np.arccos(np.clip(old @ new / (before * after), -1.0, 1.0)))
    for name, (low, high) in _TURNS.items():
        if low <= angle <= high + 1e-6:
            return name
    return None


@dataclass(frozen=True, eq=False)
class GoalChange:
    """An abrupt change of a desired velocity (2,), m/s, from `old` to `new`."""

    kind: str
    begin: int
    end: int
    old: Array
    new: Array
    turn: float
    facing: float


def goal_changes(desired: Array, facings: Array, fps: float, standing: float) -> list[GoalChange]:
    """Abrupt changes of one character's goal that leave time for a response.

    `desired` (frames, 2) m/s, without the smoothing of a runner; `facings` (frames,) radians;
    goals slower than `standing`, m/s, stand.
    """
    speeds = np.linalg.norm(desired, axis=1)
    near = maximum_filter1d(speeds, 2 * round(_MAX_CHANGE_S * fps) + 1, mode="nearest")
    rates = np.linalg.norm(np.diff(desired, axis=0), axis=1) * fps
    abrupt = np.flatnonzero(rates > _ABRUPT * np.maximum(near[1:], standing))
    if not abrupt.size:
        return []
    groups = np.split(abrupt, np.flatnonzero(np.diff(abrupt) > _MERGED_S * fps) + 1)
    begins = [int(group[0]) + 1 for group in groups] + [len(desired)]
    found = []
    for group, begin, following in zip(groups, begins, begins[1:], strict=False):
        old, after = desired[begin - 1], int(group[-1]) + 1
        end = min(following, begin + round(MAX_RESPONSE_S * fps))
        kind = kind_of_change(old, desired[after], standing)
        if kind is None or after - begin > _MAX_CHANGE_S * fps:
            continue
        if end - begin < _MIN_WINDOW_S * fps:
            continue
        turn = float(wrapped_angle(facings[after] - facings[begin - 1]))
        found.append(GoalChange(kind, begin, end, old, desired[after], turn, float(facings[after])))
    return found


@dataclass(frozen=True, eq=False)
class Responses:
    """Response times of characters to changes of their goals.

    `velocity`: kind of change -> seconds from each change to 90 % of the new velocity along its
    direction, after a stop to 10 % of the old speed. `heading`: kind of turn -> seconds from each
    turn of the desired facing by 30 degrees or more until 90 % of it are made. Infinite for never.
    """

    velocity: dict[str, list[float]] = field(default_factory=dict)
    heading: dict[str, list[float]] = field(default_factory=dict)

    def add(
        self, changes: Iterable[GoalChange], positions: Array, angles: Array, fps: float
    ) -> None:
        """Add the responses of a character with root positions (frames, 2) and angles (frames,)."""
        smoothed = smoothed_velocities(positions, fps)
        for change in changes:
            reached = _reached(change.kind, change.old, change.new, smoothed)
            self.velocity.setdefault(change.kind, []).append(_first(reached, change, fps))
            if change.kind in _TURNS and abs(change.turn) >= _MIN_HEADING:
                left = np.abs(wrapped_angle(angles - change.facing))
                turned = left <= (1.0 - _REACHED) * abs(change.turn)
                self.heading.setdefault(change.kind, []).append(_first(turned, change, fps))


def own_changes(
    positions: Array, angles: Array, fps: float, standing: float
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Durations in seconds of the changes of velocity and of heading in captured motion.

    Captured motion has no goal to measure from, so these are rise times: from 10 % to 90 % of the
    change between two half seconds of steady motion that lie 2 s apart.
    """
    rises: dict[str, list[float]] = {}
    turns: dict[str, list[float]] = {}
    smoothed = smoothed_velocities(positions, fps)
    facing = np.unwrap(np.asarray(angles, np.float64))
    for kind, frames, old, new in _steady_changes(smoothed, fps, standing):
        moving, difference = smoothed[frames], new - old
        share = (moving - old) @ difference / (difference @ difference)
        rise = _rise_s(share, _reached(kind, old, new, moving), fps)
        if rise is not None:
            rises.setdefault(kind, []).append(rise)
        turned = facing[frames] - facing[frames][0]
        if kind in _TURNS and abs(turned[-1]) >= _MIN_HEADING:
            share = turned / turned[-1]
            rise = _rise_s(share, share >= _REACHED, fps)
            if rise is not None:
                turns.setdefault(kind, []).append(rise)
    return rises, turns


def _steady_changes(
    smoothed: Array, fps: float, standing: float
) -> Iterator[tuple[str, slice, Array, Array]]:
    """Changes of velocities (frames, 2) that do not overlap, the largest first."""
    half, span = round(_HALF_S * fps), round(_MEAN_S * fps)
    count = len(smoothed)
    if count < 2 * (half + span) + 1:
        return
    means = uniform_filter1d(smoothed, span, axis=0, mode="nearest")
    centres = np.arange(half + span, count - half - span)
    early, late = centres - half - span // 2, centres + half + span // 2
    old, new = means[early], means[late]
    fastest = np.maximum(np.linalg.norm(old, axis=1), np.linalg.norm(new, axis=1))
    unsteadiness = np.maximum(
        *(
            np.linalg.norm(smoothed[at - span // 2] - smoothed[at + span // 2], axis=1)
            for at in (early, late)
        )
    )
    steady = unsteadiness <= _STEADY * np.maximum(fastest, standing)
    size = np.where(steady, np.linalg.norm(new - old, axis=1), 0.0)
    covered = np.zeros(len(centres), bool)
    for index in np.argsort(-size, kind="stable"):
        if size[index] <= standing:
            break
        kind = None if covered[index] else kind_of_change(old[index], new[index], standing)
        if kind is not None:
            covered[max(0, index - 2 * half) : index + 2 * half + 1] = True
            yield kind, slice(early[index], late[index] + 1), old[index], new[index]


def summary(durations: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Kind -> its median in seconds and its number ``n``, for kinds that have durations."""
    return {
        kind: {"median": float(np.median(times)), "n": len(times)}
        for kind in CHANGES
        if (times := durations.get(kind))
    }


def _reached(kind: str, old: Array, new: Array, smoothed: Array) -> Array:
    """(frames,) bool: whether the new velocity is reached."""
    if kind == "stop":
        slow = (1.0 - _REACHED) * np.linalg.norm(old)
        return np.asarray(np.linalg.norm(smoothed, axis=1) <= slow)
    return np.asarray(smoothed @ new >= _REACHED * (new @ new))


def _first(reached: Array, change: GoalChange, fps: float) -> float:
    places = np.flatnonzero(reached[change.begin : change.end])
    return float(places[0] / fps) if places.size else float("inf")


def _rise_s(share: Array, reached: Array, fps: float) -> float | None:
    """Seconds from the last frame with 10 % of the change to the first that has reached it."""
    ends = np.flatnonzero(reached)
    ends = ends[ends > 0]
    if not ends.size:
        return None
    begins = np.flatnonzero(share[: ends[0]] <= _BEGUN)
    return float((ends[0] - begins[-1]) / fps) if begins.size else None
