"""Damaged and foreign files: one clear error each; the table of cases is in tests/hostile."""

import os

import pytest

from deepphase.errors import FormatError
from deepphase.formats.bvh.reader import load_bvh, read_bvh
from tests.formats.bvh_text import written
from tests.hostile.bvh_cases import GOOD, HEAD


@pytest.mark.parametrize("seed", range(5))
def test_binary_garbage(tmp_path, seed):
    noise = bytes((i * i * (seed + 7) + i * 31) % 256 for i in range(5000))
    for content in (noise, b"HIERARCHY\n" + noise, HEAD.encode() + noise, b"\xff\xfe" + noise):
        with pytest.raises(FormatError):
            read_bvh(written(tmp_path, content))


def test_every_prefix_is_refused_or_read(tmp_path):
    for stop in range(len(GOOD) - 10):
        with pytest.raises(FormatError):
            load_bvh(written(tmp_path, GOOD[:stop]), unit="m", up="y")


def test_paths_that_are_no_files(tmp_path):
    for path in (tmp_path, tmp_path / "absent.bvh", "nul\0byte.bvh"):
        with pytest.raises(FormatError, match="cannot be read"):
            read_bvh(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path):
    path = written(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read"):
        read_bvh(path)


def test_truncation_does_not_excuse_a_file_without_a_frame(tmp_path):
    path = written(tmp_path, HEAD + "0 1 2")
    with pytest.raises(FormatError, match="3 numbers"):
        read_bvh(path, allow_truncated=True)
