"""Velocities that touches give, and feet that reach for a ball."""

import numpy as np

from deepphase.controllers.ball.reaching import (
    GIVES,
    NEXT_TOUCH_S,
    ReachingFeet,
    given_velocities,
    velocities_to,
)
from deepphase.motion.ball import Ball, BallState, advanced

BALL = Ball(rolling=0.09)


def test_a_ball_that_leaves_at_the_wanted_velocity_rolls_to_its_aim():
    aims = np.array([[0.5, 1.0], [-0.8, 0.2], [0.05, 0.0]])
    wanted = velocities_to(aims, np.zeros((3, 2)), BALL)
    moving = np.stack([wanted[:, 0], np.zeros(3), wanted[:, 1]], axis=1)
    there = advanced(BallState(BALL.resting(np.zeros((3, 2))), moving), BALL, NEXT_TOUCH_S)
    np.testing.assert_allclose(there.position[:, ::2], aims, atol=1e-9)
    assert np.isnan(velocities_to(np.full((1, 2), np.nan), np.zeros((1, 2)), BALL)).all()


def test_a_touch_gives_what_a_foot_can():
    generator = np.random.default_rng(3)
    velocities, wanted, feet = generator.normal(0, 2, (3, 500, 2))
    after = given_velocities(velocities, wanted, feet)
    change, meeting = after - velocities, feet - velocities
    size = np.linalg.norm(change, axis=1)
    given = size > 1e-9
    assert 0.3 < given.mean() < 1.0
    way = change[given] / size[given, None]
    along = np.vecdot(way, meeting[given])
    # Towards the ball, within 60 degrees, and no harder than 1.6 times as fast as they meet.
    assert (along >= 0.5 * np.linalg.norm(meeting[given], axis=1) - 1e-9).all()
    assert (size[given] <= GIVES * along + 1e-9).all()
    before, later = (np.linalg.norm(wanted - each, axis=1) for each in (velocities, after))
    assert (later <= before + 1e-9).all()
    # What a foot can give is given.
    np.testing.assert_allclose(
        given_velocities(np.zeros((1, 2)), np.array([[0.5, 2.0]]), np.array([[0.0, 2.0]])),
        [[0.5, 2.0]],
    )
    # A foot that leaves gives nothing.
    kept = given_velocities(np.array([[0.0, 1.0]]), np.array([[0.0, 3.0]]), np.array([[0.0, 0.5]]))
    np.testing.assert_allclose(kept, [[0.0, 1.0]])


def reached(place, wanted, swinging=(True, True), frames=40):
    feet = ReachingFeet(1)
    tips = np.array([[[0.1, 0.0], [-0.1, 0.0]]])
    for _ in range(frames):
        feet.move(
            tips + feet.offsets, np.array([swinging]), np.array([place]), np.zeros((1, 2)),
            np.array([wanted]), 1.0 / 60.0,
        )  # fmt: skip
    return feet, tips


def test_the_nearest_foot_that_swings_reaches_behind_the_ball():
    feet, tips = reached((0.3, 0.0), (1.0, 0.0))
    # 12 cm behind the ball, seen from where it shall go.
    np.testing.assert_allclose(tips[0, 0] + feet.offsets[0, 0], [0.18, 0.0], atol=1e-3)
    np.testing.assert_allclose(feet.offsets[0, 1], 0.0, atol=1e-9)
    feet, tips = reached((0.2, 0.0), (1.0, 0.0), (False, True))
    assert feet.offsets[0, 1, 0] > 0.08
    np.testing.assert_allclose(feet.offsets[0, 0], 0.0)


def test_a_foot_goes_there_and_back_smoothly():
    feet, tips = ReachingFeet(1), np.array([[[0.1, 0.0], [-0.1, 0.0]]])
    way = []
    for frame in range(90):
        wanted = np.array([[1.0, 0.0]]) if 5 <= frame < 30 else np.full((1, 2), np.nan)
        feet.move(
            tips + feet.offsets, np.ones((1, 2), bool), np.array([[0.35, 0.0]]), np.zeros((1, 2)),
            wanted, 1.0 / 60.0,
        )  # fmt: skip
        way.append(feet.offsets[0, 0, 0])
    assert max(way) > 0.1
    assert abs(way[-1]) < 1e-3
    assert np.abs(np.diff(way)).max() * 60 < 2.0
    assert np.abs(np.diff(way, 2)).max() * 3600 < 80.0
