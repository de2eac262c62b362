"""Stages: a path is bent to stay within, feet do not slide by it, and poses stay."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.stage import on_stage
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture(scope="module")
def walking():
    return locomotion(0, 20.0).clip


def test_a_straight_walk_stays_on_the_stage_without_sliding(walking):
    roles, root = (
        find_roles(walking.skeleton, clip=walking),
        root_trajectory(walking, find_roles(walking.skeleton)),
    )
    staged = on_stage(walking, roles, root, 8.0, 6.0)
    assert np.abs(root.positions[:, [0, 2]]).max() > 15.0
    assert staged.outside_m == 0.0
    assert np.abs(staged.root.positions[:, 0]).max() <= 4.0
    assert np.abs(staged.root.positions[:, 2]).max() <= 3.0
    # Toes on the floor are as fast as before.
    flags = foot_contacts(walking, roles).flags[1:]
    before, after = (
        joint_positions(clip)[:, list(roles.both("toe"))] for clip in (walking, staged.clip)
    )
    slow = [np.linalg.norm(np.diff(each, axis=0), axis=-1)[flags] * 60 for each in (before, after)]
    assert slow[1].mean() < slow[0].mean() + 0.005
    # Nothing but the root is changed, and the root trajectory is that of the clip.
    np.testing.assert_array_equal(staged.clip.rotations[:, 1:], walking.rotations[:, 1:])
    heights = (joint_positions(clip)[..., 1] for clip in (walking, staged.clip))
    np.testing.assert_allclose(*heights, atol=1e-5)
    again = root_trajectory(staged.clip, roles)
    np.testing.assert_allclose(again.positions, staged.root.positions, atol=1e-4)
    turned = (again.angles - staged.root.angles + np.pi) % (2 * np.pi) - np.pi
    # The facing is smoothed over time, before the turn or after it.
    assert np.abs(turned).max() < 0.3


def test_a_motion_that_stays_is_only_moved_to_the_middle(walking):
    roles, root = (
        find_roles(walking.skeleton, clip=walking),
        root_trajectory(walking, find_roles(walking.skeleton)),
    )
    staged = on_stage(walking, roles, root, 100.0, 100.0)
    np.testing.assert_allclose(
        staged.root.positions, root.positions - root.positions[:1], atol=1e-6
    )
    np.testing.assert_allclose(staged.root.angles, root.angles)


def test_a_stage_that_is_too_small_is_stated(walking):
    roles, root = (
        find_roles(walking.skeleton, clip=walking),
        root_trajectory(walking, find_roles(walking.skeleton)),
    )
    assert on_stage(walking, roles, root, 0.5, 0.5).outside_m > 0.1
    for size in ((0.1, 4.0), (4.0, np.nan), (-1.0, 4.0)):
        with pytest.raises(ParameterError, match="stage"):
            on_stage(walking, roles, root, *size)
