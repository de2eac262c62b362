"""Trials of controllers: paths, a long run, variation from one state, and sensitivity to phase.

python -m tests.studies.controllers.trials walk.controller --minutes 10 > trials.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.errors import ParameterError
from deepphase.evaluation.measured_runs import RunMeasures, run_measures, travelling_speed
from deepphase.evaluation.motion_measures import MIN_FRAMES, MeasuredMotion
from deepphase.phase.baselines.strikes import paced, strikes
from deepphase.progress import Progress
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.made_paths import MADE_PATHS, made_path
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout, start_on_path
from tests.studies.controllers.phase_sensitivity import phase_sensitivity
from tests.studies.controllers.variation import Steps, Variation, variation

BLENDINGS = ((0.5, 2.0), (2.0, 5.0), (5.0, 10.0))
"""Biases of positions and directions towards the goal (Holden et al. 2017, table 2)."""
_INITIAL_S = 10.0


@dataclass(frozen=True)
class PathError:
    """Distance of characters from a path, for one blend of goal and prediction.

    Parameters
    ----------
    path
        Name of the path.
    position_bias, direction_bias
        Biases towards the path.
    nearest_cm
        Mean distance from the nearest point of the path: our reading of the "average error between
        the desired path and that taken" of Holden et al. 2017, table 2.
    clock_cm
        Mean distance from the path's target at its clock, which waits for characters that lag.
    survived
        Share of frames before the network's outputs diverged.
    """

    path: str
    position_bias: float
    direction_bias: float
    nearest_cm: float
    clock_cm: float
    survived: float


def path_errors(
    controller: Controller,
    *,
    blendings: Sequence[tuple[float, float]] = BLENDINGS,
    paths: Sequence[str] = tuple(MADE_PATHS),
    characters: int = 4,
    seconds: float = 20.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[PathError]:
    """Errors on made paths at the data's travelling speed, with each blend.

    Raises
    ------
    ParameterError
        If no motion of the data travels.
    """
    speed = travelling_speed(controller.data)
    errors = []
    for done, (name, blending) in enumerate(
        ((name, blending) for name in paths for blending in blendings), start=1
    ):
        path = made_path(name, speed, seconds)
        source = CharacterSource(controller, settings=_bare(*blending), seed=seed)
        character, goal_source = start_on_path(source, path, characters=characters)
        run = rollout(character, goal_source, seconds)
        measures = run_measures(
            run, controller.data, path=goal_source.path, origins=goal_source.origins
        )
        errors.append(
            PathError(
                name,
                *blending,
                100.0 * (measures.path_error or 0.0),
                100.0 * (measures.clock_error or 0.0),
                measures.survived,
            )
        )
        if progress is not None:
            progress("following paths", done, len(paths) * len(blendings), name)
    return errors


def survival(
    controller: Controller,
    *,
    minutes: float = 10.0,
    characters: int = 4,
    part_s: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[RunMeasures, list[RunMeasures]]:
    """A long run around a square at the data's travelling speed.

    Returns
    -------
    Measures of the whole run, and of its successive parts of `part_s` seconds, which show motion
    that fades out or drifts. Parts in which no character is alive are left out.

    Raises
    ------
    ParameterError
        If no motion of the data travels.
    """
    seconds = 60.0 * minutes
    path = made_path("square", travelling_speed(controller.data), seconds)
    source = CharacterSource(controller, settings=_bare(), seed=seed)
    character, goal_source = start_on_path(source, path, characters=characters)
    run = rollout(character, goal_source, seconds, _named(progress, "long run"))
    path, origins = goal_source.path, goal_source.origins
    whole = run_measures(run, controller.data, path=path, origins=origins, moving=True)
    length = max(MIN_FRAMES, round(part_s * run.fps))
    parts = []
    for begin in range(0, len(run), length):
        part = run.part(begin, min(begin + length, len(run)))
        if part.alive.sum(axis=1).max() < MIN_FRAMES:
            break
        parts.append(run_measures(part, controller.data, path=path, origins=origins, moving=True))
    return whole, parts


def run_variation(
    controller: Controller,
    *,
    runs: int = 100,
    seconds: float = 4.0,
    initial_s: float = _INITIAL_S,
    seed: int = 0,
) -> Variation:
    """Variation of runs straight ahead from one state (Sprenger et al. 2020, section 4).

    The state is that of the controller after `initial_s` seconds straight ahead. The phases are
    those of the feet's strikes, whatever the network. A deterministic network is run once, and has
    no variation between runs.

    Raises
    ------
    ParameterError
        Where no motion of the data travels, or a run diverges at once.
    """
    speed = travelling_speed(controller.data)
    straight = GroundPath(
        np.array([0.0, initial_s + 10.0 * seconds]),
        np.array([[0.0, 0.0], [0.0, speed * (initial_s + 10.0 * seconds)]]),
        name="straight",
    )
    settings = _bare()
    first, leader = start_on_path(
        CharacterSource(controller, settings=settings, seed=seed), straight
    )
    rollout(first, leader, initial_s)
    # The network inputs of a frame belong to the root state before it.
    root_states, times = first.root_states, leader.times.copy()
    first.step(leader)
    inputs, gate = first.network_inputs
    # Rows of one batch may be rounded differently, so deterministic networks are run once.
    count = runs if controller.network.network.is_stochastic else 1
    initial = InitialStates(inputs.copy(), gate.copy(), ("straight",), np.zeros(1, np.int64))
    characters = Characters(
        controller,
        initial.select(np.zeros(count, np.int64)),
        positions=np.repeat(root_states.positions, count, axis=0),
        angles=np.repeat(root_states.angles, count),
        settings=settings,
        seed=seed,
    )
    goal_source = PathGoals(straight, np.zeros((count, 2)))
    goal_source.times = np.repeat(times, count)
    run = rollout(characters, goal_source, seconds)
    motions = [MeasuredMotion.of_clip(run.clip(index), controller.schema) for index in range(count)]
    pair = [motion.contacts[:, :2] for motion in motions]
    fps = run.fps
    phases = [paced(strikes(flags, fps), len(flags), fps)[0] for flags in pair]
    return variation(
        np.stack([motion.poses for motion in motions]),
        np.stack(phases),
        [
            Steps.of_contacts(flags, motion.feet[:, :2], fps)
            for flags, motion in zip(pair, motions, strict=True)
        ],
        np.stack([motion.pose_speeds for motion in motions]),
        [motion.contact_speeds() for motion in motions],
    )


def _named(progress: Progress | None, name: str) -> Progress | None:
    if progress is None:
        return None
    return lambda _, done, total, words: progress(name, done, total, words)


def _bare(position_bias: float = 0.5, direction_bias: float = 2.0) -> CharacterSettings:
    """Settings for the network's own motion, without foot locking."""
    return CharacterSettings(
        position_bias=position_bias, direction_bias=direction_bias, foot_ik=False, gating=False
    )


def trials(
    controller: Controller,
    *,
    minutes: float = 10.0,
    seconds: float = 20.0,
    runs: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """Measures of all trials; without `sensitivity` for networks that have no phase input."""
    whole, parts = survival(controller, minutes=minutes, seed=seed)
    found: dict[str, Any] = {
        "paths": [asdict(each) for each in path_errors(controller, seconds=seconds, seed=seed)],
        "long_run": asdict(whole),
        "minutes": [asdict(each) for each in parts],
        "variation": asdict(run_variation(controller, runs=runs, seed=seed)),
    }
    with contextlib.suppress(ParameterError):
        found["sensitivity"] = asdict(phase_sensitivity(controller))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("controller", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    controller = Controller.load(options.controller)
    print(json.dumps(trials(controller, minutes=options.minutes, seed=options.seed), indent=1))


if __name__ == "__main__":
    main()
