"""Repair and constraints without an editor, on gaits by formula whose contacts are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.edit.constrain import constrained
from deepphase.edit.damage import find_damage
from deepphase.edit.grounding import grounded, standing_limbs
from deepphase.edit.motion_rows import MotionSpace
from deepphase.edit.repair import repaired
from deepphase.edit.targets import JointTarget
from deepphase.motion import quaternions
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import sliding_speed
from deepphase.synthetic.gait_motion import locomotion


def gait(body, name="walk", **options):
    """A gait with its space, the joints that stand and their true contacts, in the same order."""
    motion = locomotion(0, seconds=6.0, body=body, gait=name, **options)
    space = MotionSpace.from_clip(motion.clip, motion.clip.fps)
    tips = standing_limbs(motion.clip, space.roles_of(motion.clip)).tips.tolist()
    order = [motion.contact_joints.tolist().index(tip) for tip in tips]
    return motion.clip, space, tips, motion.contacts[:, order]


def spoiled(clip, *, slip=(0.08, 0.05), drift=0.12, tilt_degrees=0.0, noise=0.002):
    """The clip with a body that slips (m/s), a floor that drifts (m) or tilts, and noise (m)."""
    times = np.arange(len(clip)) / clip.fps
    share = times / times[-1]
    turn = quaternions.about_axis(np.array([0.8, 0.0, 0.6]), np.radians(tilt_degrees))
    places = quaternions.rotate(turn, clip.translations[:, 0].astype(np.float64))
    places[:, ::2] += np.stack([np.sin(3.0 * share), share], axis=1) * np.array(slip) * times[-1]
    places[:, 1] += 0.5 * drift * (share + np.sin(1.5 * np.pi * share) ** 2)
    places += noise * np.random.default_rng(0).standard_normal(places.shape)
    rotations = clip.rotations.astype(np.float64)
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    return replace(clip, rotations=rotations, translations=places[:, None])


def heights(clip, tips, contacts, true):
    """(frames with contacts,) metres: heights of standing joints over those of the true clip."""
    apart = joint_positions(clip)[:, tips, 1] - joint_positions(true)[:, tips, 1]
    apart = apart[contacts]
    return apart - np.median(apart)


@pytest.mark.parametrize("body", ["biped", "quadruped"])
def test_feet_stand_and_the_floor_is_level_again(body):
    clip, space, tips, contacts = gait(body, turn_rate=0.3)
    given = spoiled(clip)
    made = grounded(given, space)
    before, after = (
        sliding_speed(joint_positions(each)[:, tips], contacts, clip.fps)
        for each in (given, made.clip)
    )
    assert before > 0.1
    assert after < 0.1 * before
    assert made.sliding[1] < 0.1 * made.sliding[0]
    assert np.ptp(heights(given, tips, contacts, clip)) > 0.1
    # The noise of 2 mm stays.
    assert np.percentile(np.abs(heights(made.clip, tips, contacts, clip)), 98) < 0.01
    np.testing.assert_allclose(made.drift, 0.12, atol=0.03)
    lengths = [
        np.linalg.norm(
            joint_positions(each)[:, 1:] - joint_positions(each)[:, clip.skeleton.parents[1:]],
            axis=-1,
        )
        for each in (given, made.clip)
    ]
    np.testing.assert_allclose(lengths[1], lengths[0], atol=1e-5)


@pytest.mark.parametrize("body", ["biped", "quadruped"])
def test_a_tilted_floor_is_turned_level(body):
    clip, space, tips, contacts = gait(body, turn_rate=0.5)
    given = spoiled(clip, drift=0.0, tilt_degrees=3.0, noise=0.0)
    made = grounded(given, space)
    assert np.ptp(heights(given, tips, contacts, clip)) > 0.05
    assert np.percentile(np.abs(heights(made.clip, tips, contacts, clip)), 98) < 0.01
    np.testing.assert_allclose(np.degrees(made.tilt), 3.0, atol=0.5)
    # The trunk stands as upright as it did.
    turns = quaternions.angle_between(
        made.clip.rotations[:, 0], clip.rotations[:, 0].astype(np.float64)
    )
    assert np.degrees(turns.max()) < 0.5


@pytest.mark.parametrize(("body", "name"), [("biped", "walk"), ("quadruped", "trot")])
def test_a_clean_clip_hardly_changes(body, name):
    clip, space, *_ = gait(body, name)
    made = grounded(clip, space).clip
    apart = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)
    assert apart.max() < 0.005
    assert grounded(clip, space).findings[0] == "the floor was left as it is"


def test_the_floor_stays_uneven_where_that_is_given():
    clip, space, tips, contacts = gait("biped", turn_rate=0.3)
    given = spoiled(clip)
    made = grounded(given, space, level=False)
    np.testing.assert_array_equal(made.clip.translations[:, 0, 1], given.translations[:, 0, 1])
    after = sliding_speed(joint_positions(made.clip)[:, tips], contacts, clip.fps)
    assert after < 0.04
    # A step that is higher than feet rise in contact is not a drift.
    stairs = clip.translations.astype(np.float64)
    stairs[:, 0, 1] += 0.2 * (np.arange(len(clip)) % 240 >= 120)
    assert grounded(replace(clip, translations=stairs), space).drift == 0


def test_short_gaps_are_interpolated_and_long_ones_said():
    clip, *_ = gait("biped")
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[60:71], translations[60:71] = rotations[60], translations[60]
    rotations[200:260], translations[200:260] = rotations[200], translations[200]
    arm = clip.skeleton.index("LeftArm")
    rotations[130:150, arm] = rotations[130, arm]
    given = replace(clip, rotations=rotations, translations=translations)
    damage = find_damage(given)
    assert damage.findings[0].startswith("frames 201-259 repeat the pose before, too long")
    assert np.flatnonzero(damage.frames).tolist() == [*range(61, 71), *range(131, 150)]
    made = repaired(given)
    short = np.r_[60:71, 130:150]
    errors = [
        np.abs(joint_positions(each) - joint_positions(clip))[short] for each in (given, made)
    ]
    assert errors[1].max() < 0.15 * errors[0].max()
    assert not find_damage(clip).any


def test_hands_and_feet_reach_targets():
    for body, name in (("biped", "RightHand"), ("biped", "LeftToeBase"), ("quadruped", "LeftHand")):
        clip, *_ = gait(body)
        joint = clip.skeleton.index(name)
        place = joint_positions(clip)[100, joint] + [0.0, 0.03, 0.02]
        made = constrained(clip, targets=[JointTarget(name, 100, 103, tuple(place))])
        assert made.distances[0] < 0.005
        apart = np.linalg.norm(joint_positions(made.clip) - joint_positions(clip), axis=-1)
        assert apart[:70].max() < 1e-4
        steps = np.linalg.norm(np.diff(joint_positions(made.clip)[:, joint], axis=0), axis=-1)
        own = np.linalg.norm(np.diff(joint_positions(clip)[:, joint], axis=0), axis=-1)
        assert steps.max() < own.max() + 0.03
    far = constrained(clip, targets=[JointTarget(name, 100, 100, (9.0, 9.0, 9.0))])
    assert far.distances[0] > 5.0


def test_feet_are_held_without_an_editor():
    clip, _, tips, contacts = gait("quadruped")
    given = spoiled(clip, drift=0.0, noise=0.0, slip=(0.03, 0.02))
    made = constrained(given, feet=True)
    before, after = (
        sliding_speed(joint_positions(each)[:, tips], contacts, clip.fps)
        for each in (given, made.clip)
    )
    assert after < 0.1 * before
