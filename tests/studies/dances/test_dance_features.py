"""Features of dances: the same on another skeleton, right on poses that are known."""

import numpy as np
import pytest

from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles, find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.dances.dance_features import (
    body_points,
    feature_windows,
    geometric_features,
    kinetic_features,
    relations,
)
from tests.synthetic.poses import constant_pose

FPS = 60.0


def points_of(clip):
    return body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))


@pytest.fixture(scope="module")
def standing():
    return points_of(constant_pose(2.0))


def test_energies_are_those_of_the_movement(standing):
    time = np.arange(len(standing["root"])) / FPS
    moved = {name: values.copy() for name, values in standing.items()}
    for values in moved.values():
        values[:, 0] += 3.0 * time
        values[:, 2] += 4.0 * time
        values[:, 1] += 0.5 * time**2
    window = np.array([[10, 110]])
    features = kinetic_features(moved, FPS, window).reshape(len(moved), 3)
    np.testing.assert_allclose(features[:, 0], 5.0, rtol=1e-6)
    np.testing.assert_allclose(features[:, 1], np.sqrt(np.mean(time[10:110] ** 2)), rtol=1e-5)
    np.testing.assert_allclose(features[:, 2], 1.0, rtol=1e-4)
    still = kinetic_features(standing, FPS, window)
    np.testing.assert_allclose(still, 0.0, atol=1e-6)


def test_a_pose_has_its_relations_and_no_others(standing):
    found = relations(standing, FPS)
    assert not any(found[name].any() for name in found if "fast" in name or "near" in name)
    assert not found["left hand is over the neck"].any()
    assert not found["trunk leans"].any()
    raised = {name: values.copy() for name, values in standing.items()}
    raised["left_hand"] = raised["neck"] + [0.0, 0.4, 0.0]
    raised["right_foot"] = raised["right_foot"] + [0.0, 0.0, 0.5]
    found = relations(raised, FPS)
    assert found["left hand is over the neck"].all()
    assert not found["right hand is over the neck"].any()
    assert found["right foot is before the other"].all()
    assert not found["left foot is before the other"].any()


def test_relations_know_neither_place_nor_facing_nor_size():
    clip = locomotion(3, 4.0, body="biped").clip
    points = points_of(clip)
    turned = {
        name: 1.3 * values[:, [2, 1, 0]] * [1.0, 1.0, -1.0] + [5.0, 0.0, -2.0]
        for name, values in points.items()
    }
    windows = feature_windows(len(clip), FPS, 2.0)
    here, there = (geometric_features(each, FPS, windows) for each in (points, turned))
    # Thresholds of speed are in lengths a second: a larger body moves as fast in its own.
    np.testing.assert_allclose(here, there, atol=0.03)
    assert 0.05 < here.mean() < 0.95


def test_windows_lie_side_by_side():
    assert feature_windows(600, FPS, 4.0).tolist() == [[60, 300], [300, 540]]
    assert feature_windows(100, FPS, 4.0).tolist() == [[0, 100]]
    with pytest.raises(ParameterError):
        feature_windows(2, FPS)


def test_a_body_without_arms_is_told_so():
    with pytest.raises(SkeletonError, match="knee"):
        body_points(np.zeros((3, 4, 3)), Roles(0, np.arange(4)))
