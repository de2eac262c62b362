"""Two-joint IK: it arrives, lengths stay, knees bend as they did."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.motion.clip import global_transforms, joint_positions
from deepphase.motion.foot_ik import LegChains, LimbSolver, limb_turn
from deepphase.motion.hinges import Hinges
from deepphase.motion.roles import find_roles
from tests.motion.bodies import DOG, HUMAN, body, random_clip, standing

LEFT = np.array([1.0, 0.0, 0.0])


def two_joint_turns(*points, bends=(-0.1, np.pi)):
    """Turns (rows, 4) of upper and middle joints by points (rows, 3), as of `limb_turn`."""
    rows = np.stack(np.broadcast_arrays(*points, LEFT)).astype(np.float64)
    turns = np.empty((2, rows.shape[1], 4))
    for row in range(rows.shape[1]):
        limb_turn(*rows[:, row], *bends, *turns[:, row])
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
    # On the hinge's side.
    wrong = np.cross(middle - upper, last - middle)[:, 0] < 0
    upper, middle, last, target = (
        np.where(wrong[:, None], each * [1, -1, 1], each) for each in (upper, middle, last, target)
    )
    knee, foot = turned(upper, middle, last, two_joint_turns(upper, middle, last, target))
    bent = clearly_bent((upper, middle, last))
    np.testing.assert_allclose(foot[bent], target[bent], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(knee - upper, axis=1), first, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(foot - knee, axis=1), second, atol=1e-9)


def test_a_limb_points_at_what_it_cannot_reach():
    upper, middle, last = np.array([[0, 1.0, 0]]), np.array([[0, 0.5, 0.3]]), np.zeros((1, 3))
    target = np.array([[1.0, -1.0, 3.0]])
    knee, foot = turned(upper, middle, last, two_joint_turns(upper, middle, last, target))
    way = (target - upper) / np.linalg.norm(target - upper)
    length = np.linalg.norm(middle - upper) + np.linalg.norm(last - middle)
    np.testing.assert_allclose(foot, upper + length * way, atol=1e-5)
    np.testing.assert_allclose(np.cross(knee - upper, way), 0.0, atol=1e-5)


def test_a_bent_limb_stays_in_its_plane():
    upper, middle, last = np.array([[0, 1.0, 0]]), np.array([[0.3, 0.6, 0.0]]), np.zeros((1, 3))
    target = np.array([[0, 0.3, 0]])
    knee, _ = turned(upper, middle, last, two_joint_turns(upper, middle, last, target))
    assert knee[0, 0] > 0.3
    assert knee[0, 2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("beyond", [-0.01, -1e-4, 0.0, 1e-4, 0.01])
def test_a_straight_knee_bends_forward(beyond):
    upper, last = np.array([[0, 1.0, 0]]), np.zeros((1, 3))
    middle = np.array([[0, 0.5, beyond]])
    target = np.array([[0.0, 0.2, 0.0]])
    knee, foot = turned(upper, middle, last, two_joint_turns(upper, middle, last, target))
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
    knee, foot = turned(
        upper, middle, last, two_joint_turns(upper, middle, last, target, bends=(-0.15, 3.0))
    )
    own = np.abs(np.diff(middle, n=2, axis=0)).max() * fps**2
    assert np.abs(np.diff(knee, n=2, axis=0)).max() * fps**2 < 1.5 * own
    assert np.linalg.norm(foot - target, axis=1).max() < 0.008


def test_a_limb_bent_to_the_other_side_is_bent_to_its_own_without_a_jump():
    # The whole circle in steps of a degree.
    bend = np.radians(np.arange(-180, 181))
    upper, middle = np.array([[0, 1.0, 0]]), np.array([[0, 0.5, 0]])
    last = middle + 0.5 * np.stack([0 * bend, -np.cos(bend), -np.sin(bend)], 1)
    knee, foot = turned(
        *np.broadcast_arrays(upper, middle, last), two_joint_turns(upper, middle, last, last)
    )
    found = np.arctan2(
        np.cross(knee - upper, foot - knee)[:, 0], np.vecdot(knee - upper, foot - knee)
    )
    assert found[1:-1].min() > -0.1
    assert np.abs(np.diff(found[1:-1])).max() < np.radians(2.5)
    np.testing.assert_allclose(found[180:-1], bend[180:-1], atol=1e-9)
    np.testing.assert_allclose(foot, last, atol=0.015)


@pytest.mark.parametrize(("geometry", "count"), [(HUMAN, 4), (DOG, 6)])
def test_hinges_have_the_range_of_poses_and_bring_all_bends_there_without_a_jump(geometry, count):
    skeleton, _ = body(geometry)
    roles = find_roles(skeleton)
    parts = ("knee", "elbow", "foot")[: count // 2]
    joints = [getattr(roles, f"{side}_{part}") for side in ("left", "right") for part in parts]
    poses = np.tile([0.0, 0.0, 0.0, 1.0], (200, len(skeleton), 1))
    # Arms that are held out bend about the vertical.
    axes = [LEFT if abs(skeleton.offsets[joint, 0]) < 0.1 else LEFT[[1, 0, 2]] for joint in joints]
    for joint, axis in zip(joints, axes, strict=True):
        poses[:, joint] = Rotation.from_rotvec(np.linspace(0.1, 1.5, 200)[:, None] * axis).as_quat()
    hinges = Hinges.from_poses(skeleton, roles, poses)
    assert sorted(hinges.joints) == sorted(joints)
    inside = poses.copy()
    hinges.constrain(inside)
    # The knees of the dog's rest pose bend to the other side.
    assert np.array_equal(inside, poses) == (geometry is HUMAN)
    # The whole circle in steps of a degree.
    circle = poses[np.zeros(360, int)]
    for joint, axis in zip(joints, axes, strict=True):
        turns = Rotation.from_rotvec(np.radians(np.arange(360.0))[:, None] * axis)
        circle[:, joint] = turns.as_quat()
    hinges.constrain(circle)
    bends = hinges.bends(circle)
    assert (bends > hinges.ranges[:, 0] - 1e-9).all()
    assert (bends < hinges.ranges[:, 1] + 1e-9).all()
    assert np.abs(np.diff(bends, axis=0)).max() < np.radians(2.0)


def test_parts_above_hinges_that_are_rolled_half_round_are_rolled_back_and_no_joint_moves():
    skeleton, _ = body(HUMAN)
    clip = standing(skeleton, frames=50)
    hinges = Hinges.from_poses(skeleton, find_roles(skeleton))
    both = hinges.parents, hinges.joints
    turns = np.linspace(1.3, 1.6, 50)[:, None].repeat(len(hinges.joints), axis=1)
    clip.rotations[:, both[1]] = quaternions.about_axis(hinges.axes, turns)
    bends, rolled = hinges.bends(clip.rotations), clip.rotations.copy()
    half = quaternions.about_axis(hinges.above, np.full(len(hinges.joints), np.pi))
    rolled[:, both[0]] = quaternions.multiply(rolled[:, both[0]], half)
    rolled[:, both[1]] = quaternions.multiply(half, rolled[:, both[1]])
    assert (hinges.bends(rolled) < -1.2).all()
    hinges.unroll(rolled)
    np.testing.assert_allclose(hinges.bends(rolled), bends, atol=1e-6)
    places = joint_positions(replace(clip, rotations=rolled))
    np.testing.assert_allclose(places, joint_positions(clip), atol=1e-6)


def test_sides_of_limbs_are_found_in_any_frames():
    skeleton, _ = body(HUMAN)
    roles = find_roles(skeleton)
    limbs = LegChains.from_skeleton(skeleton, roles)
    rest = Hinges.from_poses(skeleton, roles)
    np.testing.assert_allclose(rest.axes[:2], [LEFT, LEFT], atol=0.05)
    poses = np.tile([0.0, 0.0, 0.0, 1.0], (50, len(skeleton), 1))
    # Knees that bend about another axis, and a body that lies.
    axis = np.array([np.cos(0.4), 0.0, np.sin(0.4)])
    poses[:, limbs.middle] = Rotation.from_rotvec(
        np.linspace(0.1, 1.5, 50)[:, None] * axis
    ).as_quat()[:, None]
    poses[:, 0] = Rotation.from_euler("XYZ", [1.5, 0.3, 0.8]).as_quat()
    hinges = Hinges.from_poses(skeleton, roles, poses)
    np.testing.assert_allclose(hinges.axes[:2], [axis, axis], atol=0.06)
    assert (hinges.ranges[:, 0] <= 0).all()
    assert (hinges.ranges[:, 1] > 1.5).all()


@pytest.mark.parametrize(("geometry", "count"), [(HUMAN, 2), (DOG, 4)])
def test_a_solver_moves_feet_of_many_frames_and_nothing_else(geometry, count):
    skeleton, _ = body(geometry)
    clip = random_clip(skeleton, np.random.default_rng(5), frames=40, spread=0.3)
    roles = find_roles(skeleton)
    limbs = LegChains.from_skeleton(skeleton, roles)
    assert len(limbs) == count
    before = joint_positions(clip)
    solver = LimbSolver.from_poses(skeleton, roles, limbs)
    transforms = solver.transforms(clip.rotations, clip.local_positions())
    upper, _, last, tips = transforms.positions
    np.testing.assert_allclose(tips, before[:, limbs.tips].swapaxes(0, 1), atol=1e-12)
    inside = upper + (last - upper) * 0.9 + np.array([0.01, 0.0, -0.01])
    rotations = clip.rotations.copy()
    solver.reach(rotations, transforms, inside)
    after = joint_positions(replace(clip, rotations=rotations))
    near = np.linalg.norm(inside - upper, axis=-1) > 0.3 * transforms.lengths
    hinges = solver.hinges
    (least, largest), bends = hinges.ranges[:count].T, hinges.bends(rotations)[:, :count]
    assert ((bends > least - 1e-6) & (bends < largest + 1e-6)).all()
    near &= ((bends > least + 0.02) & (bends < largest - 0.02)).T
    bent = clearly_bent(transforms.positions)
    reached = after[:, limbs.last].swapaxes(0, 1)
    assert (near & bent).any()
    np.testing.assert_allclose(reached[near & bent], inside[near & bent], atol=1e-6)
    # A stretched limb gives up some of the way, and no more than that.
    np.testing.assert_allclose(reached[near], inside[near], atol=0.03)
    # Toes hang from the feet as they did; the trunk has not moved.
    hangs, hung = ((each[:, limbs.tips] - each[:, limbs.last])[near.T] for each in (after, before))
    np.testing.assert_allclose(hangs, hung, atol=1e-9)
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
