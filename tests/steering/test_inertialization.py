"""A transition starts as the old motion is, in place and speed, and fades by its halflife."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.steering.springs import angular_velocities, inertialized_rotations, rotation_offsets

HALFLIFE = 0.15


def test_rotation_vectors_are_scipys():
    rng = np.random.default_rng(0)
    rotations = Rotation.random(200, random_state=1).as_quat()
    rotations[:3] = [[0, 0, 0, 1], [1e-9, 0, 0, 1], [0, 0, 0, -1]]
    np.testing.assert_allclose(
        quaternions.rotation_vectors(rotations),
        Rotation.from_quat(rotations).as_rotvec(),
        atol=1e-12,
    )
    vectors = rng.standard_normal((50, 3))
    vectors[0] = 0
    np.testing.assert_allclose(
        Rotation.from_quat(quaternions.from_rotation_vectors(vectors)).as_matrix(),
        Rotation.from_rotvec(vectors).as_matrix(),
        atol=1e-12,
    )


def moving(start, velocity, time):
    return (Rotation.from_rotvec(velocity * time) * Rotation.from_rotvec(start)).as_quat()


@pytest.mark.parametrize("size", [0.0, 1e-5, 0.3, 2.5])
def test_it_starts_at_the_old_pose_with_the_old_velocity(size):
    rng = np.random.default_rng(3)
    axis = rng.standard_normal((20, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    new, new_velocity, old_velocity = rng.standard_normal((3, 20, 3))
    old = (Rotation.from_rotvec(size * axis) * Rotation.from_rotvec(new)).as_rotvec()
    offset, rate = rotation_offsets(
        moving(old, old_velocity, 0.0), old_velocity, moving(new, new_velocity, 0.0), new_velocity
    )
    shown = [
        inertialized_rotations(offset, rate, moving(new, new_velocity, time), HALFLIFE, time)
        for time in (0.0, 1e-6)
    ]
    away = Rotation.from_quat(shown[0]) * Rotation.from_rotvec(old).inv()
    np.testing.assert_allclose(away.magnitude(), 0.0, atol=1e-7)
    np.testing.assert_allclose(angular_velocities(*shown, 1e-6), old_velocity, atol=2e-4)


def test_half_is_left_after_the_halflife_and_nothing_in_the_end():
    offset = np.array([[0.4, 0.0, 0.0]])
    new = np.array([[0.0, 0.0, 0.0, 1.0]])
    rest = np.zeros((1, 3))
    half = inertialized_rotations(offset, rest, new, HALFLIFE, HALFLIFE)
    np.testing.assert_allclose(quaternions.rotation_vectors(half), offset / 2, atol=1e-9)
    end = inertialized_rotations(offset, rest, new, HALFLIFE, 20 * HALFLIFE)
    np.testing.assert_allclose(quaternions.rotation_vectors(end), 0.0, atol=1e-9)
