"""Clips to glTF files: an animated skeleton with a mesh to see it by."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import atomic_write
from deepphase.formats.bvh.hierarchy import STILL
from deepphase.formats.gltf.document import (
    BINARY_CHUNK,
    CHUNK_HEAD_BYTES,
    COMPONENTS,
    DTYPES,
    GLB_MAGIC,
    GLB_VERSION,
    HEADER_BYTES,
    JSON_CHUNK,
)
from deepphase.formats.gltf.nodes import END_SITE_KEY, EXTRAS_KEY
from deepphase.formats.reading import check_writable_body, unique_names
from deepphase.motion.clip import Clip
from deepphase.motion.quaternions import sign_continuous
from deepphase.motion.skeleton import Skeleton

_MAX_BYTE_JOINTS, _MAX_JOINTS = 1 << 8, 1 << 16
# All of a vertex's weight on its one joint.
_WHOLE_WEIGHT = 255
# Targets of views: vertices, and the triangles between them.
_VERTICES, _TRIANGLES = 34962, 34963
_COMPONENT_TYPES = {dtype: number for number, dtype in DTYPES.items()}
_ALIGNMENT = 4
_MATERIAL = {
    "name": "joints",
    "doubleSided": True,
    "pbrMetallicRoughness": {
        "baseColorFactor": [0.45, 0.62, 0.78, 1.0],
        "metallicFactor": 0.0,
        "roughnessFactor": 0.7,
    },
}

# An octahedron is widest at this share of its length, and so wide.
_RING_SHARE, _WIDTH_SHARE = 0.15, 0.09
# Bounds of widths, as shares of the whole body's extent.
_THINNEST, _THICKEST, _BALL_RADIUS = 0.004, 0.03, 0.012
# Triangles of head (0), tip (1) and a ring of four (2 to 5), counter-clockwise from outside.
_FACES = np.array(
    [[0, 2 + (i + 1) % 4, 2 + i] for i in range(4)]
    + [[1, 2 + i, 2 + (i + 1) % 4] for i in range(4)]
)


def save_gltf(clips: Clip | Sequence[Clip], path: str | Path) -> None:
    """Write clips of one skeleton as the animations of a .glb, or a .gltf that holds all it needs.

    Joints are nodes and a skin with a mesh of octahedra; end sites are nodes. Metres, Y up.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".glb", ".gltf"):
        fact = f"a suffix {path.suffix!r} for glTF is not possible"
        raise FormatError(fact, hint="name it .glb or .gltf", path=path)
    clips = [clips] if isinstance(clips, Clip) else list(clips)
    if not clips:
        raise ParameterError("there are no clips to write", hint="give at least one")
    for clip in clips:
        check_writable_body(clip, path)
    document, content = _document(clips, path)
    with atomic_write(path) as file:
        if suffix == ".gltf":
            uri = f"data:application/octet-stream;base64,{base64.b64encode(content).decode()}"
            document["buffers"][0]["uri"] = uri
            file.write(_json(document))
            return
        text = _json(document)
        text += b" " * (-len(text) % _ALIGNMENT)
        total = HEADER_BYTES + 2 * CHUNK_HEAD_BYTES + len(text) + len(content)
        if total >= 1 << 32:
            raise ParameterError("a .glb holds at most 4 GiB", hint="write fewer clips to a file")
        file.write(GLB_MAGIC + GLB_VERSION.to_bytes(4, "little") + total.to_bytes(4, "little"))
        file.write(len(text).to_bytes(4, "little") + JSON_CHUNK + text)
        file.write(len(content).to_bytes(4, "little") + BINARY_CHUNK)
        file.write(content)


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


