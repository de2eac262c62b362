"""A course for controllers: one path with curves, corners, changes of speed and stops.

Weights are chosen, and the health of a controller is measured, by runs along it. It is none of the
made paths, so that these can show how a chosen controller does elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.errors import ParameterError
from deepphase.evaluation.findings import run_findings
from deepphase.evaluation.measurement import ObservedRun, travelling_speed, values_by_name
from deepphase.evaluation.run_measures import RUNAWAY_M, observed_measures
from deepphase.steering.goal_sources import RootStates
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Run, rollout, start_on_path
from deepphase.steering.velocity_goals import VelocityGoals

_POINTS_PER_S = 30
# Seconds, share of the speed, degrees turned at once, degrees turned on the way.
_PARTS = (
    (2.0, 1.0, 0.0, 0.0),
    (3.0, 1.0, 0.0, 150.0),
    (3.0, 1.0, 0.0, -220.0),
    (1.5, 1.0, 70.0, 0.0),
    (1.5, 1.0, -110.0, 0.0),
    (2.0, 0.7, 0.0, 0.0),
    (2.0, 1.3, 0.0, 60.0),
    (2.0, 0.0, 0.0, 0.0),
    (2.0, 1.0, 180.0, 0.0),
    (3.0, 1.0, 0.0, 200.0),
    (2.0, 0.0, 0.0, 0.0),
)
COURSE_S = sum(part[0] for part in _PARTS)
"""Duration of the course in seconds."""
COURSE_CHARACTERS = 12
"""Number of characters, which start from different states."""
# A character counts with at most this distance from its target.
_MOST_M = 2.0
# A factor counts as at most this power of 2.
_MOST_OCTAVES = 4.0


def course(speed: float) -> GroundPath:
    """The course at a speed in m/s: curves, corners, other speeds, stops, a turn round."""
    if not np.isfinite(speed):
        raise ParameterError(
            f"a course with a speed of {speed} m/s is not possible", hint="give a finite speed"
        )
    velocities, heading = [], 0.0
    for seconds, share, at_once, on_the_way in _PARTS:
        frames = round(seconds * _POINTS_PER_S)
        heading += np.radians(at_once)
        angles = heading + np.radians(on_the_way) * (np.arange(frames) + 0.5) / frames
        velocities.append(share * speed * np.stack([np.sin(angles), np.cos(angles)], axis=1))
        heading += np.radians(on_the_way)
    steps = np.concatenate(velocities) / _POINTS_PER_S
    places = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return GroundPath(np.arange(len(places)) / _POINTS_PER_S, places, name="course")


@dataclass(frozen=True)
class CourseScore:
    """Terms of the score of a run along the course; all are 0 for motion like the data's."""

    # Distance from the path's place at the character's clock, in units of 0.5 m: mean over
    # characters, each at most 2 m.
    distance: float
    # Share of the characters that are more than 0.5 m away on average, or were lost.
    runaways: float
    # speed, rotation, jerk: Factor by which the mean speed differs from the desired one, and joint
    # rotation and jerk below 12 Hz from the data's at the same speeds, in octaves: 1 is twice as
    # much, or half. What is faster is noise for the most part.
    speed: float | None
    rotation: float | None
    jerk: float | None
    # The same for v / v_max of feet in contact; less than the data's counts as 0.
    sliding: float | None

    @property
    def total(self) -> float:
        """Their sum; the lower the better. Terms that were not measured are left out."""
        return float(sum(value for value in asdict(self).values() if value is not None))


@dataclass(frozen=True, eq=False)
class CourseRun:
    """Characters on the course, without foot locking, at the most natural blend."""

    run: Run
    # Name -> value of its measures; none if no character lived for some frames.
    measures: Mapping[str, float]
    score: CourseScore
    findings: list[str]


def course_run(
    controller: Controller, *, characters: int = COURSE_CHARACTERS, seconds: float | None = None
) -> CourseRun:
    """Run a controller along the course, or its beginning, at the data's travelling speed."""
    path = course(travelling_speed(controller.data))
    settings = CharacterSettings(*BLENDS["natural"], foot_ik=False, gating=False)
    source = CharacterSource(controller, settings=settings)
    character, goal_source = start_on_path(source, path, characters=characters)
    run = rollout(character, goal_source, seconds or goal_source.path.duration)
    observed, measures = ObservedRun(run, controller.data), dict[str, float]()
    if observed.characters:
        measures = values_by_name(observed_measures(observed))
    return CourseRun(
        run,
        measures,
        course_score(run, measures, controller.data),
        run_findings(observed),
    )


# Degrees of the directions from the facing to the left, m/s desired, and what was reached.
_DIRECTIONS = {0: "ahead", 45: "45 degrees", 90: "left", 180: "backward", 270: "right"}
_EACH, _SECONDS, _MEASURED_S = 3, 6.0, 3.0


