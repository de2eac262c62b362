"""Frechet distance against its closed form, and the halves that it is measured on."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from tests.studies.dances.frechet import (
    diversity,
    frechet_distance,
    halves_distance,
    smallest_half,
)

RNG = np.random.default_rng(0)


def test_a_set_is_not_far_from_itself():
    features = RNG.standard_normal((200, 8))
    assert frechet_distance(features, features[RNG.permutation(200)]) == pytest.approx(0, abs=1e-6)


def test_a_shift_costs_its_square_whatever_the_covariance():
    features = RNG.standard_normal((300, 5)) @ RNG.standard_normal((5, 5))
    shift = np.array([1.0, -2.0, 0.0, 0.5, 0.0])
    assert frechet_distance(features, features + shift) == pytest.approx(shift @ shift, rel=1e-6)


def test_gaussians_have_their_closed_form():
    """tr(S1 + S2 - 2 (S1 S2)^(1/2)) of diagonal covariances is sum of (s1 - s2)^2."""
    one = RNG.standard_normal((40_000, 3)) * [1.0, 2.0, 3.0]
    other = RNG.standard_normal((40_000, 3)) * [2.0, 2.0, 1.0] + [0.0, 1.0, 0.0]
    assert frechet_distance(one, other) == pytest.approx(1 + 0 + 4 + 1, rel=0.03)


def test_few_rows_are_bridged_by_shrinkage():
    """Fewer rows than dimensions: no NaN, and equals stay nearer than others."""
    one, other = RNG.standard_normal((2, 20, 60))
    near = frechet_distance(one, other)
    assert np.isfinite(near)
    assert near < frechet_distance(one, other + 3.0)
    constant = np.ones((5, 4))
    assert frechet_distance(constant, constant + 1.0) == pytest.approx(4.0)


def test_refusals():
    with pytest.raises(ParameterError, match="two rows"):
        frechet_distance(np.ones((1, 3)), np.ones((4, 3)))
    with pytest.raises(ParameterError, match="finite"):
        frechet_distance(np.full((3, 3), np.nan), np.ones((4, 3)))
    with pytest.raises(ParameterError, match="dimensions"):
        frechet_distance(np.ones((3, 2)), np.ones((4, 3)))
    with pytest.raises(ParameterError, match="two clips"):
        halves_distance(np.ones((4, 3)), np.zeros(4))


def test_halves_never_tear_a_group_apart():
    """Each group is a point of its own: whole groups on both sides, so they are always apart."""
    groups = np.repeat(np.arange(6), 20)
    features = 10.0 * np.eye(6)[groups] + 0.01 * RNG.standard_normal((120, 6))
    split = halves_distance(features, groups, splits=10)
    assert split.low > 30.0
    assert split.rows == smallest_half(groups) == 60
    # Torn into single rows, both halves hold all groups.
    assert halves_distance(features, np.arange(120), splits=10).high < 15.0


def test_another_set_is_measured_by_halves_too():
    groups = np.repeat(np.arange(10), 30)
    features = RNG.standard_normal((300, 4))
    equal = halves_distance(features, groups)
    again = halves_distance(RNG.standard_normal((300, 4)), groups, (features, groups))
    moved = halves_distance(features + 2.0, groups, (features, groups))
    assert again.rows == equal.rows == 150
    assert abs(again.mean - equal.mean) < 0.3
    assert moved.mean == pytest.approx(16.0, abs=3.0)


def test_diversity_is_the_mean_distance():
    assert diversity(np.array([[0.0, 0.0], [3.0, 4.0]])) == pytest.approx(5.0)
    rows = np.array([[0.0], [0.0], [2.0]])
    assert diversity(rows) == pytest.approx(4 / 3)
    assert diversity(rows, np.array([0, 0, 1])) == pytest.approx(2.0)
    with pytest.raises(ParameterError, match="different groups"):
        diversity(rows, np.zeros(3))
