"""File format of live assets: a JSON header and little-endian arrays.

=========  =====================================================================================
bytes      content
=========  =====================================================================================
8          ``DPLIVE1`` and a line feed
4          length of the header in bytes, an unsigned integer
header     UTF-8 JSON; its entry ``arrays`` maps a name to ``{type, shape, start}``
padding    to a multiple of 16, as before every array
arrays     at `start` bytes from the end of the header's padding
=========  =====================================================================================

Types are float32, float16, int32 and int8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.manifold import ManifoldProjection

MAGIC = b"DPLIVE1\n"
_ALIGNMENT = 16
_TYPES = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "int8": "|i1"}


def asset_bytes(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The file of a header, whose small arrays become lists, and of arrays of these types."""
    table, parts, start = {}, [], 0
    for name, array in arrays.items():
        written = np.ascontiguousarray(array, _TYPES[array.dtype.name]).tobytes()
        table[name] = {"type": array.dtype.name, "shape": list(array.shape), "start": start}
        parts.append(_padded(written))
        start += len(parts[-1])
    text = json.dumps({**header, "arrays": table}, default=_listed, separators=(",", ":"))
    content = text.encode()
    head = MAGIC + len(content).to_bytes(4, "little") + content
    return b"".join([_padded(head), *parts])


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % _ALIGNMENT)


def _listed(value: Any) -> Any:
    """Arrays and NumPy numbers as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"no JSON of {type(value).__name__}")


def manifold_arrays(vectors: Array) -> dict[str, Array]:
    """Projection of vectors (points, 2 * channels) of a phase manifold to three dimensions.

    A vector is projected to ``manifold.basis`` @ (vector - ``manifold.mean``). ``manifold.points``
    (points, 3) are projected, ``manifold.phase`` (points,) cycles of the strongest channel.
    """
    projection = ManifoldProjection.fit(vectors)
    pairs = vectors.astype(np.float64).reshape(len(vectors), -1, 2)
    strongest = np.square(pairs).sum(axis=(0, 2)).argmax()
    phase = np.arctan2(pairs[:, strongest, 0], pairs[:, strongest, 1]) / (2.0 * np.pi)
    arrays = {"mean": projection.mean, "basis": projection.axes, "points": projection(vectors)}
    return {
        f"manifold.{name}": each.astype(np.float32)
        for name, each in (arrays | {"phase": phase}).items()
    }
