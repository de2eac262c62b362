"""AMC files of joint angles, with the skeleton of the ASF file beside them, as of CMU's captures.

A bone of an ASF file turns about its start and ends where its children start; its angles are about
axes of its own, C. In the axes of the world at rest its rotation is C R C^-1, so that the rest pose
of the clip has no rotations. Each bone is a joint at its start; bones without children have an end
site at their end.

References
----------
Schafer 1994, Acclaim skeleton (ASF) and motion (AMC) files,
research.cs.wisc.edu/graphics/Courses/cs-838-1999/Jeff/ASF-AMC.html.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import bridged, frame_numbers
from deepphase.formats.reading import (
    CHECK,
    CORRECTED,
    RawMotion,
    Unit,
    check_joint_count,
    check_pose_count,
    checked_options,
    foreign_content,
    in_metres_y_up,
    lines_of,
    listed,
    read_content,
    resolve_rate,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton, children_of, depth_first

# Frames a second of CMU's captures; the format states none.
_CMU_FPS = 120.0
_INCH_M = 0.0254
_TURNS, _MOVES = ("rx", "ry", "rz"), ("tx", "ty", "tz")
# Numbers beyond these are damage.
_LARGEST_ANGLE, _LARGEST_LENGTH = 1e6, 1e9
_MAKE_AGAIN = "download or export the file again"

# Number and words of a line.
Line = tuple[int, list[str]]


@dataclass
class _Bone:
    """A bone of an ASF file: its end from its start, its own axes, and its channels."""

    vector: Array
    axes: Rotation
    order: str
    channels: tuple[str, ...]


@dataclass
class _Asf:
    """An ASF file: bones by name, the root's first, the bone above each, and units."""

    bones: dict[str, _Bone]
    parents: dict[str, str]
    per_inch: float  # Units of length in an inch
    radians: float  # In a unit of angle
    position: Array


def load_amc(
    path: str | Path, *, unit: Unit | None = None, up: str | None = None, fps: float | None = None
) -> Clip:
    """Read an AMC file with the ASF file beside it: metres, Y up."""
    path = Path(path)
    unit_m = checked_options(unit, up, fps)
    lines = _lines(path)
    skeleton_path = _asf_beside(path)
    asf = _read_asf(skeleton_path)
    frames, words, cut = _read_frames(lines, path, asf)
    numbers = frame_numbers(words)
    steps = np.unique(np.diff(numbers))
    every = int(steps[0]) if len(steps) == 1 and steps[0] > 1 else 1
    rate, notes = resolve_rate({"CMU's rate": _CMU_FPS / every}, fps, path)
    notes = (f"the skeleton of {skeleton_path.name}", *cut, *notes)
    if fps is None:
        counted = f", of which the file numbers one in {every}" if every > 1 else ""
        assumed = f"{_CMU_FPS:g} frames a second are assumed, as of CMU's captures"
        notes = (*notes, f"{assumed}{counted}")
    if unit_m is None and asf.per_inch != 1.0:
        unit_m = _INCH_M / asf.per_inch
        notes = (*notes, f"a unit of {unit_m:.4g} m: the file's length is {asf.per_inch:g}")
    names = list(asf.bones)
    above = [names.index(asf.parents[name]) if name in asf.parents else -1 for name in names]
    # Depth first, whatever the order of the bones is.
    order = depth_first(0, children_of(above))
    if len(order) != len(names):
        raise FormatError(
            "bones hang from no other, or in a circle", hint=_MAKE_AGAIN, path=skeleton_path
        )
    row = {joint: place for place, joint in enumerate(order)}
    vectors = np.stack([bone.vector for bone in asf.bones.values()])
    ends = [joint for joint in order if joint not in above and joint]
    body = Skeleton(
        tuple(names[joint] for joint in order),
        np.array([-1, *(row[above[joint]] for joint in order[1:])]),
        np.stack([asf.position, *(vectors[above[joint]] for joint in order[1:])]),
        np.array([row[joint] for joint in ends], np.int64),
        vectors[ends].reshape(-1, 3),
    )
    turns = [_turns(asf.bones[name], frames[name], asf.radians) for name in body.names]
    rotations = quaternions.sign_continuous(np.stack(turns, axis=1))
    moves = np.zeros((len(rotations), 3))
    for column, channel in enumerate(asf.bones[names[0]].channels):
        if channel in _MOVES:
            moves[:, _MOVES.index(channel)] = frames[names[0]][:, column]
    raw = RawMotion(body, rotations, (asf.position + moves)[:, None], rate)
    clip = in_metres_y_up(raw, unit_m, up, Source(str(path), fps=rate, notes=notes))
    return bridged(clip, numbers)


