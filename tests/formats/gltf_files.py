"""Small glTF files for tests: two joints, a skin and one animation, to be changed at will."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

COMPONENT_TYPES = {"<i1": 5120, "|i1": 5120, "|u1": 5121, "<i2": 5122, "<u2": 5123, "<u4": 5125}
COMPONENT_TYPES["<f4"] = 5126
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
FRAMES, FPS = 5, 30.0


class Made:
    """A document and its binary part."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": []}
        self.document |= {"bufferViews": [], "nodes": [], "animations": []}
        self.binary = b""

    def accessor(self, values: Any, **more: Any) -> int:
        """A new accessor of (count, components) values, in a view of its own."""
        values = np.asarray(values)
        values = values.reshape(len(values), -1)
        view = self.view(values.tobytes())
        accessor = {"bufferView": view, "componentType": COMPONENT_TYPES[values.dtype.str]}
        accessor |= {"count": len(values), "type": KINDS[values.shape[1]], **more}
        self.document["accessors"].append(accessor)
        return len(self.document["accessors"]) - 1

    def view(self, content: bytes, **more: Any) -> int:
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(content), **more}
        self.binary += content + bytes(-len(content) % 4)
        self.document["bufferViews"].append(view)
        return len(self.document["bufferViews"]) - 1

    def times(self, times: Any) -> int:
        return self.accessor(np.asarray(times, np.float32))

    def animate(
        self, node: int, path: str, times: int, values: Any, name: str = "", **sampler: Any
    ) -> dict[str, Any]:
        """A channel of the animation of that name, which is made where it is new."""
        animations = self.document["animations"]
        found = [each for each in animations if each.get("name", "") == name]
        if not found:
            found = [{"name": name, "samplers": [], "channels": []}]
            animations.append(found[0])
        output = values if isinstance(values, int) else self.accessor(values)
        found[0]["samplers"].append({"input": times, "output": output, **sampler})
        target = {"node": node, "path": path}
        channel = {"sampler": len(found[0]["samplers"]) - 1, "target": target}
        found[0]["channels"].append(channel)
        return found[0]

    def glb(self) -> bytes:
        document = self.document | {"buffers": [{"byteLength": len(self.binary)}]}
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + len(self.binary)
        head = b"glTF" + (2).to_bytes(4, "little") + total.to_bytes(4, "little")
        return head + chunk(b"JSON", text) + chunk(b"BIN\0", self.binary)

    def gltf(self, uri: str | None = None) -> bytes:
        if uri is None:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.binary).decode()
        buffers = [{"byteLength": len(self.binary), "uri": uri}]
        return json.dumps(self.document | {"buffers": buffers}).encode()

    def written(self, folder: Path, name: str = "clip.glb") -> Path:
        path = folder / name
        path.write_bytes(self.glb() if name.endswith(".glb") else self.gltf())
        return path


def chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + kind + content


def turns(frames: int = FRAMES, degrees: float = 20.0) -> np.ndarray:
    """(frames, 4) float32: rotations about X, `degrees` from frame to frame."""
    angles = np.arange(frames)[:, None] * degrees
    return Rotation.from_euler("x", angles, degrees=True).as_quat().astype(np.float32)


def travel(frames: int = FRAMES) -> np.ndarray:
    """(frames, 3) float32 metres."""
    steps = np.arange(frames, dtype=np.float32)[:, None]
    return np.hstack([0 * steps, 1 + 0 * steps, steps / 10])


def two_joints() -> Made:
    """Hips, which travel, and Chest 0.5 m above, which turns; 5 frames at 30 a second."""
    made = Made()
    made.document["nodes"] = [
        {"name": "Hips", "children": [1], "translation": [0, 1, 0]},
        {"name": "Chest", "translation": [0, 0.5, 0]},
    ]
    made.document["skins"] = [{"joints": [0, 1]}]
    times = made.times(np.arange(FRAMES) / FPS)
    made.animate(0, "translation", times, travel())
    made.animate(1, "rotation", times, turns())
    return made
