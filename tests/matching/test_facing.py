"""Facings that the motion of a database can hold, and those of goals that it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.evaluation.findings import run_findings
from deepphase.evaluation.measurement import ObservedRun
from deepphase.matching.player.source import PlayerSource
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.run import rollout, start_under_gamepad
from deepphase.steering.springs import wrapped_angle
from tests.matching.test_player import SPEED, opened, walking_store


@pytest.mark.parametrize(
    ("travel", "sector"), [((0.0, 1.0), 0), ((1.0, 0.0), 2), ((0.0, -1.0), 4), ((-1.0, 0.0), 6)]
)
def test_a_sector_is_covered_by_two_seconds_of_motion(walks, travel, sector):
    play = walks[1]
    steps = np.zeros((len(play), 3), np.float32)
    steps[: round(2.0 * play.fps), :2] = np.array(travel) * SPEED / play.fps
    coverage = replace(play, steps=steps).facing_coverage()
    assert set(np.flatnonzero(coverage.covered)) == {0, sector}
    short = steps.copy()
    short[round(1.9 * play.fps) :] = 0.0
    coverage = replace(play, steps=short).facing_coverage()
    assert set(np.flatnonzero(coverage.covered)) == {0}
    facing = np.array([0.0, np.pi / 2])
    ahead = np.array([[0.0, 1.0], [1.0, 0.0]]) * SPEED
    assert coverage.holds(ahead, facing).all()
    assert not coverage.holds(ahead, facing + np.pi / 2).any()
    assert coverage.holds(0.01 * ahead, facing + np.pi / 2).all()


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-1.2, -0.6, 0.0, 0.6, 1.2)))


def strafing(speed=1.0):
    """Eight seconds ahead in +Z, while the look is to +X from 2 s on."""
    times = np.array([0.0, 1.99, 2.0, 8.0])
    look = np.array([[0, 0], [0, 0], [1, 0], [1, 0.0]])
    return Gamepad(times, np.tile([0.0, speed], (4, 1)), look)


def test_travel_wins_where_the_motion_cannot_strafe(walks):
    player, goals = start_under_gamepad(PlayerSource(*walks), strafing())
    run = rollout(player, goals, 8.0)
    late = slice(-180, None)
    assert run.tracks["facing_replaced"][0, late].all()
    assert not run.tracks["facing_replaced"][0, :100].any()
    assert np.abs(wrapped_angle(run.angles[0, late])).max() < 0.5
    assert any("direction of travel" in text for text in run_findings(ObservedRun(run, {})))
    travelled = run.positions[0, -1] - run.positions[0, 0]
    assert travelled[1] > 4.0 * abs(travelled[0])
