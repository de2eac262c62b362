"""Measures of runs on motion whose derivatives are known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import near_marked
from deepphase.evaluation.motion_measures import (
    foot_skating,
    foot_speeds,
    jerks_in_bands,
    joint_accelerations,
    joint_jerks,
    joint_rotation_rates,
    seconds_of,
)

FPS = 60.0
TIME = np.arange(120) / FPS


def test_the_largest_acceleration_is_that_of_the_joint_that_falls():
    positions = np.zeros((120, 2, 3))
    positions[:, 1, 1] = -0.5 * 9.81 * TIME**2
    positions[:, 0, 0] = 3.0 * TIME
    np.testing.assert_allclose(joint_accelerations(positions, FPS), 9.81, rtol=1e-6)
    np.testing.assert_allclose(joint_jerks(positions, FPS), 0.0, atol=1e-6)


def test_jerk_is_the_mean_over_joints():
    positions = np.zeros((120, 2, 3))
    positions[:, 1, 2] = TIME**3
    np.testing.assert_allclose(joint_jerks(positions, FPS), 3.0, rtol=1e-6)
    with pytest.raises(ParameterError, match="3 frames"):
        joint_jerks(positions[:3], FPS)


def test_a_jump_is_felt_before_and_after():
    jumped = np.zeros(10, bool)
    jumped[4] = True
    np.testing.assert_array_equal(np.flatnonzero(near_marked(jumped, 2)), [3, 4, 5, 6])
    assert near_marked(np.array([True]), 5).tolist() == [True]


def test_skating_is_the_mean_over_the_largest():
    assert foot_skating(np.array([0.6, 0.6]), 1.2) == pytest.approx(0.5)
    assert foot_skating(np.zeros(0), 1.2) == 0.0
    with pytest.raises(ParameterError, match="contact speed"):
        foot_skating(np.ones(2), 0.0)


def test_joints_turn_as_fast_as_their_rotations_say_whatever_their_signs():
    angles = np.zeros((120, 2, 3))
    angles[:, 1, 0] = np.radians(30.0) * TIME
    rotations = Rotation.from_rotvec(angles.reshape(-1, 3)).as_quat().reshape(120, 2, 4)
    rotations = rotations.astype(np.float32)
    rotations[::3] *= -1.0
    rates = joint_rotation_rates(rotations, FPS)
    np.testing.assert_allclose(rates, [[0.0, 30.0]] * 119, atol=0.01)
    with pytest.raises(ParameterError, match="rotation rates need at least 2 frames, not 1"):
        joint_rotation_rates(rotations[:1], FPS)


def test_a_foot_that_rolls_is_as_fast_as_its_slowest_point():
    heel, toe, other = np.zeros((3, 5, 3))
    heel[:, 2] = [0, 0, 0, 0.1, 0.2]
    toe[:, 2] = [0, 0.1, 0.2, 0.2, 0.2]
    toe[:, 1] = np.arange(5)
    other[:, 0] = np.arange(5) * 0.01
    speeds = foot_speeds([np.stack([heel, toe], axis=1), other[:, None]], FPS)
    np.testing.assert_allclose(speeds, [[0.0, 0.6]] * 4, atol=1e-9)


def test_jerk_below_a_frequency_is_that_of_the_slower_sines():
    time = np.arange(1200) / FPS
    parts = {hz: np.sin(2 * np.pi * hz * time) / (2 * np.pi * hz) ** 3 for hz in (1.0, 6.0, 20.0)}
    positions = sum(parts.values())[:, None, None] * [1.0, 0.0, 0.0]
    found = {name: each[120:-120].mean() for name, each in jerks_in_bands(positions, FPS).items()}
    # The third derivative of each part is a cosine of amplitude 1, less by differences.
    one = joint_jerks(parts[1.0][:, None, None] * [1.0, 0.0, 0.0], FPS)[120:-120].mean()
    assert found["jerk_below_4_hz"] == pytest.approx(one, rel=0.08)
    order = [found[name] for name in ("jerk_below_4_hz", "jerk_below_8_hz", "jerk_below_12_hz")]
    assert order == sorted(order)
    assert found["jerk"] > found["jerk_below_12_hz"]
    # The fast part is gone below 12 Hz: of 20 Hz a tenth is left.
    without = sum(parts[hz] for hz in (1.0, 6.0))[:, None, None] * [1.0, 0.0, 0.0]
    assert found["jerk_below_12_hz"] == pytest.approx(
        jerks_in_bands(without, FPS)["jerk"][120:-120].mean(), rel=0.15
    )


def test_seconds_are_means_without_the_remainder():
    assert seconds_of(np.arange(130.0), FPS).tolist() == [29.5, 89.5]
