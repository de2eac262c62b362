"""Rigs keyed by rule, and their animation curves."""

import json
from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import FormatError, SkeletonError
from deepphase.motion.clip import joint_positions
from deepphase.rigs.keying import BodyMotion, clip_of_controls, keyed, motion_on_rig
from deepphase.rigs.keys import RigKeys
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground
from tests.rigs.conftest import BODIES


@BODIES
def test_controls_give_the_joints_back_and_become_a_clip(body, clips, rigs):
    rig, clip = rigs[body], clips[body]
    motion = BodyMotion.from_clip(clip, rig)
    values = keyed(motion, rig)
    errors = np.linalg.norm(rig.evaluate(values) - motion.positions, axis=-1)
    assert errors.max() < 2e-3
    # The rule uses what is redundant.
    moved = {name for name, own in zip(rig.names, values.T, strict=True) if np.ptp(own) > 1e-4}
    assert {"body.ty", "pelvis.ry", "spine.bend.ry"} <= moved
    assert any(name.endswith("pole.tx") for name in moved)
    again = clip_of_controls(values, rig, motion.placement, motion.fps)
    rows = [clip.skeleton.index(name) for name in again.skeleton.names]
    assert np.abs(joint_positions(again) - joint_positions(clip)[:, rows]).max() < 2e-3
    assert again.translated_joints.tolist() == [0]
    read = BodyMotion.from_clip(again, rig.for_own_rest())
    np.testing.assert_allclose(read.positions, motion.positions, atol=2e-3)


def test_clips_of_controls_are_keyed_again(person, poses):
    values = keyed(poses, person)
    clip = clip_of_controls(values, person, poses.placement, poses.fps)
    again = keyed(motion_on_rig(clip, person), person)
    body = [person.index(f"body.{name}") for name in ("ty", "rx", "rz")]
    np.testing.assert_allclose(again[:, body], values[:, body], atol=0.01)


def test_clips_of_other_bodies_are_retargeted(person, walk):
    skeleton = walk.skeleton
    larger = replace(
        walk,
        skeleton=replace(
            skeleton, offsets=1.3 * skeleton.offsets, end_offsets=1.3 * skeleton.end_offsets
        ),
        translations=1.3 * walk.translations,
    )
    motion = motion_on_rig(larger, person)
    reached = person.evaluate(keyed(motion, person))
    assert np.linalg.norm(reached - motion.positions, axis=-1).max() < 5e-3


def test_a_clip_without_a_joint_of_the_rig_is_refused(person, clips):
    with pytest.raises(SkeletonError, match="which the rig has") as caught:
        BodyMotion.from_clip(clips["dog"], person)
    assert "deepphase convert" in caught.value.hint


def test_placement_is_not_part_of_the_pose(person, walk, poses):
    moved = walk.translations.copy()
    moved[:, 0] += [3.0, 0.0, -2.0]
    other = BodyMotion.from_clip(replace(walk, translations=moved), person)
    np.testing.assert_allclose(other.positions, poses.positions, atol=1e-5)
    assert np.abs(poses.positions[:, 0, [0, 2]]).max() < 1e-5


@pytest.fixture(scope="module")
def keys(person, poses):
    return RigKeys.from_rig(person, keyed(poses, person), poses.placement, poses.fps)


def test_keys_survive_their_file(person, keys, poses, tmp_path):
    path = tmp_path / "keys.json"
    keys.save(path)
    again = RigKeys.load(path)
    np.testing.assert_allclose(again.values_of(person), keys.values_of(person), atol=1e-6)
    np.testing.assert_allclose(again.placement.positions, poses.placement.positions, atol=1e-6)
    content = json.loads(path.read_text())
    assert content["controls"]["left_leg.stretch"] == {"unit": "1", "values": [0.0]}
    for change in ({"frames": 3}, {"format": "x"}, {"version": 9}, {"fps": -1}, {"controls": []}):
        path.write_text(json.dumps(content | change))
        with pytest.raises(FormatError, match="not a file of keys"):
            RigKeys.load(path)


def test_ground_raises_the_character(person, walk, poses, tmp_path):
    slope = Heightmap(0.1 * np.tile(np.arange(200.0) * 0.1, (200, 1)), 0.1, (-10.0, -10.0))
    laid = motion_on_rig(walk, person, slope)
    heights = laid.placement.positions[:, 1]
    assert np.ptp(heights) > 0.01
    # Hips are where they were in the space of the character.
    np.testing.assert_allclose(laid.positions[:, 0], poses.positions[:, 0], atol=2e-3)
    keys = RigKeys.from_rig(person, keyed(laid, person), laid.placement, laid.fps)
    keys.save(tmp_path / "keys.json")
    again = RigKeys.load(tmp_path / "keys.json")
    np.testing.assert_allclose(again.placement.positions[:, 1], heights, atol=1e-6)
    clip = clip_of_controls(again.values_of(person), person, again.placement, again.fps)
    expected = joint_positions(lay_on_ground(walk, slope).clip)[:, 0]
    np.testing.assert_allclose(joint_positions(clip)[:, 0], expected, atol=1e-3)