class _Binary:
    """The binary part of a file; `accessors` and `views` are what the document says of it."""

    def __init__(self) -> None:
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.content = bytearray()

    def open_view(self, target: int | None = None) -> None:
        """Begin a view, which the arrays that follow share: one array, if vertices are in it."""
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.content), "byteLength": 0}
        self.views.append(view if target is None else {**view, "target": target})

    def add(self, array: Array, kind: str, *, bounds: bool = False, **more: Any) -> int:
        """Number of the accessor of an array (elements, components) in the open view."""
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(np.float32)
        array = np.ascontiguousarray(array).reshape(-1, COMPONENTS[kind])
        if not np.isfinite(array).all():
            raise ParameterError("a length is too large for float32", hint="are these metres?")
        stored = array.dtype.newbyteorder("<")
        view = self.views[-1]
        accessor: dict[str, Any] = {
            "bufferView": len(self.views) - 1,
            "byteOffset": view["byteLength"],
            "componentType": _COMPONENT_TYPES[stored.str],
            "count": len(array),
            "type": kind,
            **more,
        }
        if bounds:
            accessor["min"] = array.min(axis=0).tolist()
            accessor["max"] = array.max(axis=0).tolist()
        self.content += array.astype(stored, copy=False).tobytes()
        self.content += bytes(-len(self.content) % _ALIGNMENT)
        view["byteLength"] = len(self.content) - view["byteOffset"]
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def _document(clips: list[Clip], path: Path) -> tuple[dict[str, Any], bytearray]:
    skeleton = clips[0].skeleton
    if len(skeleton) > _MAX_JOINTS:
        raise ParameterError(f"there are {len(skeleton):,} joints; glTF numbers {_MAX_JOINTS:,}")
    clips = [clip.in_order_of(skeleton) for clip in clips]
    rest = skeleton.rest_positions
    binary = _Binary()
    nodes = _nodes(skeleton, path)
    moving = np.any([_moved_offsets(clip, skeleton) for clip in clips], axis=0)
    for clip in clips:
        moving[clip.translated_joints[1:]] = True
    mesh = _mesh(binary, skeleton, rest, moving)
    bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    # Column by column: the last row of the array is the translation.
    bind[:, 3, :3] = -rest
    binary.open_view()
    skin = {
        "name": "skeleton",
        "inverseBindMatrices": binary.add(bind, "MAT4"),
        "skeleton": 0,
        "joints": list(range(len(skeleton))),
    }
    names, _ = unique_names([clip.name or "clip" for clip in clips])
    scene = {"nodes": [0, len(nodes)]}
    nodes.append({"name": "mesh", "mesh": 0, "skin": 0})
    named = zip(clips, names, strict=True)
    animations = [_animation(binary, clip, _text(name, path), skeleton) for clip, name in named]
    document = {
        "asset": {"version": "2.0", "generator": "deepphase"},
        "scene": 0,
        "scenes": [scene],
        "nodes": nodes,
        "meshes": [mesh],
        "materials": [_MATERIAL],
        "skins": [skin],
        "animations": animations,
        "accessors": binary.accessors,
        "bufferViews": binary.views,
        "buffers": [{"byteLength": len(binary.content)}],
    }
    return document, binary.content


def _text(name: str, path: Path) -> str:
    if name != name.encode(errors="ignore").decode():
        raise FormatError(f"a name that is not text: {name!r}", path=path)
    return name


def _nodes(skeleton: Skeleton, path: Path) -> list[dict[str, Any]]:
    ends = [f"{skeleton.names[parent]}_end" for parent in skeleton.end_parents]
    names, _ = unique_names([*skeleton.names, *ends])
    parents = [*skeleton.parents.tolist(), *skeleton.end_parents.tolist()]
    places = [*skeleton.offsets.tolist(), *skeleton.end_offsets.tolist()]
    nodes: list[dict[str, Any]] = [
        {"name": _text(name, path), "translation": place}
        for name, place in zip(names, places, strict=True)
    ]
    for node, parent in enumerate(parents):
        if parent >= 0:
            nodes[parent].setdefault("children", []).append(node)
        if node >= len(skeleton):
            nodes[node]["extras"] = {EXTRAS_KEY: {END_SITE_KEY: True}}
    return nodes


