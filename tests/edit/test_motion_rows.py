"""Motion as rows of points, root velocities and contacts, and the way back to clips."""

from dataclasses import replace

import numpy as np
import pytest

import deepphase as dp
from deepphase.edit.body_points import BodyPoints
from deepphase.edit.motion_rows import MotionRows, MotionSpace, integrated_root, root_velocities
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import global_transforms, joint_positions
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory, with_root_motion
from deepphase.motion.skeleton import Skeleton
from tests.formula_motion import body, swinging


def walk(body_name: str = "biped"):
    return dp.synthetic.locomotion(body=body_name, seconds=3.0, seed=4).clip


def round_trip(clip):
    space = MotionSpace.from_clip(clip, clip.fps)
    clip = space.on_hips(clip)
    rows, root = space.rows(clip)
    again = MotionRows.from_array(rows.array(), len(space.points))
    start = root.positions[0, ::2], float(root.angles[0])
    path = integrated_root(space.velocities(again, clip), clip.fps, *start)
    return space.clip(again, clip, path, floor=space.floor(rows, clip)), clip


@pytest.mark.parametrize("body_name", ["biped", "quadruped"])
def test_rows_determine_a_clip(body_name):
    made, clip = round_trip(walk(body_name))
    assert np.abs(joint_positions(made) - joint_positions(clip)).max() < 2e-4
    assert quaternions.angle_between(made.rotations, clip.rotations).max() < 2e-3


def test_rows_of_a_body_of_another_size_are_of_the_editors_size():
    clip, _ = swinging(1.2, 3.0)
    large = Skeleton(clip.skeleton.names, clip.skeleton.parents, 1.25 * clip.skeleton.offsets)
    scaled = replace(clip, skeleton=large, translations=1.25 * clip.translations)
    space = MotionSpace.from_clip(clip, clip.fps)
    own, other = (space.rows(each)[0] for each in (clip, scaled))
    # Markers are not bones: they stand as far from a large body as from a small one.
    joints = space.points.point_joints >= 0
    np.testing.assert_allclose(other.points[:, joints], own.points[:, joints], atol=1e-4)
    np.testing.assert_allclose(other.velocities, own.velocities, atol=1e-3)
    path = integrated_root(space.velocities(other, scaled), clip.fps, np.zeros(2), 0.0)
    made = space.clip(other, scaled, path)
    np.testing.assert_allclose(made.skeleton.offsets[1:], large.offsets[1:], atol=1e-9)


def test_all_points_say_where_the_hips_are():
    clip = walk()
    space = MotionSpace.from_clip(clip, clip.fps)
    clip = space.on_hips(clip)
    rows, root = space.rows(clip)
    floor = space.floor(rows, clip)
    points = rows.points.copy()
    points[:, 0, 1] += 0.3
    made = space.clip(replace(rows, points=points), clip, root, floor=floor)
    up = (made.local_positions() - clip.local_positions())[:, space.hips, 1]
    # The hips turn a little as well.
    assert up.min() > 0.0
    assert up.max() < 0.03


def test_joints_above_the_hips_give_their_travel_to_them():
    clip, _ = swinging(1.0, 2.0)
    roles = dp.motion.find_roles(clip.skeleton, clip=clip)
    above = with_root_motion(clip, roles.hips, root_trajectory(clip, roles), "root")
    assert len(above.skeleton) == len(clip.skeleton) + 1
    made, on_hips = round_trip(above)
    np.testing.assert_allclose(joint_positions(made)[:, 1:], joint_positions(clip), atol=2e-4)
    assert np.abs(on_hips.local_positions()[:, 0]).max() == 0


def test_points_of_chance_rotations_give_them_back():
    skeleton = body()
    points = BodyPoints.from_skeleton(skeleton, 0)
    assert (points.point_joints >= 0).sum() == len(skeleton)
    rng = np.random.default_rng(3)
    clip, _ = swinging(1.0, 1.0)
    local = quaternions.normalized(rng.standard_normal((len(clip), len(skeleton), 4)))
    turned = replace(clip, rotations=local)
    rotations, places = global_transforms(turned)
    found = points.rotations(points.positions(rotations, places))
    assert quaternions.angle_between(found, local).max() < 1e-6


def test_groups_depend_on_the_joints_above_them():
    skeleton = body()
    depends = BodyPoints.from_skeleton(skeleton, 0).groups()
    foot = skeleton.index("LeftFoot") + 1
    above = [0, *(skeleton.index(n) for n in ("LeftUpLeg", "LeftLeg", "LeftFoot"))]
    assert np.flatnonzero(depends[foot]).tolist() == [joint + 1 for joint in sorted(above)]
    assert np.flatnonzero(depends[0]).tolist() == [0]


def test_root_velocities_integrate_to_the_path():
    rng = np.random.default_rng(0)
    root = RootTrajectory.from_ground(
        np.cumsum(rng.standard_normal((90, 2)), axis=0) / 50, np.cumsum(rng.standard_normal(90)) / 9
    )
    again = integrated_root(
        root_velocities(root, 30.0), 30.0, root.positions[0, ::2], float(root.angles[0])
    )
    np.testing.assert_allclose(again.positions, root.positions, atol=1e-9)
    np.testing.assert_allclose(again.angles, root.angles, atol=1e-9)


def test_other_skeletons_are_refused():
    clip, _ = swinging(1.0, 1.0)
    with pytest.raises(SkeletonError, match="another skeleton"):
        MotionSpace.from_clip(clip, 30.0).on_hips(walk())
