"""NumPy's .npz archives of named arrays, read without trust and written the same every time.

Nothing in a file is run: pickled objects are refused. What a member declares is checked against
its size, and all sizes against the file's, before anything is allocated.
"""

from __future__ import annotations

import io
import json
import math
import textwrap
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.file_content import read_content
from deepphase.formats.npz.members import (
    ARRAY_SUFFIX,
    MAKE_AGAIN,
    array_members,
    as_format_error,
    checksum,
)

Shape = tuple[int | None, ...]

_NPY_VERSIONS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Plain arrays need 128 bytes.
_LONGEST_HEADER, _LONGEST_FRONT = 10_000, 12
_LARGEST_ARRAY, _MAX_DIMENSIONS = 1 << 62, 32
_LONGEST_LIST = 160
_KINDS = {"number": "fiu", "integer": "iu", "bool": "b"}
_LARGEST_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_EARLIEST_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


@dataclass(frozen=True)
class NpzArchive:
    """The named arrays of a file; each is read when it is asked for.

    Parameters
    ----------
    path
        The file.
    keys
        Names of its arrays, in the file's order.
    """

    path: Path
    keys: tuple[str, ...]

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    @property
    def contents(self) -> str:
        """What the file holds, in a short sentence."""
        return textwrap.shorten(f"the file holds {', '.join(self.keys)}", _LONGEST_LIST)

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape that an array declares. Raises FormatError as :meth:`array`."""
        return self._declared(key)[0]

    def array(
        self, key: str, shape: Shape | None = None, kind: str = "number", *, finite: bool = True
    ) -> Array:
        """One array of finite numbers.

        Parameters
        ----------
        key
            Its name.
        shape
            The shape that it must have, None for an axis of any length; None for any shape.
        kind
            "number": float32 or float64 as stored, float64 for all other numbers; "integer": int64
            (whole numbers that are stored as floats will do); "bool".
        finite
            Refuse numbers that are not finite.

        Raises
        ------
        FormatError
            Where the array is missing, damaged, of another shape or kind, or not finite.
        """
        found, dtype = self._declared(key)
        if dtype.kind not in _KINDS[kind] and (kind, dtype.kind) != ("integer", "f"):
            what = {"number": "numbers", "integer": "whole numbers", "bool": "booleans"}[kind]
            raise self._error(key, f"holds {_in_words(dtype)}, not {what}")
        if shape is not None and not _fits(found, shape):
            raise self._error(key, f"is {found}, expected {_expected(shape)}")
        array = self._content(key)
        if dtype.kind == "b":
            return self._booleans(key, array)
        if dtype.kind == "f" and finite:
            self._check_finite(key, array)
        if kind == "integer":
            with np.errstate(invalid="ignore"):
                whole = array.astype(np.int64)
            if (whole != array).any():
                raise self._error(key, "holds numbers that are not whole 64-bit numbers")
            return whole
        kept = dtype.kind == "f" and dtype.itemsize in (4, 8)
        return array.astype(dtype.newbyteorder("=") if kept else np.float64, copy=False)

    def scalar(self, key: str) -> float:
        """A single finite number, whatever the number of its axes. Raises FormatError."""
        array = self.array(key)
        if array.size != 1:
            raise self._error(key, f"is {array.shape}, expected a single number")
        return float(array.reshape(-1)[0])

    def strings(self, key: str) -> tuple[str, ...]:
        """The texts of an array, whatever its axes; bytes are read as UTF-8, else Latin-1.

        Raises FormatError as :meth:`array`.
        """
        _, dtype = self._declared(key)
        if dtype.kind not in "SU":
            raise self._error(key, f"holds {_in_words(dtype)}, not text")
        array = self._content(key).reshape(-1)
        if array.dtype.kind == "S":
            return tuple(_decoded(text) for text in array.tolist())
        codes = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        if array.dtype.itemsize:
            points = codes.view(np.uint32)
            low, high = _SURROGATES
            if ((points > _LARGEST_CODE_POINT) | ((points >= low) & (points <= high))).any():
                raise self._error(key, "holds text with characters that do not exist")
        return tuple(codes.tolist())

    def text(self, key: str) -> str:
        """A single text. Raises FormatError as :meth:`array`."""
        strings = self.strings(key)
        if len(strings) != 1:
            raise self._error(key, f"holds {len(strings)} texts, expected one")
        return strings[0]

    def json(self, key: str) -> Any:
        """What a single text of JSON says. Raises FormatError."""
        try:
            return json.loads(self.text(key), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self._error(key, f"is not JSON: {str(error)[:80]}") from None

    def meta(self, format: str, version: int) -> dict[str, Any]:
        """The mapping in the array `meta` of a file of ours.

        Parameters
        ----------
        format, version
            Name of the file's schema, and the newest version of it that the caller reads.

        Raises
        ------
        FormatError
            Where it is missing, no mapping, of another schema or of a newer version.
        """
        meta = self.json("meta")
        if not isinstance(meta, dict):
            raise FormatError(
                "array 'meta' is not a JSON object",
                path=self.path,
                hint="save the file again with the program that wrote it",
            )
        found, of_version = meta.get("format", format), meta.get("version", version)
        if found != format:
            raise FormatError(
                f"this is a {str(found)[:60]} file, not {format}",
                path=self.path,
                hint=f"give a {format} file",
            )
        if type(of_version) is not int or of_version > version:
            raise FormatError(
                f"version {str(of_version)[:20]} of {format}; this deepphase reads up to {version}",
                hint="upgrade deepphase: pip install -U deepphase",
                path=self.path,
            )
        return meta

    def _booleans(self, key: str, array: Array) -> Array:
        # A boolean byte beyond 1 is undefined to numpy.
        if (array.view(np.uint8) > 1).any():
            raise self._error(key, "holds booleans that are neither 0 nor 1")
        return array

    def _check_finite(self, key: str, array: Array) -> None:
        finite = np.isfinite(array)
        if not finite.all():
            first = np.unravel_index(int(np.argmin(finite)), array.shape)
            place = f"[{', '.join(map(str, first))}]" if first else ""
            raise self._error(key, f"has {array[first]} at {key}{place}: every number is finite")

    def _error(self, key: str, fact: str, hint: str = "") -> FormatError:
        return FormatError(f"array {key!r} {fact}", hint=hint, path=self.path)

    def _declared(self, key: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and type that an array declares, checked against the member's size."""
        if key not in self:
            raise FormatError(f"there is no array {key!r}", hint=self.contents, path=self.path)
        with as_format_error(self.path, key), zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(key + ARRAY_SUFFIX)
            with archive.open(info) as file:
                front = io.BytesIO(file.read(_LONGEST_FRONT + _LONGEST_HEADER))
        return _checked_header(front, info.file_size, lambda *words: self._error(key, *words))

    def _content(self, key: str) -> Array:
        """An array whose declaration was checked."""
        with (
            as_format_error(self.path, key),
            zipfile.ZipFile(self.path) as archive,
            archive.open(key + ARRAY_SUFFIX) as file,
        ):
            return _read_array(file)


