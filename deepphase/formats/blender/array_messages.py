"""Messages between two processes: JSON with arrays behind it, over a pipe.

The process that runs Blender reads them without deepphase: standard library and NumPy alone.
"""

from __future__ import annotations

import json
import struct
from typing import IO

import numpy as np

_LENGTH = struct.Struct("<Q")
_START = b"\0deepphase\0"
# Bytes that a program may print before its first message.
_MAX_PRINTED = 1 << 16
# Bytes: a message that says it is larger is damaged.
_MAX_HEADER = 1 << 28
_MAX_ARRAY = 1 << 33


def begin(pipe: IO[bytes]) -> None:
    """Mark where messages begin, behind what the program printed."""
    pipe.write(_START)
    pipe.flush()


def skip_to_beginning(pipe: IO[bytes]) -> None:
    """Read up to the mark of `begin`; raises as `receive`."""
    read = bytearray()
    while not read.endswith(_START):
        if len(read) > _MAX_PRINTED:
            raise ValueError("no messages")
        read += _exactly(pipe, 1)


def send(pipe: IO[bytes], content: dict, arrays: dict | None = None) -> None:
    """Write one message: JSON, and arrays of numbers by name."""
    given = {name: np.ascontiguousarray(each, np.float64) for name, each in (arrays or {}).items()}
    shapes = {name: each.shape for name, each in given.items()}
    header = json.dumps({"content": content, "arrays": shapes}).encode()
    pipe.write(_LENGTH.pack(len(header)) + header)
    for each in given.values():
        pipe.write(each.tobytes())
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[dict, dict]:
    """Read one message: its JSON, and its arrays by name.

    Raises
    ------
    EOFError
        If the other process has ended.
    ValueError
        If it is not a message.
    """
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    if length > _MAX_HEADER:
        raise ValueError("no message")
    header = json.loads(_exactly(pipe, length))
    arrays = {}
    for name, shape in header["arrays"].items():
        size = 8 * int(np.prod([int(each) for each in shape], dtype=object))
        if not 0 <= size <= _MAX_ARRAY:
            raise ValueError("an array of an impossible size")
        arrays[name] = np.frombuffer(_exactly(pipe, size)).reshape(shape)
    return header["content"], arrays


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    parts = []
    while count:
        part = pipe.read(count)
        if not part:
            raise EOFError("the pipe was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
