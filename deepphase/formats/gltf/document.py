"""glTF files as bytes: .glb and .gltf, and the buffers that they hold or refer to."""

from __future__ import annotations

import base64
import binascii
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.reading import foreign_content, read_content

# In memory an object takes some 200 bytes, in a file at least two. The glTF that is densest in
# objects, a table of channels, has 25 bytes for each.
_BYTES_PER_OBJECT = 16
_FREE_OBJECTS = 10_000
# No file has as many of anything.
_MAX_INTEGER = 1 << 53
# Numbers beyond this are damage; and their squares would overflow later.
_LARGEST_NUMBER = 1e12


@dataclass(frozen=True, slots=True)
class Item:
    """An object of the document."""

    # Its members
    value: dict[str, Any]
    # Its path, as in "accessors[3].sparse"; empty for the document
    place: str
    # The file
    path: Path

    def fault(self, fact: str, hint: str = "") -> FormatError:
        """The error that something here is wrong."""
        return FormatError(
            f"{self.place}: {fact}" if self.place else fact, hint=hint, path=self.path
        )

    def _place_of(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def array(self, key: str) -> list[Any]:
        """The list under a key; empty where there is none."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} is not a list")
        return value

    def element(self, key: str, index: int) -> Item:
        """The object at a place of a list that is long enough."""
        return self._item(self.array(key)[index], f"{self._place_of(key)}[{index}]")

    def elements(self, key: str) -> list[Item]:
        """The objects of a list; none where there is no list."""
        return [self.element(key, index) for index in range(len(self.array(key)))]

    def item(self, key: str) -> Item:
        """The object under a key."""
        return self._item(self.value.get(key), self._place_of(key))

    def has(self, key: str) -> bool:
        """Whether there is anything under a key."""
        return key in self.value

    def _item(self, value: Any, place: str) -> Item:
        if not isinstance(value, dict):
            found = "is missing" if value is None else "is not an object"
            raise FormatError(f"{place} {found}", hint=_MAKE_AGAIN, path=self.path)
        return Item(value, place, self.path)

    def integer(
        self, key: str, default: int | None = None, *, least: int = 0, below: int | None = None
    ) -> int:
        """A whole number, at least `least` and below `below`; `default` where there is none."""
        value = self.value.get(key, default)
        if value is None:
            raise self.fault(f"{key} is missing")
        if not is_index(value) or not least <= value < (_MAX_INTEGER if below is None else below):
            bounds = f"{least} to {below - 1}" if below else f"at least {least}"
            if below == 0:
                bounds = "nothing: there is none"
            raise self.fault(f"{key} is {_quoted(value)}, expected {bounds}")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text; `default` where there is none."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            raise self.fault(f"{key} is not text")
        return value.encode("utf-8", "backslashreplace").decode()

    def numbers(self, key: str, default: Array) -> Array:
        """As many finite numbers as `default` has, float64; `default` where there are none."""
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, list) or len(value) != len(default):
            raise self.fault(f"{key} is not a list of {len(default)} numbers")
        if not all(type(number) in (int, float) for number in value):
            raise self.fault(f"{key} holds what is not a number")
        if not all(abs(number) <= _LARGEST_NUMBER for number in value):
            raise self.fault(f"{key} holds a number that is not finite, or absurd")
        return np.array(value, np.float64)


def is_index(value: Any) -> bool:
    """Whether a value of JSON is a whole number."""
    return type(value) is int


def parse_document(text: bytes | memoryview, path: Path) -> Item:
    """The document of a glTF file."""
    text = bytes(text)
    objects = text.count(b"{") + text.count(b"[")
    if objects > _FREE_OBJECTS + len(text) // _BYTES_PER_OBJECT:
        raise FormatError(
            f"{objects:,} objects in {len(text):,} bytes of JSON: no glTF is so dense",
            hint="export the file again, without empty nodes",
            path=path,
        )
    try:
        value = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse)
    except RecursionError:
        raise FormatError(
            "the JSON is nested too deeply", path=path, hint="export the file again"
        ) from None
    except UnicodeDecodeError:
        raise FormatError(
            "the JSON is not UTF-8", path=path, hint="export the file again"
        ) from None
    except json.JSONDecodeError as error:
        raise FormatError(
            f"the file has broken JSON: {error.msg}", path=path, line=error.lineno
        ) from None
    except ValueError as error:
        raise FormatError(f"the file has broken JSON: {str(error)[:80]}", path=path) from None
    if not isinstance(value, dict):
        raise FormatError(
            "the JSON is not a glTF document", path=path, hint="export the file again as glTF 2.0"
        )
    return Item(value, "", path)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def _quoted(value: Any) -> str:
    # str() of an int of thousands of digits raises, and a long text drowns the message.
    if type(value) is int and value.bit_length() > 64:
        return "beyond all counts"
    return repr(value)[:40]


GLB_MAGIC = b"glTF"
GLB_VERSION = 2
# Two chunks: their types are these four bytes.
JSON_CHUNK, BINARY_CHUNK = b"JSON", b"BIN\0"
HEADER_BYTES, CHUNK_HEAD_BYTES = 12, 8
_MAKE_AGAIN = "export or download the file again"


@dataclass(frozen=True, eq=False)
class GltfFile:
    """An open glTF file."""

    # The file
    path: Path
    # Its JSON
    document: Item
    # The binary chunk of a .glb
    binary: memoryview | None
    # Bytes of the file
    size: int
    _buffers: dict[int, memoryview] = field(default_factory=dict)

    @property
    def bytes_read(self) -> int:
        """Bytes of the file and of all buffers that were read beside it."""
        return self.size + sum(len(each) for each in self._buffers.values())

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer, read when it is first asked for."""
        if index not in self._buffers:
            item = self.document.element("buffers", index)
            declared = item.integer("byteLength", least=1)
            content = self._content(item, index, declared)
            if len(content) < declared:
                raise item.fault(
                    f"byteLength is {declared:,}, but there are {len(content):,} bytes", _MAKE_AGAIN
                )
            self._buffers[index] = content[:declared]
        return self._buffers[index]

    def _content(self, item: Item, index: int, declared: int) -> memoryview:
        if not item.has("uri"):
            if index != 0 or self.binary is None:
                raise item.fault("neither a uri nor the binary chunk of a .glb")
            return self.binary
        uri = item.text("uri")
        if uri[:5].lower() == "data:":
            return _decoded(item, uri)
        return self._beside(item, uri, declared)

    def _beside(self, item: Item, uri: str, declared: int) -> memoryview:
        shown = repr(uri[:80])
        name = unquote_to_bytes(uri)
        if b"\0" in name or b"\\" in name or b":" in name or name.startswith(b"/"):
            raise item.fault(
                f"the uri {shown} is not a path inside the file's folder",
                "put the buffer next to the file",
            )
        folder = os.path.realpath(self.path.parent)
        target = os.path.realpath(os.path.join(folder, os.fsdecode(name)))
        if os.path.commonpath([folder, target]) != folder or target == folder:
            raise item.fault(f"the uri {shown} leads out of the file's folder")
        try:
            if not os.path.isfile(target):
                raise item.fault(f"no such file: {shown}", "keep the .bin next to the .gltf")
            found = os.path.getsize(target)
            if found < declared:
                raise item.fault(f"byteLength is {declared:,}, but {shown} has {found:,} bytes")
            with open(target, "rb") as file:
                return memoryview(file.read(declared))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise item.fault(f"{shown} cannot be read: {reason}") from None


def _decoded(item: Item, uri: str) -> memoryview:
    head, comma, data = uri.partition(",")
    if not comma:
        raise item.fault("a data: uri without data")
    if not head.lower().endswith(";base64"):
        return memoryview(unquote_to_bytes(data))
    try:
        return memoryview(base64.b64decode(unquote_to_bytes(data), validate=True))
    except binascii.Error as error:
        raise item.fault(f"a data: uri that is not base64: {error}") from None


def open_gltf(path: str | Path) -> GltfFile:
    """Read a .glb or .gltf; what it is stands in its first bytes, not in its suffix."""
    path = Path(path)
    content = read_content(path)
    if content[:4] == GLB_MAGIC:
        text, binary = _chunks(memoryview(content), path)
    elif content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        text, binary = memoryview(content), None
    else:
        found = foreign_content(content) or "it begins with neither 'glTF' nor '{'"
        raise FormatError(f"this is not a glTF file: {found}", path=path)
    file = GltfFile(path, parse_document(text, path), binary, len(content))
    _check_version(file.document)
    return file


def _chunks(content: memoryview, path: Path) -> tuple[memoryview, memoryview | None]:
    if len(content) < HEADER_BYTES + CHUNK_HEAD_BYTES:
        raise FormatError(
            f"this file is cut short: it has {len(content)} bytes", hint=_MAKE_AGAIN, path=path
        )
    version = int.from_bytes(content[4:8], "little")
    if version != GLB_VERSION:
        raise FormatError(
            f"this is a .glb of version {version}", hint="export it as glTF 2.0", path=path
        )
    length = int.from_bytes(content[8:12], "little")
    if length != len(content):
        what = "cut short" if length > len(content) else "longer than it says"
        raise FormatError(
            f"the file is {what}: {len(content):,} bytes, its header says {length:,}",
            hint=_MAKE_AGAIN,
            path=path,
        )
    chunks: dict[bytes, memoryview] = {}
    start = HEADER_BYTES
    while start < len(content):
        head = content[start : start + CHUNK_HEAD_BYTES]
        kind, stated = bytes(head[4:8]), int.from_bytes(head[:4], "little")
        start += CHUNK_HEAD_BYTES
        if len(head) < CHUNK_HEAD_BYTES or start + stated > len(content):
            raise FormatError(
                f"byte {start - len(head)}: a chunk of {stated:,} bytes reaches behind the "
                "file's end",
                hint=_MAKE_AGAIN,
                path=path,
            )
        if not chunks and kind != JSON_CHUNK:
            raise FormatError("the first chunk is not JSON", hint=_MAKE_AGAIN, path=path)
        chunks.setdefault(kind, content[start : start + stated])
        start += stated
    return chunks[JSON_CHUNK], chunks.get(BINARY_CHUNK)


def _check_version(document: Item) -> None:
    asset = document.item("asset")
    version = asset.text("version")
    needed = asset.text("minVersion", version)
    if version.split(".")[0] != "2" or needed not in ("2.0", version):
        raise asset.fault(
            f"glTF version {(needed or version)[:20]!r}, but 2.0 is read", "export it as glTF 2.0"
        )
