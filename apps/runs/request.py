"""Requests of runs: goals by name or from files, and measured runs along them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.apps.options.groups import SteeringOptions
from deepphase.apps.runs.chosen_ground import chosen_ground, heights_of
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.measured_runs import RunMeasures, run_measures
from deepphase.evaluation.run_findings import ground_findings, run_findings
from deepphase.motion.root_motion import RootMotion
from deepphase.progress import Progress
from deepphase.steering.gamepad import Gamepad, read_gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.laid_run import FeetOnGround, feet_on_ground, lay_run
from deepphase.steering.made_paths import MADE_PATHS, made_path
from deepphase.steering.path import GroundPath, read_path
from deepphase.steering.run import (
    Run,
    Runner,
    RunnerSource,
    rollout,
    start_on_path,
    start_under_gamepad,
)
from deepphase.terrain.heightmap import Heightmap

Goal = GroundPath | Gamepad

_SECONDS = 20.0
_GROUND_SPACING_M = 0.05


@dataclass(frozen=True)
class RunRequest:
    """Options of a run of any runner, as in `deepphase control` and `deepphase match run`.

    Parameters
    ----------
    seconds
        Length; by default 20 s on made paths, else to the end of the path or gamepad recording.
    speed
        m/s along paths, and at full deflection of the gamepad; by default that of the data.
    size
        Size of made paths in metres.
    characters
        Number of characters, side by side.
    root_motion
        The joint of the written files that carries the travel, see `with_root_motion`.
    ground
        Ground that the motion is laid on, unless the runner walks on it; None for a flat floor.

    Raises
    ------
    ParameterError
        If there is no character.
    """

    seconds: float | None = None
    speed: float | None = None
    size: float | None = None
    characters: int = 1
    root_motion: RootMotion = "auto"
    ground: Heightmap | None = None

    @classmethod
    def of_options(cls, options: SteeringOptions) -> RunRequest:
        """The request in the options of a command.

        Raises ParameterError or FormatError if there is no such ground.
        """
        return cls(
            options.seconds,
            options.speed,
            options.size,
            options.characters,
            options.root_motion,
            heights_of(chosen_ground(options), seed=options.seed, spacing_m=_GROUND_SPACING_M),
        )

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise ParameterError(
                f"characters must be at least 1, not {self.characters}",
                hint="give --characters 1 or more",
            )


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run with the goals that it followed and its measures.

    Parameters
    ----------
    name
        Name of the path or gamepad recording.
    run
        The recorded frames.
    path
        None under a gamepad.
    origins
        (characters, 2) metres: origin of each character's copy of the path.
    measures
        None if no character was alive long enough.
    runner
        The runner, after the last frame.
    findings
        Sentences on characters that ran away, stood still or were lost.
    ground
        Ground that the run was made on, or laid on after it was measured on its flat floor.
    on_ground
        (characters,) measures of the feet on that ground; empty without ground.
    """

    name: str
    run: Run
    path: GroundPath | None
    origins: Array
    measures: RunMeasures | None
    runner: Runner
    findings: tuple[str, ...] = ()
    ground: Heightmap | None = None
    on_ground: tuple[FeetOnGround, ...] = ()

    def value(self, measure: str) -> float | None:
        """One of the measures; every run has `survived`."""
        if self.measures is None:
            return float(self.run.alive.mean()) if measure == "survived" else None
        value: float | None = getattr(self.measures, measure)
        return value


