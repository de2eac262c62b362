"""Flips that were put into smooth motion are taken out, and fast movements are left."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.load import load
from deepphase.motion import quaternions
from deepphase.motion.cleaning import repair_flips
from deepphase.motion.kinematics import joint_positions
from tests.motion.bodies import DOG, HUMAN, body, walking
from tests.real_data import real_clips


def walk(geometry=HUMAN, fps=60.0):
    skeleton, index = body(geometry)
    return walking(skeleton, index, fps=fps), index


def turned(clip, joint, frames, turn):
    """The clip with a further local rotation of a joint in some frames."""
    rotations = clip.rotations.copy()
    rotations[frames, joint] = quaternions.multiply(rotations[frames, joint], turn.as_quat())
    return replace(clip, rotations=rotations)


def errors(clip, truth):
    return np.degrees(quaternions.angle_between(clip.rotations, truth.rotations)).max()


@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
def test_motion_without_flips_is_the_same_object(geometry):
    clip, _ = walk(geometry)
    assert repair_flips(clip) == (clip, ())


def test_signs_of_quaternions_are_not_flips():
    clip, _ = walk()
    rotations = clip.rotations.copy()
    rotations[50:60] *= -1
    signed = replace(clip, rotations=rotations)
    assert repair_flips(signed)[0] is signed


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("frames", [1, 4])
def test_a_joint_that_jumps_away_and_back_is_interpolated(frames, fps):
    truth, index = walk(fps=fps)
    joint = index["left_shoulder"]
    # Not about the bone, so that the arm is elsewhere.
    spoilt = turned(truth, joint, slice(50, 50 + frames), Rotation.from_rotvec([0.0, 2.5, 0.0]))
    repaired, flips = repair_flips(spoilt)
    (flip,) = flips
    assert (flip.joint, flip.first, flip.last) == ("left_shoulder", 50, 49 + frames)
    assert flip.angle_degrees == pytest.approx(np.degrees(2.5), abs=10)
    assert not flip.twist
    assert "left_shoulder flipped by 1" in flip.sentence
    assert errors(repaired, truth) < 4.0
    others = np.arange(len(truth.skeleton)) != joint
    np.testing.assert_array_equal(repaired.rotations[:, others], spoilt.rotations[:, others])


def test_an_arm_that_turns_about_its_bone_while_the_forearm_turns_back_keeps_all_positions():
    truth, index = walk()
    upper, fore = index["left_shoulder"], index["left_elbow"]
    bone = truth.skeleton.offsets[fore] / np.linalg.norm(truth.skeleton.offsets[fore])
    frames, turn = slice(70, 95), Rotation.from_rotvec(3.0 * bone)
    spoilt = turned(truth, upper, frames, turn)
    rotations = spoilt.rotations.copy()
    rotations[frames, fore] = quaternions.multiply(turn.inv().as_quat(), rotations[frames, fore])
    spoilt = replace(spoilt, rotations=rotations)
    np.testing.assert_allclose(joint_positions(spoilt), joint_positions(truth), atol=1e-9)
    repaired, flips = repair_flips(spoilt)
    assert {flip.joint for flip in flips} == {"left_shoulder"}
    assert all(flip.twist for flip in flips)
    np.testing.assert_allclose(joint_positions(repaired), joint_positions(spoilt), atol=1e-9)
    steps = quaternions.angle_between(repaired.rotations[1:], repaired.rotations[:-1])
    assert np.degrees(steps.max()) < 45


def test_a_fast_movement_is_left():
    clip, index = walk()
    # A throw: 2,400 degrees a second, reached within five frames and left as fast.
    time = np.arange(len(clip)) / clip.fps
    angle = 3.0 / (1.0 + np.exp(-(time - 2.0) / 0.018))
    rotations = clip.rotations.copy()
    rotations[:, index["left_elbow"]] = Rotation.from_rotvec(
        angle[:, None] * [0.0, 1.0, 0.0]
    ).as_quat()
    thrown = replace(clip, rotations=rotations)
    steps = quaternions.angle_between(rotations[1:], rotations[:-1])
    assert np.degrees(steps.max()) * clip.fps > 2000
    assert repair_flips(thrown)[0] is thrown


@pytest.mark.real_data
def test_flips_of_real_captures():
    folder = real_clips("dog_mann")
    clip = load(folder / "D1_ex03_KAN02_012.bvh")
    repaired, flips = repair_flips(clip)
    neck = next(flip for flip in flips if flip.joint == "Neck")
    assert (neck.first, neck.last, neck.twist) == (12, 15, True)
    assert neck.angle_degrees == pytest.approx(177, abs=1)
    moved = np.linalg.norm(joint_positions(repaired) - joint_positions(clip), axis=-1)
    # All but one are turns about a bone.
    assert (moved.max(axis=1) > 1e-4).sum() <= 3
    file = next(iter(sorted(real_clips("bandai1").glob("*.bvh"))))
    person = load(file)
    assert repair_flips(person)[0] is person
