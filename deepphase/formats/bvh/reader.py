"""BVH motion capture files, read as they are or as clips.

The format is what its many writers made of it: channels of any kind and order on any joint, each
joint's rotation a product of its channels from left to right, no word on units or axes. Where the
writers differ, the reader decides from the data and says so in its notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.bvh.channels import (
    local_positions,
    local_rotations,
    rest_axes,
    rotation_order,
)
from deepphase.formats.bvh.frames import parse_frames, parse_motion_head
from deepphase.formats.bvh.hierarchy import Hierarchy, parse_hierarchy
from deepphase.formats.frame_rates import check_rate_option
from deepphase.formats.reading import (
    CHECK,
    checked_options,
    foreign_content,
    in_metres_y_up,
    read_content,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton

_HIERARCHY = re.compile(rb"\s*HIERARCHY\b", re.IGNORECASE)
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(rb"(?<=[0-9]),(?=[0-9])"), re.compile(rb"[0-9]\.[0-9]")
_MOTION = re.compile(rb"^[ \t}]*(MOTION)\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, eq=False)
class RawBvh:
    """What a BVH file says, in its own units and axes."""

    # As in `Skeleton`; offsets in units of the file
    names: tuple[str, ...]
    parents: Array
    offsets: Array
    end_parents: Array
    end_offsets: Array
    # (joints,) each joint's channels in the file's order, as in ("Xposition", "Zrotation")
    channels: tuple[tuple[str, ...], ...]
    # (frames, joints, 4) float64 local rotations, unit quaternions (x, y, z, w)
    rotations: Array
    # (frames, translated joints, 3) float64 units of the file: local positions of the root and of
    # every joint whose position changes.
    translations: Array
    # (translated joints,) their indices, rising from the root's, 0
    translated_joints: Array
    # Seconds, as written
    frame_time: float
    # Frames a second: see `resolve_frame_time`
    fps: float
    # What was assumed, one sentence each
    notes: tuple[str, ...]
    # The line of the first frame; frame i is line `first_motion_line + i` of a file that has one
    # frame a line.
    first_motion_line: int

    @property
    def rotation_orders(self) -> tuple[str, ...]:
        """(joints,) the order of each joint's rotation channels, as in "ZXY"; some are shorter."""
        return tuple(rotation_order(channels) for channels in self.channels)

    @property
    def skeleton(self) -> Skeleton:
        """The joints, in units of the file."""
        return Skeleton(self.names, self.parents, self.offsets, self.end_parents, self.end_offsets)


