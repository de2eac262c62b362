"""glTF files as data: .glb and .gltf, their buffers, and the tables of numbers in them."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.files import parsed_json
from deepphase.formats.reading import foreign_content, read_content

# No file has as many of anything.
_MAX_INTEGER = 1 << 53
# Numbers beyond this are damage; and their squares would overflow later.
_LARGEST_NUMBER = 1e12
_MAKE_AGAIN = "export or download the file again"

GLB_MAGIC = b"glTF"
GLB_VERSION = 2
# Two chunks: their types are these four bytes.
JSON_CHUNK, BINARY_CHUNK = b"JSON", b"BIN\0"
HEADER_BYTES, CHUNK_HEAD_BYTES = 12, 8

BYTE, UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT, UNSIGNED_INT, FLOAT = (*range(5120, 5124), 5125, 5126)
DTYPES = {BYTE: "|i1", UNSIGNED_BYTE: "|u1", SHORT: "<i2", UNSIGNED_SHORT: "<u2"}
DTYPES |= {UNSIGNED_INT: "<u4", FLOAT: "<f4"}
# Numbers in one element.
COMPONENTS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_COMPRESSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_ROWS_A_CHECK = 1 << 16


@dataclass(frozen=True, slots=True)
class Item:
    """An object of the document."""

    value: dict[str, Any]  # Its members
    place: str  # Its path, as in "accessors[3].sparse"; empty for the document
    path: Path

    def fault(self, fact: str, hint: str = "") -> FormatError:
        """The error that something here is wrong."""
        fact = f"{self.place}: {fact}" if self.place else fact
        return FormatError(fact, hint=hint, path=self.path)

    def _item(self, value: Any, key: str) -> Item:
        place = f"{self.place}.{key}" if self.place else key
        if not isinstance(value, dict):
            found = "is missing" if value is None else "is not an object"
            raise FormatError(f"{place} {found}", hint=_MAKE_AGAIN, path=self.path)
        return Item(value, place, self.path)

    def has(self, key: str) -> bool:
        """Whether there is anything under a key."""
        return key in self.value

    def item(self, key: str) -> Item:
        """The object under a key."""
        return self._item(self.value.get(key), key)

    def array(self, key: str) -> list[Any]:
        """The list under a key; empty where there is none."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} is not a list")
        return value

    def element(self, key: str, index: int) -> Item:
        """The object at a place of a list that is long enough."""
        return self._item(self.array(key)[index], f"{key}[{index}]")

    def elements(self, key: str) -> list[Item]:
        """The objects of a list; none where there is no list."""
        return [self.element(key, index) for index in range(len(self.array(key)))]

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


def _quoted(value: Any) -> str:
    # str() of an int of thousands of digits raises, and a long text drowns the message.
    if type(value) is int and value.bit_length() > 64:
        return "beyond all counts"
    return repr(value)[:40]


