"""Feet that stand stay; those that come and go are blended."""

import numpy as np
import pytest

from deepphase.motion import quaternions
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import find_roles
from deepphase.steering.foot_lock import FootGround, FootLock, FootLockSettings, within_reach
from deepphase.terrain.heightmap import Heightmap
from tests.motion.bodies import HUMAN, body, standing

FPS = 60.0
STILL = FootLockSettings(follow_share=0.0)
SKELETON, _ = body(HUMAN)
LIMBS = LegChains.from_skeleton(SKELETON, find_roles(SKELETON))
SOLVER = LimbSolver.from_poses(SKELETON, find_roles(SKELETON), LIMBS)


def sliding(
    contacts, *, speed=0.3, settings=None, rests=None, goes=None, slips=None, turned=None, **lock
):
    """Tips (frames, limbs, 3), as held and as moved, of a crouched body that slides along +Z.

    From frame `rests` on it rests, until it `goes`. `turned` gets the held rotations of its legs.
    """
    offsets = lock.pop("offsets", None)
    lock = FootLock(SOLVER, 1, settings, **lock)
    clip, crouch, half = standing(SKELETON, frames=1), standing(SKELETON, frames=1).rotations, 0.35
    for hip, knee in zip(LIMBS.upper, LIMBS.middle, strict=True):
        crouch[0, hip] = [-np.sin(half / 2), 0, 0, np.cos(half / 2)]
        crouch[0, knee] = [np.sin(half), 0, 0, np.cos(half)]
    held, moved = [], []
    for frame, contact in enumerate(contacts):
        local = clip.local_positions()
        resting = rests is not None and rests <= frame < (goes or len(contacts))
        local[:, 0, 2] += speed * (frame if rests is None else min(frame, rests)) / FPS
        rotations = crouch.copy()
        moved.append(SOLVER.transforms(rotations, local).positions[3, :, 0])
        rest = np.array([resting])
        own = slips[frame] if np.ndim(slips) == 4 else slips
        lock.apply(rotations, local, np.array([contact]), 1 / FPS, offsets, rest, own)
        held.append(SOLVER.transforms(rotations, local).positions[3, :, 0])
        if turned is not None:
            turned.append(rotations[0, SOLVER.joints])
    return np.array(held), np.array(moved)


def test_a_locked_foot_stays_to_the_millimetre_while_the_other_moves():
    contacts = [(False, False)] * 10 + [(True, False)] * 30
    held, moved = sliding(contacts, settings=STILL)
    np.testing.assert_allclose(held[:, 1], moved[:, 1], atol=1e-6)
    settled = held[25:, 0]
    assert np.ptp(settled, axis=0)[[0, 2]].max() < 1e-3
    assert np.ptp(moved[25:, 0], axis=0)[2] > 0.05


@pytest.mark.parametrize(("share", "most"), [(0.0, 1.0), (0.15, 1.0), (0.4, 1.0), (0.4, 0.02)])
def test_a_locked_foot_has_a_share_of_the_velocity_of_the_motion_up_to_a_limit(share, most):
    contacts = [(False, False)] * 10 + [(True, False)] * 30
    settings = FootLockSettings(follow_share=share, follow_speed=most)
    held, _ = sliding(contacts, settings=settings)
    speeds = np.diff(held[32:, 0, 2]) * FPS
    # A leg of .83 m.
    np.testing.assert_allclose(speeds, min(share * 0.3, most * np.sqrt(9.81 * 0.83)), atol=0.01)


def test_a_locked_foot_moves_as_captured_feet_do_but_not_at_rest():
    contacts = [(False, False)] * 10 + [(True, False)] * 30
    slips = np.array([[[0.001, -0.002], [0.0, 0.0]]])
    held, _ = sliding(contacts, speed=0.2, slips=slips, settings=STILL)
    np.testing.assert_allclose(
        np.diff(held[32:, 0, ::2], axis=0), np.tile(slips[0, 0], (7, 1)), atol=2e-4
    )
    held, _ = sliding(contacts, speed=0.0, slips=slips, settings=STILL, rests=10)
    assert np.ptp(held[34:, 0, ::2], axis=0).max() < 1e-4


def test_feet_below_the_lowest_place_are_lifted_to_it_and_others_stay():
    contacts = [(False, False)] * 5
    _, moved = sliding(contacts)
    lowest = moved[0, :, 1] + [0.05, -0.05]
    held, _ = sliding(contacts, lowest=lowest)
    np.testing.assert_allclose(held[:, 0, 1], lowest[0], atol=2e-3)
    np.testing.assert_allclose(held[:, 1], moved[:, 1], atol=1e-6)


def test_feet_of_a_body_at_rest_step_to_their_places_one_at_a_time():
    held, moved = sliding([(True, True)] * 100, rests=25, settings=STILL)
    assert (moved[25:, :, 2] - held[25:, :, 2]).max() > 0.08
    assert np.abs(moved[-1] - held[-1]).max() < 0.07
    lifted = held[..., 1] - moved[..., 1] > 0.005
    assert lifted.any(axis=0).all()
    assert not lifted.all(axis=1).any()
    assert not lifted[:25].any()
    assert held[..., 1].max() - moved[..., 1].max() < 0.06


