"""Binary FBX files, written after the format's form: joints, turned objects, axes, animation."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion.clip import Clip

_VERSION = 7400
# Ticks of FBX in a second.
_SECOND = 46_186_158_000
_CUSTOM_RATE = 14
_CENTIMETRES = 100.0
# Second names of the types of properties.
_LABELS = {"int": "Integer", "double": "Number", "Vector3D": "Vector"}


def axes_of(up: str, front: str, coord: str) -> tuple[dict[str, int], Array]:
    """Settings of the axes of a file, as in "y", "-z" and "x", and (3, 3) from Y up to them."""
    settings, turn = {}, np.zeros((3, 3))
    for name, axis, row in (("Coord", coord, 0), ("Up", up, 1), ("Front", front, 2)):
        number, sign = "xyz".index(axis[-1]), -1 if axis[0] == "-" else 1
        settings[f"{name}Axis"], settings[f"{name}AxisSign"] = number, sign
        turn[number, row] = sign
    return settings, turn


def fbx_bytes(
    clip: Clip,
    axes: tuple[dict[str, int], Array] | None = None,
    *,
    parent: Mapping[str, Sequence[float]] | None = None,
    joints: Mapping[str, Sequence[float]] | None = None,
) -> bytes:
    """A clip as FBX in centimetres.

    Parameters
    ----------
    axes
        See `axes_of`; Y up, front z by default.
    parent
        Properties of an object above the root ("Lcl Rotation", "PreRotation" and so on, degrees);
        the joints below move as before. None leaves it out.
    joints
        Properties of all joints: "PreRotation" and "PostRotation", which their rotations make up
        for, and geometric transforms, which move no joint.
    """
    settings, turn = axes or axes_of("y", "z", "x")
    mirrored = np.linalg.det(turn) < 0
    given = dict(joints or {})
    above = Rotation.identity() if parent is None else _turn_of(parent)
    shift = np.zeros(3) if parent is None else np.array(parent.get("Lcl Translation", (0, 0, 0)))
    before, after = (_euler(given.get(f"{name}Rotation", (0, 0, 0))) for name in ("Pre", "Post"))
    # A mirror image of a rotation: axes are turned, and the angle changes its sign.
    flip = -1.0 if mirrored else 1.0
    offsets = clip.skeleton.offsets @ turn.T * _CENTIMETRES
    places = clip.local_positions() @ turn.T * _CENTIMETRES
    objects, links = [], []
    for joint, name in enumerate(clip.skeleton.names):
        vectors = Rotation.from_quat(clip.rotations[:, joint]).as_rotvec() @ turn.T * flip
        local, rest, place = Rotation.from_rotvec(vectors), Rotation.identity(), places[:, joint]
        offset = offsets[joint]
        if joint == 0:
            local, rest = above.inv() * local, above.inv()
            place, offset = above.inv().apply(place - shift), above.inv().apply(offset - shift)
        # World = translation, pre-rotation, rotation, inverse of the post-rotation.
        curves = (before.inv() * local * after).as_euler("xyz", degrees=True)
        still = (before.inv() * rest * after).as_euler("xyz", degrees=True)
        values = {**given, "Lcl Translation": offset, "Lcl Rotation": still}
        number = 1000 + joint
        objects.append(_model(number, name, "LimbNode", values))
        objects.append(
            _node("NodeAttribute", _wide(5000 + joint), f"{name}\0\1NodeAttribute", "LimbNode")(
                _node("TypeFlags", "Skeleton")()
            )
        )
        above_it = int(clip.skeleton.parents[joint])
        links.append(("OO", 5000 + joint, number))
        links.append(("OO", number, 1000 + above_it if above_it >= 0 else 999 * bool(parent)))
        curved = {"Lcl Rotation": np.unwrap(curves, period=360.0, axis=0)}
        if joint in clip.translated_joints:
            curved["Lcl Translation"] = place
        for kind, (property_name, lines) in enumerate(curved.items()):
            node = 20_000 + 10 * joint + kind
            objects.append(
                _node(
                    "AnimationCurveNode", _wide(node), f"{property_name[4]}\0\1AnimCurveNode", ""
                )()
            )
            links += [("OO", node, 3000), ("OP", node, number, property_name)]
            for axis in range(3):
                curve = 40_000 + 100 * joint + 10 * kind + axis
                objects.append(_curve(curve, lines[:, axis], clip.fps))
                links.append(("OP", curve, node, f"d|{'XYZ'[axis]}"))
    if parent is not None:
        objects.append(_model(999, "Turned", "Null", parent))
        links.append(("OO", 999, 0))
    objects.append(_node("AnimationStack", _wide(2000), "Take\0\1AnimStack", "")())
    objects.append(_node("AnimationLayer", _wide(3000), "Layer\0\1AnimLayer", "")())
    links.append(("OO", 3000, 2000))
    rows = [_row(name, "int", value) for name, value in settings.items()]
    rows += [
        _row("UnitScaleFactor", "double", 1.0),
        _row("TimeMode", "enum", _CUSTOM_RATE),
        _row("CustomFrameRate", "double", float(clip.fps)),
    ]
    tree = (
        _node("FBXHeaderExtension")(_node("FBXVersion", _VERSION)()),
        _node("GlobalSettings")(_node("Version", 1000)(), _node("Properties70")(*rows)),
        _node("Definitions")(_node("Version", 100)()),
        _node("Objects")(*objects),
        _node("Connections")(*(_node("C", *map(_wide, link))() for link in links)),
    )
    content = b"Kaydara FBX Binary  \0\x1a\0" + struct.pack("<I", _VERSION)
    for node in tree:
        content += node(len(content))
    return content + bytes(13)


def _euler(degrees: Sequence[float]) -> Rotation:
    return Rotation.from_euler("xyz", degrees, degrees=True)


def _turn_of(values: Mapping[str, Sequence[float]]) -> Rotation:
    still = (0.0, 0.0, 0.0)
    before, turn, after = (
        _euler(values.get(name, still)) for name in ("PreRotation", "Lcl Rotation", "PostRotation")
    )
    return before * turn * after.inv()


def _model(number: int, name: str, kind: str, values: Mapping[str, Sequence[float]]):
    rows = [_row("RotationActive", "bool", 1)]
    rows += [
        _row(key, key if key[:3] == "Lcl" else "Vector3D", *map(float, value))
        for key, value in values.items()
    ]
    return _node("Model", _wide(number), f"{name}\0\1Model", kind)(
        _node("Version", 232)(), _node("Properties70")(*rows)
    )


def _curve(number: int, line: Array, fps: float):
    times = np.round(np.arange(len(line)) / fps * _SECOND).astype("<i8")
    return _node("AnimationCurve", _wide(number), "\0\1AnimCurve", "")(
        _node("Default", float(line[0]))(),
        _node("KeyVer", 4008)(),
        _node("KeyTime", times)(),
        _node("KeyValueFloat", line.astype("<f4"))(),
        # Linear from key to key.
        _node("KeyAttrFlags", np.array([4], "<i4"))(),
        _node("KeyAttrDataFloat", np.zeros(4, "<f4"))(),
        _node("KeyAttrRefCount", np.array([len(line)], "<i4"))(),
    )


def _row(name: str, kind: str, *values: float):
    return _node("P", name, kind, _LABELS.get(kind, ""), "A" * (kind[:3] == "Lcl"), *values)()


def _wide(value: object) -> object:
    """Numbers of objects have 64 bits."""
    return np.int64(value) if isinstance(value, int) else value


def _node(name: str, *values: object):
    """A node with its values: called with its children, it is a function of its place."""

    def with_children(*children):
        def at(place: int) -> bytes:
            packed = b"".join(map(_packed, values))
            start = place + 13 + len(name) + len(packed)
            below = b""
            for child in children:
                below += child(start + len(below))
            if children or not values:
                below += bytes(13)
            front = struct.pack("<IIIB", start + len(below), len(values), len(packed), len(name))
            return front + name.encode() + packed + below

        return at

    return with_children


def _packed(value: object) -> bytes:
    if isinstance(value, np.ndarray):
        code = {"<i8": b"l", "<f4": b"f", "<i4": b"i"}[value.dtype.str]
        data = value.tobytes()
        return code + struct.pack("<III", len(value), 0, len(data)) + data
    if isinstance(value, str):
        return b"S" + struct.pack("<I", len(value.encode())) + value.encode()
    if isinstance(value, np.int64):
        return b"L" + struct.pack("<q", value)
    if isinstance(value, int):
        return b"I" + struct.pack("<i", value)
    return b"D" + struct.pack("<d", value)
