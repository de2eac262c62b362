"""Lengths that no body has are refused when read; what is written can be read again."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import FormatError
from deepphase.formats.load import load, save
from deepphase.formats.npz.archive import write_npz
from deepphase.formats.reading import LARGEST_LENGTH_M
from deepphase.motion.clip import Source
from tests.corpus.made_clips import made_clip
from tests.formats.bvh_text import two_joints, written
from tests.formats.test_load import WRITTEN_SUFFIXES


@pytest.mark.parametrize("key", ["offsets", "end_offsets", "translations"])
def test_absurd_lengths_of_our_own_file_are_refused(tmp_path, key):
    path = tmp_path / "clip.npz"
    save(made_clip(frames=4), path)
    with np.load(path) as archive:
        arrays = {name: archive[name].copy() for name in archive.files}
    arrays[key] = arrays[key].astype(np.float64)
    arrays[key].flat[-1] = 1.8e21
    write_npz(path, arrays)
    with pytest.raises(FormatError, match=r"of 1\.8e\+21 m: no body") as caught:
        load(path)
    assert caught.value.path == path


def test_absurd_lengths_of_a_bvh_are_refused(tmp_path):
    rows = np.zeros((3, 9), np.int64)
    rows[1, 2] = 10**11
    with pytest.raises(FormatError, match="a translation of 1e"):
        load(written(tmp_path, two_joints(rows)), unit="m")


@pytest.mark.parametrize("suffix", WRITTEN_SUFFIXES)
def test_what_readers_refuse_is_not_written(tmp_path, suffix):
    clip = made_clip(frames=4)
    far = replace(clip, translations=clip.translations + np.float32(2e6))
    for wrong in (far, replace(clip, fps=0.03), replace(clip, fps=1e6)):
        path = tmp_path / f"clip{suffix}"
        with pytest.raises(FormatError):
            save(wrong, path)
        assert not path.exists()


@settings(max_examples=60, deadline=None)
@given(
    suffix=st.sampled_from(WRITTEN_SUFFIXES),
    size=st.floats(1e-9, 1e9),
    place=st.floats(-1e7, 1e7),
    fps=st.floats(0.5, 2500.0),
    unit_m=st.sampled_from([1.0, 0.01, 0.001, 0.0254, 1e-6, 300.0]),
    up=st.sampled_from(["y", "z", "-x"]),
)
def test_what_is_written_is_read_again(suffix, size, place, fps, unit_m, up):
    clip = made_clip(frames=3)
    skeleton = replace(
        clip.skeleton,
        offsets=clip.skeleton.offsets * size,
        end_offsets=clip.skeleton.end_offsets * size,
    )
    clip = replace(
        clip,
        skeleton=skeleton,
        translations=clip.translations + np.float32(place),
        fps=fps,
        source=Source("made", unit_m, up, fps),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"clip{suffix}"
        try:
            save(clip, path)
        except FormatError:
            assert size > 1e5 or abs(place) > 1e5 or not 1 <= fps <= 2000 or suffix == ".bvh"
            assert not path.exists()
            return
        again = load(path)
    assert len(again) == 3
    assert np.abs(again.translations).max() <= LARGEST_LENGTH_M
