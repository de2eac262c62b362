"""Goals of velocity, and of a place at a time, of points that follow them and of players."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.velocity_goals import GamepadGoals, VelocityGoals

FPS = 60.0


def test_velocity_goals_are_those_of_a_gamepad_held_still():
    states = RootStates.at_rest(np.zeros((2, 2)))
    settings = GamepadSettings(top_speed=1.0)
    move, look = np.array([0.6, 0.8]), np.array([-1.0, 0.0])
    gamepad = Gamepad(np.array([0.0, 9.0]), np.tile(move, (2, 1)), np.tile(look, (2, 1)))
    recorded = GamepadGoals(gamepad, states, settings)
    goals = VelocityGoals(states, settings)
    goals.set(np.tile(move, (2, 1)), np.full(2, -np.pi / 2))
    for each in (recorded, goals):
        for _ in range(20):
            each.advance(states, 1.0 / FPS)
    offsets = np.array([0.2, 0.5, 1.0])
    for one, two in zip(
        recorded.trajectory(states, np.arange(2), offsets),
        goals.trajectory(states, np.arange(2), offsets),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(recorded.command(), goals.command(), strict=True):
        np.testing.assert_allclose(one, two)


def test_a_standing_character_keeps_its_facing_or_turns_on_the_spot():
    states = RootStates.at_rest(np.zeros((2, 2)))
    goals = VelocityGoals(states)
    goals.set(np.zeros((2, 2)), np.array([np.nan, 1.0]))
    for _ in range(120):
        goals.advance(states, 1.0 / FPS)
    np.testing.assert_allclose(goals.target()[1], [0.0, 1.0], atol=1e-3)


@pytest.mark.parametrize("share", [0.7, 1.3])
def test_a_body_that_is_too_slow_or_too_fast_is_led_to_the_desired_speed(share):
    states = RootStates.at_rest(np.zeros((1, 2)))
    goals = VelocityGoals(states)
    for wanted in (np.array([[0.6, 0.8]]), np.zeros((1, 2))):
        goals.set(wanted)
        for _ in range(180):
            velocities = share * (wanted + goals.leads(states))
            states = replace(states, positions=states.positions + velocities / FPS)
            goals.advance(states, 1.0 / FPS)
        np.testing.assert_allclose(velocities, wanted, atol=0.02)


def test_impossible_goals_are_refused():
    goals = VelocityGoals(RootStates.at_rest(np.zeros((2, 2))))
    for velocities, facings in (
        (np.zeros((1, 2)), None),
        (np.zeros((2, 2)), np.zeros(3)),
        (np.full((2, 2), np.nan), None),
        (np.full((2, 2), 1e200), None),
    ):
        with pytest.raises(ParameterError):
            goals.set(velocities, facings)
