"""Keys of controls: their files, and the ground below the character."""

import json

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.motion.clip import joint_positions
from deepphase.rigs.keying import clip_of_controls, keyed, motion_on_rig
from deepphase.rigs.keys import RigKeys
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground


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
