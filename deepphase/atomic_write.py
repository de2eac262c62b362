"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from deepphase.errors import CheckpointError
from deepphase.temporary_files import remove_abandoned, temporary_file

_SPECIAL = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_OUTPUT_STREAMS = (1, 2)
# Folders in which this program has looked for abandoned files.
_visited: set[Path] = set()


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file beside `path` that takes its place when the block ends well.

    Whatever ends the block otherwise, an interruption too, leaves `path` as it was and nothing
    beside it; what a killed program left there is removed by the next one. Only regular files are
    replaced. Raises CheckpointError where the path is anything else, and where the disk or the
    folder refuses.
    """
    with writing(path):
        target = _replaceable(path)
        if target.parent not in _visited:
            _visited.add(target.parent)
            remove_abandoned(target.parent)
        # Its name is not of the file's name, which may be as long as the disk allows.
        with temporary_file(target.parent) as (beside, file):
            yield file
            file.flush()
            os.fsync(file.fileno())
            # Some systems cannot rename an open file.
            file.close()
            _replaceable(path)
            os.replace(beside, target)


def check_writable(path: str | Path, example: str = "file") -> None:
    """Make a file's folder and try to write there: before long work, not after it.

    What killed programs left in the folder is removed. `example` is a name for the file, for the
    error where the path is a folder.

    Raises
    ------
    CheckpointError
        Where the folder cannot be made or written, the disk refuses the name, or the path is a
        folder, a device, a pipe or a socket.
    """
    with writing(path):
        target = _replaceable(path, example)
        remove_abandoned(target.parent)
        with tempfile.TemporaryFile(dir=target.parent), suppress(FileNotFoundError):
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
        state = os.stat(path)
    except (FileExistsError, NotADirectoryError):
        found = next(each for each in target.parents if each.exists())
        raise CheckpointError(
            f"the file cannot be written: {found} is not a folder",
            hint="choose another path",
            path=path,
        ) from None
    except FileNotFoundError:
        return target
    kind = next((name for test, name in _SPECIAL if test(state.st_mode)), "")
    if stat.S_ISDIR(state.st_mode):
        raise CheckpointError(
            "this is a folder",
            hint=f"give the path of a file, such as {Path(path) / example}",
            path=path,
        )
    if kind or _is_output_stream(state):
        raise CheckpointError(
            f"this is {kind or 'the output of this program'}, and only files can be written",
            hint="give the path of a file",
            path=path,
        )
    return target


def _is_output_stream(state: os.stat_result) -> bool:
    for stream in _OUTPUT_STREAMS:
        with suppress(OSError):
            if os.path.samestat(state, os.fstat(stream)):
                return True
    return False
