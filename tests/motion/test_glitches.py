"""Jumps that were put into smooth motion are found, and nothing else."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.motion.cleaning import find_glitches
from tests.motion.bodies import DOG, HUMAN, body, standing, walking


def walk(fps=60.0, geometry=HUMAN):
    skeleton, index = body(geometry)
    return walking(skeleton, index, fps=fps), index


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
def test_smooth_motion_has_none(geometry, fps):
    assert find_glitches(walk(fps, geometry)[0]) == []


def test_noise_of_a_millimetre_is_none():
    clip, _ = walk()
    noise = 0.001 * np.random.default_rng(0).standard_normal(clip.translations.shape)
    assert find_glitches(replace(clip, translations=clip.translations + noise)) == []


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("frames_away", [1, 2, 5, 10_000])
def test_a_jump_of_the_body_is_found_at_its_frames(fps, frames_away):
    clip, _ = walk(fps)
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