def direction_speeds(controller: Controller) -> dict[str, tuple[float, float]]:
    """Direction -> (desired, reached) m/s of characters from rest, their facing held; desired is
    the usual speed of the clips, or the largest in a direction that they go in."""
    most = controller.data["direction_speeds"]
    usual = travelling_speed(controller.data)
    places = {angle: most[round(angle * len(most) / 360)] for angle in _DIRECTIONS}
    asked = {angle: min(usual, speed) for angle, speed in places.items() if speed > 0}
    angles = np.repeat(np.radians([*asked]), _EACH)
    ways, speeds = np.stack([np.sin(angles), np.cos(angles)], axis=1), [*asked.values()]
    rest = RootStates.at_rest(np.zeros((len(angles), 2)))
    goals = VelocityGoals(rest)
    characters = CharacterSource(controller).start(goals, rest)
    goals.set(np.repeat(speeds, _EACH)[:, None] * ways, np.zeros(len(angles)))
    run = rollout(characters, goals, _SECONDS)
    moved = run.positions[:, -1] - run.positions[:, -1 - round(_MEASURED_S * run.fps)]
    reached = np.vecdot(moved / _MEASURED_S, ways).reshape(-1, _EACH).mean(axis=1)
    names = [_DIRECTIONS[angle] for angle in asked]
    return dict(zip(names, zip(speeds, reached.round(3).tolist(), strict=True), strict=True))


def course_score(run: Run, measures: Mapping[str, float], data: Mapping[str, Any]) -> CourseScore:
    """The score of a run along the course; without measures, of its distance alone."""
    assert run.desired_positions is not None
    away = np.linalg.norm(run.positions - run.desired_positions, axis=-1).mean(axis=1)
    away = np.where(run.alive.all(axis=1), np.minimum(away, _MOST_M), _MOST_M)
    ratios = {
        "speed": _octaves(measures.get("speed"), measures.get("desired_speed")),
        "rotation": _octaves(measures.get("rotation_ratio_below_12_hz")),
        "jerk": _octaves(measures.get("jerk_ratio_below_12_hz")),
        "sliding": _octaves(measures.get("skating"), data.get("skating")),
    }
    return CourseScore(
        distance=float(away.mean() / RUNAWAY_M),
        runaways=float((away > RUNAWAY_M).mean()),
        **{name: _size(name, ratio) for name, ratio in ratios.items()},
    )


def _octaves(value: float | None, expected: float | None = 1.0) -> float | None:
    """Factor between two values as a power of 2, within 4 octaves; None where one is missing."""
    if value is None or not expected:
        return None
    return float(np.clip(np.log2(max(value, 1e-9) / expected), -_MOST_OCTAVES, _MOST_OCTAVES))


def _size(name: str, octaves: float | None) -> float | None:
    if octaves is None:
        return None
    # Feet may slide less than the data's.
    return max(octaves, 0.0) if name == "sliding" else abs(octaves)


# Share of the training after which weights are checked; before, the learning rate is too high.
_BEGIN = 0.5
# Number of checks at most. A check takes as long as the training on a tenth of these frame pairs.
_CHECKS, _PAIRS_PER_CHECK = 6, 100_000


class CourseChecks:
    """Runs a network along the course now and then, and remembers the best weights."""

    def __init__(self, config: ControllerConfig, data: ControllerData, pairs: int) -> None:
        self._config, self._data = config, data
        self._count = min(_CHECKS, pairs // _PAIRS_PER_CHECK)
        if data.schema.config.tracks or (self._count and not data.measures["travelling_speed"] > 0):
            self._count = 0
        self.checks: list[dict[str, Any]] = []
        self._best: dict[str, Tensor] = {}

    def is_due(self, share: float) -> bool:
        """Whether a check is due after a share of the training; the last one is at its end."""
        done = len(self.checks) + 1
        return done <= self._count and share >= _BEGIN + (1.0 - _BEGIN) * done / self._count - 1e-9

    def check(self, network: NormalisedController, step: int) -> float:
        """Run a copy of a network along the course; the score, the lower the better."""
        copied = copy.deepcopy(network)
        run = course_run(self._data.controller(copied, self._config))
        score = run.score.total
        if not self.checks or score < min(each["score"] for each in self.checks):
            self._best = {
                name: value.clone() for name, value in copied.network.state_dict().items()
            }
        self.checks.append({"step": step, "score": score, **asdict(run.score)})
        return score

    @property
    def best_step(self) -> int | None:
        """The step of the check with the best score; None before the first check."""
        if not self.checks:
            return None
        return int(min(self.checks, key=lambda each: float(each["score"]))["step"])

    def restore(self, network: NormalisedController) -> None:
        """Set a network to the best weights; none before the first check."""
        if self._best:
            network.network.load_state_dict(self._best)

    def state(self) -> dict[str, Any]:
        """What a resume point holds."""
        return {"checks": self.checks, "best": self._best}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of a resume point."""
        self.checks, self._best = list(state["checks"]), dict(state["best"])
