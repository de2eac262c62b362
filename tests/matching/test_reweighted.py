"""Databases with other weights of their features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.arrays import ComputedRows
from deepphase.errors import ParameterError
from deepphase.matching.search.searcher import open_searcher
from tests.matching.test_player import opened, walking_store


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-0.8, 0.0, 0.8), seconds=4.0))[0]


@pytest.mark.parametrize("computed", [False, True])
def test_distances_are_those_of_the_weights(walks, computed):
    database = walks
    if computed:
        raw = database.normalisation.inverse(np.asarray(database.features))
        database = replace(database, features=ComputedRows(raw, database.normalisation))
    factors = {"trajectory_direction": 0.25, "foot_velocity": 3.0}
    other = database.reweighted(factors)
    columns = np.ones(database.dims)
    for name, factor in factors.items():
        columns[database.layout.slices[name]] = factor
    expected = np.asarray(database.features) * columns
    np.testing.assert_allclose(np.asarray(other.features), expected, rtol=1e-4, atol=1e-5)
    raw = walks.normalisation.inverse(np.asarray(walks.features[7]))
    np.testing.assert_allclose(other.normalised(raw), expected[7], rtol=1e-3, atol=1e-4)
    assert other.layout["foot_velocity"].weight == 3.0 * database.layout["foot_velocity"].weight
    query = other.query([5], {"trajectory_direction": np.zeros((1, 6), np.float32)})
    distances = np.linalg.norm(query - expected[other.offered_rows], axis=1)
    _, found = open_searcher(other).search(query)
    assert found[0, 0] == other.offered_rows[distances.argmin()]


def test_impossible_weights_are_refused(walks):
    assert walks.reweighted({}) is walks
    assert walks.reweighted({"foot_velocity": 1.0}) is walks
    with pytest.raises(ParameterError, match="no feature 'speed'"):
        walks.reweighted({"speed": 2.0})
    for factor in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="factor"):
            walks.reweighted({"foot_velocity": factor})
    with pytest.raises(ParameterError, match="weight 0"):
        walks.reweighted(dict.fromkeys(walks.layout.names, 0.0))
