"""Damaged and foreign files: one clear error each; the table of cases is in tests/hostile."""

import os

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.formats.bvh import load_bvh, read_bvh
from tests.formats.bvh_text import written
from tests.hostile.bvh_cases import GOOD, HEAD


@pytest.mark.parametrize("seed", range(5))
def test_binary_garbage(tmp_path, seed):
    noise = bytes((i * i * (seed + 7) + i * 31) % 256 for i in range(5000))
    for content in (noise, b"HIERARCHY\n" + noise, HEAD.encode() + noise, b"\xff\xfe" + noise):
        with pytest.raises(FormatError):
            read_bvh(written(tmp_path, content))


def test_a_prefix_is_read_only_where_all_numbers_are_there(tmp_path):
    whole = load_bvh(written(tmp_path, GOOD), unit="m", up="y")
    numbers = len(GOOD.split())
    read = []
    for stop in range(len(GOOD) + 1):
        path = written(tmp_path, GOOD[:stop])
        if len(GOOD[:stop].split()) < numbers:
            with pytest.raises(FormatError):
                load_bvh(path, unit="m", up="y")
            continue
        read.append(load_bvh(path, unit="m", up="y"))
        # Only the last number may have been cut short.
        np.testing.assert_array_equal(read[-1].rotations[:-1], whole.rotations[:-1])
        np.testing.assert_array_equal(read[-1].translations, whole.translations)
    # The last number may lose its digits one by one, and the file its last newline.
    assert len(read) == len(GOOD.split()[-1]) + 1
    np.testing.assert_array_equal(read[-1].rotations, whole.rotations)


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
