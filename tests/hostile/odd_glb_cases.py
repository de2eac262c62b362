"""Odd files of glTF that must be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from deepphase.motion.clip import Clip
from tests.formats.gltf_files import FRAMES, Made, chunk, travel, turns, two_joints
from tests.hostile.case import Odd, names

_HALF_METRE = [0.0, 0.5, 0.0]
_LARGEST_INT16 = 32767


def with_change(change: Callable[[Made], Any]) -> bytes:
    """Our file after a change of its document or its data."""
    made = two_joints()
    change(made)
    return made.glb()


def put(*steps: tuple[Any, ...]) -> bytes:
    """Our file with values put in: ("accessors", 0, "count", 9) sets the last into the place.

    Where the last is `...`, what is in the place is left out.
    """

    def change(made: Made) -> None:
        for *keys, last, value in steps:
            place = made.document
            for key in keys:
                place = place[key]
            if value is ...:
                del place[last]
            else:
                place[last] = value

    return with_change(change)


def output(values: Any, sampler: int = 0, **accessor: Any) -> bytes:
    """Our file with other values of a sampler."""

    def change(made: Made) -> None:
        index = made.accessor(values, **accessor)
        made.document["animations"][0]["samplers"][sampler]["output"] = index

    return with_change(change)


def _splines() -> np.ndarray:
    """The turns of our file as cubic splines that stand still at every key."""
    values = np.zeros((FRAMES, 3, 4), np.float32)
    values[:, 1] = turns()
    return values.reshape(-1, 4)


def _cubic(made: Made) -> None:
    sampler = made.document["animations"][0]["samplers"][1]
    sampler |= {"interpolation": "CUBICSPLINE", "output": made.accessor(_splines())}


def _interleaved(made: Made) -> None:
    rows = np.hstack([travel(), turns()]).astype(np.float32)
    view = made.view(rows.tobytes(), byteStride=28)
    made.document["accessors"][1] |= {"bufferView": view}
    made.document["accessors"][2] |= {"bufferView": view, "byteOffset": 12}


def _sparse(made: Made) -> None:
    values = travel()
    made.document["accessors"][1]["sparse"] = {
        "count": 2,
        "indices": {"bufferView": made.view(b"\1\3"), "componentType": 5121},
        "values": {"bufferView": made.view(values[[1, 3]].tobytes())},
    }


def _between(made: Made) -> None:
    made.document["nodes"][0]["children"] = [2]
    made.document["nodes"].append({"translation": [0, 0.5, 0], "children": [1]})
    made.document["nodes"][1]["translation"] = [0, 0, 0]


def _second_animation(made: Made) -> None:
    made.animate(0, "translation", 0, travel(), name="wave")


def _weights(made: Made) -> None:
    target = {"node": 0, "path": "weights"}
    made.document["animations"][0]["channels"].append({"sampler": 0, "target": target})


def _as_made(clip: Clip) -> bool:
    turned = np.abs(np.einsum("fc,fc->f", clip.rotations[:, 1], turns()))
    return (
        clip.skeleton.names == ("Hips", "Chest")
        and clip.fps == 30.0
        and len(clip) == FRAMES
        and bool(np.allclose(clip.translations[:, 0], travel(), atol=1e-5))
        and bool(np.allclose(clip.skeleton.offsets[1], _HALF_METRE, atol=1e-6))
        and bool(np.allclose(turned, 1.0, atol=1e-4))
    )


_GLB, _TEXT = two_joints().glb(), two_joints().gltf()


def _mixed(made: Made) -> None:
    """Nodes, values and animations of many kinds in one file."""
    _between(made)
    _interleaved(made)
    _sparse(made)
    _second_animation(made)
    made.document["nodes"].append({"name": "Armature", "scale": [0.01] * 3, "children": [0]})
    made.document["nodes"][1] = {"name": "Chest", "matrix": _MATRIX}
    made.document["animations"][0]["extras"] = {"deepphase": {"fps": 30.0, "labels": {"a": "b"}}}


def _curved(made: Made) -> None:
    """Splines, steps and whole numbers, without a skin."""
    _cubic(made)
    _weights(made)
    _second_animation(made)
    del made.document["skins"]
    turned = np.rint(turns() * _LARGEST_INT16).astype(np.int16)
    wave = made.animate(1, "rotation", 0, made.accessor(turned, normalized=True), name="wave")
    wave["samplers"][0]["interpolation"] = "STEP"


_MATRIX = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0.5, 0, 1]
# Good files with much in them, to be changed by the fuzzer.
MIXED = with_change(_mixed)
_made = two_joints()
_curved(_made)
CURVED = _made.gltf()
_OTHER_CHUNK = chunk(b"XTRA", b"1234")
ODD: dict[str, Odd] = {
    "plain": Odd(_GLB, _as_made),
    "as text": Odd(_TEXT, _as_made),
    "as text with a byte order mark": Odd(b"\xef\xbb\xbf" + _TEXT, _as_made),
    "as text behind blank lines": Odd(b"\n \t\n" + _TEXT, _as_made),
    "as indented text": Odd(json.dumps(json.loads(_TEXT), indent=4).encode(), _as_made),
    "as text with escapes": Odd(_TEXT.replace(b"Chest", b"\\u0043hest"), _as_made),
    "a chunk of another kind": Odd(
        _GLB[:8] + (len(_GLB) + len(_OTHER_CHUNK)).to_bytes(4, "little") + _GLB[12:] + _OTHER_CHUNK,
        _as_made,
    ),
    "a newer minor version": Odd(put(("asset", "version", "2.9")), _as_made),
    "asset with what nobody knows": Odd(put(("asset", "tool", [None])), _as_made),
    "extensions that change nothing here": Odd(
        put(("extensionsUsed", ["KHR_materials_unlit", "VENDOR_x"])), _as_made
    ),
    "extras of another program": Odd(put(("animations", 0, "extras", [1, "x"])), _as_made),
    "our extras, damaged": Odd(
        put(("animations", 0, "extras", {"deepphase": {"fps": "many", "labels": 3}})), _as_made
    ),
    "a broken mesh": Odd(put(("meshes", [{"primitives": 7}])), _as_made),
    "a broken material": Odd(put(("materials", "red")), _as_made),
    "an accessor that nothing uses, broken": Odd(
        with_change(lambda made: made.document["accessors"].append({"count": -1})), _as_made
    ),
    "joints in another order": Odd(put(("skins", 0, "joints", [1, 0])), _as_made),
    "nodes without names": Odd(
        put(("nodes", 0, "name", ""), ("nodes", 1, "name", "  ")), names("node_0", "node_1")
    ),
    "nodes of one name": Odd(
        put(("nodes", 1, "name", "Hips")), names("Hips", "Hips#2"), "share a name"
    ),
    "names in Japanese": Odd(
        put(("nodes", 1, "name", "\u4e0a\u534a\u8eab")), names("Hips", "\u4e0a\u534a\u8eab")
    ),
    "half a surrogate in a name": Odd(
        put(("nodes", 1, "name", "Chest\ud800")), lambda clip: clip.skeleton.names[0] == "Hips"
    ),
    "a rotation of another length": Odd(put(("nodes", 1, "rotation", [0, 0, 0, 2])), _as_made),
    "a chain of four thousand joints": Odd(
        put(
            (
                "nodes",
                [{"name": f"n{i}", "children": [i + 1]} for i in range(3999)] + [{"name": "n3999"}],
            ),
            ("skins", 0, "joints", list(range(4000))),
        ),
        lambda clip: len(clip.skeleton) == 4000,
    ),
    "turns of other lengths": Odd(output(3 * turns(), 1), _as_made),
    "turns that change sign": Odd(
        output(turns() * np.array([1, -1, 1, -1, 1], np.float32)[:, None], 1), _as_made
    ),
    "interleaved values": Odd(with_change(_interleaved), _as_made),
    "a channel that moves nothing": Odd(
        with_change(
            lambda made: made.document["animations"][0]["channels"].append(
                {"sampler": 0, "target": {"path": "translation"}}
            )
        ),
        _as_made,
    ),
}
