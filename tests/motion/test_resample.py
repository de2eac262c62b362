"""Resampling against known motion, its spectrum and its derivatives."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed_clip, resample
from deepphase.motion.skeleton import Skeleton
from tests.motion.bodies import HUMAN, body, random_clip

STICK = Skeleton(("root", "tip"), [-1, 0], [(0, 1, 0), (0, 1, 0)])
AXIS = np.array([1.0, 2.0, -2.0]) / 3.0


def signal_clip(seconds, fps, angle, height=lambda time: 1.0 + 0 * time):
    time = np.arange(round(seconds * fps) + 1) / fps
    rotations = np.zeros((len(time), 2, 4))
    rotations[:, 0] = Rotation.from_rotvec(angle(time)[:, None] * AXIS).as_quat()
    rotations[:, 1, 3] = 1.0
    translations = np.zeros((len(time), 1, 3))
    translations[:, 0, 1] = height(time)
    # Recorded quaternions change their signs at will.
    rotations[::3] *= -1
    return Clip(STICK, rotations, translations, fps)


def angles(clip):
    turn = Rotation.from_quat(clip.rotations[:, 0]).as_rotvec()
    return turn @ AXIS


def wave(frequency, amplitude=0.8):
    return lambda time: amplitude * np.sin(2 * np.pi * frequency * time + 0.4)


def test_a_swing_from_30_to_60_hertz_follows_the_formula():
    clip = resample(signal_clip(4.0, 30.0, wave(1.5), wave(1.0)), 60.0)
    time = np.arange(len(clip)) / 60.0
    assert len(clip) == 241
    np.testing.assert_allclose(angles(clip), wave(1.5)(time), atol=2e-3)
    np.testing.assert_allclose(clip.translations[:, 0, 1], wave(1.0)(time), atol=2e-3)
    inside = slice(20, -20)
    np.testing.assert_allclose(angles(clip)[inside], wave(1.5)(time)[inside], atol=3e-4)


def test_the_second_derivative_is_continuous():
    slow = signal_clip(1.0, 30.0, wave(2.0), wave(2.0))
    fine = resample(slow, 30.0 * 64)
    for values in (
        fine.translations[:, 0, 1],
        quaternions.sign_continuous(fine.rotations)[:, 0, 0],
    ):
        second = np.diff(values, 2) * fine.fps**2
        # Over one fine frame a continuous second derivative moves by its slope alone; one of
        # linear interpolation would jump by thousands at every recorded frame.
        slope = (2 * np.pi * 2.0) ** 3
        assert np.abs(np.diff(second)).max() < 2.0 * slope / fine.fps


def test_what_60_hertz_cannot_hold_does_not_fold_back():
    clip = resample(signal_clip(6.0, 120.0, wave(40.0, 0.3), wave(40.0, 0.1)), 60.0)
    inside = slice(60, -60)
    assert np.abs(angles(clip)[inside]).max() < 0.3 * 2e-3
    assert np.abs(clip.translations[inside, 0, 1]).max() < 0.1 * 2e-3


@pytest.mark.parametrize("frequency", [1.0, 10.0, 20.0, 24.0])
def test_what_60_hertz_can_hold_passes_with_its_phase(frequency):
    clip = resample(signal_clip(6.0, 120.0, wave(1.0, 0.0), wave(frequency, 0.1)), 60.0)
    time = np.arange(len(clip)) / 60.0
    inside = slice(60, -60)
    expected = wave(frequency, 0.1)(time)[inside]
    np.testing.assert_allclose(clip.translations[inside, 0, 1], expected, atol=2e-4)


@pytest.mark.parametrize("fps", [25.0, 60.0, 73.3])
def test_held_poses_and_steady_motion_stay_exact_to_the_ends(fps):
    clip = signal_clip(2.0, 120.0, lambda time: 0.7 + 0 * time, lambda time: 3.0 * time - 1.0)
    slower = resample(clip, fps)
    time = np.arange(len(slower)) / fps
    np.testing.assert_allclose(angles(slower), 0.7, atol=1e-9)
    np.testing.assert_allclose(slower.translations[:, 0, 1], 3.0 * time - 1.0, atol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 3, 5, 40])
@pytest.mark.parametrize(("old", "new"), [(120.0, 60.0), (30.0, 60.0), (59.94, 24.0), (25.0, 60.0)])
def test_any_length_and_ratio_keeps_the_duration(frames, old, new):
    clip = random_clip(body(HUMAN)[0], np.random.default_rng(5), frames=frames, fps=old)
    other = resample(clip, new)
    assert other.fps == new
    assert -1e-6 <= clip.duration - other.duration < 1.0 / new
    assert np.isfinite(other.rotations).all()
    np.testing.assert_allclose(np.linalg.norm(other.rotations, axis=-1), 1.0, atol=1e-12)


def test_a_low_pass_keeps_a_swing_and_takes_jitter_off():
    swing = wave(1.0)
    clip = low_passed_clip(signal_clip(4.0, 60.0, lambda t: swing(t) + wave(20.0, 0.1)(t)), 6.0)
    inside = slice(30, -30)
    time = np.arange(len(clip)) / 60.0
    np.testing.assert_allclose(angles(clip)[inside], swing(time)[inside], atol=0.005)
    np.testing.assert_allclose(np.linalg.norm(clip.rotations, axis=-1), 1.0, atol=1e-12)
    assert clip.translations[:, 0, 1] == pytest.approx(1.0)