def _turns(bone: _Bone, values: Array, radians: float) -> Array:
    """(frames, 4) rotations from the rest pose in the axes of the world."""
    angles = np.zeros((len(values), 3))
    for column, channel in enumerate(bone.channels):
        if channel in _TURNS:
            angles[:, bone.order.index(channel[1])] = values[:, column] * radians
    turned = bone.axes * Rotation.from_euler(bone.order, angles) * bone.axes.inv()
    return np.asarray(turned.as_quat())


def _asf_beside(path: Path) -> Path:
    found = sorted(file for file in path.parent.glob("*") if file.suffix.lower() == ".asf")
    for stem in (path.stem, path.stem.partition("_")[0]):
        for file in found:
            if file.stem.lower() == stem.lower():
                return file
    if len(found) != 1:
        raise FormatError(
            f"its skeleton is missing: none of {len(found)} ASF files beside it is its own",
            hint=f"put {path.stem}.asf beside it",
            path=path,
        )
    return found[0]


def _lines(path: Path) -> Iterator[Line]:
    """Number and words of the lines that are not empty or comments."""
    content = read_content(path)
    if b"\0" in content or foreign_content(content):
        found = foreign_content(content) or "it is not text"
        raise FormatError(f"this is not an {path.suffix.upper()[1:]} file: {found}", path=path)
    numbered = enumerate(lines_of(content), start=1)
    return ((number, words) for number, line in numbered if (words := line.split("#")[0].split()))


def _numbers(words: Sequence[str], limit: float, path: Path, line: int) -> list[float]:
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = [math.nan]
    if not all(abs(value) <= limit for value in values):
        commas = any("," in word for word in words)
        raise FormatError(
            f"{' '.join(words)[:40]!r}: numbers are expected that a body can have",
            hint="write decimal points in place of the commas" if commas else _MAKE_AGAIN,
            path=path,
            line=line,
        )
    return values


def _read_asf(path: Path) -> _Asf:
    fault = partial(FormatError, hint=_MAKE_AGAIN, path=path)
    sections: dict[str, list[Line]] = {}
    section = ""
    for line, words in _lines(path):
        if words[0].startswith(":"):
            section = words[0].lower()
            words = words[1:]
        sections.setdefault(section, []).append((line, words))

    def entries(section: str) -> dict[str, Line]:
        """The lines of a section by their first words."""
        rows = sections.get(section, [])
        return {words[0].lower(): (line, words[1:]) for line, words in rows if words}

    def number(row: Line) -> float:
        return (_numbers(row[1][:1], _LARGEST_LENGTH, path, row[0]) or [0.0])[0]

    def vector(row: Line) -> Array:
        values = _numbers(row[1][:3], _LARGEST_LENGTH, path, row[0])
        if len(values) != 3:
            raise fault(f"{len(values)} numbers, expected 3", line=row[0])
        return np.array(values)

    def axes(angles: Array, order: str, line: int) -> tuple[Rotation, str]:
        if sorted(order.lower()) != ["x", "y", "z"]:
            raise fault(f"an order of axes {order[:20]!r}, expected one such as XYZ", line=line)
        return Rotation.from_euler(order.lower(), angles * radians), order.lower()

    if not all(sections.get(f":{name}") for name in ("root", "bonedata", "hierarchy")):
        raise fault("this is not an ASF file: it lacks :root, :bonedata or :hierarchy")
    units, root, none = entries(":units"), entries(":root"), (0, ["0", "0", "0"])
    radians = 1.0 if units.get("angle", (0, ["deg"]))[1][:1] == ["rad"] else math.pi / 180.0
    per_inch = number(units.get("length", (0, ["1"])))
    if not per_inch > 1e-6:
        raise fault(f"a length of {per_inch:g} for an inch", line=units["length"][0])
    position, orientation = root.get("position", none), root.get("orientation", none)
    order_of_axes = root.get("axis", (0, ["XYZ"]))[1] or [""]
    own, order = axes(vector(orientation), order_of_axes[0], orientation[0])
    channels = _channels(root.get("order", (0, [*_MOVES, *_TURNS]))[1])
    if channels is None:
        line = root["order"][0]
        raise fault("channels of the root other than TX to TZ and RX to RZ", line=line)
    bones = {"root": _Bone(np.zeros(3), own, order, channels)}
    bone: dict[str, Line] = {}
    for line, words in sections[":bonedata"]:
        word = words[0].lower() if words else ""
        if word == "begin":
            bone = {}
        elif word == "end":
            if not {"name", "direction", "length"} <= bone.keys() or not bone["name"][1]:
                raise fault("a bone without name, direction or length", line=line)
            name = bone["name"][1][0]
            length, way = number((line, bone["length"][1])), vector(bone["direction"])
            at, turns = bone.get("axis", (line, ["0", "0", "0", "XYZ"]))
            own, order = axes(vector((at, turns)), turns[3] if len(turns) > 3 else "XYZ", at)
            turning = _channels(bone.get("dof", (line, []))[1])
            if turning is None or set(turning) & set(_MOVES):
                raise fault(f"bone {name[:40]!r} changes more than its angles", line=line)
            if name in bones:
                raise fault(f"a second bone {name[:40]!r}", line=line)
            size = float(np.linalg.norm(way))
            if length and not size > 1e-9:
                raise fault(f"bone {name[:40]!r} has no direction", line=line)
            bones[name] = _Bone(way * (length / size if size else 0.0), own, order, turning)
        elif words:
            bone[word] = (line, words[1:])
    check_joint_count(len(bones), path)
    parents: dict[str, str] = {}
    for line, words in sections[":hierarchy"]:
        for child in words[1:]:
            if words[0] not in bones or child not in bones or child in parents or child == "root":
                shown = " ".join(words)[:60]
                raise fault(f"{shown!r}: bones that do not exist, or hang twice", line=line)
            parents[child] = words[0]
    return _Asf(bones, parents, per_inch, radians, vector(position))


