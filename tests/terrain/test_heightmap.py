"""Heights between points, beyond the edges, and of made ground."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.terrain.heightmap import MADE_GROUNDS, Heightmap, made_ground


def test_heights_are_bilinear_with_columns_along_x_and_rows_along_z():
    ground = Heightmap(np.array([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]), 0.5, origin=(1.0, -2.0))
    places = np.array([[1.0, -2.0], [1.5, -2.0], [1.0, -1.5], [1.25, -1.75]])
    np.testing.assert_allclose(ground.at(places), [0.0, 1.0, 10.0, 5.5], atol=1e-6)
    assert ground.size == (1.0, 0.5)
    np.testing.assert_allclose(
        ground.gradients(np.array([1.5, -1.75]), 0.1), [2.0, 20.0], rtol=1e-5
    )


def test_beyond_its_edges_the_ground_stays_at_the_edge():
    ground = Heightmap.centred(np.array([[1.0, 2.0], [3.0, 4.0]]), 1.0)
    assert ground.at(np.array([[-9.0, -9.0], [9.0, 9.0]])).tolist() == [1.0, 4.0]
    plane = Heightmap(np.array([[0.3]]), 1.0)
    np.testing.assert_allclose(plane.at(np.array([[5.0, -7.0], [0.0, 0.0]])), 0.3, atol=1e-7)


@pytest.mark.parametrize(
    ("heights", "spacing", "word"),
    [
        (np.array([[0.0, np.nan]]), 0.1, "row 0, column 1 is not finite"),
        (np.zeros((0, 3)), 0.1, "rows and columns"),
        (np.zeros(4), 0.1, "rows and columns"),
        (np.zeros((2, 2)), 0.0, "spacing"),
        (np.full((2, 2), 1e6), 0.1, "height of 1e"),
        (np.zeros((2, 2)), 1e6, "points at"),
    ],
)
def test_what_is_no_ground_is_refused(heights, spacing, word):
    with pytest.raises(ParameterError, match=word):
        Heightmap(heights, spacing)


@pytest.mark.parametrize("name", MADE_GROUNDS)
def test_made_ground_depends_on_its_seed_and_is_0_at_the_origin(name):
    first, again = (made_ground(name, seed=3, size_m=12.0, spacing_m=0.05) for _ in range(2))
    np.testing.assert_array_equal(first.heights, again.heights)
    assert abs(first.at(np.zeros(2))) < 1e-6
    assert 0.05 < np.ptp(first.heights) < 3.0
    other = made_ground(name, seed=4, size_m=12.0, spacing_m=0.05)
    assert not np.array_equal(first.heights, other.heights)


def test_stairs_rise_by_17_cm():
    stairs = made_ground("stairs", size_m=30.0)
    levels = np.unique(stairs.heights.round(4))
    np.testing.assert_allclose(np.diff(levels), 0.17, atol=1e-3)
    line = stairs.heights[:, 0]
    changes = np.flatnonzero(np.abs(np.diff(line)) > 0.01)
    np.testing.assert_allclose(np.diff(changes[:4]) * stairs.spacing_m, 0.3, atol=0.03)
