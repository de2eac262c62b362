"""The root's path and facing, and what is seen from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.motion.clip import joint_positions, velocities
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import (
    from_root_space,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)
from deepphase.motion.skeleton import Skeleton
from tests.motion.bodies import DOG, HUMAN, body, standing, walking


def turning(geometry, angles, fps=60.0):
    """A body that turns on the spot: radians from +Z towards +X in every frame."""
    skeleton, _ = body(geometry)
    clip = standing(skeleton, len(angles), fps)
    rotations = clip.rotations.copy()
    rotations[:, 0] = Rotation.from_euler("y", angles[:, None]).as_quat()
    return replace(clip, rotations=rotations)


@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
@pytest.mark.parametrize("heading", [0.0, 1.2, 3.1, -2.0])
def test_a_body_faces_where_it_walks(geometry, heading):
    skeleton, index = body(geometry)
    clip = walking(skeleton, index, heading=heading)
    root = root_trajectory(clip, find_roles(skeleton, clip=clip))
    forward = [np.sin(heading), 0.0, np.cos(heading)]
    np.testing.assert_allclose(root.directions, np.tile(forward, (len(clip), 1)), atol=1e-6)
    turned = quaternions.rotate(root.rotations, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(turned, root.directions, atol=1e-12)
    hips = joint_positions(clip)[:, index["hips"]]
    np.testing.assert_array_equal(root.positions[:, [0, 2]], hips[:, [0, 2]])
    np.testing.assert_array_equal(root.positions[:, 1], 0.0)


@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
@pytest.mark.parametrize("speed", [0.5, 3.0, 12.0])
def test_a_steady_spin_is_neither_delayed_nor_damped(geometry, speed):
    angles = speed * np.arange(240) / 60.0
    clip = turning(geometry, angles)
    root = root_trajectory(clip, find_roles(clip.skeleton, clip=clip))
    # Vectors are averaged over 0.03 s, which shortens but does not turn them.
    np.testing.assert_allclose(root.angles, angles, atol=0.015 * speed)
    np.testing.assert_allclose(root.angles[45:-45], angles[45:-45], atol=1e-6)


def test_smoothing_is_gaussian_in_time_at_any_rate():
    for fps in (30.0, 120.0):
        time = np.arange(int(8 * fps)) / fps
        sway = 0.1 * np.sin(2 * np.pi * 1.5 * time)
        clip = turning(HUMAN, sway, fps)
        roles = find_roles(clip.skeleton)
        smooth = root_trajectory(clip, roles, smoothing_s=0.15).angles
        gain = np.exp(-0.5 * (2 * np.pi * 1.5) ** 2 * (0.15**2 + 0.03**2))
        inside = slice(int(fps), -int(fps))
        np.testing.assert_allclose(smooth[inside], gain * sway[inside], atol=2e-3)
        raw = root_trajectory(clip, roles, smoothing_s=0.0).angles
        np.testing.assert_allclose(raw, sway, atol=1e-9)


def test_frames_without_a_facing_take_that_of_their_neighbours():
    clip = turning(HUMAN, np.full(120, 0.8))
    positions = joint_positions(clip)
    # Hips and shoulders in one vertical line: no direction across.
    positions[50:60] *= [0.0, 1.0, 0.0]
    roles = find_roles(clip.skeleton)
    for smoothing_s in (0.0, 0.15):
        root = root_trajectory(clip, roles, positions, smoothing_s)
        np.testing.assert_allclose(root.angles, 0.8, atol=1e-9)


def test_a_dog_on_its_side_or_rearing_keeps_its_facing():
    skeleton, _ = body(DOG)
    roles = find_roles(skeleton, clip=standing(skeleton))
    assert roles.kind == "quadruped"
    for axes, angle in (("z", 80.0), ("x", -88.0), ("x", -95.0)):
        clip = standing(skeleton, 10)
        rotations = clip.rotations.copy()
        rotations[:, 0] = Rotation.from_euler(axes, angle, degrees=True).as_quat()
        root = root_trajectory(replace(clip, rotations=rotations), roles)
        assert root.directions[:, 2].min() > 0.95


def test_a_body_without_limbs_faces_where_it_travels_or_plus_z():
    skeleton = Skeleton(("a", "b"), [-1, 0], [(0, 0, 0), (0, 0.3, 0)])
    roles = find_roles(skeleton)
    still = root_trajectory(standing(skeleton), roles)
    np.testing.assert_array_equal(still.directions[0], [0.0, 0.0, 1.0])
    assert "+Z" in still.note
    clip = standing(skeleton, 60)
    path = np.linspace(0, 2, 60)[:, None, None] * np.array([1.0, 0.0, 0.0])
    root = root_trajectory(replace(clip, translations=path), roles)
    np.testing.assert_allclose(root.directions, np.tile([1.0, 0, 0], (60, 1)), atol=1e-9)
    assert "along the travel" in root.note


def test_root_space_and_back():
    skeleton, index = body(HUMAN)
    clip = walking(skeleton, index, heading=2.2)
    roles = find_roles(skeleton)
    positions = joint_positions(clip)
    root = root_trajectory(clip, roles, positions)
    local = to_root_space(positions, root)
    np.testing.assert_allclose(local[:, index["hips"], [0, 2]], 0.0, atol=1e-9)
    assert (local[:, index["left_hip"], 0] > 0.05).all()
    assert (local[:, index["left_toe"], 2] > -1.0).all()
    np.testing.assert_allclose(local[..., 1], positions[..., 1], atol=1e-12)
    np.testing.assert_allclose(from_root_space(local, root), positions, atol=1e-9)
    speed = velocities_in_root_space(velocities(positions, clip.fps), root)
    np.testing.assert_allclose(
        speed[:, index["hips"]], np.tile([0, 0, 1.2], (len(clip), 1)), atol=1e-6
    )
    np.testing.assert_allclose(to_root_space(positions[:, 3], root), local[:, 3], atol=1e-12)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_very_short_clips(frames):
    clip = turning(HUMAN, np.full(frames, 1.0))
    root = root_trajectory(clip, find_roles(clip.skeleton))
    np.testing.assert_allclose(root.angles, 1.0, atol=1e-9)
