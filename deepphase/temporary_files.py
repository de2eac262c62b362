"""Temporary files and folders that a later run removes where their owner was killed.

An owner holds a lock on its temporary file, or on the file `lock` of its temporary folder, as long
as it lives; the system releases locks with their process, however it ends. The name contains the
machine: a lock is proof on the machine that took it, but shared folders may keep it from others.
There, and where the file system has no locks, a file is removed after a day without a change.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deepphase.errors import CheckpointError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

ABANDONED_AFTER_S = 86_400.0
"""Seconds without a change after which a file of an unknown owner is removed."""

_NAME = re.compile(r"\.deepphase-([0-9a-f]{8})-[0-9a-f]{8,16}\.tmp")
_LOCK = "lock"
_LOCKED_ELSEWHERE = (errno.EAGAIN, errno.EACCES)


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new binary file in `folder` and its path; removed at the end unless it was moved.

    Raises OSError where it cannot be created.
    """
    path, file, owner = _locked_file(lambda: folder / _new_name())
    try:
        with file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)
        # Released after the removal: until then the file has an owner.
        owner.close()


@contextmanager
def temporary_folder(parent: Path | None = None, *, short: bool = False) -> Iterator[Path]:
    """A new folder in `parent`, removed with its content at the end.

    What killed programs left in `parent` is removed first.

    Parameters
    ----------
    parent
        The system's folder of temporary files if not given.
    short
        Of a name as short as can be, for sockets, whose paths are limited.

    Raises
    ------
    OSError
        Where it cannot be created.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(parent)

    def new_lock() -> Path:
        folder = parent / _new_name(4 if short else 8)
        folder.mkdir(0o700)
        return folder / _LOCK

    path, file, owner = _locked_file(new_lock)
    try:
        file.close()
        # A folder of its own, so that no file of the owner can be the lock.
        content = path.with_name("c" if short else "content")
        content.mkdir(0o700)
        yield content
    finally:
        # Some systems cannot delete a file that is mapped into memory.
        shutil.rmtree(path.parent, ignore_errors=True)
        owner.close()


def mapped_array(
    shape: tuple[int, ...], dtype: np.dtype | type | str, folder: Path | None = None
) -> np.memmap:
    """An array in a file without a name, which the system removes with the array.

    Its values are 0. `folder` is the folder of the file; the system's folder of temporary files if
    not given.

    Raises
    ------
    CheckpointError
        Where the disk has no room for the array.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # Without room for it, writing to the map would end the program by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(size, 1))
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise _no_room(f"{size / 1e6:,.1f} MB of temporary data", error, folder) from None


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files and folders in `folder` whose owner has ended."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match is not None:
                # Another run may remove it at the same time.
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path), match[1] == _machine())


def _no_room(what: str, error: OSError, folder: Path | None = None) -> CheckpointError:
    return CheckpointError(
        f"{what} cannot be written: {error.strerror or error}",
        hint="make room there, or choose another place"
        if folder
        else "make room there, or set TMPDIR to a folder on a disk with enough room",
        path=folder or tempfile.gettempdir(),
    )


def _new_name(token_bytes: int = 8) -> str:
    return f".deepphase-{_machine()}-{secrets.token_hex(token_bytes)}.tmp"


def _locked_file(new_path: Callable[[], Path]) -> tuple[Path, BinaryIO, ExitStack]:
    """A new file, and the owner of its lock, which holds it after the file is closed."""
    while True:
        path = new_path()
        file = path.open("xb")
        owner = ExitStack()
        if fcntl is None:
            # Such systems do not remove a file that is open.
            return path, file, owner
        lock = os.dup(file.fileno())
        owner.callback(os.close, lock)
        # Before it was locked, another run may have taken it for an abandoned one.
        if _lock(lock) is not False and path.exists():
            return path, file, owner
        file.close()
        owner.close()


def _lock(descriptor: int) -> bool | None:
    """Whether the file is locked now; None where the system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _LOCKED_ELSEWHERE else None
    return True


def _remove_if_abandoned(path: Path, of_this_machine: bool) -> None:
    state = path.lstat()
    is_folder = stat.S_ISDIR(state.st_mode)
    if not (is_folder or stat.S_ISREG(state.st_mode)):
        return
    if hasattr(os, "geteuid") and state.st_uid != os.geteuid():
        return
    with ExitStack() as stack:
        locked = None
        with suppress(FileNotFoundError):
            # For writing: network file systems give no other exclusive lock.
            lock = stack.enter_context((path / _LOCK if is_folder else path).open("rb+"))
            locked = _lock(lock.fileno())
        if locked is False:
            return
        if not (locked and of_this_machine) and time.time() - _changed(path) < ABANDONED_AFTER_S:
            return
        if is_folder:
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _changed(path: Path) -> float:
    """When the file, or the newest file of the folder, was changed: seconds since 1970."""
    return max(each.lstat().st_mtime for each in (path, *path.rglob("*")))


@cache
def _machine() -> str:
    """Eight digits of the running kernel, which containers on one machine share."""
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        kernel = f"{platform.node()} {uuid.getnode()}"
    return hashlib.sha256(kernel.encode()).hexdigest()[:8]
