"""Temporary folders, and arrays in files without a name."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from deepphase.errors import CheckpointError

PREFIX, SUFFIX = ".deepphase-", ".tmp"


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, else the system's, that is removed with its content at the end."""
    # Some systems cannot delete a file that is mapped into memory.
    with tempfile.TemporaryDirectory(SUFFIX, PREFIX, parent, ignore_cleanup_errors=True) as name:
        yield Path(name)


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
