"""Measured values, and runs with what several measures of them share, such as response times.

The smoothing of velocities looks ahead: a body that changes its velocity at once has 90 % of it
after 0.15 s, and a turn round after 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d

from deepphase.arrays import Array, brief_repr
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import MIN_FRAMES, MeasuredMotion, smoothed_velocities
from deepphase.steering.run import Run
from deepphase.steering.springs import wrapped_angle

_IN_CONTACT = 0.5
# The questions that matter most; each is answered by the first of its measures that is known.
_QUESTIONS = (
    ("path_error", "unanswered", "by_motion", "explained variance"),
    ("contact_speed", "found_contact_speed", "sliding", "phase goes forward"),
    (
        "rotation_ratio_below_12_hz",
        "rotation_ratio",
        "joint_rotation",
        "speed",
        "phase-speed error",
    ),
)
BLEND_S = 0.1
"""Time after a jump in seconds in which its blend is visible."""
CHANGES = ("start", "stop", "turn_90", "turn_180")
"""Kinds of changes; turns are those by 60 to 120 and by 150 to 180 degrees."""
MAX_RESPONSE_S = 4.0
"""A response that takes longer counts as none."""
REACHED = 0.9
TURN_ANGLES = {"turn_90": (60.0, 120.0), "turn_180": (150.0, 180.0)}
MIN_HEADING = np.radians(30.0)
# A goal changes abruptly if its velocity changes faster than twice the speed in a second, which no
# curve of a made path does, and is at its new value within this time.
_ABRUPT = 2.0
_MAX_CHANGE_S = 0.5
_MERGED_S = 0.1
# Goals that change again sooner leave no time to respond.
_MIN_WINDOW_S = 1.5
# Factors of the data's value up to which a value is good, and is like the data's.
_GOOD, _LIKE = 1.25, 1.5


@brief_repr
@dataclass(frozen=True)
class Measure:
    """One measured value.

    Parameters
    ----------
    name
        Name, with underscores.
    value
        Infinite for the time of what never happens.
    unit
        Unit; empty for shares, ratios and counts.
    data
        The value of the captured motion, if it has one.
    better
        Which values are better: "less", "more" or "like the data"; empty where neither is.
    sentence
        What it is.
    n
        Number of frames that were measured; 0 where all of a motion are.
    interval_95
        95 % interval of the value, if it is known.
    words
        What pages call it, where the name is not a word.
    fixed_limit
        The limit of good values, for measures of which the data have no value.
    """

    name: str
    value: float
    unit: str = ""
    data: float | None = None
    better: str = ""
    sentence: str = ""
    n: int = 0
    interval_95: tuple[float, float] | None = None
    words: str = ""
    fixed_limit: float | None = None

    @property
    def title(self) -> str:
        """The name in words: of measures without words of their own, the sentence."""
        return self.words or (self.sentence if "_" in self.name else self.name)

    @property
    def limit(self) -> float | None:
        """What the value is judged by: the data's, or a fixed limit; None without one."""
        limit = self.fixed_limit if self.data is None else self.data
        return limit if self.better else None

    @property
    def verdict(self) -> str:
        """Good, or what is not; empty where nothing is better or there is nothing to compare."""
        if self.limit is None:
            return ""
        room = 1.0 if self.data is None else _LIKE if self.better.startswith("like") else _GOOD
        above, below = self.value > room * self.limit, self.value < self.limit / room
        if self.better.startswith("like"):
            return "more than the data" if above else "less than the data" if below else "good"
        if not (above if self.better == "less" else below):
            return "good"
        return "not good" if self.data is None else "worse than the data"


def headlines(columns: Mapping[str, Sequence[Measure]]) -> list[str]:
    """Names of the three measures that matter most, of label -> measures of each motion."""
    known = {measure.name for measures in columns.values() for measure in measures}
    found = (next((name for name in names if name in known), "") for names in _QUESTIONS)
    return [name for name in found if name]


def measures_of(
    definitions: Mapping[str, tuple[str, ...]],
    values: Mapping[str, float | None],
    data: Mapping[str, float] | None = None,
) -> list[Measure]:
    """The measures that have a value, from name -> (unit, better, sentence), or words behind."""
    found = []
    for name, (unit, better, sentence, *words) in definitions.items():
        value, own = values.get(name), (data or {}).get(name)
        if value is not None:
            found.append(Measure(name, value, unit, own, better, sentence, words="".join(words)))
    return found


