"""Files of glTF, binary and text: two joints, five frames, and what goes wrong or differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.formats.gltf_files import Made, chunk, travel, two_joints
from tests.hostile.case import Bad, Odd
from tests.hostile.odd_glb_cases import ODD, output, put, with_change


def floats(values: Any, sampler: int = 0) -> bytes:
    return output(np.asarray(values, np.float32), sampler)


def keys(times: Sequence[float]) -> bytes:
    return with_change(
        lambda made: made.document["animations"][0]["samplers"][0].update(input=made.times(times))
    )


def sparse(
    count: int = 1, rows: bytes = b"\1", component: int = 5121, values: int = 12, **more: Any
) -> bytes:
    def change(made: Made) -> None:
        made.document["accessors"][1]["sparse"] = {
            "count": count,
            "indices": {"bufferView": made.view(rows), "componentType": component},
            "values": {"bufferView": made.view(bytes(values))},
        } | more

    return with_change(change)


def uri(text: Any) -> bytes:
    return two_joints().gltf(text)


def spliced(start: int, content: bytes) -> bytes:
    return WHOLE[:start] + content + WHOLE[start + len(content) :]


def glb(text: bytes, *more: bytes) -> bytes:
    body = chunk(b"JSON", text) + b"".join(more)
    return b"glTF\2\0\0\0" + (12 + len(body)).to_bytes(4, "little") + body


def chain(count: int, joints: Sequence[int] | None = None) -> bytes:
    """Nodes in a row, of which some are a skin's joints."""
    nodes: list[dict[str, Any]] = [
        {"name": f"n{node}", "children": [node + 1]} for node in range(count)
    ]
    del nodes[-1]["children"]
    return put(("nodes", nodes), ("skins", 0, "joints", joints or list(range(count))))


