"""Keys of controls: few of them, their files, and the ground below the character."""

import json

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.motion.kinematics import joint_positions
from deepphase.rigs.keying import clip_of_controls, keyed, motion_on_rig
from deepphase.rigs.keys import (
    RigKeys,
    hermite,
    key_groups,
    key_slopes,
    thinned_keys,
    thinned_rows,
)
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground


@pytest.fixture(scope="module")
def keys(person, poses):
    return RigKeys.from_rig(person, keyed(poses, person), poses.placement, poses.fps)


def test_a_cubic_needs_two_keys():
    times = np.linspace(0.0, 1.0, 50)[:, None]
    line = np.concatenate([2.0 * times, 1.0 - times], axis=1)
    assert thinned_rows(line, np.full(2, 1e-6)).tolist() == [0, 49]
    step = (times > 0.5).astype(float)
    rows = thinned_rows(step, np.array([0.1]))
    assert 3 <= len(rows) < 15
    drawn = hermite(rows, step[rows], key_slopes(step)[rows], 50)
    assert np.abs(drawn - step).max() <= 0.1
    np.testing.assert_array_equal(hermite(np.array([2]), step[[2]], step[[2]], 4), step[[2] * 4])


@pytest.mark.parametrize("error", [2e-3, 2e-2])
def test_few_keys_keep_the_joints(person, keys, error, tmp_path):
    few = thinned_keys(keys, person, error)
    # Controls of one handle have keys in the same frames.
    assert set(few.rows) == {name for name, _ in key_groups(keys.names)}
    assert few.key_count < (0.8 if error < 0.01 else 0.5) * keys.key_count
    every = person.evaluate(keys.values_of(person))
    off = np.linalg.norm(person.evaluate(few.values_of(person)) - every, axis=-1)
    assert 0 < off.max() <= error
    few.save(tmp_path / "few.json")
    again = RigKeys.load(tmp_path / "few.json")
    np.testing.assert_allclose(again.values_of(person), few.values_of(person), atol=1e-4)
    with pytest.raises(ParameterError, match="an error of keys"):
        thinned_keys(keys, person, 0.0)


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


def test_edited_keys_are_smooth_and_bad_ones_are_refused(person, keys, tmp_path):
    path = tmp_path / "few.json"
    thinned_keys(keys, person, 0.02).save(path)
    content = json.loads(path.read_text())
    curve = content["controls"]["body.ty"]
    del curve["slopes"]
    curve["frames"], curve["values"] = [0, 10, 20], [0.0, 0.1, 0.2]
    path.write_text(json.dumps(content))
    height = RigKeys.load(path).values_of(person)[:, person.index("body.ty")]
    np.testing.assert_allclose(height[:21], 0.01 * np.arange(21), atol=1e-9)
    np.testing.assert_allclose(height[20:], 0.2)
    for frames in ([0, 20, 10], [0, 10, 10_000], [0, 10], [[0, 10, 20]], [0, "x", 2]):
        curve["frames"] = frames
        path.write_text(json.dumps(content))
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
