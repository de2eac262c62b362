"""Roots of standing bodies: they sway about a place, and whoever walks is left alone."""

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.roots import StandingRoots
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout, start_on_path

FRAME_S = 1.0 / 60.0


def moved(velocities, stands):
    """(characters,) metres after these velocities (frames, characters), and the steadied ones."""
    roots = StandingRoots(velocities.shape[1], FRAME_S)
    made = np.array([roots.steadied(*each) for each in zip(velocities, stands, strict=True)])
    return made.sum(axis=0) * FRAME_S, made


def test_a_creeping_body_stays_and_one_that_sways_goes_on_swaying():
    times = np.arange(600) * FRAME_S
    creeping = np.stack([np.full(600, -0.06 + 0.02j), 0.03 * np.sin(np.pi * times) - 0.06], axis=1)
    place, made = moved(creeping, np.ones((600, 2), bool))
    # 63 and 60 cm without it.
    assert (np.abs(place) < 0.03).all()
    assert np.ptp(made[300:, 1].real) > 0.03


@pytest.mark.parametrize(("speed", "stands"), [(-0.06, False), (0.4, True)])
def test_goals_that_travel_and_bodies_that_walk_are_left_alone(speed, stands):
    velocities = np.full((60, 1), speed + 0j)
    _, made = moved(velocities, np.full((60, 1), stands))
    np.testing.assert_array_equal(made, velocities)


def test_characters_stand_where_a_path_pauses_and_go_on():
    times = np.cumsum([0.0, 3.0, 2.5, 3.0])
    path = GroundPath(times, np.array([[0, 0], [0, 3.6], [0, 3.6], [0, 7.2]]))
    source = CharacterSource(Controller.load(CONTROLLER))
    characters, goals = start_on_path(source, path, characters=6)
    run = rollout(characters, goals, goals.path.duration)
    speeds = np.linalg.norm(np.diff(run.positions, axis=1), axis=-1) * run.fps
    begin, end = goals.path.pauses[0]
    stands = slice(round((begin + 1.0) * run.fps), round((end - 0.3) * run.fps))
    assert (speeds[:, stands].mean(axis=1) < 0.2).all()
    # Of this small controller, one may stay.
    assert (speeds[:, round((end + 0.7) * run.fps) :].mean(axis=1) > 0.8).sum() >= 5