WHOLE = two_joints().glb()
NAN, INF = float("nan"), float("inf")
SAMPLERS = ("animations", 0, "samplers")
CHANNELS = ("animations", 0, "channels")
# name: (the file, a part of the error's fact)
_BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty file"),
    "other file": (b"HIERARCHY\nROOT Hips", "not a glTF file"),
    "wrong magic": (spliced(0, b"glTX"), "not a glTF file"),
    "magic only": (b"glTF", "this file is cut short: it has 4 bytes"),
    "version 1": (spliced(4, b"\1"), "version 1"),
    "version huge": (spliced(4, b"\xff\xff\xff\xff"), "version 4294967295"),
    "length short": (spliced(8, b"\x10\0\0\0"), "longer than it says"),
    "length long": (spliced(8, b"\xff\xff\xff\x7f"), "cut short"),
    "truncated": (WHOLE[:-7], "cut short"),
    "tail": (WHOLE + b"more", "longer than it says"),
    "chunk length": (spliced(12, b"\xff\xff\xff\xff"), "behind the file's end"),
    "first chunk binary": (spliced(16, b"BIN\0"), "first chunk is not JSON"),
    "chunk head cut": (glb(b"{} ", b"\0"), "behind the file's end"),
    "json broken": (b'{"asset": {"version": "2.0"', "broken JSON"),
    "json list": (glb(b"[1]"), "not a glTF document"),
    "json not utf-8": (b'{"asset": "\xff\xfe"}', "not UTF-8"),
    "json nan": (put(("nodes", 0, "translation", [NAN, 0, 0])), "NaN"),
    "json infinity": (put(("nodes", 0, "translation", [INF, 0, 0])), "Infinity"),
    "json deep": (b'{"a":' + b"[" * 9000, "nested too deeply"),
    "json dense": (b'{"nodes":[' + b"{}," * 400_000 + b"{}]}", "objects in"),
    "json long integer": (b'{"nodes":' + b"9" * 9000 + b"}", "broken JSON"),
    "no asset": (put(("asset", ...)), "asset is missing"),
    "asset 1.0": (put(("asset", "version", "1.0")), "asset: glTF version '1.0'"),
    "asset number": (put(("asset", "version", 2)), "asset: version is not text"),
    "asset newer": (put(("asset", "minVersion", "2.1")), "asset: glTF version '2.1'"),
    "no nodes": (put(("nodes", [])), "target: node is 0, expected nothing"),
    "nodes object": (put(("nodes", {})), "nodes is not a list"),
    "node number": (put(("nodes", 1, 7)), "nodes[1] is not an object"),
    "child missing": (put(("nodes", 0, "children", [9])), "nodes[0]: a child 9"),
    "child negative": (put(("nodes", 0, "children", [-1])), "nodes[0]: a child -1"),
    "child text": (put(("nodes", 0, "children", ["1"])), "nodes[0]: a child 1"),
    "child true": (put(("nodes", 0, "children", [True])), "nodes[0]: a child True"),
    "child twice": (put(("nodes", 0, "children", [1, 1])), "hangs from node 0 already"),
    "own child": (put(("nodes", 1, "children", [1])), "hangs from node 0 already"),
    "cycle": (put(("nodes", 1, "children", [0])), "nodes[0]: hangs from itself"),
    "translation of two": (put(("nodes", 0, "translation", [1, 2])), "list of 3 numbers"),
    "translation of texts": (put(("nodes", 0, "translation", ["1", "2", "3"])), "not a number"),
    "translation absurd": (put(("nodes", 0, "translation", [1e300, 0, 0])), "absurd"),
    "translation integer": (put(("nodes", 0, "translation", [10**400, 0, 0])), "absurd"),
    "rotation of zero": (put(("nodes", 0, "rotation", [0, 0, 0, 0])), "without direction"),
    "matrix of zero": (put(("nodes", 0, "matrix", [0] * 15 + [1])), "flat"),
    "matrix sheared": (
        put(("nodes", 0, "matrix", [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])),
        "sheared",
    ),
    "matrix projective": (
        put(("nodes", 0, "matrix", [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])),
        "last row",
    ),
    "matrix mirrored": (
        put(("nodes", 0, "matrix", [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])),
        "has a scale of",
    ),
    "skin without joints": (put(("skins", 0, {})), "skins[0]: a skin without joints"),
    "skin joint missing": (put(("skins", 0, "joints", [0, 5])), "joints[1] is 5"),
    "skin joint text": (put(("skins", 0, "joints", ["Hips"])), "joints[0] is Hips"),
    "skin joint twice": (put(("skins", 0, "joints", [0, 0])), "named twice"),
    "no animations": (put(("animations", [])), "only a rest pose"),
    "no channels": (put((*CHANNELS, []), (*SAMPLERS, [])), "only a rest pose"),
    "no target": (put((*CHANNELS, 0, "target", ...)), "channels[0].target is missing"),
    "target missing": (put((*CHANNELS, 1, "target", "node", 2)), "channels[1].target: node"),
    "sampler missing": (put((*CHANNELS, 0, "sampler", 4)), "channels[0]: sampler is 4"),
    "target twice": (
        put((*CHANNELS, 1, {"sampler": 0, "target": {"node": 0, "path": "translation"}})),
        "a second channel",
    ),
    "interpolation": (put((*SAMPLERS, 0, "interpolation", "MAGIC")), "interpolation 'MAGIC'"),
    "input missing": (put((*SAMPLERS, 0, "input", ...)), "samplers[0]: input is missing"),
    "input beyond": (put((*SAMPLERS, 0, "input", 99)), "input is 99"),
    "output beyond": (put((*SAMPLERS, 0, "output", -1)), "output is -1"),
    "input of vectors": (put((*SAMPLERS, 0, "input", 1)), "expected SCALAR"),
    "output of another kind": (put((*SAMPLERS, 0, "output", 2)), "expected VEC3"),
    "output too short": (floats(travel(3)), "3 values for 5 keys"),
    "spline of too few": (
        put((*SAMPLERS, 0, "interpolation", "CUBICSPLINE")),
        "5 values for 5 keys, expected 15",
    ),
    "times fall": (keys([0, 1, 3, 2, 4]), "accessors[3]: key times that do not rise"),
    "times stand": (keys([0, 1, 1, 2, 4]), "do not rise at element 2"),
    "times nan": (keys([0, NAN, 1, 2, 3]), "accessors[3]: element 1 holds [nan]"),
    "times far": (keys([0, 1, 2, 3, 1e9]), "60,000,000,001 frames"),
    "values nan": (floats([[0, 0, 0]] * 4 + [[0, NAN, 0]]), "accessors[3]: element 4"),
    "values infinite": (floats([[INF, 0, 0]] * 5), "accessors[3]: element 0"),
    "rotation zero": (floats([[0, 0, 0, 1]] * 4 + [[0] * 4], 1), "element 4: a rotation without"),
    "times of integers": (put(("accessors", 0, "componentType", 5125)), "not allowed here"),
    "rotations of uint32": (put(("accessors", 2, "componentType", 5125)), "not allowed here"),
    "component type": (put(("accessors", 1, "componentType", 1)), "componentType of 1"),
    "component type list": (put(("accessors", 1, "componentType", [])), "componentType is"),
    "kind": (put(("accessors", 1, "type", "VEC9")), "'VEC9', expected VEC3"),
    "count none": (put(("accessors", 1, "count", 0)), "count is 0"),
    "count negative": (put(("accessors", 1, "count", -5)), "count is -5"),
    "count fraction": (put(("accessors", 1, "count", 2.5)), "count is 2.5"),
    "count huge": (put(("accessors", 1, "count", 10**15)), "elements reach to byte"),
    "count endless": (put(("accessors", 1, "count", 10**300)), "count is beyond all counts"),
    "count one more": (put(("accessors", 1, "count", 6)), "reach to byte 72 of bufferViews"),
    "no view, huge": (
        put(("accessors", 1, "count", 10**12), ("accessors", 1, "bufferView", ...)),
        "without a bufferView",
    ),
    "offset": (put(("accessors", 1, "byteOffset", 4)), "reach to byte 64"),
    "offset negative": (put(("accessors", 1, "byteOffset", -4)), "byteOffset is -4"),
    "view missing": (put(("accessors", 1, "bufferView", 77)), "bufferView is 77"),
    "view beyond": (put(("bufferViews", 1, "byteLength", 10**9)), "bufferViews[1]: bytes"),
    "view offset": (put(("bufferViews", 1, "byteOffset", 10**9)), "bufferViews[1]: bytes"),
    "view buffer": (put(("bufferViews", 1, "buffer", 1)), "buffer is 1"),
    "stride small": (put(("bufferViews", 1, "byteStride", 4)), "byteStride is 4"),
    "stride large": (put(("bufferViews", 1, "byteStride", 252)), "reach to byte"),
    "compressed": (
        put(("bufferViews", 1, "extensions", {"EXT_meshopt_compression": {}})),
        "bufferViews[1]: compressed",
    ),
    "sparse none": (sparse(count=0), "accessors[1].sparse: count is 0"),
    "sparse many": (sparse(count=99), "sparse: count is 99"),
    "sparse beyond": (sparse(rows=b"\7"), "sparse.indices: indices that do not rise"),
    "sparse falling": (sparse(2, b"\2\1", values=24), "indices that do not rise"),
    "sparse signed": (sparse(component=5120), "componentType of 5120"),
    "sparse cut": (sparse(2, b"\1\2", values=12), "sparse.values: 2 elements reach"),
    "sparse without values": (sparse(values=12, indices={}), "indices: componentType is missing"),
    "sparse text": (put(("accessors", 1, "sparse", "x")), "sparse is not an object"),
    "data without comma": (uri("data:base64"), "buffers[0]: a data: uri without data"),
    "data no base64": (uri("data:;base64,????"), "buffers[0]: a data: uri that is not base64"),
    "data cut": (uri("data:;base64,AAAA"), "buffers[0]: byteLength is"),
    "uri up": (uri("../secret.bin"), "leads out of the file's folder"),
    "uri up, coded": (uri("%2e%2e/secret.bin"), "leads out of the file's folder"),
    "uri up, later": (uri("a/../../secret.bin"), "leads out of the file's folder"),
    "uri absolute": (uri("/etc/passwd"), "is not a path inside"),
    "uri of the web": (uri("http://127.0.0.1/a.bin"), "is not a path inside"),
    "uri file": (uri("file:///etc/passwd"), "is not a path inside"),
    "uri of Windows": (uri("..\\secret.bin"), "is not a path inside"),
    "uri nul": (uri("a%00.bin"), "is not a path inside"),
    "uri folder": (uri("."), "leads out"),
    "uri absent": (uri("absent.bin"), "no such file"),
    "uri endless": (uri("a" * 5000), "no such file"),
    "uri number": (uri(7), "uri is not text"),
    "too many joints": (chain(10_001), "more than 10,000 joints"),
    "too many nodes between joints": (chain(11_000, [0, 10_999]), "11,001 nodes hold 2 joints"),
    "an animation of weights only": (
        put((*CHANNELS, [{"sampler": 0, "target": {"node": 0, "path": "weights"}}])),
        "only a rest pose",
    ),
    "git lfs pointer": (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
    "zip under this name": (b"PK\3\4" + bytes(64), "a zip archive"),
    "fbx under this name": (b"Kaydara FBX Binary  \0" + bytes(64), "an FBX file"),
    "markup": (b"<html><body>404 Not Found</body></html>", "a web page"),
}

CASES: dict[str, Bad | Odd] = {
    **{name: Bad(content, reason) for name, (content, reason) in _BAD.items()},
    **{f"{name} (read)": case for name, case in ODD.items()},
}
