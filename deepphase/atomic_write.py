"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from deepphase.errors import CheckpointError


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file beside `path` that takes its place when the block ends well.

    Whatever ends the block otherwise, an interruption too, leaves `path` as it was and nothing
    beside it. Raises CheckpointError where the disk or the folder refuses.
    """
    target = Path(os.path.realpath(path))
    # Not of the file's name, which may be as long as the disk allows.
    beside = target.with_name(f".deepphase-{secrets.token_hex(8)}.tmp")
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from None


def check_writable(path: str | Path) -> None:
    """Make a file's folder and try to write there: before long work, not after it.

    Raises
    ------
    CheckpointError
        Where the folder cannot be made or written, or the disk refuses the name.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent), suppress(FileNotFoundError):
            target.lstat()
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"cannot be written: {error.strerror or error}",
        hint="choose another place with enough room and permission",
        path=path,
    )
