"""Changes to good files that make odd and bad ones: to bytes, lines, words, arrays and JSON."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from deepphase.formats import array_file
from tests.hostile.npz_cases import archive

Random = random.Random
Change = Callable[[random.Random, bytes], bytes]

_WORD_LIST = """
nan inf -inf 1e400 -1e308 1e-400 0 -0 -1 1 2 3 6 255 65536 2147483648 9223372036854775808 0x10 1_0
1,5 --1 1.2.3 . - + e5 { } HIERARCHY ROOT JOINT End Site OFFSET CHANNELS MOTION Frames: Frame Time:
Xposition Zrotation Wrotation # // ;
"""
_WORDS = (*_WORD_LIST.split(), "9" * 400, "a" * 3000, *"\0\x1a\ufeff\u0661\r\t\n", "")
_YAML_WORDS = (
    *(b"[" * 3000, b"{a: " * 3000, b"2001-13-45", b"0b", b"1:99", b".nan", b".inf", b"!!binary x"),
    *(b"!!python/object:os.system x", b"&a [*a]", b"*b", b"=", b"<<", b"1e400", b"-1", b"0", b"1"),
    *(b"~", b"true", b"[]", b"{}", b"0x" + b"f" * 5000, b"[1, 2]", b"{1: 2}", b"? x"),
    *(b"9" * 5000, b"text", b"\0", b"&m {up: y}\n<<: *m"),
)
_DTYPES = ("f2", "f4", ">f8", "i1", "u1", "i8", ">i4", "u8", "?", "c16", "S3", "U5", "M8[s]")


def mutated(
    random: Random, content: bytes, changes: Sequence[Change], others: Sequence[bytes]
) -> bytes:
    """A file that differs from a good one in one to four ways; pieces of others may be put in."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        if not content:
            return content
        # From within is where the reader's own code is; from outside, mostly zipfile's.
        if changes and random.random() < 0.8:
            content = _or_a_flip(random.choice(changes), random, content)
        else:
            content = changed_bytes(random, content, random.choice(others))
    return content


def changed_bytes(random: Random, content: bytes, other: bytes) -> bytes:
    """Bits or bytes changed, cut out, repeated, or put in from another file."""
    while (changed := random.choice(_BYTES)(random, content, other)) == content:
        continue
    return changed


def _or_a_flip(change: Change, random: Random, content: bytes) -> bytes:
    try:
        return change(random, content)
    # Earlier changes broke what the change reads: then a byte is changed.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error):
        return _flip(random, content, content)


def _place(random: Random, content: Sequence[Any]) -> tuple[int, int]:
    start = random.randrange(len(content))
    return start, min(len(content), start + random.choice((1, 1, 2, 4, 8, 64, 1000)))