def test_a_lock_turns_no_joint_more_than_a_quarter_faster_than_it_may_and_catches_up():
    contacts = [(False, False)] * 10 + [(True, True)] * 30 + [(False, False)] * 60
    (free, _), (slow, bounded) = (
        (sliding(contacts, turned=turned, fastest=fastest)[0], np.array(turned))
        for turned, fastest in (([], None), ([], np.full(6, 0.5)))
    )
    rates = quaternions.angle_between(bounded[:-1], bounded[1:]) * FPS
    np.testing.assert_allclose(rates.max(), 1.25 * 0.5, rtol=1e-3)
    assert np.abs(free - slow).max() > 0.02
    np.testing.assert_allclose(slow[-1], free[-1], atol=1e-3)


def test_locking_and_letting_go_do_not_pop():
    contacts = [(False, False)] * 10 + [(True, True)] * 20 + [(False, False)] * 40
    held, moved = sliding(contacts)
    velocity = np.diff(held[:, 0, 2]) * FPS
    # What lies 0.1 m behind would come in one frame at 6 m/s; its spring takes a dozen for it.
    assert np.ptp(moved[10:30, 0, 2]) > 0.09
    assert np.abs(np.diff(velocity)).max() < 0.5
    np.testing.assert_allclose(held[-1], moved[-1], atol=2e-3)


def test_feet_that_are_let_go_are_not_flung():
    contacts = [(False, False)] * 10 + [(True, True)] * 20 + [(False, False)] * 20
    slips = np.zeros((50, 1, 2, 2))
    slips[30] = 0.05
    held, _ = sliding(contacts, slips=slips, settings=STILL)
    assert np.abs(np.diff(held[..., 0::2], n=2, axis=0)).max() * FPS < 0.5
    # Nor do they fall from a step that rest has begun.
    held, moved = sliding([(True, True)] * 60, rests=25, goes=35, settings=STILL)
    assert (held - moved)[34, :, 1].max() > 0.01
    assert np.abs(np.diff(held[..., 1], n=2, axis=0)).max() * FPS < 0.5


def test_a_stretched_leg_bends_again_without_a_pop():
    # A leg of 1 m, of .985 m as it is, whose foot comes closer by 3 cm a frame.
    last, targets = np.zeros((2, 7, 1, 3))
    last[..., 1], targets[:, 0, 1] = -0.985, 0.03 * np.arange(7) - 1.06
    reached = within_reach(np.zeros((7, 1, 3)), last, targets, np.ones((7, 1)))
    bends = 2.0 * np.arccos(np.linalg.norm(reached[:, 0], axis=-1))
    assert np.abs(np.diff(bends, n=2)).max() < 0.18
    np.testing.assert_array_equal(within_reach(0.0 * last, last, last, np.ones((7, 1))), last)


def test_a_foot_that_is_left_behind_is_let_go_and_held_again_further_on():
    settings = FootLockSettings(release_share=0.15, follow_share=0.0)
    contacts = [(False, False)] + [(True, True)] * 80 + [(False, False)] * 5 + [(True, True)] * 5
    held, moved = sliding(contacts, speed=0.4, settings=settings)
    away = np.linalg.norm(held - moved, axis=-1)[:, 0]
    assert away.max() < 0.2
    still = np.abs(np.diff(held[:81, 0, 2])) * FPS < 0.02
    assert still[:30].any()
    assert still[50:].any()
    assert not still.all()
    assert np.abs(np.diff(held[-4:, 0, 2])).max() < np.abs(np.diff(moved[-4:, 0, 2])).max()


def test_a_foot_that_is_moved_from_the_motion_is_held_where_it_stands():
    offsets = np.array([[[0.06, 0.04], [0.0, 0.0]]])
    contacts = [(False, False)] * 10 + [(True, False)] * 20
    held, moved = sliding(contacts, speed=0.2, offsets=offsets, settings=STILL)
    away = (held - moved)[:10, 0]
    np.testing.assert_allclose(away[:, ::2], np.tile(offsets[0, 0], (10, 1)), atol=3e-3)
    np.testing.assert_allclose(away[:, 1], 0.0, atol=3e-3)
    np.testing.assert_allclose(held[:, 1], moved[:, 1], atol=1e-6)
    settled = held[22:, 0]
    assert np.ptp(settled, axis=0)[[0, 2]].max() < 1e-3
    assert settled[0, 0] - moved[0, 0, 0] > 0.05


def test_a_foot_that_the_leg_cannot_bring_down_points_its_toes():
    clip = standing(SKELETON, frames=1)
    local = clip.local_positions()
    flat = SOLVER.transforms(clip.rotations, local).positions[2:, :, 0]
    # Stretched legs over ground that is 12 cm lower: the hips need time to come down.
    ground = Heightmap(np.full((1, 1), -0.12), 1.0)
    lock = FootLock(SOLVER, 1, ground=FootGround(ground, flat[..., 1], 1))
    gaps = []
    for _ in range(5):
        rotations = clip.rotations.copy()
        drop = lock.apply(rotations, local, np.array([(True, False)]), 1 / FPS)
        last, tips = SOLVER.transforms(rotations, local).positions[2:, :, 0]
        gaps.append(np.stack([last, tips])[..., 1] - flat[..., 1] - drop + 0.12)
    heel, toe = np.array(gaps)[-1, :, 0]
    assert heel > 0.02
    assert abs(toe) < 0.01
    # The other foot swings, and keeps its angle.
    assert np.ptp(np.array(gaps)[-1, :, 1]) < 1e-3
