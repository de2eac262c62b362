"""Container of deepphase files: named arrays and a JSON header in a safetensors file.

What headers say of rates, joints and sources is checked here, too.

The header is a JSON text in the file's ``__metadata__`` under ``deepphase``; ``deepphase_sha256``
beside it is the hash of the table and the header, and the header holds the hash of every array.
The safetensors package reads files and checks their sizes before anything is allocated. They are
written here, in pieces, as the package takes whole arrays.

References
----------
https://huggingface.co/docs/safetensors, "Format".
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open

from deepphase.arrays import Array, ComputedRows, release_pages
from deepphase.config import (
    LARGEST,
    check_numbers,
    checked_count,
    checked_mapping,
    checked_number,
    checked_text,
    checked_texts,
    wrong_value,
)
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError, UnregisteredError
from deepphase.files import atomic_write, parsed_json
from deepphase.formats.reading import MAX_JOINTS
from deepphase.motion.clip import FASTEST_FPS, SLOWEST_FPS, Source, is_plausible_rate
from deepphase.motion.orientation import AXES

Header = dict[str, Any]

# Codes of safetensors and NumPy's.
DTYPES = {
    "BOOL": "|b1",
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
}
_CODES = dict(zip(DTYPES.values(), DTYPES, strict=True))
# The package refuses longer tables.
_LONGEST_TABLE = 100_000_000
_MAX_DIMENSIONS = 32
_CHUNK_BYTES = 1 << 22
# Bytes of a mapped file that a pass over it holds in memory.
_RELEASE_BYTES = 1 << 28
_NO_HASH = "0" * 64
_ANY_TYPES: Mapping[str, str] = {}
_MAKE_AGAIN = "make or download the file again"
# Name -> (type, shape), in the order of their bytes.
_Shapes = dict[str, tuple[str, tuple[int, ...]]]


def write_arrays(
    path: str | Path,
    arrays: Mapping[str, Array | ComputedRows],
    header: Mapping[str, Any],
    *,
    format: str,
    version: int,
) -> Header:
    """Write arrays and a header as one file, in chunks and atomically; returns the header."""
    prepared = {
        name: array if isinstance(array, ComputedRows) else np.asanyarray(array)
        for name, array in arrays.items()
    }
    # Widest numbers first keeps every array aligned to its own size, without padding.
    order = sorted(prepared, key=lambda name: (-prepared[name].dtype.itemsize, name))
    rows: dict[str, Any] = {}
    end = 0
    for name in order:
        array = prepared[name]
        code = _CODES.get(array.dtype.newbyteorder("<").str)
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
    front = _front_bytes(rows, {**full, "sha256": hashes})
    with atomic_write(path) as file:
        file.write(front)
        for name in order:
            hashes[name] = _write_array(file, name, prepared[name])
        full["sha256"] = hashes
        file.seek(0)
        file.write(_front_bytes(rows, full))
    return full


def read_header(path: str | Path, format: str | None = None, version: int | None = None) -> Header:
    """Read the header only; None for `format` or `version` accepts any."""
    return _read_table(Path(path), format, version)[0]


def is_array_file(path: str | Path) -> bool:
    """Whether a file starts as a deepphase file, damaged or not, to choose its reader."""
    try:
        # A pipe would be waited for.
        if not Path(path).is_file():
            return False
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
    """Read a whole file into memory: the arrays by name, and the header.

    `types`, such as "F32", are by names or patterns of `fnmatch`: the first that fits counts.
    """
    mapped, header = map_arrays(path, format=format, version=version, verify=False, types=types)
    arrays = {name: np.array(array) for name, array in mapped.items()}
    if verify:
        _verify(Path(path), header, arrays)
    return arrays, header


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
    """Map the arrays whose name starts with `prefix`; changes, if `writable`, stay in memory."""
    path = Path(path)
    header, shapes = _read_table(path, format, version)
    for name, (found, _) in shapes.items():
        # Bytes of another type would be read as other numbers.
        expected = next((code for pattern, code in types.items() if fnmatchcase(name, pattern)), "")
        if expected and found != expected:
            raise _damaged(path, f"array {name!r} is of type {found}, not {expected}")
    # The package's reader for NumPy copies every array, but a database may exceed the memory.
    try:
        whole = np.memmap(path, np.uint8, "c" if writable else "r")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    begin = 8 + int.from_bytes(whole[:8].tobytes(), "little")
    arrays: dict[str, Array] = {}
    for name, (code, shape) in shapes.items():
        end = begin + math.prod(shape) * np.dtype(DTYPES[code]).itemsize
        if end > len(whole):
            raise _damaged(path, "it was cut while it was read")
        if name.startswith(prefix):
            arrays[name] = whole[begin:end].view(DTYPES[code]).reshape(shape)
        begin = end
    if verify:
        _verify(path, header, arrays)
    return arrays, header


def joined_parts(parts: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    """Arrays of parts -> arrays, named ``PART.NAME``."""
    return {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}


def array_part(
    arrays: Mapping[str, Array], part: str, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, Array]:
    """Arrays in memory of a part of what `joined_parts` returned; ValueError for other shapes."""
    prefix = f"{part}."
    chosen = [name for name in arrays if name.startswith(prefix)]
    own = {name.removeprefix(prefix): np.array(arrays[name]) for name in chosen}
    for name, shape in (shapes or {}).items():
        if name in own and own[name].shape != shape:
            raise ValueError(f"{part}.{name} has the shape {own[name].shape}, not {shape}")
    return own


@contextmanager
def fitting_parts(kind: str, way_out: str, path: str | Path | None = None) -> Iterator[None]:
    """Context in which parts of a file that do not fit each other raise CheckpointError."""
    try:
        yield
    except (CheckpointError, UnregisteredError) as error:
        raise CheckpointError(error.fact, hint=error.hint, path=error.path or path) from None
    except (
        LookupError, TypeError, ValueError, AttributeError, RuntimeError, DeepPhaseError
    ) as error:  # fmt: skip
        reason = getattr(error, "fact", f"{type(error).__name__}: {error}")
        raise CheckpointError(
            f"the parts of this {kind} do not fit: {' '.join(reason.split())[:200]}",
            hint=f"it is of another version of deepphase, or was changed: {way_out}",
            path=path,
        ) from None


def _front_bytes(rows: dict[str, Any], header: Mapping[str, Any]) -> bytes:
    """The length and the table, padded so that the data starts at a multiple of eight."""
    try:
        ours = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        ours.encode()
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a file header that JSON cannot hold: {error}") from None
    # The hash is computed from the parsed form of the text.
    described = {name: [row["dtype"], row["shape"]] for name, row in rows.items()}
    metadata = {"deepphase": ours, "deepphase_sha256": table_hash(described, ours)}
    whole = {"__metadata__": metadata, **rows}
    table = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
    table += b" " * (-len(table) % 8)
    if len(table) > _LONGEST_TABLE:
        raise ParameterError(
            f"a header of {len(table) / 1e6:.0f} MB; the limit is 100 MB",
            hint="write fewer clips to one file",
        )
    return len(table).to_bytes(8, "little") + table


def table_hash(described: Mapping[str, Any], ours: str) -> str:
    """Hash of name -> [type, shape] and the header, not of offsets, as writers sort differently."""
    canonical = json.dumps([described, ours], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _read_table(path: Path, format: str | None, version: int | None) -> tuple[Header, _Shapes]:
    """Header and arrays of a file, whose front the package has compared with the file's size."""
    sound = False
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a file")
        with path.open("rb"), safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
        shapes = {name: (s.get_dtype(), tuple(s.get_shape())) for name, s in slices.items()}
        ours, stated = metadata["deepphase"], metadata["deepphase_sha256"]
        header = parsed_json(ours)
        found, of_version, hashes = header["format"], header["version"], header["sha256"]
        sound = isinstance(found, str) and type(of_version) is int and isinstance(hashes, dict)
    except OSError as error:
        raise _unreadable(path, error) from None
    # Missing or wrong entries of a foreign or damaged table raise one of these.
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError):
        pass
    if not sound:
        raise CheckpointError(
            "this is not a deepphase file, or damaged",
            hint=f"give a file that deepphase wrote, or {_MAKE_AGAIN}",
            path=path,
        )
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
    described = {name: [code, list(shape)] for name, (code, shape) in shapes.items()}
    if table_hash(described, ours) != stated:
        raise _damaged(path, "the header does not match its hash")
    try:
        checked_count(of_version, "version", 1)
        check_numbers(header)
    except ParameterError as error:
        raise _damaged(path, error.fact) from None
    for name, (code, shape) in shapes.items():
        # The package lets these pass. NumPy multiplies the sizes other than 0 of empty arrays, too.
        size = math.prod(length or 1 for length in shape) * 8
        if code not in DTYPES or len(shape) > _MAX_DIMENSIONS or size >= 1 << 62:
            raise _damaged(path, f"array {name!r} has an impossible type or shape")
    if set(hashes) != set(shapes):
        raise _damaged(path, "the header has hashes of other arrays")
    return header, shapes