def _flip(random: Random, content: bytes, other: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(random: Random, content: bytes, other: bytes) -> bytes:
    start, _ = _place(random, content)
    word = random.choice(
        (b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(8), random.randbytes(4))
    )
    return content[:start] + word + content[start + len(word) :]


def _cut(random: Random, content: bytes, other: bytes) -> bytes:
    start, stop = _place(random, content)
    return content[:start] if random.random() < 0.3 else content[:start] + content[stop:]


def _repeat(random: Random, content: bytes, other: bytes) -> bytes:
    start, stop = _place(random, content)
    return content[:stop] + content[start:stop] * random.choice((1, 2, 50)) + content[stop:]


def _splice(random: Random, content: bytes, other: bytes) -> bytes:
    start, _ = _place(random, content)
    from_start, from_stop = _place(random, other)
    return content[:start] + other[from_start:from_stop] + content[start:]


def _whole_splice(random: Random, content: bytes, other: bytes) -> bytes:
    return content[: random.randrange(len(content))] + other[random.randrange(len(other)) :]


_BYTES = (_flip, _overwrite, _cut, _repeat, _splice, _whole_splice)


def _lines(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    start, stop = _place(random, lines)
    piece = lines[start:stop]
    what = random.randrange(4)
    if what == 0:
        lines[start:stop] = []
    elif what == 1:
        lines[start:start] = piece * random.choice((1, 1, 30))
    elif what == 2:
        lines[start:stop] = []
        target = random.randrange(len(lines) + 1)
        lines[target:target] = piece
    else:
        random.shuffle(piece)
        lines[start:stop] = piece
    return b"\n".join(lines)


def _words(random: Random, content: bytes, between: bytes = b" ") -> bytes:
    lines = content.split(b"\n")
    index = random.randrange(len(lines))
    words = lines[index].split(between)
    start, stop = _place(random, words)
    word = random.choice(_WORDS).encode("utf-8", "replace")
    words[start : random.choice((start, start + 1, stop))] = [word]
    lines[index] = between.join(words)
    return b"\n".join(lines)


def _numbers(random: Random, content: bytes) -> bytes:
    words = content.split(b" ")
    for _ in range(random.choice((1, 3, 20))):
        index = random.randrange(len(words))
        word = words[index]
        if word[:1].isdigit() or word[:1] in (b"-", b"."):
            words[index] = random.choice(
                (b"-" + word, word + b"e5", word + b"e300", word[:1], word.replace(b".", b""))
            )
    return b" ".join(words)


TEXT = (_lines, _words, _words, _numbers)


def archive_members(content: bytes) -> dict[str, bytes] | None:
    """Name -> content of the members of an archive; None where it is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return {name.removesuffix(".npy"): file.read(name) for name in file.namelist()}
    except Exception:
        return None  # Earlier changes broke it; then bytes are changed.


def _in_archive(
    change: Callable[[Random, dict[str, bytes], str], None],
) -> Callable[[Random, bytes], bytes]:
    def changed(random: Random, content: bytes) -> bytes:
        members = archive_members(content)
        if not members:
            raise ValueError("no archive")
        change(random, members, random.choice(list(members)))
        packed = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        return archive(members, packed)

    return changed


def array_of(member: bytes) -> np.ndarray:
    """The array of a member; zeros where it has none."""
    try:
        return np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)
    except Exception:
        return np.zeros(3)


def _stored(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def _values(random: Random, members: dict[str, bytes], key: str) -> None:
    array = np.array(array_of(members[key]))
    if array.size and array.dtype.kind in "fiu":
        for _ in range(random.choice((1, 1, 5))):
            value = random.choice((*NUMBERS, random.uniform(-10, 10)))
            with np.errstate(all="ignore"):
                flat = array.reshape(-1)
                rest = random.randrange(array.size)
                flat[rest : rest + random.choice((1, 1, array.size))] = np.array(value).astype(
                    array.dtype
                )
    members[key] = _stored(array)


def _types(random: Random, members: dict[str, bytes], key: str) -> None:
    array = array_of(members[key])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            members[key] = _stored(array.astype(random.choice(_DTYPES)))
    except (TypeError, ValueError, RuntimeError):
        members[key] = _stored(np.array([{}, None], object))


def _shapes(random: Random, members: dict[str, bytes], key: str) -> None:
    array = array_of(members[key])
    what = random.randrange(6)
    if what == 0:
        array = array.reshape(-1)
    elif what == 1:
        array = array[..., None]
    elif what == 2 and array.ndim:
        array = np.moveaxis(array, 0, -1)
    elif what == 3 and array.ndim:
        axis = random.randrange(array.ndim)
        array = array.take(range(random.randrange(array.shape[axis] + 1)), axis)
    elif what == 4:
        array = np.asfortranarray(array)
    elif array.ndim:
        array = np.repeat(array, 2, random.randrange(array.ndim))
    members[key] = _stored(array)


def _headers(random: Random, members: dict[str, bytes], key: str) -> None:
    member = members[key]
    end = min(len(member), 128)
    front = bytearray(member[:end])
    for _ in range(random.choice((1, 2, 6))):
        if front:
            front[random.randrange(len(front))] = random.choice(b"0123456789(),'|<>fiOUSb L-\xff")
    members[key] = bytes(front) + member[end:]


def _keys(random: Random, members: dict[str, bytes], key: str) -> None:
    what = random.randrange(3)
    if what == 0:
        del members[key]
    elif what == 1:
        members[random.choice(("poses", "positions", "rotations", "fps", "x"))] = members[key]
    else:
        other = random.choice(list(members))
        members[key], members[other] = members[other], members[key]


def _texts(random: Random, members: dict[str, bytes], key: str) -> None:
    if "meta" not in members:
        return _values(random, members, key)
    try:
        tree = json.loads(str(array_of(members["meta"])))
    except ValueError:
        return _values(random, members, key)
    members["meta"] = _stored(np.array(json.dumps(changed_tree(random, tree))))
    return None


ARCHIVE = tuple(
    _in_archive(change) for change in (_values, _values, _types, _shapes, _headers, _keys, _texts)
)


# Values for floating-point numbers.
NUMBERS = (0.0, -0.0, -1.0, 1e-300, 1e10, 1e38, 1e39, 1e200, -1e308, np.nan, np.inf, -np.inf)
_LARGEST_FLOAT32 = 3e38
_JSON_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 1 << 31, 1 << 63, 10**30, 0.5, 1e308, "", "a", "VEC3", "SCALAR"),
    *(5120, 5123, 5125, 5126, [], {}, [0], [[]], [1e400], {"a": 1}),
)


def changed_tree(random: Random, tree: Any) -> Any:
    """The tree with one of its values changed, left out or doubled."""
    if not isinstance(tree, dict | list):
        return _json_value(random)
    places: list[tuple[Any, Any]] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list) and node[key]:
                todo.append(node[key])
    if not places:
        return _json_value(random)
    node, key = random.choice(places)
    what = random.randrange(8)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, list):
        node.append(node[key])
    elif what == 2 and isinstance(node[key], int | float):
        node[key] = node[key] + random.choice((-1, 1, 4, 1000))
    elif what == 3:
        other, other_key = random.choice(places)
        # Through text: a tree that holds itself is not JSON.
        node[key] = json.loads(json.dumps(other[other_key]))
    else:
        node[key] = _json_value(random)
    return tree


def _json_value(random: Random) -> Any:
    # Its own: a later change of the tree may go into it.
    return deepcopy(random.choice(_JSON_VALUES))


def changed_json(random: Random, content: bytes) -> bytes:
    """A JSON text with one to three of its values changed."""
    tree = json.loads(content)
    for _ in range(random.choice((1, 1, 3))):
        tree = changed_tree(random, tree)
    return json.dumps(tree).encode()


def _changed_floats(random: Random, data: bytes, begin: int = 0) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 4, 30))):
        place = random.randrange(begin, len(changed))
        value = random.choice(NUMBERS)
        if np.isfinite(value):
            value = min(max(value, -_LARGEST_FLOAT32), _LARGEST_FLOAT32)
        changed[place : place + 4] = struct.pack("<f", value)
    return bytes(changed[: len(data)])


def _glb_json(random: Random, content: bytes) -> bytes:
    (length,) = struct.unpack_from("<I", content, 12)
    text = changed_json(random, content[20 : 20 + length])
    text += b" " * (-len(text) % 4)
    rest = content[20 + length :]
    front = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return front + struct.pack("<I4s", len(text), b"JSON") + text + rest


def _glb_data(random: Random, content: bytes) -> bytes:
    return _changed_floats(random, content, content.index(b"BIN\0"))


def _gltf_data(random: Random, content: bytes) -> bytes:
    tree = json.loads(content)
    buffer = tree["buffers"][0]
    head, _, text = buffer["uri"].partition(",")
    data = _changed_floats(random, base64.b64decode(text))
    buffer["uri"] = f"{head},{base64.b64encode(data).decode()}"
    return json.dumps(tree).encode()


GLB = (_glb_json, _glb_json, _glb_json, _glb_data)
GLTF = (changed_json, changed_json, changed_json, _gltf_data)


def _yaml_values(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    index = random.randrange(len(lines))
    key, colon, _ = lines[index].partition(b":")
    lines[index] = key + (colon or b":") + b" " + random.choice(_YAML_WORDS)
    return b"\n".join(lines)


def signed_array_file(header: Any, rows: Any, data: bytes) -> bytes:
    """An array file with the right hash of its table and header, whatever they say."""
    text = json.dumps(header)
    described = {
        name: [row.get("dtype"), row.get("shape")] if isinstance(row, dict) else row
        for name, row in rows.items()
    }
    metadata = {"deepphase": text, "deepphase_sha256": array_file.table_hash(described, text)}
    table = json.dumps({"__metadata__": metadata, **rows}).encode()
    return len(table).to_bytes(8, "little") + table + data


def array_file_parts(content: bytes) -> tuple[Any, Any, bytes]:
    """The header, the table and the data of an array file."""
    length = int.from_bytes(content[:8], "little")
    rows = json.loads(content[8 : 8 + length])
    header = json.loads(rows.pop("__metadata__")["deepphase"])
    return header, rows, content[8 + length :]


def changed_header(random: Random, content: bytes) -> bytes:
    """An array file with one to three values of its header changed, and the right hash."""
    header, rows, data = array_file_parts(content)
    hashes = header.pop("sha256")
    for _ in range(random.choice((1, 1, 3))):
        header = changed_tree(random, header)
    header["sha256"] = hashes
    return signed_array_file(header, rows, data)


def changed_arrays(random: Random, content: bytes) -> bytes:
    """An array file with another value, type or shape of an array, and the right hashes."""
    header, rows, data = array_file_parts(content)
    name = random.choice(list(rows))
    row = rows[name]
    begin, end = row["data_offsets"]
    what = random.randrange(5)
    if what == 0:
        width = array_file.DTYPES[row["dtype"]][-1]
        row["dtype"] = random.choice([c for c, t in array_file.DTYPES.items() if t[-1] == width])
    elif what == 1:
        row["shape"] = random.choice((row["shape"][::-1], [*row["shape"], 1], [0, *row["shape"]]))
    else:
        array = np.frombuffer(data[begin:end], array_file.DTYPES[row["dtype"]]).copy()
        value = random.choice((*NUMBERS, random.uniform(-10, 10)))
        place = random.randrange(len(array))
        with np.errstate(all="ignore"):
            new = np.array(value).astype(array.dtype)
        array[place : place + random.choice((1, 1, len(array)))] = new
        data = data[:begin] + array.tobytes() + data[end:]
    header["sha256"][name] = hashlib.sha256(data[begin:end]).hexdigest()
    return signed_array_file(header, rows, data)


ARRAY_FILE = (changed_header, changed_header, changed_arrays)
_cells = partial(_words, between=b",")
TABLE = (_cells, _cells, *TEXT)
YAML = (_yaml_values, _yaml_values, *TEXT)
