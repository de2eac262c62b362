"""BVH motion capture files as clips.

The format is what its many writers made of it: channels of any kind and order on any joint, each
joint's rotation a product of its channels from left to right, no word on units or axes. Where the
writers differ, the reader decides from the data and says so in its notes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.bvh.hierarchy import Hierarchy, parse_hierarchy
from deepphase.formats.bvh.motion import parse_motion
from deepphase.formats.reading import (
    COMMAS,
    EXPORT_AGAIN,
    RawMotion,
    check_pose_count,
    checked_options,
    foreign_content,
    in_metres_y_up,
    listed,
    read_content,
    with_notes,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, joint_positions
from deepphase.motion.orientation import thinned
from deepphase.motion.skeleton import Skeleton

# Each with the parity of its axes: even orders turn XYZ in a circle.
EULER_ORDERS = {"XYZ": 1, "YZX": 1, "ZXY": 1, "XZY": -1, "ZYX": -1, "YXZ": -1}
# Shares of the skeleton's size below which a joint keeps its place, and a channel is empty.
STILL = 1e-5
# Share of the OFFSETs' lengths below which position channels are relative to them.
_RELATIVE = 0.2
# A body stands on the floor if its lowest joint is at so small a share of its height.
_NEAR_FLOOR, _FRAMES_ON_FLOOR = 0.1, 100
# A quarter of a degree, in radians.
_QUARTER_DEGREE = np.pi / 720.0
# Angles in a block of frames, three a joint: its temporaries stay in a processor's cache.
_BLOCK_ANGLES = 1 << 14
_HIERARCHY = re.compile(rb"\s*HIERARCHY\b", re.IGNORECASE)
# Numbers with commas or semicolons, and these alone.
_WITH_COMMAS = re.compile(rb"(?<!\S)[-+.0-9eE]*[,;][-+.,;0-9eE]*(?!\S)")
_MOTION = re.compile(rb"^[ \t}]*(MOTION)\b", re.IGNORECASE | re.MULTILINE)


def load_bvh(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    allow_truncated: bool = False,
    radians: bool = False,
) -> Clip:
    """Read a BVH file as a clip: metres, Y up. What is inferred is said in `clip.source.notes`.

    A joint's position channels take the place of its OFFSET, as in MotionBuilder's files. They are
    added to it where only then the feet are on the floor (the root's), or the body keeps its size
    (those of other joints). Position channels that do not change become the joint's offset.

    OFFSETs of six numbers, as of the SOMA skeleton, have the joint's rest rotation in degrees about
    X, Y and Z, in the order of its channels, which are not relative to it. Joints are turned so
    that the rest pose has no rotations.

    With `allow_truncated`, the whole frames before the first fault are taken. With `radians`, these
    are what rotation channels are in, which no BVH file says.
    """
    path = Path(path)
    # Checked before a long file is read.
    unit_m = checked_options(unit, up, fps)
    hierarchy, content, begin, notes = read_front(path)
    size, width = len(content), sum(map(len, hierarchy.channels))
    motion = parse_motion(content, begin, width, path, fps=fps, allow_truncated=allow_truncated)
    del content
    check_pose_count(len(motion.values), len(hierarchy.names), size, path)
    if radians:
        names = [name for channels in hierarchy.channels for name in channels]
        motion.values[:, [name.endswith("rotation") for name in names]] *= 180.0 / np.pi
        notes.append("rotations were read as radians, as given")
    offsets, translations, translated, position_notes = _local_positions(hierarchy, motion.values)
    rotations, end_offsets = _local_rotations(hierarchy, motion.values), hierarchy.end_offsets
    if hierarchy.rests is not None:
        # With A the joints' axes at rest, r = A(parent) r A(joint)^-1 and t = A(parent) t: then
        # the offsets are the rest pose.
        axes = _rest_axes(hierarchy, hierarchy.rests)
        above = np.concatenate([quaternions.IDENTITY[None], axes[hierarchy.parents[1:]]])
        offsets = quaternions.rotate(above, offsets)
        end_offsets = quaternions.rotate(axes[hierarchy.end_parents], end_offsets)
        translations = quaternions.rotate(above[translated], translations)
        rotations = quaternions.multiply(above, rotations)
        rotations = quaternions.multiply(rotations, quaternions.conjugate(axes))
        notes.append("rest rotations behind the OFFSETs were folded into the offsets")
    skeleton = Skeleton(
        hierarchy.names, hierarchy.parents, offsets, hierarchy.end_parents, end_offsets
    )
    source = Source(
        str(path),
        fps=motion.fps,
        rotation_orders=tuple(map(_rotation_order, hierarchy.channels)),
        notes=(*notes, *hierarchy.notes, *motion.notes, *position_notes),
        first_line=motion.first_line,
    )
    raw = RawMotion(skeleton, rotations, translations, motion.fps, translated)
    clip = in_metres_y_up(raw, unit_m, up, source)
    if all(f"{axis}position" in hierarchy.channels[0] for axis in "XYZ"):
        return _with_root_offset(clip)
    return clip


def read_front(path: Path) -> tuple[Hierarchy, bytes, int, list[str]]:
    """The joints of a BVH file, its content, the byte where its motion begins, and notes."""
    fault = partial(FormatError, path=path)
    content = _normalized(read_content(path))
    if not content or content.isspace():
        raise fault("this is an empty file", hint=EXPORT_AGAIN)
    if not _HIERARCHY.match(content):
        found = foreign_content(content) or "it does not begin with HIERARCHY"
        raise fault(f"this is not a BVH file: {found}", line=1)
    notes: list[str] = []
    if b"," in content or b";" in content:
        content = _WITH_COMMAS.sub(partial(_without_commas, notes), content)
    begin = _MOTION.search(content)
    front = content[: begin.start(1)] if begin else content
    try:
        text = front.decode("utf-8")
    except UnicodeDecodeError:
        text = front.decode("latin-1")
        notes.append("joint names are not UTF-8 and were read as Latin-1")
    hierarchy = parse_hierarchy(text, path)
    if begin is None:
        line = text.count("\n") + 1
        raise fault("no MOTION: the file holds only a rest pose", line=line)
    return hierarchy, content, begin.end(), notes


def _without_commas(notes: list[str], match: re.Match[bytes]) -> bytes:
    """Numbers with decimal points and blanks; adds to the notes what commas were read as."""
    word = match[0].rstrip(b",")
    decimal = b"," in word and b"." not in word and (word.count(b",") == 1 or b";" in word)
    note = COMMAS if decimal else "commas or semicolons between numbers were left out"
    notes += [note] * (note not in notes)
    return word.replace(b",", b"." if decimal else b" ").replace(b";", b" ")


def _with_root_offset(clip: Clip) -> Clip:
    """The clip, with the root's OFFSET added where only so the feet are on the floor."""
    offset = clip.skeleton.offsets[0]
    if abs(offset[1]) <= STILL:
        return clip
    positions = joint_positions(thinned(clip, _FRAMES_ON_FLOOR))
    lowest = positions[..., 1].min(axis=1)
    near = _NEAR_FLOOR * float(np.median(positions[..., 1].max(axis=1) - lowest))
    level = float(np.percentile(lowest, 10))
    if abs(level) < 2.0 * near or abs(level + offset[1]) > near:
        return clip
    translations = clip.translations.copy()
    translations[:, 0] += offset
    note = "the root's OFFSET was added to its positions: only then the feet are on the floor"
    return with_notes(replace(clip, translations=translations), [note])


def _normalized(content: bytes) -> bytes:
    """UTF-8 or what may be Latin-1, without a byte order mark, with line feeds only."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # Blanks of web pages.
    if b"\xc2\xa0" in content:
        content = content.replace(b"\xc2\xa0", b" ")
    # The end mark of DOS, and the unwritten rest of a disk block.
    return content.rstrip(b"\x1a\0")


def completed_order(order: str) -> str:
    """An order of three axes that begins as `order` does, "ZXY" where none does."""
    return next((full for full in ("ZXY", *EULER_ORDERS) if full.startswith(order)), "ZXY")


def _rotation_order(channels: tuple[str, ...]) -> str:
    """The order of a joint's rotation channels, as in "ZXY"; empty where it has none."""
    return "".join(name[0] for name in channels if name.endswith("rotation"))


def quaternions_from_euler(angles: Array, order: str) -> Array:
    """Unit quaternions (..., 4) of Euler angles (3, ...) in degrees, in the order's order."""
    # sin and cos of the half angle from the tangent of the quarter: one transcendental function
    # in place of two.
    tangent = np.tan(angles * _QUARTER_DEGREE)
    ratio = 2.0 / (1.0 + tangent * tangent)
    s1, s2, s3 = tangent * ratio
    c1, c2, c3 = ratio - 1.0
    parity = EULER_ORDERS[order]
    first, second, third = ("XYZ".index(axis) for axis in order)
    rotations = np.empty((*angles.shape[1:], 4))
    sc, cs, cc, ss = s1 * c2, c1 * s2, c1 * c2, (s1 * s2) * parity
    rotations[..., first] = sc * c3 + (cs * s3) * parity
    rotations[..., second] = cs * c3 - (sc * s3) * parity
    rotations[..., third] = ss * c3 + cc * s3
    rotations[..., 3] = cc * c3 - ss * s3
    return rotations


def _local_rotations(hierarchy: Hierarchy, values: Array) -> Array:
    """(frames, joints, 4) unit quaternions, from (frames, channels) of numbers."""
    rotations = np.empty((len(values), len(hierarchy.names), 4))
    # Joints of one order are converted together.
    groups: dict[str, list[int]] = {}
    for joint, channels in enumerate(hierarchy.channels):
        groups.setdefault(_rotation_order(channels), []).append(joint)
    rotations[:, groups.pop("", [])] = quaternions.IDENTITY
    first_columns = hierarchy.first_columns
    for order, joints in groups.items():
        columns = [
            [first_columns[j] + hierarchy.channels[j].index(f"{axis}rotation") for j in joints]
            for axis in order
        ]
        own = slice(None) if len(joints) == len(hierarchy.names) else joints
        block = max(_BLOCK_ANGLES // (3 * len(joints)), 1)
        for start in range(0, len(values), block):
            rows = values[start : start + block]
            angles = np.zeros((3, len(rows), len(joints)))
            for axis, places in zip(angles, columns, strict=False):
                np.take(rows, places, axis=1, out=axis)
            turned = quaternions_from_euler(angles, completed_order(order))
            rotations[start : start + block, own] = turned
    return rotations


def _rest_axes(hierarchy: Hierarchy, rests: Array) -> Array:
    """(joints, 4) rotations of the joints' axes at rest in the world."""
    axes = np.empty((len(hierarchy.names), 4))
    for joint, parent in enumerate(hierarchy.parents.tolist()):
        order = completed_order(_rotation_order(hierarchy.channels[joint]))
        angles = rests[joint][["XYZ".index(axis) for axis in order]]
        own = quaternions_from_euler(angles, order)
        axes[joint] = own if parent < 0 else quaternions.multiply(axes[parent], own)
    return axes


def _local_positions(
    hierarchy: Hierarchy, values: Array
) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Offsets, translations and translated joints of a clip, in units of the file, and notes."""
    offsets = hierarchy.offsets.copy()
    travels = [any(name.endswith("position") for name in own) for own in hierarchy.channels]
    joints = np.flatnonzero([True, *travels[1:]])
    first_columns = hierarchy.first_columns
    # Axes without a channel stay at the OFFSET.
    positions = np.repeat(offsets[None, joints], len(values), axis=0)
    is_channel = np.zeros((len(joints), 3), bool)
    for slot, joint in enumerate(joints):
        for column, name in enumerate(hierarchy.channels[joint], first_columns[joint]):
            if name.endswith("position"):
                axis = "XYZ".index(name[0])
                positions[:, slot, axis] = values[:, column]
                is_channel[slot, axis] = True
    if len(joints) == 1:
        return offsets, positions, joints, ()
    notes: tuple[str, ...] = ()
    lowest, highest = positions.min(axis=0), positions.max(axis=0)
    farthest = np.maximum(np.abs(lowest), np.abs(highest)) * is_channel
    size = max(np.abs(hierarchy.offsets[1:]).max(), farthest[1:].max())
    stated = (offsets[joints] * is_channel)[1:]
    reach, length = (np.linalg.norm(rows, axis=1).sum() for rows in (farthest[1:], stated))
    if reach < _RELATIVE * length:
        positions[:, 1:] += stated
        lowest[1:] += stated
        highest[1:] += stated
        notes = ("position channels were added to the OFFSETs: they stay near zero",)
    moving = (highest - lowest).max(axis=1) > STILL * size
    still = joints[1:][~moving[1:]]
    offsets[still] = (lowest + highest)[1:][~moving[1:]] / 2.0
    apart = np.abs(offsets[still] - hierarchy.offsets[still]).max(axis=1)
    replaced = int((apart > 1e-3 * size).sum())
    if replaced:
        notes += (f"still position channels took the place of {replaced} OFFSETs",)
    # Our own writer leaves out what three.js would add to the positions.
    bare = moving & ~hierarchy.offsets[joints].any(axis=1) & is_channel.all(axis=1)
    bare[0] = False
    offsets[joints[bare]] = np.median(positions[:, bare], axis=0)
    moving[0] = True
    names = [hierarchy.names[joint] for joint in joints[moving]][1:]
    if names:
        notes += (f"joints that travel besides the root: {listed(names)}",)
    return offsets, positions[:, moving], joints[moving], notes
