"""Arrays as a page carries them: quantised where that loses nothing, in base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array

# Steps on either side of the middle of a range: int16 without its lowest value.
_STEPS = 32767


class PackedArrays:
    """The binary part of a page: each different array once.

    What it returns for an array is its description, for the page's JSON: `id` of the script
    element that holds its base64 text, `type`, `shape`, and where it is quantised `middle` and
    `step`, one number a column: value = middle + step * whole number.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, bytes], int] = {}
        self.contents: list[bytes] = []

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def size(self) -> int:
        """Bytes that all of them take in a page, as base64."""
        return sum(4 * ((len(content) + 2) // 3) for content in self.contents)

    def text(self, index: int) -> str:
        """The base64 text of one array."""
        return base64.b64encode(self.contents[index]).decode("ascii")

    def add_bytes(self, content: bytes) -> int:
        """The id of some bytes."""
        key = ("bytes", content)
        if key not in self._ids:
            self._ids[key] = len(self.contents)
            self.contents.append(content)
        return self._ids[key]

    def add(self, values: Array) -> dict[str, Any]:
        """An array as it is: float32 or uint8, little-endian, C order."""
        kind = "uint8" if values.dtype in (np.uint8, np.bool_) else "float32"
        whole = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<"))
        return {"id": self.add_bytes(whole.tobytes()), "type": kind, "shape": list(values.shape)}

    def add_positions(self, positions: Array) -> dict[str, Mapping[str, Any]]:
        """(frames, joints, 3) metres: each frame's mean as float32, the joints around it as int16.

        So a body far from the origin is as exact as one that stands there: to 0.1 mm and better
        for anything of a human's size.
        """
        centre = positions.astype(np.float64).mean(axis=1).astype(np.float32)
        around = positions - centre[:, None]
        reach = float(np.abs(around).max())
        step = reach / _STEPS if reach else 1.0
        whole = np.rint(around / step).astype("<i2").reshape(len(positions), -1)
        joints = {
            "id": self.add_bytes(whole.tobytes()),
            "type": "int16",
            "shape": list(positions.shape),
            "step": step,
        }
        return {"centre": self.add(centre), "around": joints}

    def add_series(self, values: Array) -> dict[str, Any]:
        """(frames, columns): int16 over the range of each column, one column after the other."""
        values = values.astype(np.float64)
        low, high = values.min(axis=0), values.max(axis=0)
        middle = (low + high) / 2
        step = np.where(high > low, (high - low) / (2 * _STEPS), 1.0)
        whole = np.rint((values - middle) / step).astype("<i2").T
        return {
            "id": self.add_bytes(np.ascontiguousarray(whole).tobytes()),
            "type": "int16",
            "shape": list(values.shape),
            "middle": middle.tolist(),
            "step": step.tolist(),
        }
