"""Accessors: the tables of numbers in a glTF file's buffers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from deepphase.formats.gltf_container import GltfFile
from deepphase.formats.gltf_json import Item
from deepphase.motion.skeleton import Array

BYTE, UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT, UNSIGNED_INT, FLOAT = (
    *range(5120, 5124),
    5125,
    5126,
)
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
class Table:
    """The elements of an accessor as they lie in the file; `rows` makes numbers of them.

    Parameters
    ----------
    item
        The accessor.
    raw
        (count, components) of the file's type, a view into its buffer where nothing is sparse.
    """

    item: Item
    raw: Array

    def __len__(self) -> int:
        return len(self.raw)

    def rows(self, which: slice | Array) -> Array:
        """(rows, components) float64; integers are normalised ones, shares of their largest."""
        values = self.raw[which].astype(np.float64)
        if self.raw.dtype.kind == "f":
            return values
        return np.maximum(values / np.iinfo(self.raw.dtype).max, -1.0)


def read_table(
    file: GltfFile, index: int, kind: str, component_types: Collection[int] = (FLOAT,)
) -> Table:
    """An accessor of the kind that is expected, checked against its buffer before it is touched.

    Parameters
    ----------
    index
        Of the accessor, in bounds.
    kind
        "SCALAR", "VEC3", ...
    component_types
        Those that are allowed.

    Raises
    ------
    FormatError
        Where it is of another kind, reaches out of its buffer or holds what is not finite.
    """
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
    return Table(item, raw)


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
