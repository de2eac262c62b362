"""Damaged and foreign files: one clear error each; the table of cases is in tests/hostile."""

import os

import pytest

from deepphase.errors import FormatError
from deepphase.formats.bvh.reader import read_bvh
from tests.formats.bvh_text import written
from tests.hostile.bvh_cases import GOOD, HEAD


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
