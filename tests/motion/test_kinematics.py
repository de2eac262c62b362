"""Forward kinematics against scipy's rotations, and velocities against derivatives."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.motion.clip import Clip, end_positions, global_transforms, velocities
from tests.motion.bodies import HUMAN, body, random_clip

RNG = np.random.default_rng(3)


def moving_human(dtype=np.float64):
    skeleton, index = body(HUMAN)
    skeleton = replace(
        skeleton, end_parents=[index["head"], index["left_toe"]], end_offsets=RNG.random((2, 3))
    )
    clip = random_clip(skeleton, RNG, frames=5)
    joints = np.array([0, index["spine"], index["left_knee"]])
    return Clip(
        skeleton,
        clip.rotations.astype(dtype),
        RNG.standard_normal((5, 3, 3)).astype(dtype),
        60.0,
        joints,
    )


def test_transforms_are_those_of_scipy_joint_by_joint():
    clip = moving_human()
    rotations, positions = global_transforms(clip)
    local = clip.local_positions()
    world = []
    for joint, parent in enumerate(clip.skeleton.parents):
        own = Rotation.from_quat(clip.rotations[:, joint])
        above = Rotation.identity() if parent < 0 else world[parent]
        base = 0.0 if parent < 0 else positions[:, parent]
        world.append(above * own)
        expected = base + above.apply(local[:, joint])
        np.testing.assert_allclose(positions[:, joint], expected, atol=1e-12)
        error = (world[joint].inv() * Rotation.from_quat(rotations[:, joint])).magnitude()
        assert error.max() < 1e-12
    ends = end_positions(clip)
    for end, parent in enumerate(clip.skeleton.end_parents):
        expected = positions[:, parent] + world[parent].apply(clip.skeleton.end_offsets[end])
        np.testing.assert_allclose(ends[:, end], expected, atol=1e-12)


def test_velocity_of_a_parabola_is_exact_everywhere():
    time = np.arange(7)[:, None, None] / 30.0
    coefficients = RNG.standard_normal((3, 2, 3))
    positions = coefficients[0] + coefficients[1] * time + coefficients[2] * time**2
    expected = coefficients[1] + 2 * coefficients[2] * time
    np.testing.assert_allclose(velocities(positions, 30.0), expected, atol=1e-10)


@pytest.mark.parametrize(("frames", "expected"), [(1, 0.0), (2, 60.0), (3, 60.0)])
def test_velocity_of_very_short_clips(frames, expected):
    positions = np.arange(frames, dtype=np.float64)[:, None] * np.ones(3)
    np.testing.assert_allclose(velocities(positions, 60.0), expected)
