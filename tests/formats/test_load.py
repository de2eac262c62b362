"""Formats by suffix."""

import os

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.load import MOTION_FORMATS, WRITTEN_SUFFIXES, load, save
from deepphase.formats.reading import CHECK
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.orientation import scaled
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.bvh_text import two_joints, written
from tests.hostile.npz_cases import POINTS, archive


def test_suffix_tells_the_format_in_any_case(tmp_path):
    path = written(tmp_path, two_joints(), "CLIP.BVH")
    clip = load(path, unit="cm", up="y")
    save(clip, tmp_path / "again.bvh", decimals=9)
    again = load(tmp_path / "again.bvh", unit="cm", up="y")
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-9)
    assert clip.name == "CLIP"


@pytest.mark.parametrize("name", ["clip.c4d", "clip", "clip.bvh.gz"])
def test_unknown_suffix_lists_the_known_ones(tmp_path, name):
    path = written(tmp_path, two_joints(), name)
    with pytest.raises(FormatError, match=r"\.bvh"):
        load(path)


def test_unknown_option_lists_the_known_ones(tmp_path):
    path = written(tmp_path, two_joints())
    with pytest.raises(ParameterError, match="allow_truncated"):
        load(path, scale=2.0)


@pytest.mark.parametrize("suffix", MOTION_FORMATS)
def test_a_pipe_does_not_hang(tmp_path, suffix):
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    with pytest.raises(FormatError, match="not a file"):
        load(path)


@pytest.mark.parametrize("suffix", MOTION_FORMATS)
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html>", "a web page"),
        (b"Kaydara FBX Binary  \0", "an FBX file"),
    ],
)
def test_what_stands_under_a_wrong_name_is_said(tmp_path, suffix, content, what):
    if suffix == ".fbx" and b"FBX" in content:
        pytest.skip("it is what it says")
    path = tmp_path / f"clip{suffix}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=what):
        load(path)


def test_sizes_and_speeds_of_no_body_are_doubted(tmp_path):
    walk = locomotion(0, 1.0).clip
    for factor, doubts in ((1.0, 0), (100.0, 2), (0.01, 1)):
        save(scaled(walk, factor), tmp_path / "walk.glb")
        notes = load(tmp_path / "walk.glb").source.notes
        assert sum(note.startswith(CHECK) for note in notes) == doubts, notes


@pytest.mark.parametrize("suffix", WRITTEN_SUFFIXES)
def test_points_keep_their_places_in_every_format(tmp_path, suffix):
    positions = POINTS["positions"]
    swaying = positions + 0.01 * np.sin(np.arange(positions.size)).reshape(positions.shape)
    (tmp_path / "points.npz").write_bytes(archive(POINTS | {"positions": swaying}))
    clip = load(tmp_path / "points.npz")
    save(clip, tmp_path / f"again{suffix}")
    again = load(tmp_path / f"again{suffix}", unit="m", up="y")
    order = [again.skeleton.names.index(name) for name in clip.skeleton.names]
    np.testing.assert_allclose(joint_positions(again)[:, order], joint_positions(clip), atol=1e-5)
    assert not again.has_rotations
