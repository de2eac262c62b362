"""Temporary folders and arrays leave nothing, and what killed programs leave goes after a day."""

import os
import time

import numpy as np
import pytest

from deepphase.errors import CheckpointError
from deepphase.files import PREFIX, SUFFIX, atomic_write, mapped_array, temporary_folder
from tests.test_atomic_write import full_disk


def test_what_a_killed_program_left_is_removed_after_a_day(tmp_path):
    old, new = (tmp_path / f"{PREFIX}{name}{SUFFIX}" for name in ("old", "new"))
    mine = tmp_path / f"{PREFIX}notes"
    for path in (old, new, mine):
        path.write_bytes(b"x")
    before = time.time() - 90_000
    for path in (old, mine):
        os.utime(path, (before, before))
    with atomic_write(tmp_path / "out") as file:
        file.write(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"out", new.name, mine.name}


def test_a_folder_is_removed_with_its_content(tmp_path):
    def use():
        with temporary_folder(tmp_path) as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        use()
    assert list(tmp_path.iterdir()) == []


def test_a_mapped_array_has_no_name(tmp_path):
    array = mapped_array((3, 4), np.float32, tmp_path)
    array[1] = 2.0
    assert array.shape == (3, 4)
    assert float(array.sum()) == 8.0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is not reserved here")
def test_a_mapped_array_without_room_is_an_error(tmp_path):
    with full_disk(), pytest.raises(CheckpointError, match="temporary data cannot be written"):
        mapped_array((1000, 1000), np.float32, tmp_path)
