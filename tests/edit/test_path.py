"""Motion along paths: footsteps, what a frame depends on, and mistakes."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.edit.editor import MotionEditor
from deepphase.edit.held_feet import with_held_feet
from deepphase.edit.motion_rows import MotionSpace, smoothed_root
from deepphase.edit.path_motion import Footsteps, motion_on_path
from deepphase.errors import ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.steering.path import GroundPath, made_path

FPS = 60.0


def square_wave(seconds, cycle_s, duty, shift):
    """(frames,) bool: contacts that begin every `cycle_s`, the first after `shift` of a cycle."""
    times = np.arange(round(seconds * FPS)) / FPS
    return (times / cycle_s - shift) % 1.0 < duty


@pytest.mark.parametrize(("cycle", "duty"), [(1.1, 0.62), (0.7, 0.35)])
def test_footsteps_have_the_rate_and_the_duty_of_contacts(cycle, duty):
    contacts = np.stack(
        [square_wave(8.0, cycle, duty, 0.2), square_wave(8.0, cycle, duty, 0.7)], axis=1
    )
    steps = Footsteps.from_contacts(contacts, FPS)
    assert steps.known.all()
    np.testing.assert_allclose(steps.rates, 2 * np.pi / cycle, rtol=0.03)
    np.testing.assert_allclose(steps.duties, duty, atol=0.03)
    np.testing.assert_allclose(np.cos(steps.offsets[:, 1]), -1.0, atol=0.01)
    again = Footsteps.from_array(steps.array(), 2)
    # The first contact begins after 0.2 of a cycle; its middle is pi / 2.
    made = again.contacts(FPS, np.pi * (0.5 - duty) - 2 * np.pi * 0.2)
    assert (made == contacts).mean() > 0.97
    downs = np.count_nonzero(np.diff(made.astype(int), axis=0) == 1, axis=0)
    np.testing.assert_array_equal(
        downs, np.count_nonzero(np.diff(contacts.astype(int), axis=0) == 1, axis=0)
    )
    # Thesis, equation 5.7: the share of a cycle above tau is acos(tau) / pi.
    tau = np.cos(np.pi * duty)
    assert np.isclose(made.mean(), np.arccos(tau) / np.pi, atol=0.04)


def test_the_order_of_four_feet_stays():
    shifts = (0.0, 0.5, 0.25, 0.75)
    contacts = np.stack([square_wave(6.0, 1.0, 0.7, shift) for shift in shifts], axis=1)
    steps = Footsteps.from_array(Footsteps.from_contacts(contacts, FPS).array(), 4)
    ahead = (-steps.offsets[100] / (2 * np.pi)) % 1.0
    np.testing.assert_allclose(ahead, shifts, atol=0.02)


def test_standing_feet_stay_on_the_floor():
    steps = Footsteps.from_contacts(np.ones((120, 2), bool), FPS)
    assert steps.known.all()
    assert not steps.rates.any()
    assert steps.contacts(FPS, 1.0).all()
    hanging = Footsteps.from_contacts(np.zeros((120, 2), bool), FPS)
    assert not hanging.known.any()


def test_smoothed_roots_keep_their_speed_and_lose_their_sway():
    times = np.arange(300) / FPS
    straight = np.stack([0.02 * np.sin(2 * np.pi * 2.0 * times), 1.3 * times], axis=1)
    smooth = smoothed_root(RootTrajectory.from_ground(straight, np.zeros(300)), FPS)
    np.testing.assert_allclose(np.diff(smooth.positions[:, 2]) * FPS, 1.3, atol=1e-6)
    assert np.abs(smooth.positions[30:-30, 0]).max() < 1e-3


def turned(path, far):
    """The path, which goes elsewhere from a time on."""
    places = path.positions + np.where(path.times[:, None] > far, [0.0, 0.5], 0.0) * np.clip(
        path.times[:, None] - far, 0.0, 1.0
    )
    return GroundPath(path.times, places, name=path.name)


@pytest.mark.slow
def test_a_frame_does_not_depend_on_the_path_far_ahead(path_walker):
    path = made_path("wave", 1.1, 12.0)
    near = round(6.0 * path_walker.fps)
    one = motion_on_path(path, path_walker)
    two = motion_on_path(turned(path, 9.0), path_walker)
    first, second = joint_positions(one.clip), joint_positions(two.clip)
    # Held feet: the height of the floor is measured over the whole clip.
    np.testing.assert_allclose(first[:near], second[:near], atol=2e-3)
    assert np.abs(first[-1] - second[-1]).max() > 0.05


@pytest.mark.slow
def test_the_body_is_on_the_path_and_keeps_its_bones(path_walker):
    path = made_path("circle", 1.2, 8.0)
    made = motion_on_path(path, path_walker)
    assert len(made.clip) == round(8.0 * path_walker.fps) + 1
    hips = made.clip.local_positions()[:, path_walker.space.hips]
    assert path.distances(hips[:, ::2]).max() < 0.2
    assert np.abs(np.diff(hips, axis=0)).max() < 0.15


def test_feet_that_drift_are_held(walks):
    walk = walks.clip(0)
    roles = find_roles(walk.skeleton)
    contacts = foot_contacts(walk, roles)
    translations = walk.translations.copy()
    translations[..., 2] *= 1.08
    drifting = replace(walk, translations=translations)
    space, toes = MotionSpace.from_clip(walk, walk.fps), [roles.left_toe, roles.right_toe]
    made = with_held_feet(drifting, space, contacts.flags)
    speeds = [
        sliding_speed(joint_positions(clip)[:, toes], contacts.flags, walk.fps)
        for clip in (made, drifting)
    ]
    assert speeds[0] < 0.3 * speeds[1]
    np.testing.assert_array_equal(made.translations, drifting.translations)
    # Hips that legs cannot stand under come down to the floor of the clip.
    raised = replace(walk, translations=walk.translations + np.float32([0.0, 0.06, 0.0]))
    made = with_held_feet(raised, space, contacts.flags, like=walk)
    heights, given = (joint_positions(clip)[:, toes, 1] for clip in (made, walk))
    assert np.abs(heights - given)[contacts.flags].max() < 2e-3
    assert np.median(raised.translations[:, 0, 1] - made.translations[:, 0, 1]) > 0.02


@pytest.mark.slow
def test_paths_beyond_the_clips_are_refused(path_walker, walker):
    fast = path_walker.path.limits.speed * 2.0
    with pytest.raises(ParameterError, match="the training clips move at"):
        motion_on_path(made_path("wave", fast, 4.0), path_walker)
    with pytest.raises(ParameterError, match="no path networks"):
        motion_on_path(made_path("wave", 1.0, 4.0), walker)
    tight = motion_on_path(made_path("circle", 1.2, 4.0, 0.8), path_walker)
    assert "turns at" in tight.findings[0]


@pytest.mark.slow
def test_files_have_the_networks(path_walker, tmp_path):
    path = tmp_path / "walk.editor"
    path_walker.save(path)
    again = MotionEditor.load(path)
    assert again.path.limits == path_walker.path.limits
    one, two = (motion_on_path(made_path("wave", 1.0, 2.0), e) for e in (path_walker, again))
    np.testing.assert_array_equal(joint_positions(one.clip), joint_positions(two.clip))
