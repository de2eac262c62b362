"""Limits of goals: what is within reach is not changed, what is beyond it keeps its direction."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.steering.goal_limits import GoalLimits

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


def test_a_limit_is_above_zero():
    for speed in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="speed limit"):
            GoalLimits(speed)
