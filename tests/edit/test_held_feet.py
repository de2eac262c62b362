"""Feet that stay in repaired stretches."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.edit.held_feet import with_gaps_held
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion

GAP = slice(60, 120)


@pytest.fixture(scope="module")
def walk():
    """A walk by formula with its space, its contacts, and the tips of its feet."""
    clip = locomotion(seed=0, seconds=3.0).clip
    roles = find_roles(clip.skeleton, clip=clip)
    tips = LegChains.from_skeleton(clip.skeleton, roles).tips
    space = MotionSpace.from_clip(clip, clip.fps)
    clip = space.on_hips(clip)
    return clip, space, foot_contacts(clip, roles).flags, tips


def swayed(clip, space):
    """The walk with hips that sway in the gap, and what is broken in it."""
    translations = clip.translations.astype(np.float64)
    share = np.linspace(0.0, np.pi, GAP.stop - GAP.start)
    translations[GAP, -1, 0] += 0.06 * np.sin(share)
    broken = np.zeros((len(clip), len(space.joints) + 1), bool)
    broken[GAP] = True
    return replace(clip, translations=translations), broken


def test_feet_stay_in_the_contacts_of_a_gap_and_whole_frames_do_not_change(walk):
    clip, space, contacts, tips = walk
    given, broken = swayed(clip, space)
    made = with_gaps_held(given, space, contacts, broken)
    outside = ~broken[:, 0]
    np.testing.assert_array_equal(made.rotations[outside], given.rotations[outside])
    np.testing.assert_array_equal(made.translations, given.translations)
    on = (contacts[1:] & contacts[:-1])[GAP]
    assert on.any()
    speeds = {}
    for name, each in (("true", clip), ("given", given), ("made", made)):
        places = joint_positions(each)[:, tips][:, :, ::2]
        step = np.linalg.norm(np.diff(places, axis=0), axis=-1)[GAP]
        speeds[name] = step[on].mean() * clip.fps
    assert speeds["given"] > speeds["true"] + 0.05
    assert speeds["made"] < 0.25 * speeds["given"]
    # Where a foot came down before the gap it stays at that place.
    foot = int(np.flatnonzero(contacts[GAP.start - 1] & contacts[GAP.start])[0])
    stays = GAP.start + int(np.argmin(contacts[GAP.start :, foot]))
    places = joint_positions(made)[GAP.start - 1 : stays, tips[foot]]
    assert np.ptp(places, axis=0).max() < 0.01


def test_a_foot_whose_leg_is_whole_is_not_moved(walk):
    clip, space, contacts, _ = walk
    given, broken = swayed(clip, space)
    broken[:] = False
    arm = next(i for i, name in enumerate(space.joints) if "Arm" in name or "Shoulder" in name)
    broken[GAP, arm + 1] = True
    assert with_gaps_held(given, space, contacts, broken) is given


def test_a_contact_that_ends_just_before_a_gap_does_is_left_in_time(walk):
    clip, space, contacts, tips = walk
    given, broken = swayed(clip, space)
    # The left foot is said to stand from before the gap to the frame before its last one.
    stands = contacts.copy()
    stands[GAP.start - 1 : GAP.stop - 1, 0] = True
    stands[GAP.stop - 1 : GAP.stop + 10, 0] = False
    made = with_gaps_held(given, space, stands, broken)
    steps = np.diff(joint_positions(made)[:, tips[0]], axis=0)
    own = np.diff(joint_positions(clip)[:, tips[0]], axis=0)
    largest = np.linalg.norm(np.diff(own, axis=0), axis=-1).max()
    assert np.linalg.norm(np.diff(steps, axis=0), axis=-1)[-70:].max() < 4.0 * largest
