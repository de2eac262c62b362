"""Few keys: curves through them, their frames, and their files."""

import json

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.rigs.examples import motion_on_rig
from deepphase.rigs.key_thinning import thinned_keys, thinned_rows
from deepphase.rigs.keying import keyed
from deepphase.rigs.keys import RigKeys, hermite, key_groups, key_slopes


@pytest.fixture(scope="module")
def keys(person, walk):
    motion = motion_on_rig(walk, person)
    return RigKeys.of_rig(person, keyed(motion, person), motion.placement, motion.fps)


def test_a_cubic_needs_two_keys():
    times = np.linspace(0.0, 1.0, 50)[:, None]
    line = np.concatenate([2.0 * times, 1.0 - times], axis=1)
    assert thinned_rows(line, np.full(2, 1e-6)).tolist() == [0, 49]
    step = (times > 0.5).astype(float)
    rows = thinned_rows(step, np.array([0.1]))
    assert 3 <= len(rows) < 15
    made = hermite(rows, step[rows], key_slopes(step)[rows], 50)
    assert np.abs(made - step).max() <= 0.1
    np.testing.assert_array_equal(hermite(np.array([2]), step[[2]], step[[2]], 4), step[[2] * 4])


@pytest.mark.parametrize("error", [2e-3, 2e-2])
def test_few_keys_keep_the_joints(person, keys, error, tmp_path):
    few = thinned_keys(keys, person, error)
    # Controls of one handle have keys in the same frames.
    assert set(few.rows) == {name for name, _ in key_groups(keys.names)}
    assert few.key_count < (0.8 if error < 0.01 else 0.5) * keys.key_count
    given = person.evaluate(keys.values_of(person))
    off = np.linalg.norm(person.evaluate(few.values_of(person)) - given, axis=-1)
    assert 0 < off.max() <= error
    path = tmp_path / "few.json"
    few.save(path)
    again = RigKeys.load(path)
    np.testing.assert_allclose(again.values_of(person), few.values_of(person), atol=1e-4)
    # In every frame it is the same.
    every = few.every_frame()
    np.testing.assert_allclose(every.values, few.drawn)
    np.testing.assert_allclose(every.trajectory().positions, few.trajectory().positions)


def test_keys_without_slopes_are_smooth_and_bad_keys_are_refused(person, keys, tmp_path):
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
    with pytest.raises(ParameterError, match="an error of keys"):
        thinned_keys(keys, person, 0.0)
