"""Limits of goals: what is within reach is not changed, what is beyond it keeps its direction."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.steering.goal_limits import GoalLimits
from deepphase.steering.goal_sources import RootStates

LIMITS = GoalLimits(2.0)
OFFSETS = np.array([0.25, 0.5, 1.0])
ROOT = np.array([[3.0, -4.0]])


def places(*lengths):
    """Goals in the direction (0.6, 0.8), so many metres from the root."""
    return ROOT[:, None] + np.array(lengths)[None, :, None] * [0.6, 0.8]


def test_goals_within_reach_are_the_same_numbers():
    given = places(0.5, 0.99, 1.99)
    found, limited = LIMITS.limited_places(given, ROOT, OFFSETS)
    np.testing.assert_array_equal(found, given)
    assert not limited.any()


@pytest.mark.parametrize("size", [3.0, 1e6, 1e30, 1e200])
def test_goals_beyond_reach_are_as_far_as_the_speed_goes(size):
    found, limited = LIMITS.limited_places(places(0.1, size, size), ROOT, OFFSETS)
    np.testing.assert_array_equal(found[0, 0], places(0.1)[0, 0])
    np.testing.assert_allclose(found[0, 1:], places(1.0, 2.0)[0], rtol=1e-12)
    assert limited.all()
    velocities, limited = LIMITS.limited_velocities(np.array([[[0.0, -size], [0.5, 0.0]]]))
    np.testing.assert_allclose(velocities, [[[0.0, -2.0], [0.5, 0.0]]], rtol=1e-12)
    assert limited.all()


def test_the_largest_numbers_are_finite_and_others_stay_as_they_are():
    found, _ = LIMITS.limited_places(np.full((1, 3, 2), 1.7e308), ROOT, OFFSETS)
    assert np.isfinite(found).all()
    for value in (np.nan, np.inf):
        found, _ = LIMITS.limited_places(np.full((1, 3, 2), value), ROOT, OFFSETS)
        assert not np.isfinite(found).any()


def projected(limits, way, length, facing=0.0, desired=None):
    """A goal in a second, in a direction and a distance, both facings given: all angles degrees."""
    way, facing, desired = np.radians([way, facing, facing if desired is None else desired])
    places = ROOT[:, None] + length * np.array([[[np.sin(way), np.cos(way)]]])
    states = RootStates(ROOT, np.zeros((1, 2)), np.array([facing]), np.zeros(1))
    found, facings, limited = limits.projected(places, np.array([[desired]]), states, np.ones(1))
    away = found[0, 0] - ROOT[0]
    return np.degrees(np.arctan2(*away)), np.hypot(*away), np.degrees(facings[0, 0]), limited[0]


@pytest.mark.parametrize(
    ("way", "reach"), [(0, 4.5), (44, 4.5), (-90, 1.1), (90, 1.1), (112.5, 0.825), (180, 0.22)]
)
def test_directions_that_the_data_is_slower_in_have_nearer_goals(way, reach):
    speeds = [3.0, 2.0, 1.0, 0.5, 0.2, 0.5, 1.0, 2.0]  # ahead, then to the left, behind, right
    limits = GoalLimits.from_top_speed(3.0).with_speeds(speeds)
    assert not limits.spans
    _, length, facing, limited = projected(limits, way + 30.0, 9.0, 30.0)
    np.testing.assert_allclose([length, facing], [reach, 30.0], atol=0.02)
    assert limited


def test_directions_that_the_data_never_goes_turn_the_facing():
    speeds = [3.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]
    limits = GoalLimits.from_top_speed(3.0).with_speeds(speeds)
    np.testing.assert_allclose(np.degrees(limits.spans), [[-202.5, -157.5], [-67.5, 67.5]])
    for way, facing in ((60, 0), (90, 22.5), (-90, -22.5), (140, -17.5), (180, 0)):
        found, _, turned, limited = projected(limits, way, 1.0)
        np.testing.assert_allclose([found, turned], [way, facing], atol=1e-6)
        assert limited == (facing != 0)
    # A body that hardly travels keeps its facing.
    assert projected(limits, 90, 0.1)[2] == 0.0


def test_a_body_that_goes_ahead_alone_turns_to_where_it_shall_go():
    limits = GoalLimits.from_top_speed(3.0).with_speeds([3.0] + [0.0] * 7)
    # A frame before and after each moment gives its velocity, as in runs.
    offsets = np.array([0.5, 1.0, 0.48, 0.98, 0.52, 1.02])
    away, held = np.array([[[0.0, -1.0]]]) * offsets[:, None], np.zeros((1, 6))
    for angle in (0.0, 1.0, -2.0, np.pi):
        states = RootStates(ROOT, np.zeros((1, 2)), np.array([angle]), np.zeros(1))
        facings = limits.projected(ROOT[:, None] + away, held, states, offsets)[1]
        np.testing.assert_allclose(np.abs(np.degrees(facings)), 157.5)
    # A quarter of a circle to the left, faced along it, is left as it is.
    angles = 0.5 * np.pi * offsets
    circle = np.stack([1.0 - np.cos(angles), np.sin(angles)], axis=-1)[None]
    states = RootStates(ROOT, np.zeros((1, 2)), np.zeros(1), np.zeros(1))
    _, facings, limited = limits.projected(ROOT[:, None] + circle, angles[None], states, offsets)
    np.testing.assert_allclose(facings[0], angles)
    assert not limited.any()
