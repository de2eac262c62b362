"""Damaged and foreign glTF: what no single file shows; the table of cases is in tests/hostile."""

import os

import pytest

from deepphase.errors import FormatError
from deepphase.formats.gltf.reader import load_gltf, load_gltf_clips
from tests.formats.gltf_files import travel, two_joints


def test_a_link_does_not_lead_out(tmp_path):
    (tmp_path / "inner").mkdir()
    made = two_joints()
    (tmp_path / "secret.bin").write_bytes(made.binary)
    os.symlink(tmp_path / "secret.bin", tmp_path / "inner" / "link.bin")
    path = tmp_path / "inner" / "clip.gltf"
    path.write_bytes(made.gltf("link.bin"))
    with pytest.raises(FormatError, match="leads out"):
        load_gltf(path)


def test_few_keys_cannot_ask_for_many_poses(tmp_path):
    """Each animation is modest; all together are not."""
    made = two_joints()
    times = made.times([0.0, 6000.0])
    values = made.accessor(travel(2))
    for number in range(100):
        made.animate(0, "translation", times, values, name=f"a{number}")
    path = made.written(tmp_path)
    assert len(load_gltf(path, animation="a3", fps=10)) == 60_001
    with pytest.raises(FormatError, match="give a lower rate"):
        load_gltf_clips(path, fps=10)
    with pytest.raises(FormatError, match="give a lower rate"):
        load_gltf(path, fps=2000, animation="a3")
