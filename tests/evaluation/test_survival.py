"""Measures of staying alive, on motion made for each."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.runs import (
    frozen_share,
    kinetic_energies,
    limb_length_change,
    seconds_of,
    shares_of_band,
)

FPS = 60.0


def test_energy_is_half_the_mean_squared_speed():
    positions = np.zeros((60, 2, 3))
    positions[:, 0, 2] = 3.0 * np.arange(60) / FPS
    np.testing.assert_allclose(kinetic_energies(positions, FPS), 0.5 * 9.0 / 2)


def test_shares_of_a_band_add_up():
    assert shares_of_band(np.arange(10), 2, 7) == pytest.approx((0.2, 0.6, 0.2))
    with pytest.raises(ParameterError, match="band"):
        shares_of_band(np.arange(10), 7, 2)


def test_the_limb_that_grows_most_is_told():
    parents, lengths = np.array([-1, 0, 1, 1]), np.array([0.0, 1.0, 0.5, 0.0])
    positions = np.zeros((3, 4, 3))
    positions[:, 1, 1] = 1.0
    positions[:, 2] = [0.5, 1.0, 0.0]
    positions[:, 3] = [9.0, 9.0, 9.0]
    assert limb_length_change(positions, parents, lengths) == pytest.approx(0.0)
    positions[2, 2, 0] = 0.55
    assert limb_length_change(positions, parents, lengths) == pytest.approx(0.1)


def test_a_body_is_frozen_in_seconds_in_which_it_was_wished_to_move_and_did_not():
    assert seconds_of(np.arange(130.0), FPS).tolist() == [29.5, 89.5]
    speeds = np.repeat([1.0, 0.01, 0.01, 1.0], 60)
    desired = np.repeat([1.0, 1.0, 0.0, 1.0], 60)
    assert frozen_share(speeds, desired, FPS, still=0.1, moving=0.5) == pytest.approx(1 / 3)
    assert frozen_share(speeds, 0 * desired, FPS, still=0.1, moving=0.5) == 0.0
