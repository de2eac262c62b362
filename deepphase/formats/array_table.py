"""Front of an array file: table of arrays and header, written and checked.

The checks use the front and the file's size alone, before any array is allocated. The layout is
described in :mod:`deepphase.formats.array_file`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.header_values import check_numbers, checked_count

Header = dict[str, Any]

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_CODES = {np.dtype(dtype).str: code for code, dtype in _DTYPES.items()}
_LENGTH_BYTES = 8
# The safetensors package refuses longer tables, so a larger length is damage or an attack.
_LONGEST_TABLE = 100_000_000
_MAX_DIMENSIONS = 32
_MAKE_AGAIN = "make or download the file again"


@dataclass(frozen=True)
class Entry:
    """Type, shape and location of an array in a file: bytes begin to end - 1."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class ArrayTable:
    """Header and table of a file, checked against the file's size."""

    path: Path
    header: Header
    entries: dict[str, Entry]


def dtype_code(dtype: np.dtype) -> str | None:
    """Name of a NumPy type of any byte order in safetensors; None if it has none."""
    return _CODES.get(dtype.newbyteorder("<").str)


def front_bytes(rows: dict[str, Any], header: Mapping[str, Any]) -> bytes:
    """The length and the table, padded so that the data starts at a multiple of eight."""
    try:
        ours = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        ours.encode()
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a file header that JSON cannot hold: {error}") from None
    # The hash is computed from the parsed form of the text.
    metadata = {"deepphase": ours, "deepphase_sha256": _table_hash(rows, ours)}
    table = json.dumps(
        {"__metadata__": metadata, **rows}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    table += b" " * (-len(table) % _LENGTH_BYTES)
    if len(table) > _LONGEST_TABLE:
        raise ParameterError(
            f"a header of {len(table) / 1e6:.0f} MB; the limit is 100 MB",
            hint="split the clips over several stores",
        )
    return len(table).to_bytes(_LENGTH_BYTES, "little") + table


def _table_hash(rows: Mapping[str, Any], ours: str) -> str:
    # Without the offsets: other safetensors writers sort arrays differently.
    described = {
        name: [row.get("dtype"), row.get("shape")] if isinstance(row, dict) else row
        for name, row in rows.items()
    }
    canonical = json.dumps([described, ours], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_array_table(path: Path, format: str | None, version: int | None) -> ArrayTable:
    """Read and check the front of a file. Raises CheckpointError if it is not valid."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            start = _LENGTH_BYTES + length
            if size <= _LENGTH_BYTES or not 2 <= length <= _LONGEST_TABLE or start > size:
                raise _foreign(path)
            text = file.read(length)
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        rows = json.loads(text.decode())
        metadata = rows.pop("__metadata__")
        ours, stated = metadata["deepphase"], metadata["deepphase_sha256"]
        header = json.loads(ours)
        found, of_version, hashes = header["format"], header["version"], header["sha256"]
        sound = isinstance(found, str) and type(of_version) is int and isinstance(hashes, dict)
    # Missing or wrong entries of a foreign or damaged table raise one of these.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _foreign(path) from None
    if not sound:
        raise _foreign(path)
    if format is not None and found != format:
        raise CheckpointError(
            f"this is a {found}, not a {format}", hint=f"give a {format} file here", path=path
        )
    if version is not None and of_version > version:
        raise CheckpointError(
            f"written by a newer deepphase: version {of_version} of {found}, this one reads "
            f"up to {version}",
            hint="upgrade deepphase: pip install -U deepphase",
            path=path,
        )
    if _table_hash(rows, ours) != stated:
        raise damaged(path, "the header does not match its hash")
    try:
        checked_count(of_version, "version", 1)
        check_numbers(header)
    except ParameterError as error:
        raise damaged(path, error.fact) from None
    entries = _entries(path, rows, start, size)
    if set(hashes) != set(entries):
        raise damaged(path, "the header has hashes of other arrays")
    return ArrayTable(path, header, entries)


def _entries(path: Path, rows: Mapping[str, Any], start: int, size: int) -> dict[str, Entry]:
    """The table's entries, checked to fill the file without gap or overlap."""
    entries = []
    for name, row in rows.items():
        try:
            dtype = np.dtype(_DTYPES[row["dtype"]])
            shape, (begin, end) = tuple(row["shape"]), row["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise damaged(path, f"array {name!r} is described in an unknown way") from None
        numbers = (*shape, begin, end)
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise damaged(path, f"array {name!r} has an impossible shape or place")
        # Numpy multiplies the sizes other than 0 even where the array is empty.
        largest = math.prod(number or 1 for number in shape) * dtype.itemsize
        if len(shape) > _MAX_DIMENSIONS or largest >= 1 << 62:
            raise damaged(path, f"array {name!r} has an impossible shape or place")
        if end - begin != math.prod(shape) * dtype.itemsize:
            raise damaged(path, f"array {name!r}: shape and bytes do not fit")
        entries.append(Entry(name, dtype, shape, start + begin, start + end))
    position = start
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            raise damaged(path, f"array {entry.name!r} overlaps another or leaves a gap")
        position = entry.end
    if position != size:
        what = "cut short" if position > size else "longer than it says"
        raise damaged(path, f"the file is {what}: {size:,} bytes, expected {position:,}")
    return {entry.name: entry for entry in entries}


def damaged(path: Path, fact: str) -> CheckpointError:
    return CheckpointError(f"the file is damaged: {fact}", hint=_MAKE_AGAIN, path=path)


def _foreign(path: Path) -> CheckpointError:
    return CheckpointError(
        "this is not a deepphase file, or damaged at its front",
        hint=f"give a file that deepphase wrote, or {_MAKE_AGAIN}",
        path=path,
    )


def unreadable(path: Path, error: Exception) -> CheckpointError:
    if path.is_dir():
        return CheckpointError(
            "this is a folder",
            hint="give a file that deepphase wrote; `deepphase prepare` makes one store of a "
            "folder of clips",
            path=path,
        )
    reason = getattr(error, "strerror", None) or str(error)
    return CheckpointError(f"cannot be read: {reason}", hint="check the path", path=path)
