"""Clips to glTF files: an animated skeleton with a mesh to see it by."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.bvh.reader import STILL
from deepphase.formats.gltf.buffers import BinaryWriter, document_bytes, write_glb
from deepphase.formats.gltf.joints import END_SITE_KEY, EXTRAS_KEY
from deepphase.formats.gltf.mesh import joint_mesh
from deepphase.formats.reading import check_writable_body, unique_names
from deepphase.motion.clip import Clip
from deepphase.motion.quaternions import sign_continuous
from deepphase.motion.skeleton import Skeleton

_SUFFIXES = (".glb", ".gltf")
_COLOUR = (0.45, 0.62, 0.78, 1.0)
_ROUGHNESS = 0.7
_MAX_BYTE_JOINTS, _MAX_JOINTS = 1 << 8, 1 << 16
# All of a vertex's weight on its one joint.
_WHOLE_WEIGHT = 255


def save_gltf(clips: Clip | Sequence[Clip], path: str | Path) -> None:
    """Write clips of one skeleton as the animations of a .glb, or a .gltf that holds all it needs.

    Joints are nodes and a skin, at rest in the pose that the offsets say; end sites are nodes
    below them. The mesh that the skin moves is made here: octahedra from joint to joint. Metres,
    Y up. The same clips give the same bytes; the file appears whole or not at all.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise FormatError(
            f"a suffix {path.suffix!r} for glTF is not possible",
            hint="name it .glb or .gltf",
            path=path,
        )
    clips = [clips] if isinstance(clips, Clip) else list(clips)
    if not clips:
        raise ParameterError("there are no clips to write", hint="give at least one")
    for clip in clips:
        check_writable_body(clip, path)
    document, chunks = _document(clips, path)
    with atomic_write(path) as file:
        if path.suffix.lower() == ".glb":
            write_glb(file, document, chunks)
        else:
            content = base64.b64encode(b"".join(chunks)).decode()
            document["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{content}"
            file.write(document_bytes(document))


def _document(clips: list[Clip], path: Path) -> tuple[dict[str, Any], list[bytes]]:
    skeleton = clips[0].skeleton
    if len(skeleton) > _MAX_JOINTS:
        raise ParameterError(f"there are {len(skeleton):,} joints; glTF numbers {_MAX_JOINTS:,}")
    clips = [clip.in_order_of(skeleton) for clip in clips]
    rest = skeleton.rest_positions
    binary = BinaryWriter()
    nodes = _nodes(skeleton, path)
    mesh = _mesh(binary, skeleton, rest, clips)
    bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    # Column by column: the last row of the array is the translation.
    bind[:, 3, :3] = -rest
    binary.open_view()
    bind_matrices = binary.add(bind, "MAT4")
    names, _ = unique_names([clip.name or "clip" for clip in clips])
    body = len(nodes)
    nodes.append({"name": "mesh", "mesh": 0, "skin": 0})
    animations = [
        _animation(binary, clip, _text(name, path), skeleton)
        for clip, name in zip(clips, names, strict=True)
    ]
    document = {
        "asset": {"version": "2.0", "generator": "deepphase"},
        "scene": 0,
        "scenes": [{"nodes": [0, body]}],
        "nodes": nodes,
        "meshes": [mesh],
        "materials": [
            {
                "name": "joints",
                "doubleSided": True,
                "pbrMetallicRoughness": {
                    "baseColorFactor": list(_COLOUR),
                    "metallicFactor": 0.0,
                    "roughnessFactor": _ROUGHNESS,
                },
            }
        ],
        "skins": [
            {
                "name": "skeleton",
                "inverseBindMatrices": bind_matrices,
                "skeleton": 0,
                "joints": list(range(len(skeleton))),
            }
        ],
        "animations": animations,
        "accessors": binary.accessors,
        "bufferViews": binary.views,
        "buffers": [{"byteLength": binary.size}],
    }
    return document, binary.chunks


def _text(name: str, path: Path) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise FormatError(f"a name that is not text: {name!r}", path=path) from None
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


def _mesh(
    binary: BinaryWriter, skeleton: Skeleton, rest: Array, clips: list[Clip]
) -> dict[str, Any]:
    moving = np.any([_moved_offsets(clip, skeleton) for clip in clips], axis=0)
    for clip in clips:
        moving[clip.translated_joints[1:]] = True
    mesh = joint_mesh(skeleton, rest, moving)
    joints = np.zeros(
        (len(mesh.joints), 4), np.uint8 if len(skeleton) <= _MAX_BYTE_JOINTS else np.uint16
    )
    joints[:, 0] = mesh.joints
    weights = np.zeros((len(mesh.joints), 4), np.uint8)
    weights[:, 0] = _WHOLE_WEIGHT
    attributes = (
        ("POSITION", mesh.positions, "VEC3"),
        ("NORMAL", mesh.normals, "VEC3"),
        ("JOINTS_0", joints, "VEC4"),
        ("WEIGHTS_0", weights, "VEC4"),
    )
    return binary.mesh("joints", attributes, mesh.triangles, 0)


def _moved_offsets(clip: Clip, skeleton: Skeleton) -> Array:
    """(joints,) bool: joints but the root that stand elsewhere in this clip than in the file."""
    size = max(float(np.abs(skeleton.offsets[1:]).max(initial=0.0)), 1e-9)
    moved = np.abs(clip.skeleton.offsets - skeleton.offsets).max(axis=1) > STILL * size
    moved[0] = False
    moved[clip.translated_joints] = False
    return moved


def _animation(binary: BinaryWriter, clip: Clip, name: str, skeleton: Skeleton) -> dict[str, Any]:
    times = (np.arange(len(clip)) / clip.fps).astype(np.float32)
    if (np.diff(times) <= 0).any():
        raise ParameterError(
            f"{clip.name}: frames that float32 seconds cannot tell apart",
            hint="write the clip in pieces",
        )
    binary.open_view()
    # Key times by their number: a joint that stands still has one key.
    inputs: dict[int, int] = {}
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
    return {
        "name": name,
        "samplers": samplers,
        "channels": channels,
        "extras": {EXTRAS_KEY: extras},
    }