def _checked_header(
    front: io.BytesIO, size: int, error: Callable[..., FormatError]
) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type in the first bytes of a .npy array of `size` bytes, which must fit them."""
    try:
        with warnings.catch_warnings():
            # NumPy warns of the long integers of Python 2, which it reads.
            warnings.simplefilter("ignore")
            read_header = _NPY_VERSIONS[np.lib.format.read_magic(front)]
            shape, _, dtype = read_header(front, max_header_size=_LONGEST_HEADER)
    # The header is read as Python, whose parser has many errors.
    except Exception:
        raise error("is not a NumPy array, or is damaged", MAKE_AGAIN) from None
    if dtype.hasobject:
        raise error(
            "holds Python objects, which may run code and are never loaded",
            "save it again as plain numbers or text",
        )
    # NumPy multiplies the sizes other than 0 even where the array is empty.
    largest = math.prod(length or 1 for length in shape) * dtype.itemsize
    if min(shape, default=0) < 0 or largest >= _LARGEST_ARRAY or len(shape) > _MAX_DIMENSIONS:
        raise error("declares an impossible shape", MAKE_AGAIN)
    held, declared = size - front.tell(), math.prod(shape) * dtype.itemsize
    if held != declared:
        raise error(f"declares {shape} {dtype}, {declared:,} bytes, but holds {held:,}", MAKE_AGAIN)
    return shape, dtype


def _read_array(file: IO[bytes]) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.lib.format.read_array(file, allow_pickle=False, max_header_size=_LONGEST_HEADER)


def read_npy(path: str | Path) -> Array:
    """Read a single array of any plain type from a .npy file.

    Raises
    ------
    FormatError
        Where it cannot be read, is not such a file or is damaged.
    """
    content = read_content(Path(path))

    def error(fact: str, hint: str) -> FormatError:
        return FormatError(f"this cannot be read: the file {fact}", hint=hint, path=path)

    _checked_header(io.BytesIO(content), len(content), error)
    return _read_array(io.BytesIO(content))


def read_npz(path: str | Path) -> NpzArchive:
    """Open an .npz file: its list of arrays is read and checked, no array yet.

    An archive that would unpack to more than 20 times its size (and more than 16 MiB) is refused.

    Raises
    ------
    FormatError
        Where it cannot be read or is not an .npz archive.
    """
    members = array_members(Path(path))
    return NpzArchive(Path(path), tuple(name.removesuffix(ARRAY_SUFFIX) for name in members))


def write_npz(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays as an .npz file, uncompressed; there is never half a file at `path`.

    The same arrays make the same bytes, on any day and machine. A checksum over all members is in
    the archive's comment; :func:`read_npz` compares it.

    Parameters
    ----------
    arrays
        Name -> array of finite numbers, booleans or text, or what NumPy makes such an array of.

    Raises
    ------
    ParameterError
        Where an array holds anything else.
    CheckpointError
        Where the file cannot be written.
    """
    prepared = {name: _storable(name, np.asanyarray(array)) for name, array in arrays.items()}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in prepared.items():
            info = zipfile.ZipInfo(name + ARRAY_SUFFIX, _EARLIEST_DATE)
            info.create_system = _UNIX
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        # Copies that NumPy saves have no comment, so that they can be edited.
        archive.comment = checksum(archive.infolist())


def _storable(name: str, array: Array) -> Array:
    if array.dtype.kind not in "biufU":
        raise ParameterError(
            f"array {name!r} of type {array.dtype} cannot be stored",
            hint="store finite numbers, booleans or text",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ParameterError(
            f"array {name!r} has values that are not finite; nothing was written",
            hint="find where the first NaN or infinity comes from",
        )
    if array.dtype.kind == "U":
        try:
            "".join(array.reshape(-1).tolist()).encode()
        except UnicodeEncodeError:
            raise ParameterError(
                f"array {name!r} has text that no file can hold",
                hint="remove characters that are half of a surrogate pair",
            ) from None
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)


def _fits(found: tuple[int, ...], expected: Shape) -> bool:
    return len(found) == len(expected) and all(
        length is None or length == have for have, length in zip(found, expected, strict=True)
    )


def _expected(shape: Shape) -> str:
    parts = ["any" if length is None else str(length) for length in shape]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _in_words(dtype: np.dtype) -> str:
    plain = f"numbers of type {dtype}" if dtype.kind in "fiu" else f"values of type {dtype!s:.40}"
    return {"b": "booleans", "S": "text", "U": "text"}.get(dtype.kind, plain)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