@dataclass(frozen=True, eq=False)
class GltfFile:
    """An open glTF file."""

    path: Path
    document: Item
    binary: memoryview | None  # The binary chunk of a .glb
    size: int  # Bytes of the file
    _buffers: dict[int, memoryview] = field(default_factory=dict)

    @property
    def bytes_read(self) -> int:
        """Bytes of the file and of all buffers that were read beside it."""
        return self.size + sum(map(len, self._buffers.values()))

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer, read when it is first asked for."""
        if index not in self._buffers:
            item = self.document.element("buffers", index)
            declared = item.integer("byteLength", least=1)
            content = self._content(item, index, declared)
            if len(content) < declared:
                fact = f"byteLength is {declared:,}, but there are {len(content):,} bytes"
                raise item.fault(fact, _MAKE_AGAIN)
            self._buffers[index] = content[:declared]
        return self._buffers[index]

    def _content(self, item: Item, index: int, declared: int) -> memoryview:
        if not item.has("uri"):
            if index != 0 or self.binary is None:
                raise item.fault("neither a uri nor the binary chunk of a .glb")
            return self.binary
        uri = item.text("uri")
        if uri[:5].lower() != "data:":
            return self._beside(item, uri, declared)
        head, comma, data = uri.partition(",")
        if not comma:
            raise item.fault("a data: uri without data")
        content = unquote_to_bytes(data)
        if head.lower().endswith(";base64"):
            try:
                content = base64.b64decode(content, validate=True)
            except binascii.Error as error:
                raise item.fault(f"a data: uri that is not base64: {error}") from None
        return memoryview(content)

    def _beside(self, item: Item, uri: str, declared: int) -> memoryview:
        shown = repr(uri[:80])
        name = unquote_to_bytes(uri)
        if b"\0" in name or b"\\" in name or b":" in name or name.startswith(b"/"):
            fact = f"the uri {shown} is not a path inside the file's folder"
            raise item.fault(fact, "put the buffer next to the file")
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
    # Some fill the chunk with zeros in place of blanks.
    document = _parsed(bytes(text).rstrip(b"\0"), path)
    asset = document.item("asset")
    version = asset.text("version")
    needed = asset.text("minVersion", version)
    if version.split(".")[0] != "2" or needed not in ("2.0", version):
        fact = f"glTF version {(needed or version)[:20]!r}, but 2.0 is read"
        raise asset.fault(fact, "export it as glTF 2.0")
    return GltfFile(path, document, binary, len(content))


def _chunks(content: memoryview, path: Path) -> tuple[memoryview, memoryview | None]:
    """The JSON and the binary part of a .glb."""
    fault = partial(FormatError, hint=_MAKE_AGAIN, path=path)
    if len(content) < HEADER_BYTES + CHUNK_HEAD_BYTES:
        raise fault(f"this file is cut short: it has {len(content)} bytes")
    version = int.from_bytes(content[4:8], "little")
    if version != GLB_VERSION:
        raise fault(f"this is a .glb of version {version}", hint="export it as glTF 2.0")
    length = int.from_bytes(content[8:12], "little")
    if length != len(content):
        what = "cut short" if length > len(content) else "longer than it says"
        raise fault(f"the file is {what}: {len(content):,} bytes, its header says {length:,}")
    chunks: dict[bytes, memoryview] = {}
    start = HEADER_BYTES
    while start < len(content):
        head = content[start : start + CHUNK_HEAD_BYTES]
        kind, stated = bytes(head[4:8]), int.from_bytes(head[:4], "little")
        stop = start + CHUNK_HEAD_BYTES + stated
        if len(head) < CHUNK_HEAD_BYTES or stop > len(content):
            raise fault(f"byte {start}: a chunk of {stated:,} bytes reaches behind the file's end")
        if not chunks and kind != JSON_CHUNK:
            raise fault("the first chunk is not JSON")
        chunks.setdefault(kind, content[start + CHUNK_HEAD_BYTES : stop])
        start = stop
    return chunks[JSON_CHUNK], chunks.get(BINARY_CHUNK)


def _parsed(text: bytes, path: Path) -> Item:
    """The document of a glTF file."""
    fault = partial(FormatError, hint="export the file again as glTF 2.0", path=path)
    try:
        value = parsed_json(text.decode("utf-8-sig"), finite=True)
    except RecursionError:
        raise fault("the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise fault("the JSON is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise fault(f"the file has broken JSON: {error.msg}", line=error.lineno) from None
    except ValueError as error:
        raise fault(f"the file has broken JSON: {str(error)[:80]}") from None
    if not isinstance(value, dict):
        raise fault("the JSON is not a glTF document")
    return Item(value, "", path)


@dataclass(frozen=True, eq=False, slots=True)
class AccessorTable:
    """The elements of an accessor as they lie in the file; `rows` makes numbers of them."""

    item: Item
    # (count, components) of the file's type, a view into its buffer where nothing is sparse
    raw: Array

    def __len__(self) -> int:
        return len(self.raw)

    def rows(self, which: slice | Array) -> Array:
        """(rows, components) float64; integers are normalised ones, shares of their largest."""
        values = self.raw[which].astype(np.float64)
        if self.raw.dtype.kind == "f":
            return values
        return np.maximum(values / np.iinfo(self.raw.dtype).max, -1.0)


def read_accessor(
    file: GltfFile, index: int, kind: str, component_types: Collection[int] = (FLOAT,)
) -> AccessorTable:
    """An accessor of the kind that is expected, checked against its buffer before it is touched."""
    item = file.document.element("accessors", index)
    found = item.text("type")
    if found != kind:
        raise item.fault(f"type is {found[:20]!r}, expected {kind}")
    component_type = _component_type(item, component_types)
    count = item.integer("count", least=1)
    dtype, width = np.dtype(DTYPES[component_type]), COMPONENTS[kind]
    if item.has("bufferView"):
        raw = _view(file, item, dtype, (count, width))
    elif count > file.bytes_read:
        fact = f"{count:,} elements without a bufferView in a file of {file.size:,} bytes"
        raise item.fault(fact)
    else:
        raw = np.zeros((count, width), dtype)
    if item.has("sparse"):
        raw = _with_sparse(file, item.item("sparse"), raw)
    # In parts: the temporaries of a long table would be as large as the table.
    for start in range(0, len(raw) if dtype.kind == "f" else 0, _ROWS_A_CHECK):
        finite = np.isfinite(raw[start : start + _ROWS_A_CHECK]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise item.fault(f"element {row} holds {raw[row].tolist()}")
    return AccessorTable(item, raw)


def _component_type(item: Item, allowed: Collection[int]) -> int:
    found = item.integer("componentType")
    if found not in allowed:
        raise item.fault(f"a componentType of {found} is not allowed here")
    return found


def _view(file: GltfFile, item: Item, dtype: np.dtype, shape: tuple[int, int]) -> Array:
    """(count, width) numbers in a buffer, not copied."""
    document = file.document
    number = item.integer("bufferView", below=len(document.array("bufferViews")))
    view = document.element("bufferViews", number)
    for name in _COMPRESSIONS:
        if view.has("extensions") and view.item("extensions").has(name):
            raise view.fault(f"compressed with {name}", "export the file without compression")
    buffer = file.buffer(view.integer("buffer", below=len(document.array("buffers"))))
    start, length = view.integer("byteOffset", 0), view.integer("byteLength", least=1)
    if start + length > len(buffer):
        raise view.fault(f"bytes {start:,} to {start + length:,} of a buffer of {len(buffer):,}")
    element = dtype.itemsize * shape[1]
    stride = view.integer("byteStride", element, least=element)
    offset = item.integer("byteOffset", 0)
    end = offset + stride * (shape[0] - 1) + element
    if end > length:
        reach = f"{shape[0]:,} elements reach to byte {end:,} of bufferViews[{number}]"
        raise item.fault(f"{reach}, which has {length:,}")
    return np.ndarray(shape, dtype, buffer, start + offset, (stride, dtype.itemsize))


def _with_sparse(file: GltfFile, sparse: Item, raw: Array) -> Array:
    count = sparse.integer("count", least=1, below=len(raw) + 1)
    indices, values = sparse.item("indices"), sparse.item("values")
    component_type = _component_type(indices, (UNSIGNED_BYTE, UNSIGNED_SHORT, UNSIGNED_INT))
    places = _view(file, indices, np.dtype(DTYPES[component_type]), (count, 1))[:, 0]
    if (places[1:] <= places[:-1]).any() or places[-1] >= len(raw):
        raise indices.fault(f"indices that do not rise, or reach beyond {len(raw):,} elements")
    completed = raw.copy()
    completed[places] = _view(file, values, raw.dtype, (count, raw.shape[1]))
    return completed
