"""Truth files."""

import json

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.truth_file import Truth


def test_the_truth_comes_back(tmp_path):
    motion = locomotion(3, 2.0, gait="skip")
    Truth.of(motion).save(tmp_path / "skip.truth.npz")
    read = Truth.load(tmp_path / "skip.truth.npz")
    for name in ("phase", "frequency", "contacts", "gait"):
        np.testing.assert_array_equal(getattr(read, name), getattr(motion, name))
    assert (read.clip, read.fps) == (motion.clip.name, 60.0)
    assert (read.limb_names, read.gait_names) == (motion.limb_names, ("skip",))
    assert len(read) == len(motion)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"text"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(FormatError, match=r"empty|damaged archive|not an \.npz file"):
        Truth.load(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phase": np.zeros((119, 2))}, "expected"),
        ({"frequency": np.full((120, 2), np.inf)}, "every number is finite"),
        ({"gait": np.full(120, 1)}, "numbers without a gait"),
        ({"contacts": np.zeros((120, 2))}, "not booleans"),
        ({"meta": {"fps": 0}}, "fps is 0, expected a number"),
        ({"meta": {"limb_names": "ab"}}, "limb_names is 'ab', expected a list of texts"),
        ({"meta": {"limb_names": [1, 2]}}, "expected a list of texts"),
        ({"meta": {"format": "other"}}, "a other file"),
        ({"meta": {"version": "1"}}, "version 1 of"),
        ({"meta": []}, "not a JSON object"),
        ({"meta": "[" * 100_000}, "not JSON"),
    ],
)
def test_content_that_does_not_fit_is_refused(tmp_path, change, words):
    path = tmp_path / "x.npz"
    Truth.of(locomotion(3, 2.0)).save(path)
    with np.load(path) as content:
        arrays = dict(content)
    assert arrays["phase"].shape == (120, 2)
    meta = change.pop("meta", {})
    if isinstance(meta, dict):
        meta = {**json.loads(str(arrays["meta"])), **meta}
    text = meta if isinstance(meta, str) else json.dumps(meta)
    np.savez(path, **{**arrays, **change, "meta": np.array(text)})
    with pytest.raises(FormatError, match=words):
        Truth.load(path)
