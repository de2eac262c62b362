"""NumPy's .npz archives of named arrays, read without trust and written the same every time.

Nothing in a file is run: pickled objects are refused. What a member declares is checked against
its size, and all sizes against the file's, before anything is allocated.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import textwrap
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from struct import error as StructError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import atomic_write, check_size, parsed_json, unpacked_bytes
from deepphase.formats.reading import (
    FRONT_BYTES,
    METRES_PER_UNIT,
    decoded,
    foreign_content,
    read_content,
    unit_named,
)

Shape = tuple[int | None, ...]

_SUFFIX = ".npy"
# AMASS has two spellings, other programs have more.
_RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate", "framerate")
_MAKE_AGAIN = "make or download the file again"
# Texts are names and labels; Python takes up to fifty bytes for each byte of theirs.
_MAX_MEMBERS, _MAX_TEXTS, _MAX_EMPTY = 1000, 100_000, 1_000_000
_CHECKSUM_MARK = b"deepphase sha256 "
_ENCRYPTED = 0x1
# Others unpack without a bound; NumPy writes none of them.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises on damaged archives.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, StructError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError,
)  # fmt: skip
_NPY_VERSIONS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# Plain arrays need 128 bytes.
_LONGEST_HEADER, _LONGEST_FRONT = 10_000, 12
_LARGEST_ARRAY, _MAX_DIMENSIONS = 1 << 62, 32
_KINDS = {"number": "fiu", "integer": "iuf", "bool": "b"}
_IN_WORDS = {"number": "numbers", "integer": "whole numbers", "bool": "booleans"}
_EARLIEST_DATE, _UNIX = (1980, 1, 1, 0, 0, 0), 3


@dataclass(frozen=True)
class NpzArchive:
    """The named arrays of a file; each is read and checked when it is asked for (FormatError)."""

    path: Path
    keys: tuple[str, ...]

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    @property
    def contents(self) -> str:
        """What the file holds, in a short sentence."""
        return textwrap.shorten(f"the file holds {', '.join(self.keys)}", 160)

    def first(self, keys: Iterable[str]) -> str:
        """The first of these arrays that the file has; empty if it has none."""
        return next((key for key in keys if key in self.keys), "")

    def rates(self) -> dict[str, float]:
        """Frames a second, under all names that programs give them."""
        return {key: self.scalar(key) for key in _RATES if key in self.keys}

    def unit_m(self) -> float | None:
        """Metres in the unit that `units` names; None where there is none."""
        if "units" not in self:
            return None
        word = self.text("units")
        metres = unit_named(word)
        if metres is None:
            hint = f"{', '.join(METRES_PER_UNIT)} are known; give another with --unit"
            raise self.fault(f"units of {word[:40]!r} are not known", hint)
        return metres

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape that an array declares."""
        return self._declared(key)[0]

    def array(
        self, key: str, shape: Shape | None = None, kind: str = "number", *, finite: bool = True
    ) -> Array:
        """One array of finite numbers."""
        found, dtype = self._declared(key)
        if dtype.kind not in _KINDS[kind]:
            raise self._error(key, f"holds {_described(dtype)}, not {_IN_WORDS[kind]}")
        if shape is not None and (
            len(found) != len(shape)
            or any(length not in (None, have) for have, length in zip(found, shape, strict=True))
        ):
            expected = ", ".join("any" if length is None else str(length) for length in shape)
            raise self._error(key, f"is {found}, expected ({expected})")
        array = self._content(key)
        if kind == "bool":
            # A boolean byte beyond 1 is undefined to numpy.
            if (array.view(np.uint8) > 1).any():
                raise self._error(key, "holds booleans that are neither 0 nor 1")
            return array
        if dtype.kind == "f" and finite and not (good := np.isfinite(array)).all():
            first = np.unravel_index(int(np.argmin(good)), array.shape)
            place = f"[{', '.join(map(str, first))}]" if first else ""
            raise self._error(key, f"has {array[first]} at {key}{place}: every number is finite")
        if kind == "integer":
            with np.errstate(invalid="ignore"):
                whole = array.astype(np.int64)
            if (whole != array).any():
                raise self._error(key, "holds numbers that are not whole 64-bit numbers")
            return whole
        kept = dtype.kind == "f" and dtype.itemsize in (4, 8)
        return array.astype(dtype.newbyteorder("=") if kept else np.float64, copy=False)

    def scalar(self, key: str) -> float:
        """A single finite number, whatever the number of its axes."""
        array = self.array(key)
        if array.size != 1:
            raise self._error(key, f"is {array.shape}, expected a single number")
        return float(array.reshape(-1)[0])

    def strings(self, key: str) -> tuple[str, ...]:
        """The texts of an array, whatever its axes; bytes are read as UTF-8, else Latin-1."""
        shape, dtype = self._declared(key)
        if dtype.kind not in "SU":
            raise self._error(key, f"holds {_described(dtype)}, not text")
        if (count := math.prod(shape)) > _MAX_TEXTS:
            raise self._error(key, f"holds {count:,} texts; at most {_MAX_TEXTS:,} are read")
        array = self._content(key).reshape(-1)
        if array.dtype.kind == "S":
            return tuple(map(decoded, array.tolist()))
        codes = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        points = codes.view(np.uint32)
        # Code points end there; those of surrogate pairs are none.
        if ((points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))).any():
            raise self._error(key, "holds text with characters that do not exist")
        return tuple(codes.tolist())

    def text(self, key: str) -> str:
        """A single text."""
        strings = self.strings(key)
        if len(strings) != 1:
            raise self._error(key, f"holds {len(strings)} texts, expected one")
        return strings[0]

    def json(self, key: str) -> Any:
        """What a single text of JSON says."""
        try:
            return parsed_json(self.text(key), finite=True)
        except (ValueError, RecursionError) as error:
            raise self._error(key, f"is not JSON: {str(error)[:80]}") from None

    def meta(self, format: str, version: int) -> dict[str, Any]:
        """The mapping in the array `meta` of a file of ours, of a format and up to a version."""
        meta = self.json("meta")
        if not isinstance(meta, dict):
            hint = "save it again with the program that wrote it"
            raise self._error("meta", "is not a JSON object", hint)
        found, of_version = meta.get("format", format), meta.get("version", version)
        if found != format:
            raise self.fault(f"this is a {str(found)[:60]} file, not {format}")
        if type(of_version) is not int or of_version > version:
            raise self.fault(
                f"version {str(of_version)[:20]} of {format}; this deepphase reads up to {version}",
                "upgrade deepphase: pip install -U deepphase",
            )
        return meta

    def fault(self, fact: str, hint: str = "") -> FormatError:
        """The error that the file has something wrong."""
        return FormatError(fact, hint=hint, path=self.path)

    def _error(self, key: str, fact: str, hint: str = "") -> FormatError:
        return self.fault(f"array {key!r} {fact}", hint)

    def _declared(self, key: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and type that an array declares, checked against the member's size."""
        if key not in self:
            raise self.fault(f"there is no array {key!r}", self.contents)
        with _as_format_error(self.path, key), zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(key + _SUFFIX)
            with archive.open(info) as file:
                front = io.BytesIO(file.read(_LONGEST_FRONT + _LONGEST_HEADER))
        return _checked_header(front, info.file_size, lambda *words: self._error(key, *words))

    def _content(self, key: str) -> Array:
        """An array whose declaration was checked."""
        with (
            _as_format_error(self.path, key),
            zipfile.ZipFile(self.path) as archive,
            archive.open(key + _SUFFIX) as file,
        ):
            return _read_array(file)


def read_npz(path: str | Path) -> NpzArchive:
    """Open an .npz file: its list of arrays is read and checked, no array yet (FormatError)."""
    path = Path(path)
    with _as_format_error(path):
        size = check_size(path, "motion")
        with path.open("rb") as file:
            front = file.read(FRONT_BYTES)
        if not front.startswith(b"PK"):
            found = foreign_content(front) or "it does not begin as a zip archive"
            raise FormatError(f"not an .npz file: {found}" if front else "an empty file", path=path)
        with zipfile.ZipFile(path) as archive:
            members, comment = archive.infolist(), archive.comment
    names = [info.filename for info in members]
    unpacked = sum(info.file_size for info in members)
    arrays = [info for info in members if info.filename.endswith(_SUFFIX)]
    fact, hint = "", _MAKE_AGAIN
    if comment.startswith(_CHECKSUM_MARK) and comment != _checksum(members):
        fact = "a damaged archive: its members are not those that were written"
    elif len(members) > _MAX_MEMBERS:
        fact = f"this archive has {len(members):,} files and is not a motion file"
        hint = "unpack it, if motion files are in it"
    elif len(set(names)) != len(names):
        fact = f"an archive that holds {next(n for n in names if names.count(n) > 1)!r} twice"
    elif unpacked > unpacked_bytes(size):
        fact = (
            f"{size:,} bytes that would unpack to {unpacked:,}: more than {unpacked_bytes(size):,} "
            "are not read"
        )
        hint = "if the file is sound, save it again without compression"
    elif not arrays:
        fact = "this is a zip archive without NumPy arrays, not an .npz file"
        hint = "unpack it, if motion files are in it"
    elif any(info.flag_bits & _ENCRYPTED for info in arrays):
        fact, hint = "this is an encrypted archive", "unpack and save it again"
    elif any(info.compress_type not in _COMPRESSIONS for info in arrays):
        fact = "a compression that NumPy does not write"
        hint = "save it again with numpy.savez_compressed"
    if fact:
        raise FormatError(fact, hint=hint, path=path)
    return NpzArchive(path, tuple(info.filename.removesuffix(_SUFFIX) for info in arrays))


def read_npy(path: str | Path) -> Array:
    """Read a single array of any plain type from a .npy file; raises FormatError."""
    content = read_content(Path(path))

    def error(fact: str, hint: str) -> FormatError:
        return FormatError(f"this cannot be read: the file {fact}", hint=hint, path=path)

    _checked_header(io.BytesIO(content), len(content), error)
    return _read_array(io.BytesIO(content))


def npy_shape(path: Path) -> tuple[tuple[int, ...], bool]:
    """Shape that a .npy declares, (0,) where it has none, and whether it holds Python objects."""
    if not path.is_file():
        return (0,), False
    with suppress(Exception), path.open("rb") as file:
        read_header = _NPY_VERSIONS[npy.read_magic(file)]
        shape, _, dtype = read_header(file, max_header_size=_LONGEST_HEADER)
        return shape, dtype.hasobject
    return (0,), False


def write_npz(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays as an .npz file with a checksum: the same arrays make the same bytes."""
    prepared = {name: _storable(name, np.asanyarray(array)) for name, array in arrays.items()}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in prepared.items():
            info = zipfile.ZipInfo(name + _SUFFIX, _EARLIEST_DATE)
            info.create_system = _UNIX
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)
        # Copies that NumPy saves have no comment, so that they can be edited.
        archive.comment = _checksum(archive.infolist())


def _checksum(members: Iterable[zipfile.ZipInfo]) -> bytes:
    """A hash of names, sizes and CRC-32 of all members, of which zip does not protect the names."""
    rows = sorted(f"{info.filename}\0{info.file_size}\0{info.CRC}\n" for info in members)
    return _CHECKSUM_MARK + hashlib.sha256("".join(rows).encode()).hexdigest().encode()


@contextmanager
def _as_format_error(path: Path, key: str = "") -> Iterator[None]:
    """Errors of the disk and of zipfile as FormatError."""
    try:
        yield
    except OSError as error:
        fact = f"cannot be read: {error.strerror or error}"
        if error.errno == errno.EINVAL:
            # A seek to before the beginning, where an archive's numbers send zipfile.
            fact = "this is a damaged archive"
        raise FormatError(fact, hint=_MAKE_AGAIN, path=path) from None
    except _ZIP_ERRORS as error:
        fact = f"a damaged archive: {' '.join(str(error).split())[:120]}"
        if "null byte" in str(error):
            fact = "cannot be read: a null byte in the path"
        where = f", in array {key!r}" if key else ""
        raise FormatError(fact + where, hint=_MAKE_AGAIN, path=path) from None


def _checked_header(
    front: io.BytesIO, size: int, error: Callable[..., FormatError]
) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type in the first bytes of a .npy array of `size` bytes, which must fit them."""
    try:
        with warnings.catch_warnings():
            # NumPy warns of the long integers of Python 2, which it reads.
            warnings.simplefilter("ignore")
            read_header = _NPY_VERSIONS[npy.read_magic(front)]
            shape, _, dtype = read_header(front, max_header_size=_LONGEST_HEADER)
    # The header is read as Python, whose parser has many errors.
    except Exception:
        raise error("is not a NumPy array, or is damaged", _MAKE_AGAIN) from None
    if dtype.hasobject:
        raise error(
            "holds Python objects, which may run code and are never loaded",
            "where you trust it, load it with NumPy and save its numbers, of MDM's results those "
            "of 'motion'",
        )
    # NumPy multiplies the sizes other than 0 even where the array is empty.
    largest = math.prod(length or 1 for length in shape) * dtype.itemsize
    # Neither the length of an empty array nor the count of texts without letters needs bytes.
    is_free = largest == 0 or (0 in shape and max(shape) > _MAX_EMPTY)
    is_negative = min(shape, default=0) < 0
    if is_negative or is_free or largest >= _LARGEST_ARRAY or len(shape) > _MAX_DIMENSIONS:
        raise error("declares an impossible shape", _MAKE_AGAIN)
    held, declared = size - front.tell(), math.prod(shape) * dtype.itemsize
    if held != declared:
        fact = f"declares {shape} {dtype}, {declared:,} bytes, but holds {held:,}"
        raise error(fact, _MAKE_AGAIN)
    return shape, dtype


def _read_array(file: IO[bytes]) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return npy.read_array(file, allow_pickle=False, max_header_size=_LONGEST_HEADER)


def _storable(name: str, array: Array) -> Array:
    fact, hint = "", ""
    if array.dtype.kind not in "biufU":
        fact = f"of type {array.dtype} cannot be stored"
        hint = "store finite numbers, booleans or text"
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        fact = "has values that are not finite; nothing was written"
        hint = "find where the first NaN or infinity comes from"
    elif array.dtype.kind == "U" and any(
        0xD800 <= ord(letter) <= 0xDFFF for text in array.flat for letter in text
    ):
        fact = "has text that no file can hold"
        hint = "remove characters that are half of a surrogate pair"
    if fact:
        raise ParameterError(f"array {name!r} {fact}", hint=hint)
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)


def _described(dtype: np.dtype) -> str:
    plain = f"numbers of type {dtype}" if dtype.kind in "fiu" else f"values of type {dtype!s:.40}"
    return {"b": "booleans", "S": "text", "U": "text"}.get(dtype.kind, plain)
