"""The binary part of a glTF file as it is written: accessors, views and their bytes."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np

from deepphase.errors import ParameterError
from deepphase.formats.gltf_accessors import (
    COMPONENTS,
    FLOAT,
    UNSIGNED_BYTE,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
)
from deepphase.formats.gltf_container import (
    BINARY_CHUNK,
    CHUNK_HEAD_BYTES,
    GLB_MAGIC,
    GLB_VERSION,
    HEADER_BYTES,
    JSON_CHUNK,
)
from deepphase.motion.skeleton import Array

VERTICES, TRIANGLES = 34962, 34963
_COMPONENT_TYPES = {
    "<f4": FLOAT,
    "|u1": UNSIGNED_BYTE,
    "<u2": UNSIGNED_SHORT,
    "<u4": UNSIGNED_INT,
}
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

        Raises
        ------
        ParameterError
            Where a number is too large for float32.
        """
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(np.float32)
        array = np.ascontiguousarray(array).reshape(-1, COMPONENTS[kind])
        if not np.isfinite(array).all():
            raise ParameterError("a length too large for float32", hint="are these metres?")
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


def document_bytes(document: dict[str, Any]) -> bytes:
    """The document as compact JSON."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def write_glb(file: BinaryIO, document: dict[str, Any], chunks: list[bytes]) -> None:
    """Write a .glb: header, JSON, binary.

    Raises
    ------
    ParameterError
        Where it would be longer than its header can say.
    """
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
