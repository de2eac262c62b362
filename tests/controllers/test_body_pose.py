"""Poses of predicted values against quaternions and forward kinematics of NumPy."""

import numpy as np
import pytest

from deepphase.controllers.runtime.body_pose import BodyPoses
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.quaternions import from_six_numbers, six_numbers
from tests.controllers.made_controllers import samples_for, walking_store

_COUNT = 30


@pytest.fixture(scope="module")
def poses() -> BodyPoses:
    store = walking_store()
    return BodyPoses(store.clip(0).skeleton, samples_for("pfnn", store).schema)


@pytest.fixture(scope="module")
def predicted(poses):
    """Numbers that are not orthonormal, some without a direction, and places of the hips."""
    random = np.random.default_rng(0)
    numbers = random.standard_normal((_COUNT, len(poses.body), 6)).astype(np.float32)
    numbers[0, 0, :3], numbers[1, 1, 3:] = 0.0, 0.0
    numbers[3, 3] = 1.0, 0.0, 0.0, -3.0, 0.0, 0.0
    numbers[4, 4] = 0.0, 2.0, 0.0, 0.0, 3.0, 0.0
    hips = random.standard_normal((_COUNT, 3)).astype(np.float32)
    return numbers.reshape(_COUNT, -1), hips


def test_rotations_are_those_of_the_six_numbers(poses, predicted):
    numbers, hips = predicted
    found = poses.read(numbers, hips)
    expected = from_six_numbers(numbers.reshape(_COUNT, -1, 6).astype(np.float64))
    turned = np.abs(np.vecdot(found.rotations, expected))
    np.testing.assert_allclose(turned, 1.0, atol=1e-5)
    np.testing.assert_allclose(found.numbers, six_numbers(expected), atol=3e-4)
    np.testing.assert_allclose(np.linalg.norm(found.rotations, axis=-1), 1.0, atol=1e-6)


def test_limbs_keep_their_length_and_the_whole_skeleton_is_in_the_world(poses, predicted):
    numbers, hips = predicted
    pose = poses.read(numbers, hips)
    np.testing.assert_array_equal(pose.positions[:, 0], hips)
    places, angles = np.arange(_COUNT) * (1.0 + 2.0j), np.linspace(-3.0, 3.0, _COUNT)
    rotations, translations = poses.in_world(pose, places, angles)
    clip = Clip(
        poses.skeleton, rotations, translations, 60.0, translated_joints=poses.translated_joints
    )
    world, positions = global_transforms(clip)
    # Root space turned about Y and moved to the root's place.
    turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), angles)[:, None]
    expected = quaternions.rotate(turn, pose.positions.astype(float))
    expected[..., 0] += places.real[:, None]
    expected[..., 2] += places.imag[:, None]
    np.testing.assert_allclose(positions[:, poses.body], expected, atol=2e-4)
    same = np.vecdot(world[:, poses.body], quaternions.multiply(turn, pose.rotations.astype(float)))
    np.testing.assert_allclose(np.abs(same), 1.0, atol=1e-5)


def test_a_character_alone_has_the_same_pose_bit_for_bit(poses, predicted):
    numbers, hips = predicted
    together = poses.read(numbers, hips)
    for at in (0, 7, _COUNT - 1):
        alone = poses.read(numbers[at : at + 1], hips[at : at + 1])
        np.testing.assert_array_equal(alone.rotations[0], together.rotations[at])
        np.testing.assert_array_equal(alone.positions[0], together.positions[at])