def _channels(words: Sequence[str]) -> tuple[str, ...] | None:
    """Channels of a bone in small letters; None if there are others than turns and moves."""
    channels = tuple(word.lower() for word in words)
    known = set(channels) <= {*_TURNS, *_MOVES} and len(set(channels)) == len(channels)
    return channels if known else None


def _read_frames(
    lines: Iterable[Line], path: Path, asf: _Asf
) -> tuple[dict[str, Array], list[str], list[str]]:
    """Bone -> (frames, channels) values, frames' numbers, and notes; bones without a line rest."""
    fault = partial(FormatError, hint=_MAKE_AGAIN, path=path)
    # Frames in which a bone has a line, and the numbers of all of them.
    rows = {name: (array("q"), array("d")) for name in asf.bones}
    frames, numbers = 0, list[str]()
    for line, words in lines:
        if words[0].startswith(":"):
            if words[0].lower() == ":radians":
                asf.radians = 1.0
            continue
        if len(words) == 1 and words[0].isdigit():
            frames += 1
            numbers.append(words[0])
            continue
        bone = asf.bones.get(words[0])
        if bone is None or not frames:
            fact = "this is not an AMC file: no number of a frame comes first"
            raise fault(
                f"{words[0][:40]!r} is not a bone of the skeleton" if frames else fact,
                hint="is the ASF file beside it that of the same subject?",
                line=line,
            )
        values, width = _numbers(words[1:], _LARGEST_ANGLE, path, line), len(bone.channels)
        if len(values) != width:
            fact = f"{len(values)} numbers, but bone {words[0]!r} has {width} channels"
            raise fault(fact, line=line)
        at, own = rows[words[0]]
        if at and at[-1] == frames - 1:
            raise fault(f"a second line of {words[0]!r} in frame {frames}", line=line)
        at.append(frames - 1)
        own.extend(values)
    if not frames:
        raise fault("there are no frames")
    check_pose_count(frames, len(asf.bones), path.stat().st_size, path)
    found = {}
    for name, (at, own) in rows.items():
        width = len(asf.bones[name].channels)
        found[name] = np.zeros((frames, width))
        found[name][np.array(at)] = np.array(own).reshape(len(at), width)
    rest = [name for name, (at, _) in rows.items() if 0 < len(at) < frames]
    if not rest:
        return found, numbers, []
    if all(len(rows[name][0]) == frames - 1 > rows[name][0][-1] > 1 for name in rest):
        cut = {name: values[:-1] for name, values in found.items()}
        return cut, numbers[:-1], [f"{CORRECTED}the last frame was left out: the file ends in it"]
    return found, numbers, [f"{CHECK}bones that rest in frames without them: {listed(rest)}"]
