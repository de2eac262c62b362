"""Steps of roots: feet that carry a body move as they do in the clip, and goals are approached."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.features.feature import complex_of, pairs
from deepphase.matching.player.settings import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.player.transitions import RootSteps
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout, start_on_path
from tests.matching.test_player import SPEED, opened, walking_store

FPS = 60.0


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2)))


def stepper(play, row, share=0.0, turn=0.0):
    poses = play.rotations[row], play.translations[row]
    return RootSteps(play, poses, 1.0 / FPS, share=share, turn=turn)


def test_slips_of_rows_are_those_of_forward_kinematics(walks):
    _, play, _ = walks
    rows = np.arange(100, 140)
    here, there = (
        play.tips(play.rotations[each], play.translations[each]) for each in (rows, rows + 1)
    )
    steps = play.steps[rows].astype(np.float64)
    turned = there * np.exp(-1j * steps[:, 2:])
    found = complex_of(steps[:, :2]) + turned - here
    np.testing.assert_allclose(play.slips[rows], pairs(found), atol=2e-6)
    # Synthetic feet stay where they touch.
    inside = play.support[rows] == 1.0
    assert inside.any()
    assert np.linalg.norm(play.slips[rows], axis=-1)[inside].max() < 2e-3


def test_a_turn_is_about_the_foot_that_carries_the_body(walks):
    _, play, _ = walks
    single = (play.support[:] == 1.0).sum(axis=1) == 1
    at = int(np.flatnonzero(single & np.roll(single, -1) & np.roll(single, -2))[3])
    before, now = np.array([at]), np.array([at + 1])
    foot = int(play.support[at].argmax())
    steps = stepper(play, before)
    poses = play.rotations[now], play.translations[now]
    tips = play.tips(play.rotations[before], play.translations[before])[0]
    later = play.tips(*poses)[0]
    turn = play.steps[before][:, 2] + 0.02
    slips = play.slips[before].astype(np.float64).view(np.complex128)[..., 0]
    for _ in range(200):
        # The same frame again and again: what settles is the step that it asks for.
        steps._tips = tips[:, None]
        moved = steps.step(
            play.steps[before][:, :2], (before, now), poses, turn, np.zeros((1, 2)), slips, None
        )
    slid = moved[0] + later[foot] * np.exp(-1j * turn[0]) - tips[foot]
    about_root = play.steps[at, 0] + 1j * play.steps[at, 1]
    would_slide = about_root + later[foot] * np.exp(-1j * turn[0]) - tips[foot]
    assert abs(slid - slips[0, foot]) < 0.15 * abs(would_slide - slips[0, foot])


def test_a_body_beside_its_path_turns_towards_it(walks):
    _, play, _ = walks
    for side in (-0.1, 0.1):
        steps = stepper(play, np.array([60]), share=0.4, turn=1.0)
        turned = [
            steps.turn(
                np.zeros(1), np.array([1.3j]), np.zeros(1), np.array([side + 0.0j]), np.zeros(1)
            )
            for _ in range(5)
        ]
        # +X is to the left of a body that goes along +Z, and so is a positive turn.
        assert np.sign(turned[-1][0]) == np.sign(side)


def test_feet_hardly_slide_without_foot_lock(walks):
    database, play, searcher = walks
    slides = {}
    for share in (0.0, 0.4):
        settings = PlayerSettings(adjust_share=share)
        source = PlayerSource(database, play, searcher, settings=settings)
        player, goals = start_on_path(source, made_path("wave", SPEED, 8.0), characters=3)
        run = rollout(player, goals, 8.0)
        assert run.jumped.sum() > 6
        free = run.without_foot_lock()
        speeds = [
            MeasuredMotion(free.clip(each), run.spec).contact_speeds(run.contacts[each] > 0.5)
            for each in range(3)
        ]
        slides[share] = np.concatenate(speeds).mean()
    assert slides[0.0] < 0.05 * SPEED
    assert slides[0.4] < 0.15 * SPEED
