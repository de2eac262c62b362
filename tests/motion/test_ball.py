"""Physics of balls, against closed forms and a slow simulation."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deepphase.motion.ball import Ball, BallState, advanced, ball_energy, touched
from deepphase.motion.contacts import GRAVITY

DT = 1.0 / 60.0


def rolled(ball: Ball, state: BallState, seconds: float) -> list[BallState]:
    states = [state]
    for _ in range(round(seconds / DT)):
        states.append(advanced(states[-1], ball, DT))
    return states


def on_ground(ball: Ball, velocity, place=(0.0, 0.0)) -> BallState:
    return BallState(ball.resting(np.array(place)), np.asarray(velocity, float))


def test_a_rolling_ball_comes_to_rest_after_its_distance():
    ball = Ball(rolling=0.1)
    whole = advanced(on_ground(ball, [3.0, 0.0, 4.0]), ball, 60.0)
    distance = 5.0**2 / (2 * 0.1 * GRAVITY)
    np.testing.assert_allclose(whole.position[[0, 2]], distance * np.array([0.6, 0.8]), rtol=1e-12)
    assert whole.speed == 0.0
    # The number of steps makes no difference.
    steps = rolled(ball, on_ground(ball, [3.0, 0.0, 4.0]), 60.0)[-1]
    np.testing.assert_allclose(steps.position, whole.position, atol=1e-9)


def test_speed_to_roll_is_what_arrives_there():
    ball = Ball()
    for distance, seconds in ((2.0, 1.0), (0.5, 0.3), (4.0, 1.5)):
        speed = float(ball.speed_to_roll(distance, seconds))
        there = advanced(on_ground(ball, [0, 0, speed]), ball, seconds)
        assert there.position[2] == pytest.approx(distance)
    # It cannot roll slowly enough: it comes to rest there and waits.
    speed = float(ball.speed_to_roll(0.2, 3.0))
    assert speed == pytest.approx(float(ball.speed_to_roll(0.2)))
    there = advanced(on_ground(ball, [0, 0, speed]), ball, 3.0)
    assert there.position[2] == pytest.approx(0.2)
    assert there.speed == 0.0


def test_a_dropped_ball_bounces_to_its_restitution_squared():
    ball = Ball(restitution=0.7)
    drop = BallState(ball.resting(np.zeros(2)) + np.array([0, 1.0, 0]), np.array([0.5, 0.0, 0.0]))
    fall = np.sqrt(2.0 / GRAVITY)
    top = advanced(drop, ball, fall * (1.0 + 0.7))
    assert ball.height(top.position) == pytest.approx(0.49)
    assert top.velocity[1] == pytest.approx(0.0, abs=1e-12)
    # No friction in the air.
    assert top.position[0] == pytest.approx(0.5 * fall * 1.7)
    at_rest = advanced(drop, ball, 60.0)
    assert at_rest.speed == 0.0
    assert ball.height(at_rest.position) == pytest.approx(0.0)


def test_a_thrown_ball_flies_a_parabola():
    ball = Ball()
    velocity = np.array([2.0, 5.0, 1.0])
    thrown = advanced(BallState(np.array([0, 1.0, 0]), velocity), ball, 0.4)
    expected = np.array([0.8, 1.0 + 2.0 - 0.5 * GRAVITY * 0.16, 0.4])
    np.testing.assert_allclose(thrown.position, expected)


numbers = st.floats(-8.0, 8.0)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(numbers, numbers, numbers),
    st.floats(0.0, 3.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 0.5),
)
# A deceleration so small that the time until rest is beyond the floating point numbers.
@example((0.0, 0.0, 1.0), 0.0, 0.0, 2.225e-311)
def test_energy_never_grows_and_balls_stay_on_the_ground(velocity, height, bounce, rolling):
    ball = Ball(restitution=bounce, rolling=rolling)
    start = BallState(ball.resting(np.zeros(2)) + np.array([0, height, 0]), np.array(velocity))
    states = rolled(ball, start, 1.0)
    energies = np.array([float(ball_energy(each, ball)) for each in states])
    assert np.isfinite(energies).all()
    assert (np.diff(energies) <= 1e-5 * max(1.0, abs(energies[0]))).all()
    assert min(float(ball.height(each.position)) for each in states) > -1e-9


def test_a_foot_gives_the_impulse_of_its_speed():
    ball = Ball()
    state = on_ground(ball, [0, 0, 0.5], (0.0, 0.14))
    foot = np.array([[0.0, ball.radius_m, 0.0]])
    after, impulse = touched(
        state, ball, foot, np.array([[0, 0, 3.0]]), radius_m=0.04, restitution=0.5
    )
    assert after.velocity[2] == pytest.approx(0.5 + 1.5 * 2.5)
    assert impulse[0] == pytest.approx(ball.mass_kg * 1.5 * 2.5)
    assert np.linalg.norm(after.position - foot[0]) >= ball.radius_m + 0.04 - 1e-12
    # A foot that leaves gives nothing, and one out of reach does not touch.
    for point, velocity in ((foot, [[0, 0, -3.0]]), (foot - np.array([0, 0, 1.0]), [[0, 0, 3.0]])):
        same, none = touched(state, ball, point, np.array(velocity, float), radius_m=0.04)
        assert none[0] == 0.0
        np.testing.assert_allclose(same.velocity, state.velocity)
