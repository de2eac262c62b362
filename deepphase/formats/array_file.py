"""Container of all deepphase files: named arrays and a JSON header in a safetensors file.

Layout of safetensors: eight bytes with the length of the table (unsigned, little-endian),
the table as JSON, and the raw arrays one after the other. The header of deepphase is a JSON text in
the table's ``__metadata__`` under ``deepphase``; ``deepphase_sha256`` beside it is the hash of the
table and the header, and the header holds the hash of every array. The file contains no code.

References
----------
https://huggingface.co/docs/safetensors, "Format".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deepphase.arrays import Array, JoinedRows, release_pages
from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.formats.array_table import (
    ArrayTable,
    Header,
    damaged,
    dtype_code,
    front_bytes,
    read_array_table,
    unreadable,
)

_CHUNK_BYTES = 1 << 22
# Bytes of a mapped file that a pass over it holds in memory.
_RELEASE_BYTES = 1 << 28
_NO_HASH = "0" * 64
_ANY_TYPES: Mapping[str, str] = {}


def write_arrays(
    path: str | Path,
    arrays: Mapping[str, Array | JoinedRows],
    header: Mapping[str, Any],
    *,
    format: str,
    version: int,
) -> Header:
    """Write arrays and a header as one file, atomically.

    Arrays are streamed in chunks of a few megabytes, so memory maps larger than memory work.

    Parameters
    ----------
    path
        The file; a missing folder is created, an older file is replaced at the end.
    arrays
        Name -> array of numbers or booleans, any shape.
    header
        JSON values. ``format``, ``version`` and ``sha256`` are added.
    format, version
        The schema's name, as in "deepphase.store", and its version.

    Returns
    -------
    The header as written.

    Raises
    ------
    ParameterError
        If an array is not numeric or has a value that is not finite, or the header is not JSON.
    CheckpointError
        If the file cannot be written (full disk, missing permission).
    """
    # Widest numbers first keeps every array aligned to its own size, without padding.
    prepared = {
        name: array if isinstance(array, JoinedRows) else np.asanyarray(array)
        for name, array in arrays.items()
    }
    order = sorted(prepared, key=lambda name: (-prepared[name].dtype.itemsize, name))
    rows: dict[str, Any] = {}
    end = 0
    for name in order:
        array = prepared[name]
        code = dtype_code(array.dtype)
        if code is None or name == "__metadata__":
            raise ParameterError(
                f"array {name!r} of type {array.dtype} cannot be stored",
                hint="store finite numbers or booleans",
            )
        begin, end = end, end + array.nbytes
        rows[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [begin, end]}
    full = {**header, "format": format, "version": version}
    hashes = dict.fromkeys(order, _NO_HASH)
    # The hashes are known after the data is written; their length is known before.
    front = front_bytes(rows, {**full, "sha256": hashes})
    with atomic_write(path) as file:
        file.write(front)
        for name in order:
            hashes[name] = _write_array(file, name, prepared[name])
        full["sha256"] = hashes
        file.seek(0)
        file.write(front_bytes(rows, full))
    return full


def read_header(path: str | Path, format: str | None = None, version: int | None = None) -> Header:
    """Read the header only; None for `format` or `version` accepts any.

    Raises CheckpointError as :func:`read_arrays`, except for errors in the data.
    """
    return read_array_table(Path(path), format, version).header


def is_array_file(path: str | Path) -> bool:
    """Whether a file starts as a deepphase file, damaged or not, to choose its reader."""
    try:
        with Path(path).open("rb") as file:
            return b'{"__metadata__":' in file.read(64)
    except OSError:
        return False


def read_arrays(
    path: str | Path,
    *,
    format: str,
    version: int,
    verify: bool = True,
    types: Mapping[str, str] = _ANY_TYPES,
) -> tuple[dict[str, Array], Header]:
    """Read a whole file into memory.

    Parameters
    ----------
    path
        A file of :func:`write_arrays`.
    format, version
        The expected schema, and the newest version that the caller can read.
    verify
        Compare hashes and refuse values that are not finite.
    types
        Name -> the type that an array must have, such as "F32"; names may be patterns of
        `fnmatch`, of which the first that fits counts.

    Returns
    -------
    The arrays by name, and the header.

    Raises
    ------
    CheckpointError
        If the file is missing, foreign, damaged, of another format or of a newer version.
    """
    table = read_array_table(Path(path), format, version)
    _check_types(table, types)
    arrays = {}
    try:
        with table.path.open("rb") as file:
            for entry in table.entries.values():
                array = np.empty(entry.shape, entry.dtype)
                file.seek(entry.begin)
                if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
                    raise damaged(table.path, f"array {entry.name!r} ends early")
                arrays[entry.name] = array
    except OSError as error:
        raise unreadable(table.path, error) from None
    if verify:
        _verify(table, arrays)
    return arrays, table.header


def map_arrays(
    path: str | Path,
    *,
    format: str,
    version: int,
    prefix: str = "",
    verify: bool = True,
    types: Mapping[str, str] = _ANY_TYPES,
    writable: bool = False,
) -> tuple[dict[str, Array], Header]:
    """Map a file's arrays into memory, read-only; pages are read on access.

    As :func:`read_arrays`, for the arrays whose name starts with `prefix` (all by default). If
    `writable`, they may be changed, which the file does not see.
    """
    # The NumPy reader of safetensors copies every array, but a store may exceed the memory.
    table = read_array_table(Path(path), format, version)
    _check_types(table, types)
    entries = [entry for name, entry in table.entries.items() if name.startswith(prefix)]
    try:
        whole = np.memmap(table.path, np.uint8, "c" if writable else "r")
    except (OSError, ValueError) as error:
        raise unreadable(table.path, error) from None
    arrays = {
        entry.name: whole[entry.begin : entry.end].view(entry.dtype).reshape(entry.shape)
        for entry in entries
    }
    if verify:
        _verify(table, arrays)
    return arrays, table.header


def _check_types(table: ArrayTable, types: Mapping[str, str]) -> None:
    """Refuse an array of another type: its bytes would be read as other numbers."""
    for name, entry in table.entries.items():
        expected = next((code for pattern, code in types.items() if fnmatchcase(name, pattern)), "")
        found = dtype_code(entry.dtype)
        if expected and found != expected:
            raise damaged(table.path, f"array {name!r} is of type {found}, not {expected}")


def _chunks(array: Array | JoinedRows) -> Iterator[Array]:
    """The array in chunks of a few megabytes along its first axis."""
    if array.ndim == 0:
        array = np.reshape(array, 1)
    rows = max(1, _CHUNK_BYTES * len(array) // max(array.nbytes, 1))
    since_release = 0
    for start in range(0, len(array), rows):
        chunk = array[start : start + rows]
        yield chunk
        since_release += chunk.nbytes
        if since_release >= _RELEASE_BYTES:
            release_pages(array)
            since_release = 0


def _write_array(file: BinaryIO, name: str, array: Array | JoinedRows) -> str:
    """Append the array's bytes and return their sha256."""
    digest = hashlib.sha256()
    stored = array.dtype.newbyteorder("<")
    for chunk in _chunks(array):
        if stored.kind == "f" and not np.isfinite(chunk).all():
            raise ParameterError(
                f"array {name!r} has values that are not finite; nothing was written",
                hint="find where the first NaN or infinity comes from",
            )
        data = np.ascontiguousarray(chunk, stored).reshape(-1).view(np.uint8).data
        digest.update(data)
        file.write(data)
    return digest.hexdigest()


def _verify(table: ArrayTable, arrays: Mapping[str, Array]) -> None:
    hashes = table.header["sha256"]
    for name, array in arrays.items():
        digest = hashlib.sha256()
        for chunk in _chunks(array):
            data = chunk.reshape(-1).view(np.uint8)
            digest.update(data.data)
            if chunk.dtype.kind == "f" and not np.isfinite(chunk).all():
                raise damaged(table.path, f"array {name!r} has values that are not finite")
            # A boolean byte beyond 1 is undefined in NumPy, even if its hash is right.
            if chunk.dtype.kind == "b" and (data > 1).any():
                raise damaged(table.path, f"array {name!r} has booleans that are neither 0 nor 1")
        if digest.hexdigest() != hashes.get(name):
            raise damaged(table.path, f"array {name!r} is not the one that was written")
