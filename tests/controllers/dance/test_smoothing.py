"""Smoothing of dances and locking of their feet."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.dance.dancing import smooth_and_lock_feet
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.motion import quaternions
from deepphase.motion.clip import joint_positions
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.replaying import replay_of


@pytest.fixture(scope="module")
def walk():
    """A walk as a rollout, and what it was rolled out by."""
    clip = locomotion(1, 4.0).clip
    controller, starts, _ = replay_of(clip, "nn", [60])
    character = Characters(controller, starts, settings=CharacterSettings(foot_ik=False))
    return rollout(character, None, 1.5), controller


def _jittering(run, degrees):
    rng = np.random.default_rng(0)
    noise = np.deg2rad(degrees) * rng.standard_normal((*run.rotations.shape[:3], 3))
    half = np.concatenate([0.5 * noise, np.ones((*noise.shape[:-1], 1))], axis=-1)
    jittering = quaternions.multiply(run.rotations, quaternions.normalized(half))
    return replace(run, rotations=jittering.astype(np.float32))


def _jerk(run):
    positions = joint_positions(run.clip())
    return np.linalg.norm(np.diff(positions, 3, axis=0) * run.fps**3, axis=-1).mean()


def test_jitter_is_removed_without_delay(walk):
    run, controller = walk
    smooth = smooth_and_lock_feet(_jittering(run, 1.0), controller, 6.0, feet=False)
    assert _jerk(smooth) < 0.1 * _jerk(_jittering(run, 1.0))
    before, after = joint_positions(run.clip()), joint_positions(smooth.clip())
    assert np.linalg.norm(before - after, axis=-1).mean() < 0.01
    # No delay: the distance is smallest without a shift.
    inner = slice(20, -20)
    apart = [
        np.linalg.norm(before[inner] - np.roll(after, shift, axis=0)[inner], axis=-1).mean()
        for shift in range(-3, 4)
    ]
    assert np.argmin(apart) == 3
    np.testing.assert_allclose(np.linalg.norm(smooth.rotations, axis=-1), 1.0, atol=1e-5)


def test_feet_are_locked_after_the_smoothing(walk):
    run, controller = walk
    jittering = _jittering(run, 1.0)
    free, locked = (
        smooth_and_lock_feet(jittering, controller, 8.0, feet=feet) for feet in (False, True)
    )
    skeleton = run.spec.skeleton
    speeds = []
    for each in (free, locked):
        positions = joint_positions(each.clip())
        moved = []
        for column, name in enumerate(run.spec.feet):
            path = positions[:, skeleton.index(name)][:, [0, 2]]
            speed = np.linalg.norm(np.diff(path, axis=0), axis=-1) * run.fps
            standing = (run.contacts[0, 1:, column] > 0.5) & (run.contacts[0, :-1, column] > 0.5)
            moved.append(speed[standing])
        speeds.append(np.median(np.concatenate(moved)))
    assert speeds[1] < 0.5 * speeds[0]
    # The input is not changed.
    np.testing.assert_array_equal(jittering.rotations, _jittering(run, 1.0).rotations)
