"""Arrays of a page in base64, quantised where that is exact enough."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array

# Steps on either side of the middle of a range: int16 without its minimum.
_STEPS = 32767
# Steps on either side of 0 of each of three parts of a quaternion: 10 bits without the least value.
_TURN_STEPS = 511


class PackedArrays:
    """The binary arrays of a page, each distinct array once.

    Adding an array returns its description for the page's JSON: `id` of the script element that
    holds its base64 text, `type`, `shape` and, if it is quantised, `middle` and `step` with one
    number per column: value = middle + step * integer.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, bytes], int] = {}
        self.contents: list[bytes] = []

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def size(self) -> int:
        """Size of all arrays in base64, bytes."""
        return sum(4 * ((len(content) + 2) // 3) for content in self.contents)

    def text(self, index: int) -> str:
        """The base64 text of one array."""
        return base64.b64encode(self.contents[index]).decode("ascii")

    def add_bytes(self, content: bytes) -> int:
        """Add bytes, and return their id."""
        key = ("bytes", content)
        if key not in self._ids:
            self._ids[key] = len(self.contents)
            self.contents.append(content)
        return self._ids[key]

    def add(self, values: Array) -> dict[str, Any]:
        """Add an array without loss: float32 or uint8, little-endian, C order."""
        kind = "uint8" if values.dtype in (np.uint8, np.bool_) else "float32"
        whole = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<"))
        return {"id": self.add_bytes(whole.tobytes()), "type": kind, "shape": list(values.shape)}

    def add_positions(self, positions: Array) -> dict[str, Mapping[str, Any]]:
        """Add (frames, joints, 3) metres: each frame's mean as float32, offsets from it as int16.

        The precision does not depend on the distance from the origin: it is better than 0.1 mm for
        bodies of human size.
        """
        centre = positions.astype(np.float64).mean(axis=1).astype(np.float32)
        offsets = positions - centre[:, None]
        reach = float(np.abs(offsets).max())
        step = reach / _STEPS if reach else 1.0
        whole = np.rint(offsets / step).astype("<i2").reshape(len(positions), -1)
        joints = {
            "id": self.add_bytes(whole.tobytes()),
            "type": "int16",
            "shape": list(positions.shape),
            "step": step,
        }
        return {"centre": self.add(centre), "around": joints}

    def add_rotations(self, rotations: Array) -> dict[str, Any]:
        """Add (frames, joints, 4) unit quaternions (x, y, z, w) in 32 bits each.

        The two highest bits say which part is largest; the other three follow, of which each is at
        most sqrt(1/2). The precision is better than 0.3 degrees.
        """
        turns = rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)
        largest = np.abs(turns).argmax(axis=-1)[..., None]
        turns = turns * np.where(np.take_along_axis(turns, largest, -1) < 0, -1.0, 1.0)
        order = np.array([[i for i in range(4) if i != left] for left in range(4)])
        others = np.take_along_axis(turns, order[largest[..., 0]], -1)
        steps = np.rint(others * (np.sqrt(2) * _TURN_STEPS)).astype(np.int64) + _TURN_STEPS
        whole = (largest[..., 0] << 30) | (steps << np.array([20, 10, 0])).sum(axis=-1)
        return {
            "id": self.add_bytes(whole.astype("<u4").tobytes()),
            "type": "uint32",
            "shape": list(rotations.shape[:2]),
        }

    def add_series(self, values: Array) -> dict[str, Any]:
        """Add (frames, columns) as int16 over the range of each column, column by column."""
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
