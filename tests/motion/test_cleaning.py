"""Noise that was put into motion of known form is taken out; all else stays."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.load import load
from deepphase.motion import quaternions
from deepphase.motion.cleaning import Cleaning, clean, noise_floor
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import low_passed_clip
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion, with_noise
from tests.motion.bodies import body, walking
from tests.real_data import real_clips

CASES = [
    ("biped", "walk", 60.0),
    ("biped", "walk", 120.0),
    ("biped", "run", 60.0),
    ("quadruped", "walk", 60.0),
]


def pair(kind="biped", gait="walk", fps=60.0, noise=0.003):
    """A motion by formula, and the same with noise."""
    truth, spoilt = (
        locomotion(3, 8.0, body=kind, gait=gait, fps=fps, noise=each).clip for each in (0, noise)
    )
    return truth, spoilt


def error(clip, truth, frames=slice(None)):
    """Root mean square distance of joints, m."""
    apart = (joint_positions(clip) - joint_positions(truth))[frames]
    return float(np.sqrt((apart**2).sum(axis=-1).mean()))


@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_motion_without_noise_is_the_same_object(kind, gait, fps):
    truth, _ = pair(kind, gait, fps)
    cleaned, cleaning = clean(truth)
    assert cleaned is truth
    assert not cleaning
    assert cleaning == Cleaning()


@pytest.mark.parametrize("noise", [0.003, 0.01])
@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_the_frequency_is_near_the_best_one(kind, gait, fps, noise):
    truth, spoilt = pair(kind, gait, fps, noise)
    cleaned, cleaning = clean(spoilt)
    of_frequency = [error(low_passed_clip(spoilt, hz), truth) for hz in range(5, 22)]
    assert error(cleaned, truth) < 1.15 * min(of_frequency)
    assert error(cleaned, truth) < 0.8 * error(spoilt, truth)
    assert cleaning.jerk[-1] < 0.5 * cleaning.jerk_before[-1]
    assert cleaning.jerk[2] == pytest.approx(cleaning.jerk_before[2], rel=0.1)


def test_the_noise_of_a_spectrum():
    rng, fps, sigma = np.random.default_rng(0), 60.0, 0.02
    time = np.arange(1200) / fps
    motion = sum(
        np.sin(2 * np.pi * hz * time[:, None] + rng.uniform(0, 6, 12)) / hz**3
        for hz in np.arange(0.5, 29, 0.23)
    )
    cutoff, floor = noise_floor(motion + sigma * rng.standard_normal(motion.shape), fps)
    assert floor == pytest.approx(12 * sigma**2 / (0.5 * fps), rel=0.15)
    assert 2 < cutoff < 10
    assert noise_floor(motion, fps) == (np.inf, 0.0)
    assert noise_floor(np.zeros((300, 4)), fps) == (np.inf, 0.0)
    assert noise_floor(motion[:20], fps) == (np.inf, 0.0)


@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_contacts_of_feet_are_nearer_to_the_true_ones(kind, gait, fps):
    truth, spoilt = pair(kind, gait, fps)
    roles = find_roles(truth.skeleton, clip=truth)
    true, before, after = (
        foot_contacts(each, roles).flags for each in (truth, spoilt, clean(spoilt)[0])
    )
    assert (after != true).mean() <= (before != true).mean()
    assert (true & ~after).mean() < 0.02


def test_a_hit_is_kept():
    truth, _ = pair()
    joint = list(truth.skeleton.names).index("LeftArm")
    rotations = truth.rotations.copy()
    # The arm is thrown up within two frames and stopped at once.
    angle = np.interp(np.arange(len(truth)), [200, 202, 230], [0.0, 1.2, 0.0], 0.0, 0.0)
    hit = Rotation.from_rotvec(angle[:, None] * [0.0, 0.0, 1.0]).as_quat()
    rotations[:, joint] = quaternions.multiply(rotations[:, joint], hit.astype(np.float32))
    truth = replace(truth, rotations=rotations)
    spoilt = with_noise(truth, 0.003, np.random.default_rng(0))
    cleaned, cleaning = clean(spoilt)
    assert cleaning.cutoff_hz > 0
    assert 0 < cleaning.kept < 0.1
    near = slice(197, 206)
    plain = low_passed_clip(spoilt, cleaning.cutoff_hz)
    assert error(cleaned, truth, near) < 0.4 * error(plain, truth, near)
    assert error(cleaned, truth) < error(spoilt, truth)


def test_flips_are_repaired_before_the_noise_is_measured():
    truth, spoilt = pair()
    joint = list(truth.skeleton.names).index("LeftArm")
    rotations = spoilt.rotations.copy()
    flip = Rotation.from_rotvec([0.0, 2.5, 0.0]).as_quat().astype(np.float32)
    rotations[100:103, joint] = quaternions.multiply(rotations[100:103, joint], flip)
    cleaned, cleaning = clean(replace(spoilt, rotations=rotations))
    (found,) = cleaning.flips
    assert (found.joint, found.first, found.last) == ("LeftArm", 100, 102)
    assert cleaning.cutoff_hz == pytest.approx(clean(spoilt)[1].cutoff_hz, abs=1.0)
    assert error(cleaned, truth) < 0.8 * error(spoilt, truth)
    later = cleaning.later(7).flips[0]
    assert (later.first, later.last) == (107, 109)


def test_points_and_bodies_without_feet_are_cleaned():
    skeleton, index = body({"hips": (None, (0.0, 1.0, 0.0)), "spine": ("hips", (0.0, 0.3, 0.0))})
    truth = walking(skeleton, index, seconds=6.0)
    rng = np.random.default_rng(0)
    translations = truth.translations + 0.004 * rng.standard_normal(truth.translations.shape)
    cleaned, cleaning = clean(replace(truth, translations=translations))
    assert 6.0 <= cleaning.cutoff_hz < 8.0
    assert error(cleaned, truth) < 0.004
    short = truth.sliced(0, 3)
    assert clean(short)[0] is short


@pytest.mark.real_data
def test_real_captures():
    clip = load(real_clips("dog_mann") / "D1_007_KAN01_001.bvh")
    cleaned, cleaning = clean(clip)
    assert 12 < cleaning.cutoff_hz < 22
    assert cleaning.largest_move_m < 0.01
    assert cleaning.jerk[-1] < 0.7 * cleaning.jerk_before[-1]
    # Below 8 Hz the motion is as it was.
    assert cleaning.jerk[1] == pytest.approx(cleaning.jerk_before[1], rel=0.01)
    roles = find_roles(clip.skeleton, clip=clip)
    contacts = [foot_contacts(each, roles).flags for each in (clip, cleaned)]
    assert (contacts[0] != contacts[1]).mean() < 0.01
