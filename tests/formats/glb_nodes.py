"""What glb files hold beside a skeleton, read without our reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
_TYPES = {5121: np.uint8, 5125: np.uint32, 5126: np.float32}


def glb_document(path: Path) -> tuple[dict[str, Any], bytes]:
    """The JSON of a file, and its binary part."""
    content = path.read_bytes()
    stop = 20 + int.from_bytes(content[12:16], "little")
    return json.loads(content[20:stop]), content[stop + 8 :]


def glb_array(document: dict[str, Any], binary: bytes, accessor: int) -> np.ndarray:
    """The values of an accessor, (count, width)."""
    item = document["accessors"][accessor]
    view = document["bufferViews"][item["bufferView"]]
    start = view.get("byteOffset", 0) + item.get("byteOffset", 0)
    kind, width = _TYPES[item["componentType"]], _WIDTHS[item["type"]]
    return np.frombuffer(binary, kind, item["count"] * width, start).reshape(-1, width)


def node_of(document: dict[str, Any], name: str) -> int:
    return next(at for at, node in enumerate(document["nodes"]) if node.get("name") == name)


def node_mesh(path: Path, name: str) -> dict[str, np.ndarray]:
    """Attribute (and "indices") -> values of the mesh of a node."""
    document, binary = glb_document(path)
    mesh = document["meshes"][document["nodes"][node_of(document, name)]["mesh"]]
    (primitive,) = mesh["primitives"]
    accessors = primitive["attributes"] | {"indices": primitive["indices"]}
    return {key: glb_array(document, binary, each) for key, each in accessors.items()}