def read_bvh(
    path: str | Path, *, fps: float | None = None, allow_truncated: bool = False
) -> RawBvh:
    """Read a BVH file in its own units and axes.

    A joint's position channels take the place of its OFFSET, as in MotionBuilder's files. Where
    all joints but the root have OFFSETs and position channels that stay at zero, the channels are
    taken to be added to the OFFSETs instead. Position channels that do not change become the
    joint's offset.

    OFFSETs of six numbers, as of the SOMA skeleton, have the joint's rest rotation in degrees about
    X, Y and Z, in the order of its channels, which are not relative to it. Joints are turned so
    that the rest pose has no rotations.
    """
    path = Path(path)
    check_rate_option(fps)
    content = _normalized(read_content(path))
    if not content or content.isspace():
        raise FormatError("this is an empty file", path=path, hint="copy or export the file again")
    if not _HIERARCHY.match(content):
        found = foreign_content(content) or "it does not begin with HIERARCHY"
        raise FormatError(f"this is not a BVH file: {found}", path=path, line=1)
    comma_notes: tuple[str, ...] = ()
    if b"," in content and _DECIMAL_COMMA.search(content) and not _DECIMAL_POINT.search(content):
        content = _DECIMAL_COMMA.sub(rb".", content)
        comma_notes = ("decimal commas were read as points",)
    motion = _MOTION.search(content)
    text, notes = _decoded(content[: motion.start(1)] if motion else content)
    hierarchy = parse_hierarchy(text, path)
    if motion is None:
        raise FormatError(
            "no MOTION: the file holds only a rest pose", path=path, line=text.count("\n") + 1
        )
    head = parse_motion_head(content, motion.end(), path, fps)
    width = sum(len(channels) for channels in hierarchy.channels)
    values, motion_notes = parse_frames(content, head, width, path, allow_truncated=allow_truncated)
    del content
    if _are_radians(hierarchy, values):
        notes += (f"{CHECK}no joint turns by more than 6.3 degrees: are they radians?",)
    offsets, translations, translated, position_notes = local_positions(hierarchy, values)
    rotations, end_offsets = local_rotations(hierarchy, values), hierarchy.end_offsets
    if hierarchy.rests is not None:
        # With A the joints' axes at rest, r = A(parent) r A(joint)^-1 and t = A(parent) t: then
        # the offsets are the rest pose.
        axes = rest_axes(hierarchy)
        above = np.concatenate([quaternions.IDENTITY[None], axes[hierarchy.parents[1:]]])
        offsets = quaternions.rotate(above, offsets)
        end_offsets = quaternions.rotate(axes[hierarchy.end_parents], end_offsets)
        translations = quaternions.rotate(above[translated], translations)
        rotations = quaternions.multiply(above, rotations)
        rotations = quaternions.multiply(rotations, quaternions.conjugate(axes))
        notes += ("rest rotations behind the OFFSETs were folded into the offsets",)
    return RawBvh(
        names=hierarchy.names,
        parents=hierarchy.parents,
        offsets=offsets,
        end_parents=hierarchy.end_parents,
        end_offsets=end_offsets,
        channels=hierarchy.channels,
        rotations=rotations,
        translations=translations,
        translated_joints=translated,
        frame_time=head.frame_time,
        fps=head.fps,
        notes=comma_notes + notes + hierarchy.notes + head.notes + motion_notes + position_notes,
        first_motion_line=head.first_line,
    )


def _are_radians(hierarchy: Hierarchy, values: Array) -> bool:
    """Whether the angles of many joints and frames are so small that they may be radians."""
    names = [name for channels in hierarchy.channels for name in channels]
    turns = [at for at, name in enumerate(names) if name.lower().endswith("rotation")]
    some = np.abs(values[:: max(1, len(values) // 200)][:, turns])
    return len(some) >= 20 and len(turns) >= 30 and 0.5 < some.max() < 2.0 * np.pi


def load_bvh(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    allow_truncated: bool = False,
) -> Clip:
    """Read a BVH file as a clip: metres, Y up. What is inferred is said in `clip.source.notes`.

    Parameters
    ----------
    unit
        The file's unit: "m", "cm", "mm", "inch", "foot" or metres in one unit; None infers it
        from the body's size.
    up
        The file's up axis: "x", "y", "z", "-x", "-y" or "-z"; None infers it from the pose.
    fps
        Frames a second, in place of the file's.
    """
    path = Path(path)
    # Checked before a long file is read.
    unit_m = checked_options(unit, up, fps)
    raw = read_bvh(path, fps=fps, allow_truncated=allow_truncated)
    clip = Clip(raw.skeleton, raw.rotations, raw.translations, raw.fps, raw.translated_joints)
    source = Source(
        str(path),
        fps=raw.fps,
        rotation_orders=raw.rotation_orders,
        notes=raw.notes,
        first_line=raw.first_motion_line,
    )
    return in_metres_y_up(clip, unit_m, up, source)


def _normalized(content: bytes) -> bytes:
    """UTF-8 or what may be Latin-1, without a byte order mark, with line feeds only."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # The end mark of DOS, and the unwritten rest of a disk block.
    return content.rstrip(b"\x1a\0")


def _decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        return content.decode("latin-1"), ("joint names are not UTF-8 and were read as Latin-1",)
