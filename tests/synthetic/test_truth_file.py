"""Truth files."""

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.synthetic.locomotion import locomotion
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
    with pytest.raises(FormatError, match="not a truth file"):
        Truth.load(tmp_path / "x.npz")


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    motion = locomotion(3, 2.0)
    Truth.of(motion).save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as content:
        arrays = dict(content)
    np.savez(tmp_path / "x.npz", **{**arrays, "phase": arrays["phase"][:-1]})
    with pytest.raises(FormatError, match="different lengths"):
        Truth.load(tmp_path / "x.npz")
