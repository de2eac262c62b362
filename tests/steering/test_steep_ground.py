"""Walls, ledges and pits of heightmaps: paths stay off them, and slide along."""

import numpy as np
import pytest

from deepphase.steering.steep_ground import SteepGround
from deepphase.terrain.ground_shapes import made_ground
from deepphase.terrain.heightmap import Heightmap

STEP_M = 0.38


def ground_of(height, spacing=0.05, half=4.0):
    """Ground whose height is a function of x and z."""
    line = np.arange(-half, half + 1e-9, spacing)
    x, z = np.meshgrid(line, line)
    return Heightmap.centred(height(x, z) + 0.0 * x, spacing)


def walked(ground, steps, start=0.0 + 0.0j):
    """Places after short steps (frames,) complex, as roots move."""
    steep, place, places = SteepGround(ground, STEP_M), np.array([start]), []
    for step in steps:
        place = steep.kept_off(place, (place + step)[:, None])[:, 0]
        places.append(place[0])
    return np.array(places)


def test_a_wall_is_kept_at_a_distance_and_slid_along():
    wall = ground_of(lambda x, z: np.where(z > 1.0, 2.0, 0.0))
    diagonal = walked(wall, [0.02 + 0.02j] * 150)
    assert diagonal.imag.max() < 1.0 - 0.25
    assert diagonal.real[-1] > 2.5
    # Straight into it, the path ends there, and leads back again.
    there = walked(wall, [0.02j] * 100 + [-0.02j] * 50)
    assert 0.6 < there.imag[99] < 0.8
    assert there.imag[-1] < there.imag[99] - 0.9


@pytest.mark.parametrize("height", [-0.6, -30.0])
def test_a_ledge_is_slid_along(height):
    ledge = ground_of(lambda x, z: np.where(z > 1.0, height, 0.0))
    diagonal = walked(ledge, [0.02 + 0.02j] * 150)
    assert 0.5 < diagonal.imag.max() < 0.9
    assert diagonal.real[-1] > 2.5


@pytest.mark.parametrize("kind", ["stairs", "ramps", "noise", "hills", "rocks"])
def test_ground_that_can_be_walked_on_does_not_change_paths(kind):
    ground = made_ground(kind, seed=4, size_m=20.0, spacing_m=0.05)
    steps = [0.005 + 0.02j] * 300
    np.testing.assert_allclose(walked(ground, steps)[-1], sum(steps), atol=0.35)


def test_a_beam_is_walked_along_but_not_left():
    beam = made_ground("beam", size_m=12.0, spacing_m=0.05)
    along = walked(beam, [0.002 + 0.02j] * 200)
    assert np.abs(along.real).max() <= 0.15
    assert along.imag[-1] > 3.0
    assert np.abs(walked(beam, [0.02] * 100).real).max() <= 0.15


def test_a_pit_and_a_corner_stop_paths_and_many_paths_are_as_one():
    pit = ground_of(lambda x, z: np.where(np.hypot(x, z - 2.0) < 0.7, -1.0, 0.0))
    straight = walked(pit, [0.02j] * 200)
    assert np.abs(straight - 2.0j).min() > 0.7
    corner = ground_of(lambda x, z: np.where((z > 1.0) | (x > 1.0), 2.0, 0.0))
    assert np.abs(walked(corner, [0.02 + 0.02j] * 300)[-1]) < 1.2
    steep = SteepGround(corner, STEP_M)
    places = np.array([0.0, -2.0 + 0.5j, 0.5 + 0.5j])
    paths = places[:, None] + np.linspace(0.1, 1.2, 6) * (1.0 + 0.7j)
    together = steep.kept_off(places, paths)
    for index in range(len(places)):
        alone = steep.kept_off(places[[index]], paths[[index]])
        # Steps are as short as the longest path's need.
        np.testing.assert_allclose(together[index], alone[0], atol=0.05)
        assert (together[index].real < 1.0).all()
        assert (together[index].imag < 1.0).all()
    flat = Heightmap(np.zeros((1, 1)), 1.0)
    np.testing.assert_array_equal(SteepGround(flat, STEP_M).kept_off(places, paths), paths)
    # Even where it begins within the wall, a path is finite.
    assert np.isfinite(walked(corner, [0.02 + 0.02j] * 50, 1.5 + 1.5j)).all()
