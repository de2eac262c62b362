"""Quaternion arithmetic against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions

RNG = np.random.default_rng(0)
A = Rotation.random(60, random_state=1)
B = Rotation.random(60, random_state=2)
V = RNG.standard_normal((60, 3))


def test_product_rotation_and_inverse_are_scipys():
    a, b = A.as_quat(), B.as_quat()
    product = Rotation.from_quat(quaternions.multiply(a, b))
    assert (product * (A * B).inv()).magnitude().max() < 1e-12
    np.testing.assert_allclose(quaternions.rotate(a, V), A.apply(V), atol=1e-12)
    np.testing.assert_allclose(quaternions.conjugate(a), A.inv().as_quat(), atol=1e-15)
    np.testing.assert_allclose(
        quaternions.angle_between(a, -b), (A.inv() * B).magnitude(), atol=1e-7
    )


def test_axis_and_angle():
    turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), np.array([0.0, np.pi / 2]))
    np.testing.assert_allclose(
        quaternions.rotate(turn, np.array([0.0, 0.0, 1.0])), [[0, 0, 1], [1, 0, 0]], atol=1e-12
    )


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(0, 2**31))
def test_signs_are_continuous_and_rotations_the_same(frames, seed):
    rng = np.random.default_rng(seed)
    raw = quaternions.normalized(rng.standard_normal((frames, 3, 4)))
    smooth = quaternions.sign_continuous(raw)
    np.testing.assert_array_equal(np.abs(smooth), np.abs(raw))
    np.testing.assert_array_equal(smooth[0], raw[0])
    assert (np.einsum("fjc,fjc->fj", smooth[1:], smooth[:-1]) >= 0).all()


def test_a_quaternion_without_direction_becomes_the_identity():
    made = quaternions.normalized(np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]]))
    np.testing.assert_array_equal(made, [[0, 0, 0, 1], [0, 0, 0, 1]])


def test_the_mean_rotation_is_scipys_and_blind_to_signs():
    signs = RNG.choice([-1.0, 1.0], (60, 1))
    turns = (Rotation.from_rotvec(0.3 * V) * A[0]).as_quat()
    mean = quaternions.mean_rotation((signs * turns)[:, None])[0]
    assert quaternions.angle_between(mean, Rotation.from_quat(turns).mean().as_quat()) < 1e-6


@pytest.mark.parametrize("second", [1.0, 0.3, 0.01, 1e-3])
def test_fitted_rotations_are_those_of_scipy(second):
    rest = RNG.standard_normal((60, 3, 3))
    # All but in one line, as the joints of a straight limb are.
    rest[:, 1:] = rest[:, :1] + second * rest[:, 1:]
    measured = A.as_matrix() @ rest.swapaxes(1, 2) + 0.1 * second * RNG.standard_normal((60, 3, 3))
    turns = quaternions.rotation_fit((measured @ rest).reshape(12, 5, 3, 3)).reshape(60, 4)
    pairs = zip(measured.swapaxes(1, 2), rest, strict=True)
    wanted = Rotation.concatenate([Rotation.align_vectors(*pair)[0] for pair in pairs])
    assert (Rotation.from_quat(turns) * wanted.inv()).magnitude().max() < 1e-6


def test_fitted_rotations_of_vectors_in_one_line_and_of_none():
    line = V[:, :, None] * A.apply(V)[:, None]
    turns = quaternions.rotation_fit(np.concatenate([line, np.zeros((1, 3, 3))]))
    np.testing.assert_allclose(quaternions.rotate(turns[:-1], A.apply(V)), V, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0)


def test_six_numbers_there_and_back():
    rotations = Rotation.random(200, random_state=0)
    numbers = quaternions.six_numbers(rotations.as_quat().reshape(10, 20, 4))
    matrices = rotations.as_matrix().reshape(10, 20, 3, 3)
    np.testing.assert_allclose(numbers[..., :3], matrices[..., 0], atol=1e-12)
    np.testing.assert_allclose(numbers[..., 3:], matrices[..., 1], atol=1e-12)
    back = quaternions.from_six_numbers(numbers)
    assert quaternions.angle_between(back, rotations.as_quat().reshape(10, 20, 4)).max() < 1e-6


def test_scaled_and_skewed_numbers_give_the_rotation_of_their_axes():
    rotations = Rotation.random(50, random_state=1).as_quat()
    numbers = quaternions.six_numbers(rotations)
    skewed = np.concatenate([3.0 * numbers[:, :3], 0.2 * numbers[:, 3:] - numbers[:, :3]], 1)
    assert quaternions.angle_between(quaternions.from_six_numbers(skewed), rotations).max() < 1e-6


def test_any_numbers_give_a_rotation():
    x = np.eye(3)[[0, 1, 2]]
    numbers = np.concatenate([np.zeros((1, 6)), np.hstack([x, x]), np.hstack([x, -2 * x])])
    found = quaternions.from_six_numbers(numbers)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    np.testing.assert_allclose(quaternions.six_numbers(found)[1:4, :3], x, atol=1e-12)
