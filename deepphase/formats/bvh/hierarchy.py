"""The joints of BVH files: the HIERARCHY section, and their rotations and positions by numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.reading import check_joint_count, listed, unique_names
from deepphase.motion import quaternions

Fault = Callable[..., FormatError]

DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Further off than any motion: a square or a sum of such numbers still is finite.
LARGEST_NUMBER = 1e12
# `float` takes any length, at a cost that grows with it.
_LONGEST_NUMBER = 400
_CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_PIECE = re.compile(r"[{}]|[^{}]+")
# A keyword behind these stands on the same line only in files without line breaks; behind JOINT
# it would be a part of the name.
_UNNAMED = ("HIERARCHY", "OFFSET", "CHANNELS")
_NEXT_KEYWORD = re.compile(r"\s(?=(?:ROOT|JOINT|END|OFFSET|CHANNELS)\s)", re.IGNORECASE)


# Each with the parity of its axes: even orders turn XYZ in a circle.
EULER_ORDERS = {"XYZ": 1, "YZX": 1, "ZXY": 1, "XZY": -1, "ZYX": -1, "YXZ": -1}
# Shares of the skeleton's size below which a joint keeps its place, and a channel is empty.
STILL = 1e-5
# Share of the OFFSETs' lengths below which position channels are relative to them.
_RELATIVE = 0.2
# A quarter of a degree, in radians.
_QUARTER_DEGREE = np.pi / 720.0
# Angles in a block of frames, three a joint: its temporaries stay in a processor's cache.
_BLOCK_ANGLES = 1 << 14


def is_number(text: str) -> bool:
    """Whether a text is a decimal number below `LARGEST_NUMBER`."""
    if len(text) > _LONGEST_NUMBER or not DECIMAL.fullmatch(text):
        return False
    return abs(float(text)) < LARGEST_NUMBER


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Joints as a BVH file declares them, in the file's order, units and axes."""

    # The first five as in `Skeleton`
    names: tuple[str, ...]
    parents: Array
    offsets: Array
    end_parents: Array
    end_offsets: Array
    # (joints,) the channels of each joint in the file's order, as in "Xposition"
    channels: tuple[tuple[str, ...], ...]
    # (joints, 3) degrees about X, Y and Z of each joint at rest, the numbers behind its offset;
    # None if the file has none.
    rests: Array | None
    notes: tuple[str, ...]  # What had to be changed, one sentence each

    @property
    def first_columns(self) -> Array:
        """(joints,) the column in which each joint's channels begin."""
        return np.cumsum([0, *map(len, self.channels[:-1])])


@dataclass
class _Block:
    """A ROOT, JOINT or End Site."""

    title: str
    name: str
    line: int
    index: int
    parent: int
    is_end: bool
    has_children: bool = False
    # Three numbers, and three degrees of the rest rotation where the file has them.
    offset: tuple[float, ...] | None = None
    channels: tuple[str, ...] | None = None


def parse_hierarchy(text: str, path: Path) -> Hierarchy:
    """Parse all that stands before MOTION; keywords are taken in any case."""
    fault = partial(FormatError, path=path)
    joints: list[_Block] = []
    ends: list[_Block] = []
    # A stack in place of recursion: chains of joints may be thousands deep.
    opened: list[_Block] = []
    announced: _Block | None = None
    line = 1
    for line, keyword, words in _statements(text):
        block = opened[-1] if opened else None
        if announced is not None and keyword != "{":
            raise fault(f"'{{' is missing after {announced.title}", line=line)
        if keyword == "{":
            if announced is None:
                raise fault("a '{' without ROOT, JOINT or End Site before it", line=line)
            opened.append(announced)
            announced = None
        elif keyword == "}":
            if block is None:
                raise fault("a '}' that closes nothing", line=line)
            if block.offset is None and not block.is_end:
                raise fault(f"{block.title} has no OFFSET", line=block.line)
            if block.channels is None and not block.is_end:
                hint = "a joint that holds has CHANNELS 0"
                raise fault(f"{block.title} has no CHANNELS", hint=hint, line=block.line)
            opened.pop()
        elif keyword in ("ROOT", "JOINT", "END"):
            if keyword == "ROOT" and joints and words:
                raise fault(
                    f"a second root, {words[:80]!r}: one file holds one skeleton",
                    hint="split the file, or hang both roots from one joint",
                    line=line,
                )
            announced = _announced(keyword, words, block, len(joints), line, fault)
            (ends if announced.is_end else joints).append(announced)
            check_joint_count(len(joints), path, line)
        elif keyword in ("OFFSET", "CHANNELS"):
            if block is None:
                raise fault(f"{keyword} stands outside of every joint", line=line)
            reader = _read_offset if keyword == "OFFSET" else _read_channels
            reader(block, words.split(), partial(fault, line=line))
        elif keyword != "HIERARCHY" or joints:
            raise fault(f"{keyword[:40]!r} is not a keyword of a hierarchy", line=line)
    if announced is not None:
        raise fault(f"'{{' is missing after {announced.title}", line=line)
    if opened:
        fact = f"the '{{' of {opened[-1].title} is never closed by '}}'"
        raise fault(fact, line=opened[-1].line)
    if not joints:
        raise fault("a hierarchy without a ROOT", line=line)
    names, renamed = unique_names([joint.name for joint in joints])
    notes = [f"joint names that occur twice were numbered: {listed(renamed)}"] if renamed else []
    placed = [end for end in ends if end.offset is not None]
    if len(placed) < len(ends):
        notes.append(f"{len(ends) - len(placed)} End Sites without an OFFSET were left out")
    numbers = [joint.offset or () for joint in joints]
    rests = np.array([row[3:] or (0.0, 0.0, 0.0) for row in numbers])
    return Hierarchy(
        names,
        np.array([joint.parent for joint in joints], np.int64),
        np.array([row[:3] for row in numbers], np.float64),
        np.array([end.parent for end in placed], np.int64),
        np.array([end.offset for end in placed], np.float64).reshape(-1, 3),
        tuple(joint.channels or () for joint in joints),
        rests if any(len(row) > 3 for row in numbers) else None,
        tuple(notes),
    )