def values_by_name(measures: Iterable[Measure]) -> dict[str, float]:
    """Name -> value."""
    return {measure.name: measure.value for measure in measures}


def checked_data(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The measures of captured motion; ParameterError if they are missing."""
    if "largest_contact_speed" not in data:
        raise ParameterError(
            "the controller has no measures of its training clips",
            hint="train it with `deepphase train controller`, or set Controller.data to the result "
            "of captured_data.measured_data",
        )
    return data


def travelling_speed(data: Mapping[str, Any]) -> float:
    """m/s: travelling speed of the data; ParameterError if no motion of it travels."""
    speed = float(checked_data(data)["travelling_speed"])
    if not speed > 0:
        raise ParameterError(
            "no motion of the data travels, so the run has no speed", hint="give a speed"
        )
    return speed


def sliding_of_data(pairs: Array, data: Mapping[str, Any]) -> float:
    """m/s of captured feet in contact at the speeds of the root of `contact_pairs`."""
    reference = data.get("by_speed", {})
    means = np.array(reference.get("contact_speed", ()), np.float64)
    known = np.flatnonzero(np.isfinite(means))
    if not (known.size and pairs.size):
        return float(data.get("mean_contact_speed", np.inf))
    speeds = reference["width"] * (known + 0.5)
    return float(np.interp(pairs[1], speeds, means[known]).mean())


def near_marked(marked: Array, frames: int) -> Array:
    """(count,) bool: marked frames, the frame before each, and some frames after it."""
    near = np.array(marked, bool)
    for shift in range(1, min(frames, len(marked) - 1) + 1):
        near[shift:] |= marked[:-shift]
    near[:-1] |= marked[1:]
    return near


def kind_of_change(old: Array, new: Array, standing: float) -> str | None:
    """The kind of a change between two velocities (2,), m/s; None if it is none of `CHANGES`."""
    before, after = float(np.linalg.norm(old)), float(np.linalg.norm(new))
    if min(before, after) <= standing:
        if max(before, after) <= standing:
            return None
        return "start" if after > standing else "stop"
    angle = np.degrees(np.arccos(np.clip(old @ new / (before * after), -1.0, 1.0)))
    for name, (low, high) in TURN_ANGLES.items():
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
            there = reached(change.kind, change.old, change.new, smoothed)
            self.velocity.setdefault(change.kind, []).append(_first(there, change, fps))
            if change.kind in TURN_ANGLES and abs(change.turn) >= MIN_HEADING:
                left = np.abs(wrapped_angle(angles - change.facing))
                turned = left <= (1.0 - REACHED) * abs(change.turn)
                self.heading.setdefault(change.kind, []).append(_first(turned, change, fps))


def reached(kind: str, old: Array, new: Array, smoothed: Array) -> Array:
    """(frames,) bool: whether the new velocity is reached."""
    if kind == "stop":
        slow = (1.0 - REACHED) * np.linalg.norm(old)
        return np.asarray(np.linalg.norm(smoothed, axis=1) <= slow)
    return np.asarray(smoothed @ new >= REACHED * (new @ new))


def _first(reached: Array, change: GoalChange, fps: float) -> float:
    places = np.flatnonzero(reached[change.begin : change.end])
    return float(places[0] / fps) if places.size else float("inf")


class ObservedRun:
    """A run and the measures of the captured motion, with what several measures share."""

    def __init__(self, run: Run, data: Mapping[str, Any]) -> None:
        self.run, self.data = run, data
        self.lived = [run.lived(character) for character in range(run.characters)]
        self.characters = [i for i, frames in enumerate(self.lived) if frames >= MIN_FRAMES]
        self.clips = [run.clip(i).sliced(0, self.lived[i]) for i in self.characters]
        self.motions = [MeasuredMotion(clip, run.spec) for clip in self.clips]
        self.living = run.alive.astype(bool)

    def flags(self, character: int) -> Array:
        """(frames, feet) bool: feet in contact as the runner has them, while a character lived."""
        return self.run.contacts[character, : self.lived[character]] > _IN_CONTACT

    def every(self, values: Callable[[MeasuredMotion], Array]) -> Array:
        """Values at the frames of all characters."""
        return np.concatenate([values(motion) for motion in self.motions])

    def mean(self, values: Callable[[MeasuredMotion], Array]) -> float:
        """Mean over the frames of all characters."""
        return float(self.every(values).mean())

    @cached_property
    def contact_pairs(self) -> dict[str, Array]:
        """(2, n) as of a motion: as the runner has contacts, without foot IK, and as detected."""
        flags = [self.flags(i) for i in self.characters]
        found = {
            "": [m.contact_pairs(own) for m, own in zip(self.motions, flags, strict=True)],
            "found_": [motion.contact_pairs() for motion in self.motions],
        }
        free = self.run.without_foot_lock()
        if free is not None:
            clips = [free.clip(i).sliced(0, self.lived[i]) for i in self.characters]
            found["unlocked_"] = [
                MeasuredMotion(clip, free.spec).contact_pairs(own)
                for clip, own in zip(clips, flags, strict=True)
            ]
        return {name: np.concatenate(pairs, axis=1) for name, pairs in found.items()}

    @cached_property
    def path_distances(self) -> Array | None:
        """(characters, frames) metres from the nearest place on the path; None without one."""
        path, origins = self.run.path, self.run.origins
        if path is None or origins is None:
            return None
        return np.asarray(path.distances(self.run.positions - origins[:, None]))

    @cached_property
    def clock_distances(self) -> Array | None:
        """(characters, frames) metres from the path's place at its clock; None without one."""
        run = self.run
        if run.path is None or run.desired_positions is None:
            return None
        return np.asarray(np.linalg.norm(run.positions - run.desired_positions, axis=-1))

    @cached_property
    def mean_clock_distances(self) -> Array | None:
        """(measured characters,) the same, as a mean over the frames of each."""
        away = self.clock_distances
        if away is None:
            return None
        return np.array([away[i, : self.lived[i]].mean() for i in self.characters])

    @cached_property
    def by_speed(self) -> dict[str, Array]:
        """Name -> values at every frame that are compared with the data's at the same speed."""
        found = [motion.by_speed for motion in self.motions]
        return {name: np.concatenate([values[name] for values in found]) for name in found[0]}

    @cached_property
    def responses(self) -> Responses:
        """Response times to the changes of the goals; empty without goals or changes."""
        run, times = self.run, Responses()
        desired, facings = run.commanded_velocities, run.commanded_angles
        if desired is None or facings is None:
            return times
        for i, motion in zip(self.characters, self.motions, strict=True):
            own = slice(0, len(motion))
            changes = goal_changes(desired[i, own], facings[i, own], run.fps, motion.standing_speed)
            times.add(changes, run.positions[i, own], run.angles[i, own], run.fps)
        return times

    def desired_speeds(self, character: int) -> Array | None:
        """(frames,) m/s of a character's goal while it lived; None without goals."""
        if self.run.commanded_velocities is None:
            return None
        own = self.run.commanded_velocities[character, : self.lived[character]]
        return np.asarray(np.linalg.norm(own, axis=-1))

    @cached_property
    def jumps(self) -> list[Array] | None:
        """Frames of each character that follow a jump; None without transitions."""
        jumped = self.run.jumped
        return None if jumped is None else [jumped[i, : self.lived[i]] for i in self.characters]

    @cached_property
    def blended(self) -> Array:
        """Frames within the blend of a jump."""
        frames = round(BLEND_S * self.run.fps)
        return np.concatenate([near_marked(flags, frames) for flags in self.jumps or ()])


_Value = Callable[[ObservedRun], float | None]


@dataclass(frozen=True)
class RunMeasure:
    """A measure of runs: its function, what `Measure` has of it, and the data's value.

    `of_data` is a function, a number, or a key of the data's measures; None where they have none.
    """

    value: _Value
    measure: Measure
    of_data: _Value | float | str | None

    def data_value(self, observed: ObservedRun) -> float | None:
        """The data's value; None where it has none."""
        if callable(self.of_data):
            return self.of_data(observed)
        return observed.data.get(self.of_data) if isinstance(self.of_data, str) else self.of_data


RUN_MEASURES: dict[str, RunMeasure] = {}
"""Name -> measure, in the order of tables."""


def run_measure(
    unit: str,
    better: str,
    sentence: str,
    data: _Value | float | str | None = None,
    *,
    name: str = "",
    words: str = "",
    limit: float | None = None,
) -> Callable[[_Value], _Value]:
    """Register a function as the measure of its name; see `RunMeasure`, and `Measure` for words."""

    def register(value: _Value) -> _Value:
        key = name or value.__name__
        own = Measure(key, np.nan, unit, None, better, sentence, words=words, fixed_limit=limit)
        RUN_MEASURES[key] = RunMeasure(value, own, data)
        return value

    return register
