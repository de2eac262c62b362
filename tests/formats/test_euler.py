"""Euler angles against SciPy, and their continuity."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.bvh.hierarchy import EULER_ORDERS, quaternions_from_euler
from deepphase.formats.bvh.writer import continuous_euler


def turn_between(first, second):
    one, other = (Rotation.from_quat(np.reshape(q, (-1, 4))) for q in (first, second))
    return np.rad2deg((one.inv() * other).magnitude())


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_quaternions_are_those_of_scipy(order):
    angles = np.random.default_rng(1).uniform(-720, 720, (3, 500))
    angles[:, :6] = [[0, 90, 180, -180, 360, 540]] * 3
    expected = Rotation.from_euler(order, angles.T, degrees=True).as_quat()
    found = quaternions_from_euler(angles, order)
    assert np.minimum(np.abs(found - expected), np.abs(found + expected)).max() < 1e-13


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize("pole", [90.0, -90.0])
def test_angles_at_the_pole_are_right_and_held(order, pole):
    frames = 61
    middle = np.concatenate([np.linspace(pole * 7 / 9, pole, 30), np.full(31, pole)])
    true = np.stack([np.linspace(10, 40, frames), middle, np.full(frames, 25.0)])
    rotations = quaternions_from_euler(true, order)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        angles = continuous_euler(rotations, order)
    again = quaternions_from_euler(np.moveaxis(angles, -1, 0), order)
    assert turn_between(rotations, again).max() < 1e-4
    np.testing.assert_allclose(angles, true.T, atol=0.01)


def test_curves_have_no_jumps_where_the_motion_has_none():
    time = np.linspace(0, 1, 400)
    # Through the pole and on, and three whole turns about the first axis.
    true = np.stack([1080 * time, 170 * np.sin(5 * time), 40 * time])
    angles = continuous_euler(quaternions_from_euler(true, "YXZ"), "YXZ")
    assert np.abs(np.diff(angles, axis=0)).max() < 5
    np.testing.assert_allclose(angles, true.T, atol=1e-6)