def _announced(
    keyword: str, name: str, above: _Block | None, index: int, line: int, fault: Fault
) -> _Block:
    """The joint or End Site that a line announces below an open one."""
    is_end = keyword == "END"
    title = "an End Site" if is_end else f"{keyword} {name[:80]!r}"
    if not name and not is_end:
        raise fault(f"a {keyword} without a name", line=line)
    if above is None and keyword != "ROOT":
        raise fault(f"{title} stands outside the ROOT", line=line)
    if above is not None:
        if above.is_end:
            raise fault(f"{title} stands inside an End Site", line=line)
        above.has_children = True
    parent = -1 if above is None else above.index
    return _Block(title, name, line, index, parent, is_end)


def _read_offset(block: _Block, words: list[str], fault: Fault) -> None:
    if block.offset is not None:
        raise fault(f"{block.title} has two OFFSETs")
    if len(words) != 3 and (len(words) != 6 or block.is_end):
        expected = "3" if block.is_end else "3 or 6"
        raise fault(f"OFFSET has {len(words)} numbers, expected {expected}")
    wrong = next((word for word in words if not is_number(word)), None)
    if wrong is not None:
        raise fault(f"OFFSET: {wrong[:40]!r} is not a finite decimal number")
    block.offset = tuple(map(float, words))


def _read_channels(block: _Block, words: list[str], fault: Fault) -> None:
    if block.channels is not None:
        raise fault(f"{block.title} has two lines of CHANNELS")
    if block.has_children:
        raise fault(f"the CHANNELS of {block.title} stand behind its children")
    count, names = words[0] if words else "", words[1:]
    if count != str(len(names)):
        raise fault(f"CHANNELS declares {count[:40]!r} but names {len(names)}")
    if block.is_end and names:
        raise fault("an End Site with channels")
    channels = []
    for name in names:
        known = _CHANNEL.fullmatch(name)
        if "scale" in name.lower():
            raise fault(
                f"channel {name!r}: joints that scale are not supported",
                hint="export the motion again without scale channels",
            )
        if known is None:
            hint = "channels are Xposition, Yposition, Zposition, Xrotation, Yrotation, Zrotation"
            raise fault(f"an unknown channel {name[:40]!r}", hint=hint)
        channels.append(known[1].upper() + known[2].lower())
    twice = next((name for name in channels if channels.count(name) > 1), None)
    if twice:
        raise fault(f"channel {twice} is named twice")
    block.channels = tuple(channels)


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, keyword in capitals (or a brace) and the words behind it."""
    for number, line in enumerate(text.split("\n"), start=1):
        for piece in _PIECE.findall(line):
            rest = piece.strip()
            while rest:
                keyword, _, words = _BLANK.sub(" ", rest, count=1).partition(" ")
                keyword, rest = keyword.upper(), ""
                if keyword in _UNNAMED and (following := _NEXT_KEYWORD.search(" " + words)):
                    rest = words[following.end() - 1 :]
                    words = words[: max(following.start() - 1, 0)]
                yield number, keyword, words


def completed_order(order: str) -> str:
    """An order of three axes that begins as `order` does, "ZXY" where none does."""
    return next((full for full in ("ZXY", *EULER_ORDERS) if full.startswith(order)), "ZXY")


def rotation_order(channels: tuple[str, ...]) -> str:
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


def local_rotations(hierarchy: Hierarchy, values: Array) -> Array:
    """(frames, joints, 4) unit quaternions, from (frames, channels) of numbers."""
    rotations = np.empty((len(values), len(hierarchy.names), 4))
    # Joints of one order are converted together.
    groups: dict[str, list[int]] = {}
    for joint, channels in enumerate(hierarchy.channels):
        groups.setdefault(rotation_order(channels), []).append(joint)
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


def rest_axes(hierarchy: Hierarchy, rests: Array) -> Array:
    """(joints, 4) rotations of the joints' axes at rest in the world."""
    axes = np.empty((len(hierarchy.names), 4))
    for joint, parent in enumerate(hierarchy.parents.tolist()):
        order = completed_order(rotation_order(hierarchy.channels[joint]))
        angles = rests[joint][["XYZ".index(axis) for axis in order]]
        own = quaternions_from_euler(angles, order)
        axes[joint] = own if parent < 0 else quaternions.multiply(axes[parent], own)
    return axes


def local_positions(
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
