"""Two-joint IK: it arrives, lengths stay, knees bend as they did."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.motion.foot_ik import LegChains, LimbSolver, limb_turn
from deepphase.motion.kinematics import global_transforms, joint_positions
from deepphase.motion.roles import find_roles
from tests.motion.bodies import DOG, HUMAN, body, random_clip

LEFT = np.array([1.0, 0.0, 0.0])


def two_joint_turns(*points):
    """Turns (rows, 4) of upper and middle joints by points (rows, 3), as of `limb_turn`."""
    rows = np.stack(np.broadcast_arrays(*points)).astype(np.float64)
    turns = np.empty((2, rows.shape[1], 4))
    for row in range(rows.shape[1]):
        limb_turn(*rows[:, row], *turns[:, row])
    return turns


def turned(upper, middle, last, turns):
    first, second = (Rotation.from_quat(turn) for turn in turns)
    knee = upper + first.apply(middle - upper)
    return knee, knee + (first * second).apply(last - middle)


def clearly_bent(positions):
    """Whether limbs, of upper, middle and last joints, are bent by more than 30 degrees."""
    upper, middle, last = positions[:3]
    thigh, shin = middle - upper, last - middle
    lengths = np.linalg.norm(thigh, axis=-1) * np.linalg.norm(shin, axis=-1)
    return np.linalg.norm(np.cross(thigh, shin), axis=-1) > 0.51 * lengths


@given(st.integers(0, 2**31), st.floats(0.02, 0.999))
def test_reachable_targets_are_reached_and_lengths_stay(seed, share):
    rng = np.random.default_rng(seed)
    upper, middle, last = rng.standard_normal((3, 10, 3))
    first = np.linalg.norm(middle - upper, axis=1)
    second = np.linalg.norm(last - middle, axis=1)
    way = rng.standard_normal((10, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    least = np.abs(first - second)
    target = upper + way * (least + share * (first + second - least))[:, None]
    knee, foot = turned(
        upper, middle, last, two_joint_turns(upper, middle, last, target, np.tile(LEFT, (10, 1)))
    )
    bent = clearly_bent((upper, middle, last))
    np.testing.assert_allclose(foot[bent], target[bent], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(knee - upper, axis=1), first, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(foot - knee, axis=1), second, atol=1e-9)


def test_a_limb_points_at_what_it_cannot_reach():
    upper, middle, last = np.array([[0, 1.0, 0]]), np.array([[0, 0.5, 0.3]]), np.zeros((1, 3))
    target = np.array([[1.0, -1.0, 3.0]])
    knee, foot = turned(
        upper, middle, last, two_joint_turns(upper, middle, last, target, LEFT[None])
    )
    way = (target - upper) / np.linalg.norm(target - upper)
    length = np.linalg.norm(middle - upper) + np.linalg.norm(last - middle)
    np.testing.assert_allclose(foot, upper + length * way, atol=1e-5)
    np.testing.assert_allclose(np.cross(knee - upper, way), 0.0, atol=1e-5)


def test_a_bent_limb_stays_in_its_plane():
    upper, middle, last = np.array([[0, 1.0, 0]]), np.array([[0.3, 0.6, 0.0]]), np.zeros((1, 3))
    knee, _ = turned(
        upper,
        middle,
        last,
        two_joint_turns(upper, middle, last, np.array([[0, 0.3, 0]]), LEFT[None]),
    )
    assert knee[0, 0] > 0.3
    assert knee[0, 2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("beyond", [-0.01, -1e-4, 0.0, 1e-4, 0.01])
def test_a_straight_knee_bends_forward(beyond):
    upper, last = np.array([[0, 1.0, 0]]), np.zeros((1, 3))
    middle = np.array([[0, 0.5, beyond]])
    target = np.array([[0.0, 0.2, 0.0]])
    knee, foot = turned(
        upper, middle, last, two_joint_turns(upper, middle, last, target, LEFT[None])
    )
    np.testing.assert_allclose(foot, target, atol=1e-6)
    assert knee[0, 2] > 0.2


@pytest.mark.parametrize("shorter", [0.0, 0.001, 0.004])
def test_a_knee_that_passes_through_straight_does_not_pop(shorter):
    fps, frames = 60.0, np.arange(60)
    # Through straight and eight degrees beyond, and back, as a captured knee in its swing.
    bend = 0.1 + 0.25 * np.cos(2 * np.pi * frames / 40)
    upper = np.tile([0.0, 1.0, 0.0], (60, 1))
    zero = np.zeros(60)
    middle = upper + 0.5 * np.stack([zero, -np.cos(bend / 2), np.sin(bend / 2)], 1)
    last = middle + 0.5 * np.stack([zero, -np.cos(bend / 2), -np.sin(bend / 2)], 1)
    target = last + np.array([0.0, shorter, 0.0])
    hinge = np.tile(LEFT, (60, 1))
    knee, foot = turned(upper, middle, last, two_joint_turns(upper, middle, last, target, hinge))
    own = np.abs(np.diff(middle, n=2, axis=0)).max() * fps**2
    assert np.abs(np.diff(knee, n=2, axis=0)).max() * fps**2 < 1.5 * own
    assert np.linalg.norm(foot - target, axis=1).max() < 0.008


@pytest.mark.parametrize(("geometry", "count"), [(HUMAN, 2), (DOG, 4)])
def test_a_solver_moves_feet_of_many_frames_and_nothing_else(geometry, count):
    skeleton, _ = body(geometry)
    clip = random_clip(skeleton, np.random.default_rng(5), frames=40, spread=0.3)
    limbs = LegChains.from_skeleton(skeleton, find_roles(skeleton))
    assert len(limbs) == count
    before = joint_positions(clip)
    solver = LimbSolver(skeleton, limbs)
    transforms = solver.transforms(clip.rotations, clip.local_positions())
    upper, _, last, tips = transforms.positions
    np.testing.assert_allclose(tips, before[:, limbs.tips].swapaxes(0, 1), atol=1e-12)
    inside = upper + (last - upper) * 0.9 + np.array([0.01, 0.0, -0.01])
    rotations = clip.rotations.copy()
    solver.reach(rotations, transforms, inside, np.tile(LEFT, (40, 1)))
    after = joint_positions(replace(clip, rotations=rotations))
    near = np.linalg.norm(inside - upper, axis=-1) > 0.3 * transforms.lengths
    bent = clearly_bent(transforms.positions)
    reached = after[:, limbs.last].swapaxes(0, 1)
    assert (near & bent).any()
    np.testing.assert_allclose(reached[near & bent], inside[near & bent], atol=1e-6)
    # A stretched limb gives up some of the way, and no more than that.
    np.testing.assert_allclose(reached[near], inside[near], atol=0.03)
    # Toes hang from the feet as they did; the trunk has not moved.
    np.testing.assert_allclose(
        after[:, limbs.tips] - after[:, limbs.last],
        before[:, limbs.tips] - before[:, limbs.last],
        atol=1e-9,
    )
    moved = {*limbs.middle.tolist(), *limbs.last.tolist(), *limbs.tips.tolist()}
    still = [joint for joint in range(len(skeleton)) if joint not in moved]
    np.testing.assert_allclose(after[:, still], before[:, still], atol=1e-12)


def test_tips_of_a_quadruped_are_the_ends_of_its_feet():
    skeleton, _ = body(DOG)
    roles = find_roles(skeleton)
    limbs = LegChains.from_skeleton(skeleton, roles)
    clip = random_clip(skeleton, np.random.default_rng(6), frames=10, spread=0.3)
    ends = np.where(limbs.tips == limbs.last, 1.0, 0.0)[:, None] * [0.0, -0.05, 0.02]
    assert ends.any(axis=1).tolist() == [False, False, True, True]
    solver = LimbSolver(skeleton, limbs, ends)
    found = solver.transforms(clip.rotations, clip.local_positions()).positions[3]
    rotations, positions = global_transforms(clip)
    for limb, tip in enumerate(limbs.tips.tolist()):
        expected = positions[:, tip] + Rotation.from_quat(rotations[:, tip]).apply(ends[limb])
        np.testing.assert_allclose(found[limb], expected, atol=1e-6)
    human, _ = body(HUMAN)
    roles = find_roles(human)
    assert not LegChains.from_skeleton(human, roles).ends(human, roles).any()
