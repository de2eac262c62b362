"""Six numbers a rotation, there and back."""

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.quaternions import angle_between, from_six_numbers, six_numbers


def test_there_and_back():
    rotations = Rotation.random(200, random_state=0)
    numbers = six_numbers(rotations.as_quat().reshape(10, 20, 4))
    matrices = rotations.as_matrix().reshape(10, 20, 3, 3)
    np.testing.assert_allclose(numbers[..., :3], matrices[..., 0], atol=1e-12)
    np.testing.assert_allclose(numbers[..., 3:], matrices[..., 1], atol=1e-12)
    back = from_six_numbers(numbers)
    assert angle_between(back, rotations.as_quat().reshape(10, 20, 4)).max() < 1e-6


def test_scaled_and_skewed_numbers_give_the_rotation_of_their_axes():
    rotations = Rotation.random(50, random_state=1).as_quat()
    numbers = six_numbers(rotations)
    skewed = np.concatenate([3.0 * numbers[:, :3], 0.2 * numbers[:, 3:] - numbers[:, :3]], 1)
    assert angle_between(from_six_numbers(skewed), rotations).max() < 1e-6


def test_any_numbers_give_a_rotation():
    x = np.eye(3)[[0, 1, 2]]
    numbers = np.concatenate([np.zeros((1, 6)), np.hstack([x, x]), np.hstack([x, -2 * x])])
    found = from_six_numbers(numbers)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    np.testing.assert_allclose(six_numbers(found)[1:4, :3], x, atol=1e-12)