def chunks(array: Array | ComputedRows) -> Iterator[Array]:
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


def _write_array(file: BinaryIO, name: str, array: Array | ComputedRows) -> str:
    """Append the array's bytes and return their sha256."""
    digest = hashlib.sha256()
    stored = array.dtype.newbyteorder("<")
    for chunk in chunks(array):
        if stored.kind == "f" and not np.isfinite(chunk).all():
            raise ParameterError(
                f"array {name!r} has values that are not finite; nothing was written",
                hint="find where the first NaN or infinity comes from",
            )
        data = np.ascontiguousarray(chunk, stored).reshape(-1).view(np.uint8).data
        digest.update(data)
        file.write(data)
    return digest.hexdigest()


def _verify(path: Path, header: Header, arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        digest = hashlib.sha256()
        for chunk in chunks(array):
            data = chunk.reshape(-1).view(np.uint8)
            digest.update(data.data)
            if chunk.dtype.kind == "f" and not np.isfinite(chunk).all():
                raise _damaged(path, f"array {name!r} has values that are not finite")
            # A boolean byte beyond 1 is undefined in NumPy, even if its hash is right.
            if chunk.dtype.kind == "b" and (data > 1).any():
                raise _damaged(path, f"array {name!r} has booleans that are neither 0 nor 1")
        if digest.hexdigest() != header["sha256"].get(name):
            raise _damaged(path, f"array {name!r} is not the one that was written")


def _damaged(path: Path, fact: str) -> CheckpointError:
    return CheckpointError(f"the file is damaged: {fact}", hint=_MAKE_AGAIN, path=path)


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    if path.is_dir():
        return CheckpointError(
            "this is a folder",
            hint="give a file that deepphase wrote; `deepphase prepare` makes one store of a "
            "folder of clips",
            path=path,
        )
    reason = getattr(error, "strerror", None) or str(error)
    return CheckpointError(f"cannot be read: {reason}", hint="check the path", path=path)


def checked_rate(value: Any, name: str = "fps") -> float:
    """Frames a second, within the limits of motion files. Raises ParameterError."""
    # The slack of the limits, for reciprocals of frame times.
    if type(value) in (int, float) and is_plausible_rate(value):
        return float(value)
    return checked_number(value, name, SLOWEST_FPS, FASTEST_FPS)


def checked_joints(value: Any, name: str = "joints") -> tuple[str, ...]:
    """Names of joints: at least one, none twice. Raises ParameterError."""
    joints = checked_texts(value, name)
    if not 0 < len(joints) <= MAX_JOINTS or len(set(joints)) != len(joints):
        raise ParameterError(
            f"{name}: there are {len(joints)} names, {len(set(joints))} of them different; "
            f"expected 1 to {MAX_JOINTS:,}, each once"
        )
    return joints


def checked_source(value: Any) -> Source:
    """The origin of a clip, from an object with some of its fields. Raises ParameterError."""
    found = checked_mapping(value, "source")
    plain = Source()
    fields: dict[str, Any] = {
        name: checked_number(found.get(name, getattr(plain, name)), f"source {name}", lowest)
        for name, lowest in (("unit_m", 0.0), ("fps", 0.0), ("song_start_s", -LARGEST))
    }
    for name in ("rotation_orders", "notes"):
        fields[name] = checked_texts(found.get(name, []), f"source {name}")
    for name in ("path", "up", "song"):
        fields[name] = checked_text(found.get(name, getattr(plain, name)), f"source {name}")
    fields["first_line"] = checked_count(found.get("first_line", 0), "source first_line")
    if fields["up"] not in AXES:
        raise wrong_value(fields["up"], "source up", ", ".join(AXES))
    return Source(**fields)
