"""Springs against fine Euler steps, and what a halflife promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.steering.springs import (
    damping_share,
    decayed,
    spring_rate,
    spring_to,
    spring_to_angle,
    spring_to_velocity,
    wrapped_angle,
)


def euler(value, velocity, halflife, seconds, steps=200_000):
    rate, dt = spring_rate(halflife), seconds / steps
    for _ in range(steps):
        acceleration = -2 * rate * velocity - rate**2 * value
        velocity += dt * acceleration
        value += dt * velocity
    return value, velocity


def test_it_is_the_critically_damped_equation():
    assert decayed(0.7, -3.0, 0.2, 0.35) == pytest.approx(euler(0.7, -3.0, 0.2, 0.35), abs=1e-4)


@given(st.floats(-5, 5), st.floats(-50, 50), st.floats(0.01, 2), st.floats(0, 1), st.floats(0, 1))
def test_two_steps_are_one(value, velocity, halflife, first, second):
    once = decayed(value, velocity, halflife, first + second)
    twice = decayed(*decayed(value, velocity, halflife, first), halflife, second)
    assert twice == pytest.approx(once, abs=1e-9)


def test_it_ends_at_the_goal_at_rest():
    value, velocity = spring_to(np.array([1.0, -4.0]), np.array([9.0, 0.0]), 3.0, 0.1, 5.0)
    np.testing.assert_allclose(value, 3.0, atol=1e-9)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-9)


def test_an_angle_turns_the_shorter_way():
    angle, _ = spring_to_angle(np.array([3.0]), np.zeros(1), np.array([-3.0]), 0.1, 0.05)
    assert 3.0 < angle[0] < 3.3
    assert wrapped_angle(np.pi) == pytest.approx(-np.pi)


def test_a_velocity_spring_has_the_integral_as_its_position():
    times = np.linspace(0, 0.8, 80_001)
    position, velocity, acceleration = spring_to_velocity(0.5, 1.0, -2.0, 3.0, 0.25, times)
    step = times[1]
    np.testing.assert_allclose(np.gradient(position, step)[1:-1], velocity[1:-1], atol=1e-6)
    np.testing.assert_allclose(np.gradient(velocity, step)[1:-1], acceleration[1:-1], atol=1e-5)
    assert (position[0], velocity[0], acceleration[0]) == pytest.approx((0.5, 1.0, -2.0))


def test_a_damper_halves_in_its_halflife():
    assert damping_share(0.2, 0.2) == pytest.approx(0.5)
    assert damping_share(0.2, 0.4) == pytest.approx(0.75)