def _mesh(binary: _Binary, skeleton: Skeleton, rest: Array, moving: Array) -> dict[str, Any]:
    """Octahedra along rigid parts, small ones at joints that are `moving`; each follows a joint."""
    bones = np.flatnonzero(~moving[1:]) + 1
    heads = np.concatenate([skeleton.parents[bones], skeleton.end_parents]).astype(np.int64)
    tips = rest[skeleton.end_parents] + skeleton.end_offsets
    # A single joint has no extent, and is still to be seen.
    extent = float(np.ptp(np.concatenate([rest, tips]), axis=0).max()) or 1.0
    tips = np.concatenate([rest[bones], tips])
    lengths = np.linalg.norm(tips - rest[heads], axis=1)
    is_long = lengths > _THINNEST * extent
    heads, tips, lengths = heads[is_long], tips[is_long], lengths[is_long]
    widths = np.clip(_WIDTH_SHARE * lengths, _THINNEST * extent, _THICKEST * extent)
    bare = np.setdiff1d(np.arange(len(skeleton)), heads)
    radius = np.array([0.0, _BALL_RADIUS * extent, 0.0])
    positions, normals = _octahedra(
        np.concatenate([rest[heads], rest[bare] - radius]),
        np.concatenate([tips, rest[bare] + radius]),
        np.repeat([_RING_SHARE, 0.5], [len(heads), len(bare)]),
        np.append(widths, np.full(len(bare), radius[1])),
    )
    kind = np.uint8 if len(skeleton) <= _MAX_BYTE_JOINTS else np.uint16
    joints, weights = np.zeros((len(positions), 4), kind), np.zeros((len(positions), 4), np.uint8)
    joints[:, 0] = np.repeat(np.append(heads, bare), _FACES.size)
    weights[:, 0] = _WHOLE_WEIGHT
    attributes = {}
    for name, values, vector, more in (
        ("POSITION", positions, "VEC3", {"bounds": True}),
        ("NORMAL", normals, "VEC3", {}),
        ("JOINTS_0", joints, "VEC4", {}),
        ("WEIGHTS_0", weights, "VEC4", {"normalized": True}),
    ):
        binary.open_view(_VERTICES)
        attributes[name] = binary.add(values, vector, **more)
    binary.open_view(_TRIANGLES)
    indices = binary.add(np.arange(len(positions), dtype=np.uint32), "SCALAR")
    primitive = {"attributes": attributes, "indices": indices, "material": 0}
    return {"name": "joints", "primitives": [primitive]}


def _octahedra(heads: Array, tips: Array, shares: Array, widths: Array) -> tuple[Array, Array]:
    """(vertices, 3) positions and normals of flat faces, widest at shares of the way to the tip."""
    along = tips - heads
    # Any direction across will do; the axis that it has least of is far enough from it.
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    other = np.cross(along, across) / np.linalg.norm(along, axis=1, keepdims=True)
    ring = np.stack([across, other, -across, -other], axis=1) * widths[:, None, None]
    ring += (heads + shares[:, None] * along)[:, None]
    corners = np.concatenate([heads[:, None], tips[:, None], ring], axis=1)[:, _FACES]
    sides = corners[:, :, 1:] - corners[:, :, :1]
    normals = np.cross(sides[:, :, 0], sides[:, :, 1])
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return corners.reshape(-1, 3), np.repeat(normals.reshape(-1, 3), 3, axis=0)


def _moved_offsets(clip: Clip, skeleton: Skeleton) -> Array:
    """(joints,) bool: joints but the root that stand elsewhere in this clip than in the file."""
    size = max(float(np.abs(skeleton.offsets[1:]).max(initial=0.0)), 1e-9)
    moved = np.abs(clip.skeleton.offsets - skeleton.offsets).max(axis=1) > STILL * size
    moved[0] = False
    moved[clip.translated_joints] = False
    return moved


def _animation(binary: _Binary, clip: Clip, name: str, skeleton: Skeleton) -> dict[str, Any]:
    times = (np.arange(len(clip)) / clip.fps).astype(np.float32)
    if (np.diff(times) <= 0).any():
        fact = f"{clip.name}: frames that float32 seconds cannot tell apart"
        raise ParameterError(fact, hint="write the clip in pieces")
    binary.open_view()
    inputs: dict[int, int] = {}  # Key times by their number: a joint that stands still has one key.
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []

    def add(node: int, path: str, values: Array, kind: str) -> None:
        # The root's travel has all keys: it states the length of the clip.
        if (values == values[:1]).all() and not (node == 0 and path == "translation"):
            values = values[:1]
        if len(values) not in inputs:
            inputs[len(values)] = binary.add(times[: len(values)], "SCALAR", bounds=True)
        output = binary.add(values, kind)
        samplers.append({"input": inputs[len(values)], "interpolation": "LINEAR", "output": output})
        target = {"node": node, "path": path}
        channels.append({"sampler": len(samplers) - 1, "target": target})

    for slot, joint in enumerate(clip.translated_joints.tolist()):
        add(joint, "translation", clip.translations[:, slot], "VEC3")
    for joint in np.flatnonzero(_moved_offsets(clip, skeleton)).tolist():
        add(joint, "translation", clip.skeleton.offsets[joint][None], "VEC3")
    rotations = sign_continuous(clip.rotations)
    for joint in range(len(skeleton)):
        add(joint, "rotation", rotations[:, joint], "VEC4")
    extras: dict[str, Any] = {"fps": float(clip.fps)}
    if clip.labels:
        extras["labels"] = {str(key): str(value) for key, value in clip.labels.items()}
    animation = {"name": name, "samplers": samplers, "channels": channels}
    return {**animation, "extras": {EXTRAS_KEY: extras}}
