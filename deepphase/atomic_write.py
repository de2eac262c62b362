"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from deepphase.errors import CheckpointError
from deepphase.temporary_files import PREFIX, SUFFIX, remove_abandoned, removed_at_exit

# Bytes that must be free before long work begins.
_ROOM = 1 << 16


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file beside `path` that takes its place when the block ends well.

    Whatever ends the block otherwise, an interruption too, leaves `path` as it was and nothing
    beside it. What a killed program left there is removed after a day. Only regular files are
    replaced, by one with the same permissions. Raises CheckpointError where the path is anything
    else, and where the disk or the folder refuses.
    """
    with writing(path):
        target = _replaceable(path)
        remove_abandoned(target.parent)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        # Its name is not of the file's name, which may be as long as the disk allows.
        beside = target.parent / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
        opener = partial(os.open, mode=0o666 if mode is None else mode)
        with removed_at_exit(beside):
            try:
                with open(beside, "xb", opener=opener) as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                if mode is not None:
                    beside.chmod(mode)
                _replaceable(path)
                os.replace(beside, target)
            finally:
                beside.unlink(missing_ok=True)


def check_writable(path: str | Path, example: str = "file", *, room: int = _ROOM) -> None:
    """Make a file's folder and try to write there: before long work, not after it.

    Raises CheckpointError where the folder cannot be made or written, the disk refuses the name or
    `room` bytes, or the path is a folder or not a regular file. `example` is a name for the file,
    for the error where the path is a folder.
    """
    with writing(path):
        target = _replaceable(path, example)
        with tempfile.TemporaryFile(dir=target.parent) as file:
            file.write(bytes(room))
            file.flush()
        with suppress(FileNotFoundError):
            target.lstat()


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Context in which an OSError of the disk is raised as CheckpointError."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"the file cannot be written: {error.strerror or error}",
            hint="choose another place with enough room and permission to write",
            path=path,
        ) from None


def _replaceable(path: str | Path, example: str = "file") -> Path:
    """The regular file, or the new name in an existing folder, that a path leads to."""
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Of the path as given: the descriptors under /dev and /proc have no other name.
        mode = os.stat(path).st_mode
    except (FileExistsError, NotADirectoryError):
        found = next(each for each in target.parents if each.exists())
        raise CheckpointError(
            f"the file cannot be written: {found} is not a folder",
            hint="choose another path",
            path=path,
        ) from None
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise CheckpointError(
            "this is a folder",
            hint=f"give the path of a file, such as {Path(path) / example}",
            path=path,
        )
    if not stat.S_ISREG(mode):
        raise CheckpointError(
            "this is a device, a pipe or a socket, and only files can be written",
            hint="give the path of a file",
            path=path,
        )
    return target
