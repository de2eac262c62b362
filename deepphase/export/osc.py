"""Messages of Open Sound Control 1.0, which programs send each other as datagrams.

References
----------
Wright 2002, The Open Sound Control 1.0 specification.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from deepphase.errors import ParameterError

Value = int | float | str
Message = tuple[str, tuple[Value, ...]]
"""An address, such as "/VMC/Ext/T", and its arguments."""

_BUNDLE = b"#bundle\0"
# The time tag of "at once".
_AT_ONCE = struct.pack(">Q", 1)
_NUMBERS = {"i": ">i", "f": ">f", "h": ">q", "d": ">d"}
_CONSTANTS = {"T": 1, "F": 0}
# Bundles hold bundles; a datagram of 64 KiB could hold thousands within each other.
_MAX_DEPTH = 8


def osc_datagram(messages: Iterable[Message]) -> bytes:
    """One datagram of several messages, as a bundle to be executed at once.

    Whole numbers are sent as int32, others as float32, text as UTF-8.
    """
    parts = [_packed_message(address, values) for address, values in messages]
    return b"".join([_BUNDLE, _AT_ONCE, *(struct.pack(">i", len(part)) + part for part in parts)])


def _packed_message(address: str, values: tuple[Value, ...]) -> bytes:
    tags, content = ",", b""
    for value in values:
        if isinstance(value, str):
            tags, content = tags + "s", content + _padded(value)
        elif isinstance(value, int):
            tags, content = tags + "i", content + struct.pack(">i", value)
        else:
            tags, content = tags + "f", content + struct.pack(">f", value)
    return _padded(address) + _padded(tags) + content


def _padded(text: str) -> bytes:
    """Text with zeros behind it, at least one, up to a multiple of four bytes."""
    content = text.encode()
    return content + b"\0" * (4 - len(content) % 4)


def osc_messages(datagram: bytes) -> list[Message]:
    """The messages of a datagram: of one message, or of a bundle and those within it.

    Time tags are not waited for.

    Raises
    ------
    ParameterError
        If it is not a message or bundle, or has arguments of other types than numbers, text and
        truth values.
    """
    try:
        return list(_messages(datagram, 0))
    except (struct.error, UnicodeDecodeError, ValueError, IndexError, KeyError):
        raise ParameterError(
            f"a datagram of {len(datagram)} bytes is not a message of Open Sound Control",
            hint="send addresses and arguments of the types i, f, d, h, s, T and F",
        ) from None


def _messages(content: bytes, depth: int) -> Iterator[Message]:
    if not content.startswith(_BUNDLE):
        yield _message(content)
        return
    if depth == _MAX_DEPTH:
        raise ValueError
    place = len(_BUNDLE) + len(_AT_ONCE)
    while place < len(content):
        (size,) = struct.unpack_from(">i", content, place)
        place += 4
        if size <= 0 or place + size > len(content):
            raise ValueError
        yield from _messages(content[place : place + size], depth + 1)
        place += size


def _message(content: bytes) -> Message:
    address, place = _text(content, 0)
    tags, place = _text(content, place)
    if not address.startswith("/") or not tags.startswith(","):
        raise ValueError
    values: list[Value] = []
    for tag in tags[1:]:
        if tag == "s":
            text, place = _text(content, place)
            values.append(text)
        elif tag in _CONSTANTS:
            values.append(_CONSTANTS[tag])
        else:
            form = _NUMBERS[tag]
            values += struct.unpack_from(form, content, place)
            place += struct.calcsize(form)
    return address, tuple(values)


def _text(content: bytes, place: int) -> tuple[str, int]:
    """Text that begins at a place, and where the next argument begins."""
    end = content.index(b"\0", place)
    return content[place:end].decode(), end + 4 - end % 4
