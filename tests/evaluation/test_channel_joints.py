"""Which joints a channel follows, on motion where each limb has a pace of its own."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.arrays import wrapped
from deepphase.evaluation.phase_measures import (
    followed_parts,
    joint_energy,
    joints_followed,
    part_energy,
)
from deepphase.motion.clip import Clip
from deepphase.motion.roles import body_parts, find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from tests.formula_motion import NAMES, body

FPS = 30.0


def two_paces(arm_hz: float, leg_hz: float, seconds: float = 8.0, seed: int = 0) -> Clip:
    """The left arm swings at one pace, the right leg at another; all else stands still."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * FPS)) / FPS
    vectors = np.zeros((len(times), len(NAMES), 3))
    for joint, pace, size in ((8, arm_hz, 1.2), (4, leg_hz, 0.4)):
        phase = pace * times + rng.random()
        vectors[:, joint, 0] = size * np.sin(2 * np.pi * phase)
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_quat()
    translations = np.tile(np.array([0, 0.95, 0]), (len(times), 1, 1))
    return Clip(
        body(),
        rotations.reshape(len(times), len(NAMES), 4).astype(np.float32),
        translations.astype(np.float32),
        FPS,
        name=f"paces_{seed}",
    )


def phases_at(*paces: float, frames: int = 240) -> PhaseParameters:
    times = np.arange(frames)[:, None] / FPS
    paces = np.array(paces, np.float32)
    ones = np.ones((frames, len(paces)), np.float32)
    return PhaseParameters(
        wrapped((paces * times).astype(np.float32)), ones * paces, ones, np.zeros_like(ones)
    )


def velocities_at(pace: float, lag: float, frames: int = 240) -> np.ndarray:
    """(frames, 3): one joint that swings along x."""
    swing = np.cos(2 * np.pi * (pace * np.arange(frames) / FPS + lag))
    return np.stack([swing, 0.3 * swing, np.zeros(frames)], 1)


def test_a_joint_is_followed_at_its_pace_whatever_its_lag():
    still = np.zeros((240, 3))
    signals = np.hstack([velocities_at(1.0, 0.2), velocities_at(1.75, 0.7), still])
    shares = joints_followed(phases_at(1.0, 1.75), signals)
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 1, 0]], atol=1e-6)


def test_parts_are_named_and_followed():
    clip = two_paces(0.85, 2.1)
    read = JointVelocities.from_clip(clip)
    signals = read.read(clip)
    shares = joints_followed(phases_at(0.85, 2.1), signals)
    by_name = dict(
        zip(clip.skeleton.names, body_parts(clip.skeleton, find_roles(clip.skeleton)), strict=True)
    )
    parts = [by_name[joint] for joint in read.joints]
    gathered = followed_parts(shares, joint_energy(signals), parts)
    assert set(gathered) == {"left arm", "right leg"}
    assert gathered["left arm"][0] > 0.6 > 0.1 > gathered["right leg"][0]
    assert gathered["right leg"][1] > 0.8 > 0.1 > gathered["left arm"][1]


def test_a_toe_that_hardly_moves_is_followed_by_no_channel():
    swing = velocities_at(1.0, 0.0)
    toe = 0.01 * velocities_at(1.0, 0.1)
    shares = joints_followed(phases_at(1.0), np.concatenate([swing, toe], axis=1))
    assert shares[0, 0] > 0.9
    assert shares[0, 1] == 0.0


def test_the_energy_of_parts_adds_up():
    energy = np.array([1.0, 2.0, 5.0])
    shares = part_energy(energy, ["arm", "leg", "arm"])
    assert shares == {"arm": pytest.approx(0.75), "leg": pytest.approx(0.25)}
