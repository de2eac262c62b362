"""Files that appear whole or not at all, temporary files and folders, and how large files may be.

What a reader makes of n bytes stays within `unpacked_bytes(n)`, so that a small file never takes
much memory, and its time grows no faster than n. Songs have a bound in seconds (music/audio.py),
skeletons one in joints (formats/reading.py).
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deepphase.errors import CheckpointError, DeepPhaseError, FormatError

PREFIX, SUFFIX = ".deepphase-", ".tmp"
# Seconds after which what a killed program left is removed.
_ABANDONED_AFTER_S = 86_400.0
_live: set[Path] = set()
_looked_through: set[Path] = set()
# The number of the user, which Windows has not.
_user = getattr(os, "geteuid", lambda: 0)


def user_cache() -> Path:
    """The package's folder in the user's cache, closed to others; made where that is possible."""
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("deepphase", appauthor=False))
    with suppress(OSError):
        folder.mkdir(0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, else the system's, that is removed with its content at the end."""
    remove_abandoned(parent or Path(tempfile.gettempdir()))
    # Some systems cannot delete a file that is mapped into memory.
    with (
        tempfile.TemporaryDirectory(SUFFIX, _own(), parent, ignore_cleanup_errors=True) as name,
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
            # Other users could fill theirs, or link to a whole disk.
            if path.is_symlink() or path.lstat().st_uid != _user() or _is_in_use(path):
                continue
            if all(place.lstat().st_mtime < before for place in (path, *path.rglob("*"))):
                _remove(path)


def _own() -> str:
    """The first letters of this process's temporary files."""
    return f"{PREFIX}{os.getpid()}-"


def _is_in_use(path: Path) -> bool:
    """Whether a temporary file is of a program that runs, however long ago it was written."""
    number, mark, _ = path.name.removeprefix(PREFIX).partition("-")
    if os.name != "posix" or not mark or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except (OSError, OverflowError):
        return False
    return True


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
        other = "choose another place" if folder else "set TMPDIR to a folder with enough room"
        raise CheckpointError(
            f"{size / 1e6:,.1f} MB of temporary data cannot be written: {error.strerror or error}",
            hint=f"make room there, or {other}",
            path=folder or tempfile.gettempdir(),
        ) from None


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file beside `path` that takes its place when the block ends well.

    Whatever ends the block otherwise leaves `path` as it was and nothing beside it. Only regular
    files are replaced, by one with the same permissions. Raises CheckpointError where the path is
    anything else, and where the disk or the folder refuses.
    """
    with writing(path):
        target = _replaceable(path)
        remove_abandoned(target.parent)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        # Its name is not of the file's name, which may be as long as the disk allows.
        beside = target.parent / f"{_own()}{secrets.token_hex(8)}{SUFFIX}"
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


def check_writable(path: str | Path, example: str = "file", *, room: int = 1 << 16) -> None:
    """Make a file's folder and try to write there: before long work, not after it.

    Raises CheckpointError where the folder cannot be made or written, the disk refuses the name or
    `room` bytes, or the path is a folder, whose error names `example` in it, or no regular file.
    """
    with writing(path):
        target = _replaceable(path, example)
        with tempfile.TemporaryFile(dir=target.parent) as file:
            file.write(bytes(room))
            file.flush()


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
    for place in (Path(path), target):
        with suppress(FileNotFoundError, NotADirectoryError):
            owner, folder = place.lstat().st_uid, place.parent.stat()
            # As in /tmp, where users replace their own files only, and links may lead anywhere.
            if place.is_symlink():
                trusted = owner in (_user(), folder.st_uid)
            else:
                trusted = _user() in (0, owner, folder.st_uid)
            if folder.st_mode & stat.S_ISVTX and not trusted:
                raise PermissionError(errno.EPERM, "it belongs to another user")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Of the path as given: the descriptors under /dev and /proc have no other name.
        mode = os.stat(path).st_mode
    except (FileExistsError, NotADirectoryError):
        found = next(folder for folder in target.parents if folder.exists())
        fact = f"the file cannot be written: {found} is not a folder"
        raise CheckpointError(fact, hint="choose another path", path=path) from None
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        hint = f"give the path of a file, such as {Path(path) / example}"
        raise CheckpointError("this is a folder", hint=hint, path=path)
    if not stat.S_ISREG(mode):
        fact = "this is a device, a pipe or a socket, and only files can be written"
        raise CheckpointError(fact, hint="give the path of a file", path=path)
    return target


# Kind of file -> bytes; the largest of each that were met have a tenth of these.
LARGEST_BYTES = {
    "motion": 4_000_000_000,
    "table": 250_000_000,
    "keys": 500_000_000,
    "store header": 500_000_000,
    # A song of the longest duration in 24 bits, two channels and 192,000 samples a second.
    "sound": 4_200_000_000,
    # The parser of YAML reads about 100,000 bytes a second.
    "config": 200_000,
}
_UNPACKED_RATIO, _ALWAYS_UNPACKED = 20, 1 << 24
# In memory an object of JSON takes some 200 bytes, in a file at least two. The glTF that is densest
# in objects, a table of channels, has 25 for each.
_FREE_OBJECTS, _LETTERS_PER_OBJECT = 10_000, 16


def unpacked_bytes(size: int) -> int:
    """Bytes that a file of `size` bytes may unpack to."""
    return max(_UNPACKED_RATIO * size, _ALWAYS_UNPACKED)


def check_size(path: Path, kind: str, error: type[DeepPhaseError] = FormatError) -> int:
    """Bytes of a file; the error if it is larger than its kind may be, OSError if it is missing.

    The error too for pipes and devices, whose bytes may have no end.
    """
    found, largest = path.stat(), LARGEST_BYTES[kind]
    size = found.st_size
    if not stat.S_ISREG(found.st_mode):
        raise error("cannot be read: not a file", path=path)
    if size > largest:
        fact = f"the file has {size:,} bytes; at most {largest:,} are read"
        raise error(fact, hint="cut it into parts", path=path)
    return size


def parsed_json(text: str, *, finite: bool = False) -> Any:
    """What a text of JSON says; ValueError where it is none, too dense, or not to be `finite`."""
    objects = text.count("{") + text.count("[")
    if objects > _FREE_OBJECTS + len(text) // _LETTERS_PER_OBJECT:
        raise ValueError(f"{objects:,} objects in {len(text):,} letters: no file is so dense")
    return json.loads(text, parse_constant=_refuse if finite else None)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def json_hash(header: Mapping[str, Any]) -> str:
    """Hash of a JSON mapping, whatever the order of its keys."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
