"""Mirrored motion: positions are the mirror image, whatever way the joints' axes point."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from tests.motion.bodies import DOG, HUMAN, body, random_clip

WORLD = np.array([-1.0, 1.0, 1.0])


def human_clip(seed=0, spread=0.25, geometry=HUMAN):
    skeleton, index = body(geometry)
    return random_clip(skeleton, np.random.default_rng(seed), 40, spread), index


def with_axes(clip, axes):
    """The same motion with each joint's local axes turned by `axes` (joints,) Rotations."""
    skeleton = clip.skeleton
    matrices = axes.as_quat()
    above = np.concatenate([[quaternions.IDENTITY], matrices[skeleton.parents[1:]]])
    back = quaternions.conjugate(above)
    rotations = quaternions.multiply(quaternions.multiply(back, clip.rotations), matrices)
    offsets = quaternions.rotate(back, skeleton.offsets)
    return replace(clip, skeleton=replace(skeleton, offsets=offsets), rotations=rotations)


def bones_along_x_and_right_limbs_inverted(clip, index):
    """Axes as some exporters write them: limbs along +X on the left, along -X on the right."""
    angles = np.zeros((len(clip.skeleton), 3))
    axes = [Rotation.identity()] * len(angles)
    for part, joint in index.items():
        if part.startswith("left_"):
            axes[joint] = Rotation.from_euler("z", -90, degrees=True)
        elif part.startswith("right_"):
            # With the left's axes reflected and then all three turned round.
            axes[joint] = Rotation.from_matrix(
                np.diag(WORLD)
                @ Rotation.from_euler("z", -90, degrees=True).as_matrix()
                @ -np.eye(3)
            )
        else:
            axes[joint] = Rotation.from_euler("yz", [90, 90], degrees=True)
    axes[0] = Rotation.identity()
    return with_axes(clip, Rotation.concatenate(axes))


def arbitrary_axes(clip, index, symmetric_rest=False):
    rng = np.random.default_rng(9)
    return with_axes(clip, Rotation.random(len(clip.skeleton), random_state=rng))


RIGS = {
    "T-pose": lambda clip, index: clip,
    "inverted right limbs": bones_along_x_and_right_limbs_inverted,
    "arbitrary axes": arbitrary_axes,
}


@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
@pytest.mark.parametrize("rig", RIGS)
def test_positions_are_the_mirror_image_with_sides_swapped(rig, geometry):
    clip, index = human_clip(geometry=geometry)
    clip = RIGS[rig](clip, index)
    roles = find_roles(clip.skeleton)
    image = mirrored(clip, roles)
    expected = joint_positions(clip)[:, roles.pairs] * WORLD
    np.testing.assert_allclose(joint_positions(image), expected, atol=1e-6)
    twice = mirrored(image, mirror_map(clip, roles))
    np.testing.assert_allclose(joint_positions(twice), joint_positions(clip), atol=1e-9)
    assert quaternions.angle_between(twice.rotations, clip.rotations).max() < 1e-6


@pytest.mark.parametrize("rig", RIGS)
def test_mirrored_poses_look_like_the_body_s_own(rig):
    # Poses scatter about one that is symmetric: so must their images, joint by joint.
    clip, index = human_clip(seed=4)
    clip = RIGS[rig](clip, index)
    roles = find_roles(clip.skeleton)
    image = mirrored(clip, roles)
    typical = quaternions.mean_rotation(clip.rotations)
    own = quaternions.angle_between(clip.rotations, typical).max(axis=0)
    new = quaternions.angle_between(image.rotations, typical).max(axis=0)
    assert (new[1:] < 1.6 * own[1:] + 0.2).all()


def test_global_rotations_follow_the_reflections():
    clip, index = human_clip()
    clip = bones_along_x_and_right_limbs_inverted(clip, index)
    mapping = mirror_map(clip, find_roles(clip.skeleton))
    before = Rotation.from_quat(global_transforms(clip)[0][7]).as_matrix()
    after = Rotation.from_quat(global_transforms(mirrored(clip, mapping))[0][7]).as_matrix()
    expected = np.diag(WORLD) @ before[mapping.pairs] @ mapping.reflections
    np.testing.assert_allclose(after, expected, atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(mapping.reflections), -1.0)
    partners = mapping.reflections[mapping.pairs]
    np.testing.assert_allclose(
        partners @ mapping.reflections, np.tile(np.eye(3), (len(partners), 1, 1)), atol=1e-9
    )


def test_one_waving_arm_does_not_change_the_map():
    clip, index = human_clip(spread=0.1)
    clip = bones_along_x_and_right_limbs_inverted(clip, index)
    roles = find_roles(clip.skeleton)
    usual = mirror_map(clip, roles)
    rotations = clip.rotations.copy()
    raised = Rotation.from_euler("xz", [70, 80], degrees=True)
    rotations[:, index["right_shoulder"]] = (
        Rotation.from_quat(rotations[:, index["right_shoulder"]]) * raised
    ).as_quat()
    waving = mirror_map(replace(clip, rotations=rotations), roles)
    np.testing.assert_allclose(waving.reflections, usual.reflections)


def test_joints_that_travel_are_mirrored_too():
    clip, index = human_clip()
    joints = np.array([0, index["chest"], index["left_knee"]])
    rng = np.random.default_rng(1)
    translations = np.concatenate([clip.translations, rng.standard_normal((40, 2, 3))], axis=1)
    clip = Clip(clip.skeleton, clip.rotations, translations, 60.0, joints)
    roles = find_roles(clip.skeleton)
    image = mirrored(clip, roles)
    assert index["right_knee"] in image.translated_joints
    expected = joint_positions(clip)[:, roles.pairs] * WORLD
    np.testing.assert_allclose(joint_positions(image), expected, atol=1e-9)


def test_a_limb_twice_as_long_is_refused_with_its_joint():
    skeleton, index = body(HUMAN)
    offsets = skeleton.offsets.copy()
    offsets[index["left_knee"]] *= 2.0
    skeleton = replace(skeleton, offsets=offsets)
    clip = random_clip(skeleton, np.random.default_rng(0))
    with pytest.raises(SkeletonError, match="left_hip"):
        mirror_map(clip, find_roles(skeleton))


def test_a_prop_in_one_hand_stays_in_it():
    clip, index = human_clip()
    skeleton, joints = clip.skeleton, len(clip.skeleton)
    skeleton = Skeleton(
        (*skeleton.names, "racket", "racket_tip"),
        [*skeleton.parents, index["right_hand"], joints],
        np.concatenate([skeleton.offsets, [[0.0, 0.1, 0.0], [0.0, 0.5, 0.1]]]),
    )
    held = Rotation.from_euler("xyz", [20, 30, 40], degrees=True).as_quat()
    rotations = np.concatenate([clip.rotations, np.tile(held, (40, 2, 1))], axis=1)
    clip = Clip(skeleton, rotations, clip.translations, 60.0)
    roles = find_roles(skeleton)
    mapping = mirror_map(clip, roles)
    image = mirrored(clip, mapping)
    expected = joint_positions(clip)[:, roles.pairs] * WORLD
    np.testing.assert_allclose(joint_positions(image)[:, :joints], expected[:, :joints], atol=1e-9)
    np.testing.assert_allclose(image.rotations[:, joints:], rotations[:, joints:], atol=1e-12)
    back = joint_positions(mirrored(image, mapping))
    np.testing.assert_allclose(back, joint_positions(clip), atol=1e-9)
