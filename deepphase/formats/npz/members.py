"""The members of an .npz archive, checked before any is unpacked."""

from __future__ import annotations

import errno
import hashlib
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deepphase.errors import FormatError
from deepphase.formats.file_content import FRONT_BYTES, check_is_file, foreign_content

ARRAY_SUFFIX = ".npy"
MAKE_AGAIN = "make or download the file again"

# What an archive may unpack to: 20 times its size, as long as that is not a small amount anyway.
_LARGEST_RATIO = 20
_ALWAYS_ALLOWED_BYTES = 1 << 24
_MAX_MEMBERS = 1000
_CHECKSUM_MARK = b"deepphase sha256 "
_ENCRYPTED = 0x1
# Others unpack without a bound; NumPy writes none of them.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises on damaged archives.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


def checksum(members: Iterable[zipfile.ZipInfo]) -> bytes:
    """The comment of an archive: a hash of names, sizes and CRC-32 of all members.

    Of its own, an archive protects the content of its members, but not their names.
    """
    rows = sorted(f"{info.filename}\0{info.file_size}\0{info.CRC}\n" for info in members)
    return _CHECKSUM_MARK + hashlib.sha256("".join(rows).encode()).hexdigest().encode()


def array_members(path: Path) -> tuple[str, ...]:
    """File names of the arrays in an archive, in its order.

    Raises
    ------
    FormatError
        Where the file cannot be read, is not an .npz archive, does not match its checksum, or would
        unpack to more than 20 times its size (and more than 16 MiB).
    """
    with as_format_error(path):
        check_is_file(path)
        size = path.stat().st_size
        with path.open("rb") as file:
            front = file.read(FRONT_BYTES)
        if not front.startswith(b"PK"):
            found = foreign_content(front) or "it does not begin as a zip archive"
            raise FormatError(f"not an .npz file: {found}" if front else "an empty file", path=path)
        with zipfile.ZipFile(path) as archive:
            members, comment = archive.infolist(), archive.comment
    if comment.startswith(_CHECKSUM_MARK) and comment != checksum(members):
        raise FormatError(
            "a damaged archive: its members are not those that were written",
            hint=MAKE_AGAIN,
            path=path,
        )
    if len(members) > _MAX_MEMBERS:
        raise FormatError(
            f"this archive has {len(members):,} files and is not a motion file",
            path=path,
            hint="unpack it, if motion files are in it",
        )
    names = Counter(info.filename for info in members)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise FormatError(f"an archive that holds {twice!r} twice", hint=MAKE_AGAIN, path=path)
    unpacked = sum(info.file_size for info in members)
    if unpacked > max(_LARGEST_RATIO * size, _ALWAYS_ALLOWED_BYTES):
        raise FormatError(
            f"{size:,} bytes that would unpack to {unpacked:,}: more than {_LARGEST_RATIO} times "
            "as many are not read",
            hint="if the file is sound, save it again without compression",
            path=path,
        )
    arrays = [info for info in members if info.filename.endswith(ARRAY_SUFFIX)]
    if not arrays:
        raise FormatError(
            "this is a zip archive without NumPy arrays, not an .npz file",
            hint="unpack it, if motion files are in it",
            path=path,
        )
    for info in arrays:
        if info.flag_bits & _ENCRYPTED:
            raise FormatError(
                "this is an encrypted archive", hint="unpack and save it again", path=path
            )
        if info.compress_type not in _COMPRESSIONS:
            raise FormatError(
                f"a compression that NumPy does not write, in {info.filename!r}",
                hint="save it again with numpy.savez_compressed",
                path=path,
            )
    return tuple(info.filename for info in arrays)


@contextmanager
def as_format_error(path: Path, key: str = "") -> Iterator[None]:
    """What the disk and zipfile raise, as the one error that says it."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EINVAL:
            # A seek to before the beginning, where an archive's numbers send zipfile.
            raise FormatError("this is a damaged archive", hint=MAKE_AGAIN, path=path) from None
        raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from None
    except _ZIP_ERRORS as error:
        fact = f"a damaged archive: {' '.join(str(error).split())[:120]}"
        if "null byte" in str(error):
            fact = "cannot be read: a null byte in the path"
        where = f", in array {key!r}" if key else ""
        raise FormatError(fact + where, hint=MAKE_AGAIN, path=path) from None
