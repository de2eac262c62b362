"""Accessors: the tables of numbers in a glTF file's buffers."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.formats.gltf.document import (
    BINARY_CHUNK,
    CHUNK_HEAD_BYTES,
    GLB_MAGIC,
    GLB_VERSION,
    HEADER_BYTES,
    JSON_CHUNK,
    GltfFile,
    Item,
)

BYTE, UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT, UNSIGNED_INT, FLOAT = (*range(5120, 5124), 5125, 5126)
_DTYPES = {
    BYTE: "<i1",
    UNSIGNED_BYTE: "<u1",
    SHORT: "<i2",
    UNSIGNED_SHORT: "<u2",
    UNSIGNED_INT: "<u4",
    FLOAT: "<f4",
}
# Numbers in one element.
COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_COMPRESSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_ROWS_A_CHECK = 1 << 16


@dataclass(frozen=True, eq=False, slots=True)
class AccessorTable:
    """The elements of an accessor as they lie in the file; `rows` makes numbers of them."""

    # The accessor
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
    component_type = item.integer("componentType")
    if component_type not in component_types:
        raise item.fault(f"a componentType of {component_type} is not allowed here")
    count = item.integer("count", least=1)
    dtype, width = np.dtype(_DTYPES[component_type]), COMPONENTS[kind]
    if item.has("bufferView"):
        raw = _view(file, item, dtype, (count, width))
    elif count > file.bytes_read:
        raise item.fault(
            f"{count:,} elements without a bufferView in a file of {file.size:,} bytes"
        )
    else:
        raw = np.zeros((count, width), dtype)
    if item.has("sparse"):
        raw = _with_sparse(file, item.item("sparse"), raw)
    _check_finite(item, raw)
    return AccessorTable(item, raw)


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
        raise item.fault(
            f"{shape[0]:,} elements reach to byte {end:,} of bufferViews[{number}], which has "
            f"{length:,}"
        )
    return np.ndarray(shape, dtype, buffer, start + offset, (stride, dtype.itemsize))


def _with_sparse(file: GltfFile, sparse: Item, raw: Array) -> Array:
    count = sparse.integer("count", least=1, below=len(raw) + 1)
    indices, values = sparse.item("indices"), sparse.item("values")
    component_type = indices.integer("componentType")
    if component_type not in (UNSIGNED_BYTE, UNSIGNED_SHORT, UNSIGNED_INT):
        raise indices.fault(f"a componentType of {component_type} is not allowed here")
    places = _view(file, indices, np.dtype(_DTYPES[component_type]), (count, 1))[:, 0]
    if (places[1:] <= places[:-1]).any() or places[-1] >= len(raw):
        raise indices.fault(f"indices that do not rise, or reach beyond {len(raw):,} elements")
    replaced = _view(file, values, raw.dtype, (count, raw.shape[1]))
    completed = raw.copy()
    completed[places] = replaced
    return completed


def _check_finite(item: Item, raw: Array) -> None:
    if raw.dtype.kind != "f":
        return
    # In parts: the temporaries of a long table would be as large as the table.
    for start in range(0, len(raw), _ROWS_A_CHECK):
        part = raw[start : start + _ROWS_A_CHECK]
        finite = np.isfinite(part).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise item.fault(f"element {row} holds {part[row - start].tolist()}")


VERTICES, TRIANGLES = 34962, 34963
_COMPONENT_TYPES = {"<f4": FLOAT, "|u1": UNSIGNED_BYTE, "<u2": UNSIGNED_SHORT, "<u4": UNSIGNED_INT}
_ALIGNMENT = 4


class BinaryWriter:
    """Collects arrays; `accessors` and `views` are what the document says of them."""

    def __init__(self) -> None:
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.chunks: list[bytes] = []
        self.size = 0

    def open_view(self, target: int | None = None) -> None:
        """Begin a view, which the arrays that follow share: one array, if vertices are in it."""
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.size, "byteLength": 0}
        if target is not None:
            view["target"] = target
        self.views.append(view)

    def add(
        self, array: Array, kind: str, *, bounds: bool = False, normalized: bool = False
    ) -> int:
        """Number of the accessor of an array (elements, components), put into the open view.

        Floating-point numbers are stored as float32.
        """
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(np.float32)
        array = np.ascontiguousarray(array).reshape(-1, COMPONENTS[kind])
        if not np.isfinite(array).all():
            raise ParameterError("a length is too large for float32", hint="are these metres?")
        view = self.views[-1]
        accessor: dict[str, Any] = {
            "bufferView": len(self.views) - 1,
            "byteOffset": view["byteLength"],
            "componentType": _COMPONENT_TYPES[array.dtype.newbyteorder("<").str],
            "count": len(array),
            "type": kind,
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            accessor["min"] = array.min(axis=0).tolist()
            accessor["max"] = array.max(axis=0).tolist()
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        content += bytes(-len(content) % _ALIGNMENT)
        self.chunks.append(content)
        view["byteLength"] += len(content)
        self.size += len(content)
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def mesh(
        self,
        name: str,
        attributes: Sequence[tuple[str, Array, str]],
        triangles: Array,
        material: int,
    ) -> dict[str, Any]:
        """The mesh of the document; its arrays go into the binary part.

        Parameters
        ----------
        triangles
            (triangles, 3) vertices, uint32.
        """
        numbers = {}
        for attribute, values, kind in attributes:
            self.open_view(VERTICES)
            numbers[attribute] = self.add(
                values,
                kind,
                bounds=attribute == "POSITION",
                normalized=attribute.startswith("WEIGHTS"),
            )
        self.open_view(TRIANGLES)
        indices = self.add(triangles.astype(np.uint32), "SCALAR")
        primitive = {"attributes": numbers, "indices": indices, "material": material}
        return {"name": name, "primitives": [primitive]}


def document_bytes(document: dict[str, Any]) -> bytes:
    """The document as compact JSON."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def write_glb(file: BinaryIO, document: dict[str, Any], chunks: list[bytes]) -> None:
    """Write a .glb: header, JSON, binary."""
    text = document_bytes(document)
    text += b" " * (-len(text) % _ALIGNMENT)
    binary = sum(map(len, chunks))
    total = HEADER_BYTES + 2 * CHUNK_HEAD_BYTES + len(text) + binary
    if total >= 1 << 32:
        raise ParameterError("a .glb holds at most 4 GiB", hint="write fewer clips to a file")
    file.write(GLB_MAGIC + GLB_VERSION.to_bytes(4, "little") + total.to_bytes(4, "little"))
    file.write(len(text).to_bytes(4, "little") + JSON_CHUNK + text)
    file.write(binary.to_bytes(4, "little") + BINARY_CHUNK)
    file.writelines(chunks)
