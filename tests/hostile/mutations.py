"""Changes to files that make odd and bad ones: to bytes, lines, words and arrays."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.hostile.gltf_mutations import GLB, GLTF, NUMBERS, changed_tree
from tests.hostile.npz_cases import archive

Random = random.Random

_WORD_LIST = """
nan inf -inf 1e400 -1e308 1e-400 0 -0 -1 1 2 3 6 255 65536 2147483648 9223372036854775808 0x10 1_0
1,5 --1 1.2.3 . - + e5 { } HIERARCHY ROOT JOINT End Site OFFSET CHANNELS MOTION Frames: Frame Time:
Xposition Zrotation Wrotation # // ;
"""
_WORDS = (*_WORD_LIST.split(), "9" * 400, "a" * 3000, *"\0\x1a\ufeff\u0661\r\t\n", "")
_DTYPES = ("f2", "f4", ">f8", "i1", "u1", "i8", ">i4", "u8", "?", "c16", "S3", "U5", "M8[s]")


def mutated(random: Random, content: bytes, suffix: str, others: Sequence[bytes]) -> bytes:
    """A file that differs from a good one in one to four ways.

    Parameters
    ----------
    suffix
        Of the file's kind: text and archives are also changed from within.
    others
        Files of which pieces may be put in.
    """
    inner = {
        ".bvh": _TEXT,
        ".trc": _TEXT,
        ".csv": _TEXT,
        ".mvnx": _TEXT,
        ".npz": _ARCHIVE,
        ".glb": GLB,
        ".gltf": (*GLTF, *_TEXT),
    }.get(suffix, ())
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        if not content:
            return content
        # From within is where the reader's own code is; from outside, mostly zipfile's.
        if inner and random.random() < 0.8:
            content = random.choice(inner)(random, content)
        else:
            content = random.choice(_BYTES)(random, content, random.choice(others))
    return content


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


def _words(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    index = random.randrange(len(lines))
    words = lines[index].split(b" ")
    start, stop = _place(random, words)
    word = random.choice(_WORDS).encode("utf-8", "replace")
    words[start : random.choice((start, start + 1, stop))] = [word]
    lines[index] = b" ".join(words)
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


_TEXT = (_lines, _words, _words, _numbers)


def _members(content: bytes) -> dict[str, bytes] | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return {name.removesuffix(".npy"): file.read(name) for name in file.namelist()}
    except Exception:
        return None  # Earlier changes broke it; then bytes are changed.


def _in_archive(
    change: Callable[[Random, dict[str, bytes], str], None],
) -> Callable[[Random, bytes], bytes]:
    def changed(random: Random, content: bytes) -> bytes:
        members = _members(content)
        if not members:
            return _flip(random, content, content)
        change(random, members, random.choice(list(members)))
        packed = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        return archive(members, packed)

    return changed


def _array(member: bytes) -> np.ndarray:
    try:
        return np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)
    except Exception:
        return np.zeros(3)


def _stored(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def _values(random: Random, members: dict[str, bytes], key: str) -> None:
    array = np.array(_array(members[key]))
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
    array = _array(members[key])
    try:
        with np.errstate(all="ignore"):
            members[key] = _stored(array.astype(random.choice(_DTYPES)))
    except (TypeError, ValueError, RuntimeError, np.exceptions.ComplexWarning):
        members[key] = _stored(np.array([{}, None], object))


def _shapes(random: Random, members: dict[str, bytes], key: str) -> None:
    array = _array(members[key])
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
        tree = json.loads(str(_array(members["meta"])))
    except ValueError:
        return _values(random, members, key)
    members["meta"] = _stored(np.array(json.dumps(changed_tree(random, tree))))
    return None


_ARCHIVE = tuple(
    _in_archive(change) for change in (_values, _values, _types, _shapes, _headers, _keys, _texts)
)
