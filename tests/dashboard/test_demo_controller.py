"""The small controller of the demo: small, and alive."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.dashboard.parts.steerables import RunRequest, of_controller, shown_run
from deepphase.apps.demo import CONTROLLER, PHASES
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.evaluation.measurement import values_by_name
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout
from deepphase.steering.velocity_goals import GamepadGoals

# Half of them are moments of rest, which characters that stand play: 24 seconds.
_MOST_BYTES = 3_500_000


@pytest.fixture(scope="module")
def shipped() -> Controller:
    return Controller.load(CONTROLLER)


def test_all_that_ships_is_small():
    assert sum(path.stat().st_size for path in (CONTROLLER, PHASES)) < _MOST_BYTES


@pytest.mark.parametrize("gait", ["walk", "run"])
def test_it_stands_starts_and_stops(shipped, gait):
    speed = of_controller("demo", "demo", shipped).speed({"gait": gait})
    moves = [(0.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)]
    pad = Gamepad([0.0, 2.0, 2.1, 5.0, 5.1, 8.0], moves, [(0.0, 0.0)] * 6)
    rest = np.zeros((1, 2))
    roots = RootStates(rest, rest, np.zeros(1), np.zeros(1))
    goals = GamepadGoals(pad, roots, GamepadSettings(top_speed=speed))
    source = CharacterSource(shipped, labels={"gait": gait})
    run = rollout(source.start(goals, roots), goals, 8.0)
    speeds = 60.0 * np.linalg.norm(np.diff(run.positions[0], axis=0), axis=1)
    stood, went, stopped = speeds[60:115].mean(), speeds[240:295].mean(), speeds[420:].mean()
    assert stood < 0.1
    assert went == pytest.approx(speed, rel=0.25)
    assert stopped < 0.1


@pytest.mark.parametrize("gait", ["jog", "skip"])
def test_other_gaits_go_on(shipped, gait):
    opened = of_controller("demo", "demo", shipped)
    speed = opened.speed({"gait": gait})
    run = shown_run(
        opened, RunRequest(made_path("wave", speed, 6.0), 6.0, 4, labels={"gait": gait})
    )
    measures = values_by_name(run.result.measures)
    assert measures["frozen"] == 0
    assert measures["path_error"] < 0.5
    assert measures["speed"] == pytest.approx(speed, rel=0.2)
    # Feet that are held follow a share of the motion, as captured ones do.
    assert measures["found_contact_speed"] < 6.5 * speed