def measured_run(
    source: RunnerSource[Runner],
    request: RunRequest,
    goal: Goal,
    progress: Progress | None = None,
) -> MeasuredRun:
    """Drive characters along one goal, and measure the run.

    Raises
    ------
    ParameterError
        As for the source and its runners, such as for an unknown label.
    """
    path, count = None, request.characters
    origins = np.zeros((count, 2))
    if isinstance(goal, GroundPath):
        runner: Runner
        runner, goal_source = start_on_path(source, goal, characters=count)
        path, origins = goal_source.path, goal_source.origins
        run = rollout(runner, goal_source, request.seconds or path.duration, progress)
        times = path.times[0] + np.arange(len(run)) / run.fps
        desired_speeds = np.linalg.norm(path.velocities_at(times), axis=-1)
    else:
        default = GamepadSettings().top_speed
        speed = request.speed or source.travelling_speed or default
        settings = GamepadSettings(top_speed=speed)
        runner, gamepad_goals = start_under_gamepad(
            source, goal, characters=count, settings=settings
        )
        run = rollout(runner, gamepad_goals, request.seconds or goal.duration, progress)
        times = goal.times[0] + np.arange(len(run)) / run.fps
        desired_speeds = speed * np.linalg.norm(goal.move_at(times), axis=-1)
    findings = run_findings(run, source.data, desired_speeds)
    measures = None
    try:
        kinds, styles = _frame_labels(source, run)
        measures = run_measures(
            run, source.data, path=path, origins=origins, kinds=kinds, styles=styles
        )
    except ParameterError:
        if run.alive[:, : round(run.fps)].all():
            raise
    on_ground: list[FeetOnGround] = []
    if request.ground is not None:
        if run.spec.ground is None:
            run, on_ground = lay_run(run, request.ground)
        else:
            on_ground = feet_on_ground(run)
        findings += ground_findings(on_ground, laid=run.spec.ground is None)
    return MeasuredRun(
        goal.name,
        run,
        path,
        origins,
        measures,
        runner,
        tuple(findings),
        request.ground,
        tuple(on_ground),
    )


def _frame_labels(source: RunnerSource[Runner], run: Run) -> tuple[Array | None, Array | None]:
    """(characters, frames) kinds and styles of frames, from the source's columns of those names."""
    columns = [source.columns(run, character) for character in range(run.characters)]
    kinds, styles = (
        np.array([each[name] for each in columns]) if name in columns[0] else None
        for name in ("kind", "label_style")
    )
    return kinds, styles


def read_goals(path: str | None, gamepad: Path | None = None) -> dict[str, Goal | None]:
    """The goals that a command line names, in order; None for paths that are made.

    Parameters
    ----------
    path
        Files and names of made paths, separated by commas; wave if neither is given.
    gamepad
        Gamepad recording.

    Raises
    ------
    ParameterError, FormatError
        If both are given, one of them cannot be read, or two goals have the same name.
    """
    if gamepad is not None:
        if path is not None:
            raise ParameterError(
                "--path and --gamepad cannot be used together", hint="give one of them"
            )
        return {str(gamepad): read_gamepad(gamepad)}
    found: dict[str, Goal | None] = {}
    titles = []
    for name in (path or "wave").split(","):
        given = None
        if name not in MADE_PATHS:
            if not (Path(name).suffix or Path(name).exists()):
                raise ParameterError(
                    f"there is no path {name!r}",
                    hint=f"give a CSV file, or {', '.join(MADE_PATHS)}",
                )
            given = read_path(name)
        titles.append(name if given is None else given.name)
        if titles.count(titles[-1]) > 1:
            raise ParameterError(
                f"there are two paths called {titles[-1]!r}", hint="rename one of the files"
            )
        found[name] = given
    return found


def goals_of(
    read: Mapping[str, Goal | None], request: RunRequest, travelling_speed: float
) -> dict[str, Goal]:
    """Name -> goal, with the paths that are made.

    Parameters
    ----------
    read
        Goals of `read_goals`.
    travelling_speed
        m/s of made paths if the request has no speed.

    Raises
    ------
    ParameterError
        If a path of that speed, length or size cannot be made.
    """
    speed = request.speed or travelling_speed
    found: dict[str, Goal] = {}
    for name, goal in read.items():
        if goal is None:
            if not speed > 0:
                raise ParameterError(
                    "no motion of the data travels, so that its speed cannot be taken",
                    hint="give --speed",
                )
            goal = made_path(name, speed, request.seconds or _SECONDS, request.size)
        elif isinstance(goal, GroundPath) and request.speed is not None:
            goal = goal.at_speed(request.speed)
        found[goal.name] = goal
    return found
