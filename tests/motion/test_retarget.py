"""Retargeting: made skeletons whose answer is known, and what must be refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.orientation import scaled
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.gait_motion import locomotion

WALK = locomotion(2, 3.0, turn_rate=0.4).clip
OTHER_WALK = locomotion(5, 3.0, gait="run").clip
TROT = locomotion(3, 2.0, body="quadruped", gait="trot").clip


def with_axes(clip: Clip, seed: int, turns=None) -> Clip:
    """The same motion on a skeleton whose joints have other axes, so that rest is another pose."""
    skeleton, rng = clip.skeleton, np.random.default_rng(seed)
    axes = Rotation.random(len(skeleton), rng=rng).as_quat() if turns is None else turns
    back = quaternions.conjugate(axes)
    above = np.concatenate([[quaternions.IDENTITY], axes[skeleton.parents[1:]]])
    rotations = quaternions.multiply(
        quaternions.multiply(quaternions.conjugate(above), clip.rotations), axes
    )
    ends = skeleton.end_parents
    return replace(
        clip,
        skeleton=replace(
            skeleton,
            offsets=quaternions.rotate(quaternions.conjugate(above), skeleton.offsets),
            end_offsets=quaternions.rotate(back[ends], skeleton.end_offsets),
        ),
        rotations=rotations,
    )


def arms_down(clip: Clip) -> Clip:
    """The same motion on a skeleton that rests with its arms 50 degrees down."""
    turns = np.tile(quaternions.IDENTITY, (len(clip.skeleton), 1))
    roles = find_roles(clip.skeleton)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angle = np.radians(50.0) * sign
        for joint, name in enumerate(clip.skeleton.names):
            if name.lower().startswith(side) and any(w in name for w in ("Arm", "Hand")):
                turns[joint] = quaternions.about_axis(np.array([0, 0, 1.0]), np.array(angle))
    assert roles.left_elbow is not None
    return with_axes(clip, 0, turns)


def stretched(skeleton: Skeleton, factors: dict[str, float]) -> Skeleton:
    """A skeleton with the offsets of joints whose names contain a word times a factor."""
    offsets = skeleton.offsets.copy()
    for joint, name in enumerate(skeleton.names):
        for word, factor in factors.items():
            if name.endswith(word):
                offsets[joint] *= factor
    return replace(skeleton, offsets=offsets)


@pytest.mark.parametrize("clip", [WALK, TROT], ids=["person", "dog"])
def test_its_own_skeleton_changes_nothing(clip):
    made = retarget(clip, clip.skeleton)
    assert made.scale == pytest.approx(1.0)
    np.testing.assert_allclose(joint_positions(made.clip), joint_positions(clip), atol=1e-4)
    assert not made.unmatched
    assert made.foot_errors.max() < 1e-4


@pytest.mark.parametrize("clip", [WALK, TROT], ids=["person", "dog"])
@pytest.mark.parametrize("factor", [0.5, 1.4])
def test_a_body_of_another_size_moves_on_the_scaled_path(clip, factor):
    expected = scaled(clip, factor)
    made = retarget(clip, expected.skeleton)
    assert made.scale == pytest.approx(factor)
    floor = foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).floor
    shift = np.array([0.0, floor * (1.0 - factor), 0.0])
    np.testing.assert_allclose(
        joint_positions(made.clip), joint_positions(expected) + shift, atol=2e-4 * factor
    )


def test_another_rest_pose_gives_the_same_motion():
    target = arms_down(WALK)
    np.testing.assert_allclose(joint_positions(target), joint_positions(WALK), atol=1e-5)
    made = retarget(WALK, target.skeleton)
    np.testing.assert_allclose(joint_positions(made.clip), joint_positions(WALK), atol=1e-3)
    # The elbows bend about their own axes: there is no twist.
    turned = quaternions.angle_between(made.clip.rotations, target.rotations.astype(np.float64))
    assert np.degrees(turned).max() < 2.0


@pytest.mark.parametrize(
    ("clip", "sample"),
    [(WALK, OTHER_WALK), (TROT, locomotion(8, 2.0, body="quadruped", gait="walk").clip)],
    ids=["person", "dog"],
)
def test_axes_without_a_standing_rest_pose_are_found_from_motion(clip, sample):
    target = with_axes(sample, 7)
    with pytest.raises(SkeletonError, match="rest pose"):
        retarget(clip, target.skeleton)
    made = retarget(clip, target)
    error = np.linalg.norm(joint_positions(made.clip) - joint_positions(clip), axis=-1)
    leg = 0.83 if clip is WALK else 0.5
    assert error.mean() < 0.035 * leg
    roles = find_roles(clip.skeleton, clip=clip)
    feet = [roles.left_foot, roles.right_foot, roles.left_toe, roles.right_toe]
    assert error[:, feet].max() < 0.02 * leg
    # And back again.
    back = retarget(made.clip, clip.skeleton)
    again = np.linalg.norm(joint_positions(back.clip) - joint_positions(clip), axis=-1)
    assert again.mean() < 0.07 * leg


@pytest.mark.parametrize("seed", range(3))
def test_a_twisted_rest_pose_is_not_one_in_which_a_body_stands(seed):
    tilts = np.random.default_rng(seed).uniform(-35.0, 35.0, (len(WALK.skeleton), 3))
    twisted = with_axes(WALK, 0, Rotation.from_euler("xyz", tilts, degrees=True).as_quat())
    moved = retarget(twisted, OTHER_WALK).clip
    assert np.abs(joint_positions(moved) - joint_positions(WALK)).max() < 0.03


def test_a_target_that_never_stands_is_refused():
    target = with_axes(OTHER_WALK, 7)
    still = np.zeros_like(target.rotations)
    still[..., 3] = 1.0
    with pytest.raises(SkeletonError, match="the target's file has no standing pose"):
        retarget(WALK, replace(target, rotations=still))


def test_other_proportions_keep_feet_and_directions():
    target = stretched(
        WALK.skeleton, {"Leg": 1.15, "Foot": 0.9, "ForeArm": 1.3, "UpLeg": 1.4, "Spine1": 1.2}
    )
    made = retarget(WALK, target)
    assert made.foot_errors.max() < 0.005
    assert made.sliding < made.sliding_source + 0.01
    roles = find_roles(target)
    own, other = joint_positions(made.clip), joint_positions(WALK)

    def direction(positions, upper, lower):
        way = positions[:, getattr(roles, lower)] - positions[:, getattr(roles, upper)]
        return way / np.linalg.norm(way, axis=-1, keepdims=True)

    for side in ("left", "right"):
        for upper, lower in (("shoulder", "elbow"), ("elbow", "hand"), ("foot", "toe")):
            pair = f"{side}_{upper}", f"{side}_{lower}"
            cosine = (direction(own, *pair) * direction(other, *pair)).sum(-1)
            assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).max() < 1.0
    # Feet stay on the floor on which they were.
    np.testing.assert_allclose(
        foot_contacts(made.clip, roles).floor, foot_contacts(WALK, roles).floor, atol=0.01
    )


def test_hands_at_each_other_stay_together():
    roles = find_roles(WALK.skeleton)
    clap = WALK.rotations.copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):
        # From the T-pose: upper arms ahead, forearms across.
        for part, degrees in (("shoulder", 65), ("elbow", 85)):
            joint = getattr(roles, f"{side}_{part}")
            clap[:, joint] = Rotation.from_euler("Y", sign * degrees, True).as_quat()
    clip = replace(WALK, rotations=clap)
    hands = list(roles.both("hand"))

    def gap(each):
        positions = joint_positions(each)[:, hands]
        return np.linalg.norm(positions[:, 0] - positions[:, 1], axis=-1)

    assert gap(clip).max() < 0.2
    made = retarget(clip, stretched(clip.skeleton, {"ForeArm": 1.25, "Shoulder": 1.2}))
    np.testing.assert_allclose(gap(made.clip), made.scale * gap(clip), atol=0.02)


def test_a_spine_of_more_joints_and_a_root_above_the_hips():
    skeleton = WALK.skeleton
    # Every second of the source's spine joints is missing in the target, which has a root on top.
    left_out = skeleton.index("Spine1")
    kept = [joint for joint in range(len(skeleton)) if joint != left_out]
    place = {joint: row + 1 for row, joint in enumerate(kept)} | {-1: 0}
    place[left_out] = place[int(skeleton.parents[left_out])]
    offsets = skeleton.offsets.copy()
    offsets[skeleton.index("Spine2")] += offsets[left_out]
    target = Skeleton(
        ("reference", *(skeleton.names[joint] for joint in kept)),
        np.array([-1, *(place[int(skeleton.parents[joint])] for joint in kept)]),
        np.concatenate([np.zeros((1, 3)), offsets[kept]]),
    )
    made = retarget(WALK, target)
    assert made.unmatched == ("reference",)
    assert made.clip.translated_joints.tolist() == [0, 1]
    np.testing.assert_array_equal(made.clip.translations[:, 0], 0.0)
    own, other = joint_positions(made.clip)[:, 1:], joint_positions(WALK)[:, kept]
    assert np.linalg.norm(own - other, axis=-1).max() < 0.02


def test_a_dog_is_no_person_and_points_have_no_rotations():
    with pytest.raises(SkeletonError, match="biped cannot be put on a quadruped"):
        retarget(WALK, TROT.skeleton)
    points = replace(
        WALK,
        rotations=np.tile(quaternions.IDENTITY, (*WALK.rotations.shape[:2], 1)),
        translations=joint_positions(WALK),
        translated_joints=np.arange(len(WALK.skeleton)),
    )
    with pytest.raises(SkeletonError, match="solve"):
        retarget(points, WALK.skeleton)
