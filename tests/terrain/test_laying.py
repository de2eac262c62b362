"""Feet and bodies of motion that is laid on ground whose shape is known."""

import numpy as np
import pytest

from deepphase.motion import quaternions
from deepphase.motion.clip import global_transforms, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.heightmap import Heightmap, made_ground
from deepphase.terrain.laying import ground_measures, lay_on_ground

FLAT = Heightmap(np.zeros((1, 1)), 1.0)


def slope(along_x: float, along_z: float) -> Heightmap:
    line = np.linspace(-20, 20, 81)
    x, z = np.meshgrid(line, line)
    return Heightmap.centred(along_x * x + along_z * z, 0.5)


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 5.0, speed=1.2, variety=0.0).clip


@pytest.fixture(scope="module")
def dog():
    return locomotion(3, 5.0, body="quadruped", gait="walk", speed=0.8, variety=0.0).clip


def test_flat_ground_changes_nothing_and_higher_ground_lifts_all_joints_alike(walk):
    laid = lay_on_ground(walk, FLAT)
    np.testing.assert_allclose(joint_positions(laid.clip), joint_positions(walk), atol=0.012)
    higher = lay_on_ground(walk, FLAT.shifted(0.7))
    up = joint_positions(higher.clip) - joint_positions(laid.clip)
    np.testing.assert_allclose(up, np.broadcast_to([0, 0.7, 0], up.shape), atol=1e-4)
    np.testing.assert_allclose(higher.lift - laid.lift, 0.7, atol=1e-5)


@pytest.mark.parametrize("rise", [(0.0, 0.25), (0.0, -0.25), (0.25, 0.0), (-0.2, 0.2)])
def test_feet_stand_on_slopes_and_are_as_steep(walk, rise):
    ground = slope(*rise)
    laid = lay_on_ground(walk, ground)
    measures = ground_measures(laid, ground)
    assert measures["deep"] == 0.0
    assert measures["floating"] < 0.01
    assert measures["depth_95"] < 0.012
    assert measures["slope"] == pytest.approx(np.hypot(*rise), rel=0.02)
    # Places on the ground stay.
    hips = find_roles(walk.skeleton, clip=walk).hips
    before, after = joint_positions(walk)[:, hips], joint_positions(laid.clip)[:, hips]
    np.testing.assert_allclose(after[:, ::2], before[:, ::2], atol=1e-6)
    # A standing foot is turned by the slope's rotation and nothing else.
    flags, last = laid.contacts[0], int(laid.chains.last[0])
    frame = int(np.flatnonzero(flags)[len(np.flatnonzero(flags)) // 2])
    was, now = global_transforms(walk)[0][frame, last], global_transforms(laid.clip)[0][frame, last]
    turn = quaternions.multiply(now, quaternions.conjugate(was))
    normal = quaternions.rotate(turn, np.array([0.0, 1.0, 0.0]))
    expected = np.array([-rise[0], 1.0, -rise[1]])
    np.testing.assert_allclose(normal, expected / np.linalg.norm(expected), atol=0.02)


@pytest.mark.parametrize("name", ["hills", "rocks"])
def test_feet_stay_out_of_uneven_ground_and_on_it(walk, name):
    ground = made_ground(name, seed=5, size_m=20.0)
    laid = lay_on_ground(walk, ground)
    measures, flat = ground_measures(laid, ground), ground_measures(lay_on_ground(walk, FLAT), FLAT)
    assert measures["deep"] < 0.01
    assert measures["floating"] < 0.03
    assert measures["swing_deep"] < 0.02
    assert measures["sliding"] < 1.3 * flat["sliding"]
    # Limbs keep their lengths, since only rotations and the root's height change.
    same = np.delete(np.arange(3), 1)
    np.testing.assert_array_equal(laid.clip.translations[..., same], walk.translations[..., same])


def test_a_four_legged_trunk_rises_with_the_ground(dog):
    roles = find_roles(dog.skeleton, clip=dog)
    assert roles.kind == "quadruped"
    pitches = {}
    for rise in (-0.3, 0.0, 0.3):
        ground = slope(0.0, rise)
        laid = lay_on_ground(dog, ground)
        places = joint_positions(laid.clip)
        hips = places[:, list(roles.both("hip"))].mean(axis=1)
        shoulders = places[:, list(roles.both("shoulder"))].mean(axis=1)
        trunk = shoulders - hips
        pitches[rise] = np.degrees(np.arctan2(trunk[:, 1], np.hypot(trunk[:, 0], trunk[:, 2])))
        assert ground_measures(laid, ground)["deep"] < 0.01
    expected = np.degrees(np.arctan(0.3))
    assert (pitches[0.3] - pitches[0.0]).mean() == pytest.approx(expected, abs=2.0)
    assert (pitches[-0.3] - pitches[0.0]).mean() == pytest.approx(-expected, abs=2.0)


def test_cliffs_are_found_and_stairs_are_not(walk, dog):
    stairs = made_ground("stairs", seed=1, size_m=20.0)
    assert ground_measures(lay_on_ground(walk, stairs), stairs)["cliffs"] == 0.0
    # A wall of two metres between the feet, along the way.
    line = np.linspace(-20, 20, 401)
    x, _ = np.meshgrid(line, line)
    hips = find_roles(walk.skeleton, clip=walk).hips
    middle = float(joint_positions(walk)[:, hips, 0].mean())
    wall = Heightmap.centred(np.where(x > middle, 2.0, 0.0), 0.1)
    for clip in (walk, dog):
        laid = lay_on_ground(clip, wall)
        assert ground_measures(laid, wall)["cliffs"] > 0.3
    low = Heightmap.centred(np.where(x > middle, 0.2, 0.0), 0.1)
    assert ground_measures(lay_on_ground(walk, low), low)["cliffs"] == 0.0


def test_cliffs_and_impossible_slopes_leave_a_whole_body(walk):
    line = np.linspace(-20, 20, 401)
    x, z = np.meshgrid(line, line)
    for heights in (np.where(z > 1.0, 30.0, 0.0), 8.0 * z, np.where((x + z) % 1 > 0.5, 2.0, 0.0)):
        ground = Heightmap.centred(heights, 0.1)
        laid = lay_on_ground(walk, ground)
        assert np.isfinite(laid.clip.rotations).all()
        bones = np.linalg.norm(np.diff(joint_positions(laid.clip), axis=1), axis=-1)
        before = np.linalg.norm(np.diff(joint_positions(walk), axis=1), axis=-1)
        legs = laid.chains
        for upper, last in zip(legs.upper, legs.last, strict=True):
            reach = np.linalg.norm(
                joint_positions(laid.clip)[:, last] - joint_positions(laid.clip)[:, upper], axis=-1
            )
            assert (
                reach.max()
                < 1.1
                * np.linalg.norm(
                    joint_positions(walk)[:, last] - joint_positions(walk)[:, upper], axis=-1
                ).max()
            )
        assert bones.shape == before.shape
