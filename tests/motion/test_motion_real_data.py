"""What is measured on real motion: orientation, roles, facing, contacts, mirroring, glitches."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.formats.load import load
from deepphase.motion.clip import global_transforms, joint_positions, velocities
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import find_glitches
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.orientation import AXES, infer_up, rotate_from_y_up
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from tests.real_data import real_clips

pytestmark = pytest.mark.real_data
SETS = ("bandai1", "bandai2_locomotion", "dog_mann", "cmu_dance")


def some(name, count=6, pattern="*.bvh"):
    """A few clips of a set, evenly spread, of its shorter files."""
    paths = sorted(real_clips(name).rglob(pattern))
    paths = sorted(
        sorted(paths, key=lambda path: path.stat().st_size)[: max(count, len(paths) // 2)]
    )
    if not paths:
        pytest.skip(f"no {pattern} in {name}")
    return [load(path) for path in paths[:: max(1, len(paths) // count)][:count]]


@pytest.mark.parametrize("name", SETS)
def test_orientation_and_roles(name):
    for clip in some(name):
        assert [infer_up(rotate_from_y_up(clip, up))[0] for up in AXES] == list(AXES)
        roles = find_roles(clip.skeleton, clip=clip)
        assert roles.kind == ("quadruped" if name == "dog_mann" else "biped")
        nameless = replace(
            clip.skeleton, names=tuple(f"joint_{i}" for i in range(len(clip.skeleton)))
        )
        again = find_roles(nameless, clip=replace(clip, skeleton=nameless))
        np.testing.assert_array_equal(again.pairs, roles.pairs)
        for part in ("hip", "knee", "foot", "shoulder", "elbow", "hand"):
            assert again.both(part) == roles.both(part)
        assert (again.kind, again.hips, again.head) == (roles.kind, roles.hips, roles.head)


@pytest.mark.parametrize(
    ("name", "pattern", "least"),
    [
        ("bandai1", "*_walk_*.bvh", 0.9),
        ("bandai1", "*_dash_*.bvh", 0.95),
        ("bandai2_locomotion", "*_run_*.bvh", 0.95),
        ("bandai2_locomotion", "*-turn-*.bvh", 0.9),
    ],
)
def test_who_walks_forward_faces_forward(name, pattern, least):
    for clip in some(name, pattern=pattern):
        root = root_trajectory(clip, find_roles(clip.skeleton, clip=clip))
        travel = velocities(root.positions, clip.fps)
        speed = np.linalg.norm(travel, axis=1)
        ahead = np.einsum("fc,fc->f", travel, root.directions)
        moving = speed > 0.3
        assert ahead[moving].sum() / speed[moving].sum() > least


def test_who_walks_backwards_faces_the_other_way():
    for clip in some("bandai1", pattern="*walk-back*.bvh"):
        root = root_trajectory(clip, find_roles(clip.skeleton, clip=clip))
        travel = velocities(root.positions, clip.fps)
        assert np.einsum("fc,fc->f", travel, root.directions).sum() < 0


def test_a_dog_that_paces_on_faces_forward():
    for clip in some("dog_mann"):
        root = root_trajectory(clip, find_roles(clip.skeleton, clip=clip))
        travel = velocities(root.positions, clip.fps)
        speed = np.linalg.norm(travel, axis=1)
        fast = speed > 1.2
        if fast.sum() > clip.fps:
            ahead = np.einsum("fc,fc->f", travel, root.directions)
            assert ahead[fast].sum() / speed[fast].sum() > 0.8


@pytest.mark.parametrize(
    ("name", "pattern", "low", "high"),
    [
        ("bandai1", "*_walk_*.bvh", 0.5, 0.75),
        ("bandai2_locomotion", "*_walk_*.bvh", 0.5, 0.75),
        ("bandai1", "*_run_*.bvh", 0.2, 0.5),
        ("bandai2_locomotion", "*_run_*.bvh", 0.2, 0.5),
    ],
)
def test_duty_factor_of_walks_and_runs(name, pattern, low, high):
    duties = []
    for clip in some(name, 10, pattern):
        roles = find_roles(clip.skeleton)
        transforms = global_transforms(clip)
        flags = foot_contacts(clip, roles, transforms=transforms).flags
        speed = np.linalg.norm(velocities(transforms[1][:, roles.hips], clip.fps)[:, ::2], axis=1)
        moving = speed > (0.4 if "_walk_" in pattern else 1.0)
        if moving.sum() > clip.fps:
            duties.append(flags[moving].mean())
            if "_walk_" in pattern:
                # In a walk a foot always stands, and steps alternate.
                assert flags[moving].any(axis=1).mean() > 0.9
    assert low < np.median(duties) < high


@pytest.mark.parametrize("name", SETS)
def test_mirror_image_of_real_motion(name):
    for clip in some(name, 3):
        roles = find_roles(clip.skeleton, clip=clip)
        mapping = mirror_map(clip, roles)
        image = mirrored(clip, mapping)
        positions = joint_positions(clip)
        expected = positions[:, roles.pairs] * np.array([-1.0, 1.0, 1.0])
        # The bodies are asymmetric by that much themselves.
        error = np.linalg.norm(joint_positions(image) - expected, axis=-1)
        assert error.max() < 0.012
        assert np.median(error) < 0.004
        twice = joint_positions(mirrored(image, mapping))
        np.testing.assert_allclose(twice, positions, atol=1e-5)


def test_the_mirror_image_of_a_turn_to_the_left_turns_right():
    for clip in some("bandai2_locomotion", 4, "*walk-turn-left*.bvh"):
        roles = find_roles(clip.skeleton)
        own = root_trajectory(clip, roles).angles
        image = root_trajectory(mirrored(clip, roles), roles).angles
        np.testing.assert_allclose(np.diff(image), -np.diff(own), atol=0.02)
        assert np.ptp(own) > 0.5


def test_capture_errors_are_found_and_fast_motion_is_not():
    for name, pattern in (("bandai1", "*_dash_*"), ("bandai2_locomotion", "*_run_*")):
        for clip in some(name, 8, f"{pattern}.bvh"):
            assert find_glitches(clip) == []
    path = real_clips("cmu_dance") / "salsa" / "04.bvh"
    if not path.is_file():
        pytest.skip("salsa/04 is not in this copy")
    found = find_glitches(load(path))
    assert (found[0].what, found[0].first) == ("start of the clip", 0)
    bodies = [(glitch.first, glitch.last) for glitch in found if glitch.what == "whole body"]
    assert any(first <= 267 <= last for first, last in bodies)
    assert any(first <= 347 and last >= 350 for first, last in bodies)


def test_resampling_real_motion_keeps_where_joints_are():
    for clip in some("bandai1", 3):
        faster = resample(clip, 60.0)
        error = joint_positions(faster)[::2] - joint_positions(clip)[: (len(faster) + 1) // 2]
        assert np.abs(error).max() < 1e-5
