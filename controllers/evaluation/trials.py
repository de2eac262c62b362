"""Trials that a controller is put to: long runs, made paths, and runs from one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controllers.data.initial_states import InitialStates
from controllers.runtime.characters import Characters
from controllers.runtime.controller import Controller
from controllers.runtime.frame import CharacterSettings
from controllers.runtime.start import CharacterSource
from deepphase.evaluation.motion_measures import FEWEST_FRAMES, MeasuredMotion
from deepphase.evaluation.run_measures import RunMeasures, run_measures, travelling_speed
from deepphase.evaluation.variation import Steps, Variation, variation
from deepphase.phase.baselines.strikes import paced, strikes
from deepphase.progress import Progress
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.made_paths import MADE_PATHS, made_path
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout, start_on_path

BLENDINGS = ((0.5, 2.0), (2.0, 5.0), (5.0, 10.0))
"""Biases of positions and directions towards the wish (Holden et al. 2017, table 2)."""
_INITIAL_S = 10.0


@dataclass(frozen=True)
class PathError:
    """How far characters were from a path with one blending.

    Parameters
    ----------
    path
        Its name.
    position_bias, direction_bias
        The blending.
    nearest_cm
        Mean distance of the taken path from the nearest place of the wished one: the "average
        error between the desired path and that taken" of Holden et al. 2017, table 2, as read
        here.
    clock_cm
        Mean distance from the place of the path's clock, which waits for those who lag.
    survived
        Share of frames before a network left all bounds.
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
    """Made paths at the data's travelling speed, in sizes that suit it, with each blending.

    Raises
    ------
    ParameterError
        Where no motion of the data travels.
    """
    speed = travelling_speed(controller.data)
    found = []
    for done, (name, blending) in enumerate(
        ((name, blending) for name in paths for blending in blendings), start=1
    ):
        path = made_path(name, speed, seconds)
        source = CharacterSource(controller, settings=_bare(*blending), seed=seed)
        character, goal_source = start_on_path(source, path, characters=characters)
        run = rollout(character, goal_source, seconds)
        measures = run_measures(run, controller.data, path=path, origins=goal_source.origins)
        found.append(
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
    return found


def survival(
    controller: Controller,
    *,
    minutes: float = 10.0,
    characters: int = 4,
    part_s: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[RunMeasures, list[RunMeasures]]:
    """A long run round and round a square at the data's travelling speed.

    Returns
    -------
    The measures of the whole run, and those of its parts of `part_s` seconds in turn: what dies
    out or drifts changes from part to part. Parts after the last death are left out.

    Raises
    ------
    ParameterError
        Where no motion of the data travels.
    """
    seconds = 60.0 * minutes
    path = made_path("square", travelling_speed(controller.data), seconds)
    source = CharacterSource(controller, settings=_bare(), seed=seed)
    character, goal_source = start_on_path(source, path, characters=characters)
    run = rollout(character, goal_source, seconds, _named(progress, "long run"))
    origins = goal_source.origins
    whole = run_measures(run, controller.data, path=path, origins=origins, moving=True)
    length = max(FEWEST_FRAMES, round(part_s * run.fps))
    parts = []
    for begin in range(0, len(run), length):
        part = run.part(begin, min(begin + length, len(run)))
        if part.alive.sum(axis=1).max() < FEWEST_FRAMES:
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
    """Variation of runs that go straight on from one moment (Sprenger et al. 2020, section 4).

    The controller itself walks straight for `initial_s` seconds first. Phases are those of the
    feet's strikes, the same for all kinds of networks. A network that does not draw has only one
    run, which stands for all.

    Raises
    ------
    ParameterError
        Where no motion of the data travels, or a run leaves all bounds at once.
    """
    speed = travelling_speed(controller.data)
    ahead = GroundPath(
        np.array([0.0, initial_s + 10.0 * seconds]),
        np.array([[0.0, 0.0], [0.0, speed * (initial_s + 10.0 * seconds)]]),
        name="straight",
    )
    settings = _bare()
    first, leader = start_on_path(CharacterSource(controller, settings=settings, seed=seed), ahead)
    rollout(first, leader, initial_s)
    # What a frame was made of belongs to the place before it.
    root_states, times = first.root_states, leader.times.copy()
    first.step(leader)
    inputs, gate = first.network_inputs
    # Rows of one batch may be rounded differently: what does not draw is run once.
    drawn = runs if controller.network.network.is_stochastic else 1
    begun = InitialStates(inputs.copy(), gate.copy(), ("straight",), np.zeros(1, np.int64))
    characters = Characters(
        controller,
        begun.of(np.zeros(drawn, np.int64)),
        positions=np.repeat(root_states.positions, drawn, axis=0),
        angles=np.repeat(root_states.angles, drawn),
        settings=settings,
        seed=seed,
    )
    goal_source = PathGoals(ahead, np.zeros((drawn, 2)))
    goal_source.times = np.repeat(times, drawn)
    run = rollout(characters, goal_source, seconds)
    motions = [MeasuredMotion.of_clip(run.clip(index), controller.schema) for index in range(drawn)]
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
    """What the network itself does, without feet that are held."""
    return CharacterSettings(
        position_bias=position_bias, direction_bias=direction_bias, foot_ik=False, gating=False
    )
