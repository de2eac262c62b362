"""Glitches are found, flips repaired and noise is taken out; all else stays."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.load import load
from deepphase.motion import quaternions
from deepphase.motion.cleaning import Cleaning, clean, noise_floor, repair_flips
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import find_glitches
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import low_passed_clip
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import with_noise
from tests.motion.bodies import DOG, HUMAN, body, standing, walking
from tests.real_data import real_clips


def walk(geometry=HUMAN, fps=60.0):
    skeleton, index = body(geometry)
    return walking(skeleton, index, fps=fps), index


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
def test_smooth_motion_has_none(geometry, fps):
    assert find_glitches(walk(geometry, fps)[0]) == []


def test_noise_of_a_millimetre_is_none():
    clip, _ = walk()
    noise = 0.001 * np.random.default_rng(0).standard_normal(clip.translations.shape)
    assert find_glitches(replace(clip, translations=clip.translations + noise)) == []


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("frames_away", [1, 2, 5, 10_000])
def test_a_jump_of_the_body_is_found_at_its_frames(fps, frames_away):
    clip, _ = walk(fps=fps)
    translations = clip.translations.copy()
    translations[70 : 70 + frames_away] += [0.1, 0.2, 0.1]
    found = find_glitches(replace(clip, translations=translations))
    assert found
    assert all(glitch.what == "whole body" for glitch in found)
    assert 69 <= found[0].first <= 70
    back = 70 + frames_away if frames_away < 1000 else 70
    assert back <= found[-1].last <= back + 1
    assert re.search(r"jumps by 2[0-9] cm", found[0].sentence)


def test_a_jump_of_a_joint_names_it():
    clip, index = walk()
    rotations = clip.rotations.copy()
    knee = index["left_knee"]
    rotations[100:103, knee] = Rotation.from_euler("x", 60, degrees=True).as_quat()
    found = find_glitches(replace(clip, rotations=rotations))
    assert {glitch.what for glitch in found} == {"left_foot"}
    assert 99 <= found[0].first <= 101


def test_the_sign_of_a_quaternion_is_no_jump():
    clip, _ = walk()
    rotations = clip.rotations.copy()
    rotations[50:60] *= -1
    assert find_glitches(replace(clip, rotations=rotations)) == []


@pytest.mark.parametrize("at_end", [False, True])
def test_a_pose_apart_at_an_end_is_found(at_end):
    clip, index = walk()
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    frame = -1 if at_end else 0
    rotations[frame] = [0, 0, 0, 1]
    rotations[frame, index["left_shoulder"]] = Rotation.from_euler("z", 80, True).as_quat()
    rotations[frame, 0] = Rotation.from_euler("y", 90, True).as_quat()
    translations[frame] += 0.8
    (glitch,) = find_glitches(replace(clip, rotations=rotations, translations=translations))
    assert glitch.what == ("end of the clip" if at_end else "start of the clip")
    assert glitch.first == glitch.last == (len(clip) - 1 if at_end else 0)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 6])
def test_very_short_and_motionless_clips(frames):
    assert find_glitches(standing(body(HUMAN)[0], frames)) == []


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


CASES = [
    ("biped", "walk", 60.0),
    ("biped", "walk", 120.0),
    ("biped", "run", 60.0),
    ("quadruped", "walk", 60.0),
]


def pair(kind="biped", gait="walk", fps=60.0, noise=0.003):
    """A motion by formula, and the same with noise."""
    truth = locomotion(3, 8.0, body=kind, gait=gait, fps=fps).clip
    return truth, with_noise(truth, noise)


def error(clip, truth, frames=slice(None)):
    """Root mean square distance of joints, m."""
    apart = (joint_positions(clip) - joint_positions(truth))[frames]
    return float(np.sqrt((apart**2).sum(axis=-1).mean()))


@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_motion_without_noise_is_the_same_object(kind, gait, fps):
    truth, _ = pair(kind, gait, fps)
    cleaned, cleaning = clean(truth)
    assert cleaned is truth
    assert not cleaning
    assert cleaning == Cleaning()


@pytest.mark.parametrize("noise", [0.003, 0.01])
@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_the_frequency_is_near_the_best_one(kind, gait, fps, noise):
    truth, spoilt = pair(kind, gait, fps, noise)
    cleaned, cleaning = clean(spoilt)
    of_frequency = [error(low_passed_clip(spoilt, hz), truth) for hz in range(5, 22)]
    assert error(cleaned, truth) < 1.15 * min(of_frequency)
    assert error(cleaned, truth) < 0.8 * error(spoilt, truth)
    assert cleaning.jerk[-1] < 0.5 * cleaning.jerk_before[-1]
    assert cleaning.jerk[2] == pytest.approx(cleaning.jerk_before[2], rel=0.1)


def test_the_noise_of_a_spectrum():
    rng, fps, sigma = np.random.default_rng(0), 60.0, 0.02
    time = np.arange(1200) / fps
    motion = sum(
        np.sin(2 * np.pi * hz * time[:, None] + rng.uniform(0, 6, 12)) / hz**3
        for hz in np.arange(0.5, 29, 0.23)
    )
    cutoff, floor = noise_floor(motion + sigma * rng.standard_normal(motion.shape), fps)
    assert floor == pytest.approx(12 * sigma**2 / (0.5 * fps), rel=0.15)
    assert 2 < cutoff < 10
    assert noise_floor(motion, fps) == (np.inf, 0.0)
    assert noise_floor(np.zeros((300, 4)), fps) == (np.inf, 0.0)
    assert noise_floor(motion[:20], fps) == (np.inf, 0.0)


@pytest.mark.parametrize(("kind", "gait", "fps"), CASES)
def test_contacts_of_feet_are_nearer_to_the_true_ones(kind, gait, fps):
    truth, spoilt = pair(kind, gait, fps)
    roles = find_roles(truth.skeleton, clip=truth)
    true, before, after = (
        foot_contacts(each, roles).flags for each in (truth, spoilt, clean(spoilt)[0])
    )
    assert (after != true).mean() <= (before != true).mean()
    assert (true & ~after).mean() < 0.02


def test_a_hit_is_kept():
    truth, _ = pair()
    joint = list(truth.skeleton.names).index("LeftArm")
    rotations = truth.rotations.copy()
    # The arm is thrown up within two frames and stopped at once.
    angle = np.interp(np.arange(len(truth)), [200, 202, 230], [0.0, 1.2, 0.0], 0.0, 0.0)
    hit = Rotation.from_rotvec(angle[:, None] * [0.0, 0.0, 1.0]).as_quat()
    rotations[:, joint] = quaternions.multiply(rotations[:, joint], hit.astype(np.float32))
    truth = replace(truth, rotations=rotations)
    spoilt = with_noise(truth, 0.003)
    cleaned, cleaning = clean(spoilt)
    assert cleaning.cutoff_hz > 0
    assert 0 < cleaning.kept < 0.1
    near = slice(197, 206)
    plain = low_passed_clip(spoilt, cleaning.cutoff_hz)
    assert error(cleaned, truth, near) < 0.4 * error(plain, truth, near)
    assert error(cleaned, truth) < error(spoilt, truth)


def test_flips_are_repaired_before_the_noise_is_measured():
    truth, spoilt = pair()
    joint = list(truth.skeleton.names).index("LeftArm")
    rotations = spoilt.rotations.copy()
    flip = Rotation.from_rotvec([0.0, 2.5, 0.0]).as_quat().astype(np.float32)
    rotations[100:103, joint] = quaternions.multiply(rotations[100:103, joint], flip)
    cleaned, cleaning = clean(replace(spoilt, rotations=rotations))
    (found,) = cleaning.flips
    assert (found.joint, found.first, found.last) == ("LeftArm", 100, 102)
    assert cleaning.cutoff_hz == pytest.approx(clean(spoilt)[1].cutoff_hz, abs=1.0)
    assert error(cleaned, truth) < 0.8 * error(spoilt, truth)
    later = cleaning.later(7).flips[0]
    assert (later.first, later.last) == (107, 109)


def test_points_and_bodies_without_feet_are_cleaned():
    skeleton, index = body({"hips": (None, (0.0, 1.0, 0.0)), "spine": ("hips", (0.0, 0.3, 0.0))})
    truth = walking(skeleton, index, seconds=6.0)
    rng = np.random.default_rng(0)
    translations = truth.translations + 0.004 * rng.standard_normal(truth.translations.shape)
    cleaned, cleaning = clean(replace(truth, translations=translations))
    assert 6.0 <= cleaning.cutoff_hz < 8.0
    assert error(cleaned, truth) < 0.004
    short = truth.sliced(0, 3)
    assert clean(short)[0] is short


@pytest.mark.real_data
def test_real_captures():
    clip = load(real_clips("dog_mann") / "D1_007_KAN01_001.bvh")
    cleaned, cleaning = clean(clip)
    assert 12 < cleaning.cutoff_hz < 22
    assert cleaning.largest_move_m < 0.01
    assert cleaning.jerk[-1] < 0.7 * cleaning.jerk_before[-1]
    # Below 8 Hz the motion is as it was.
    assert cleaning.jerk[1] == pytest.approx(cleaning.jerk_before[1], rel=0.01)
    roles = find_roles(clip.skeleton, clip=clip)
    contacts = [foot_contacts(each, roles).flags for each in (clip, cleaned)]
    assert (contacts[0] != contacts[1]).mean() < 0.01
