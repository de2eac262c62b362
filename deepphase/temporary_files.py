"""Temporary files and folders, and arrays in files without a name."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from deepphase.errors import CheckpointError

PREFIX, SUFFIX = ".deepphase-", ".tmp"
# Seconds after which what a killed program left is removed.
_ABANDONED_AFTER_S = 86_400.0
_live: set[Path] = set()
_looked_through: set[Path] = set()


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, else the system's, that is removed with its content at the end."""
    remove_abandoned(parent or Path(tempfile.gettempdir()))
    # Some systems cannot delete a file that is mapped into memory.
    with (
        tempfile.TemporaryDirectory(SUFFIX, PREFIX, parent, ignore_cleanup_errors=True) as name,
        removed_at_exit(Path(name)),
    ):
        yield Path(name)


@contextmanager
def removed_at_exit(path: Path) -> Iterator[None]:
    """Context in which `remove_live` removes a temporary file or folder."""
    _live.add(path)
    try:
        yield
    finally:
        _live.discard(path)


def remove_live() -> None:
    """Remove what this process writes at the moment, before it ends without any cleaning up."""
    for path in list(_live):
        _remove(path)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files and folders of programs that were killed a day ago; looks once."""
    if folder in _looked_through:
        return
    _looked_through.add(folder)
    before = time.time() - _ABANDONED_AFTER_S
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            if all(each.lstat().st_mtime < before for each in (path, *path.rglob("*"))):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif path.is_file() and not path.is_symlink():
        with suppress(OSError):
            path.unlink()


def mapped_array(
    shape: tuple[int, ...], dtype: np.dtype | type | str, folder: Path | None = None
) -> np.memmap:
    """An array of zeros in a file without a name, which the system removes with the array.

    CheckpointError where the disk of `folder`, else of temporary files, has no room for it.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # Without room for it, writing to the map would end the program by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(size, 1))
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise CheckpointError(
            f"{size / 1e6:,.1f} MB of temporary data cannot be written: {error.strerror or error}",
            hint="make room there, or choose another place"
            if folder
            else "make room there, or set TMPDIR to a folder on a disk with enough room",
            path=folder or tempfile.gettempdir(),
        ) from None
