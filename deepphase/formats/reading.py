"""What readers of motion files share: content, options, joints, and clips in metres with Y up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import check_size
from deepphase.formats.frame_rates import CHECK, CORRECTED, check_rate_option
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, is_plausible_rate
from deepphase.motion.orientation import (
    AXES,
    FRAMES_LOOKED_AT,
    NOT_A_BODY,
    infer_unit,
    infer_up,
    rotate_up,
)
from deepphase.motion.skeleton import Skeleton

# A name of a unit, or metres in one.
Unit = str | float
METRES_PER_UNIT = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048}
_PLURALS = ("metres", "centimetres", "millimetres", "inches", "feet")
_SPELLED = {"metre": "m", "centimetre": "cm", "millimetre": "mm", "inche": "inch", "in": "inch"}
_SPELLED |= {"feet": "foot", "ft": "foot"}
_SMALLEST_UNIT, _LARGEST_UNIT = 1e-6, 1000.0
LARGEST_FLOOR_M = 1000.0
# Metres, of a bone and from the origin. Beyond this, distances in float32 are off by more than
# 6 cm. A body in millimetres that is taken for metres stays far below.
LARGEST_LENGTH_M = 1e6
# Ten times the joints of the most detailed film characters, faces and hands included. A joint takes
# a few bytes in a file, but a thousand times as many in memory.
MAX_JOINTS = 10_000
# Few keys and a high rate, or joints without channels, could ask for any number of poses of joints.
# A file that holds its motion is larger than four bytes for each.
_FREE_POSES, _BYTES_PER_POSE = 2_000_000, 4
# Frames that are missing for each that is there, as of markers that are seen in a tenth of the
# frames; and seconds over which nobody knows what the body did.
_MOST_MISSING, _LONG_GAP_S = 9, 0.25
EXPORT_AGAIN = "copy or export the file again"
COMMAS = "decimal commas were read as points"

# First bytes -> foreign content that users give as a motion file.
_FOREIGN = {
    b"version https://git-lfs": "a Git LFS pointer: fetch the file itself with git lfs pull",
    b"PK\x03\x04": "a zip archive",
    b"\x93NUMPY": "a single .npy array",
    b"Kaydara FBX Binary": "an FBX file",
    b"glTF": "a .glb file",
    b"HIERARCHY": "a BVH file",
    b"<": "a web page or other markup",
    b"\x1f\x8b": "a gzip archive: unpack it",
}
FRONT_BYTES = 64
# Marks of the byte order.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_content(path: Path, kind: str = "motion") -> bytes:
    """All bytes of a file; FormatError if it cannot be read or is empty."""
    try:
        check_size(path, kind)
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"cannot be read: {reason}", hint="check the path", path=path) from None
    if not content:
        raise FormatError("this is an empty file", hint=EXPORT_AGAIN, path=path)
    return content


def read_text(path: Path) -> str:
    """All text of a UTF-8 file, or of UTF-16 by its mark; raises FormatError."""
    content = read_content(path, "table")
    if foreign := foreign_content(content):
        raise FormatError(f"this is {foreign}, not a table", path=path)
    try:
        return content.decode("utf-16" if content[:2] in _UTF_16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("text that is not UTF-8", hint="save it as UTF-8", path=path) from None


def decoded(data: bytes) -> str:
    """UTF-16 by its mark, UTF-8, else Latin-1; without a mark."""
    if data[:2] in _UTF_16:
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(content: bytes) -> list[str]:
    """Lines of a text, whichever way they end."""
    return decoded(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def foreign_content(content: bytes) -> str:
    """Description of foreign content by its first bytes; empty if it is not recognized."""
    front = content[:FRONT_BYTES].lstrip()
    return next((what for begin, what in _FOREIGN.items() if front.startswith(begin)), "")


def unit_named(word: str) -> float | None:
    """Metres in a unit as a file or an option spells it; None for an unknown one."""
    word = word.strip(". ").lower().replace("meter", "metre").removesuffix("s")
    return METRES_PER_UNIT.get(_SPELLED.get(word, word))


def metres_per_unit(unit: Unit) -> float:
    """Metres in one unit: "m", "cm", "mm", "inch", "foot", or the number itself."""
    known = unit_named(unit) if isinstance(unit, str) else None
    try:
        # `yes` in a YAML file is not 1 m.
        metres = math.nan if isinstance(unit, bool) else float(known or unit)
    except (TypeError, ValueError, OverflowError):
        metres = math.nan
    if not _SMALLEST_UNIT <= metres <= _LARGEST_UNIT:
        number = f"a number of metres from {_SMALLEST_UNIT:g} to {_LARGEST_UNIT:g}"
        hint = f"choose {', '.join(METRES_PER_UNIT)}, or {number}"
        raise ParameterError(f"a unit of {unit!r} is not possible", hint=hint)
    return metres


def unit_in_words(metres: float) -> str:
    """Plural name of a unit of so many metres, as in "centimetres", or "units of 0.056 m"."""
    for name, size in zip(_PLURALS, METRES_PER_UNIT.values(), strict=True):
        if math.isclose(metres, size, rel_tol=1e-6):
            return name
    return f"units of {metres:g} m"


def checked_options(unit: Unit | None, up: str | None, fps: float | None) -> float | None:
    """Metres in a given unit, None if none is given. Raises ParameterError for a wrong option."""
    if up is not None and up not in AXES:
        hint = f"choose one of {', '.join(AXES)}"
        raise ParameterError(f"an up axis of {up!r} is not possible", hint=hint)
    check_rate_option(fps)
    return None if unit is None else metres_per_unit(unit)


def checked_floor(floor: float | None) -> float:
    """Metres of a given floor; 0 for none. Raises ParameterError for an impossible one."""
    is_number = isinstance(floor, int | float) and not isinstance(floor, bool)
    if floor is not None and not (is_number and abs(floor) <= LARGEST_FLOOR_M):
        hint = f"give its height in the files, up to {LARGEST_FLOOR_M:g} m above or below 0"
        raise ParameterError(f"a floor at {floor!r} is not possible", hint=hint)
    return float(floor or 0.0)


def unique_names(names: Sequence[str], mark: str = "#") -> tuple[tuple[str, ...], list[str]]:
    """Number repeated names: "#2" and so on is appended. Also returns the changed names."""
    used, unique, renamed = set(names), [], []
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        if counts[name] == 1:
            unique.append(name)
            continue
        while (numbered := f"{name}{mark}{counts[name]}") in used:
            counts[name] += 1
        used.add(numbered)
        unique.append(numbered)
        renamed.append(numbered)
    return tuple(unique), renamed


def numbered(names: Sequence[str], given: str | int, what: str) -> int:
    """Which of the named things of a file a name or a number means. Raises ParameterError."""
    if isinstance(given, str):
        if given in names:
            return names.index(given)
        if given.isdecimal() and len(given) < 10:
            given = int(given)
    if isinstance(given, str) or not 0 <= given < len(names):
        shown = ", ".join(f"{i} {name!r}" for i, name in enumerate(names[:12])) or "none"
        raise ParameterError(f"there is no {what} {given!r}", hint=f"there are: {shown}")
    return given


def listed(names: Sequence[str], shown: int = 5) -> str:
    """The first few of many names."""
    return ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")


def check_joint_count(joints: int, path: Path, line: int | None = None) -> None:
    """FormatError for a skeleton with too many joints, before it is built."""
    if joints > MAX_JOINTS:
        raise FormatError(
            f"a skeleton of more than {MAX_JOINTS:,} joints: no body has as many",
            hint="delete nodes that are not joints in the program that wrote the file",
            path=path,
            line=line,
        )


def are_too_many(poses: int, size: int) -> bool:
    """Whether a file of `size` bytes asks for far more poses of joints than it can hold."""
    return poses > max(_FREE_POSES, size // _BYTES_PER_POSE)


def check_pose_count(frames: int, joints: int, size: int, path: Path) -> None:
    """FormatError for more poses of joints than a file can hold, before they are made."""
    if are_too_many(frames * joints, size):
        fact = f"{frames:,} frames of {joints:,} joints, in a file of {size:,} bytes"
        raise FormatError(fact, hint="leave out joints that do not move", path=path)


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """(joints,) children of each joint, from their parents in any order; below 0 for roots."""
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def depth_first(root: int, children: Sequence[Sequence[int]]) -> list[int]:
    """A joint and all below it, each right behind what hangs from its parent's earlier children."""
    order, waiting = [], [root]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(children[joint]))
    return order


def parents_first(parents: Sequence[int]) -> tuple[list[int], Array]:
    """Joints below the first root, parents before children, and their new parents."""
    root = next((joint for joint, parent in enumerate(parents) if parent < 0), None)
    order = [] if root is None else depth_first(root, children_of(parents))
    if len(order) == len(parents) and all(above < joint for joint, above in enumerate(parents)):
        order.sort()
    row = {joint: place for place, joint in enumerate(order)}
    return order, np.array([row.get(parents[joint], -1) for joint in order], np.int64)


@dataclass(frozen=True, eq=False)
class RawMotion:
    """What a file says, in its own units and axes; fields are those of `Clip`."""

    skeleton: Skeleton
    rotations: Array
    translations: Array
    fps: float
    translated_joints: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    labels: Mapping[str, str] = field(default_factory=dict)


def in_metres_y_up(
    motion: RawMotion | Clip, unit_m: float | None, up: str | None, source: Source
) -> Clip:
    """The motion of a file as a clip in metres with Y up, named after its file."""
    skeleton, notes = motion.skeleton, source.notes
    if unit_m is None:
        unit_m, note = infer_unit(skeleton)
        notes = (*notes, f"{CHECK}{note}; --unit gives another" if note is NOT_A_BODY else note)
    # Some frames are enough for the up axis. Making a clip checks its rotations, which takes time.
    some = slice(None, None, max(1, len(motion.rotations) // FRAMES_LOOKED_AT))
    parts = (motion.rotations[some], motion.translations[some], motion.fps)
    if up is None:
        up, note = infer_up(Clip(skeleton, *parts, motion.translated_joints))
        notes = (*notes, note)
    offsets, end_offsets = skeleton.offsets * unit_m, skeleton.end_offsets * unit_m
    clip = Clip(
        replace(skeleton, offsets=offsets, end_offsets=end_offsets),
        motion.rotations,
        motion.translations * motion.translations.dtype.type(unit_m),
        motion.fps,
        motion.translated_joints,
        motion.labels,
        replace(source, unit_m=unit_m, up=up, notes=notes),
        Path(source.path).stem,
    )
    return rotate_up(checked_body(clip, source.path), up)


def with_notes(clip: Clip, notes: Sequence[str]) -> Clip:
    """The clip with more notes on what was read."""
    if not notes:
        return clip
    return replace(clip, source=replace(clip.source, notes=(*clip.source.notes, *notes)))


def frame_numbers(words: Sequence[str]) -> Array:
    """(frames,) int64 numbers of frames; empty where some words are none."""
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        return np.zeros(0, np.int64)
    return np.array([int(word) for word in words], np.int64)


def frames_by_time(seconds: Array, fps: float) -> Array:
    """(frames,) int64 numbers of frames by their times; empty where most are no frame apart."""
    steps = np.rint(np.diff(seconds) * fps)
    if not len(steps) or not steps.min() >= 1 or np.median(steps) != 1:
        return np.zeros(0, np.int64)
    return np.append(0, steps.cumsum()).astype(np.int64)


def bridged(clip: Clip, frames: Array) -> Clip:
    """The clip with the frames that their numbers leave out on straight lines, and a note."""
    steps = np.diff(frames)
    # Numbers that all grow by as much are those of every other frame, and leave out none.
    if not len(steps) or steps.min() == steps.max():
        return clip
    gap = int(steps.argmax())
    missing, longest = int((steps - 1).sum()), int(steps[gap]) - 1
    note = f"{missing:,} frames are missing, at most {longest:,} together after {frames[gap]}"
    if steps.min() < 1:
        note = f"numbers of frames repeat or go back after {frames[steps.argmin()]}"
    if steps.min() < 1 or missing > _MOST_MISSING * len(clip):
        return with_notes(clip, [f"{CHECK}{note}: the motion jumps there"])
    place = np.arange(frames[0], frames[-1] + 1)
    after = np.searchsorted(frames, place[1:-1])
    share = ((place[1:-1] - frames[after - 1]) / steps[after - 1])[:, None, None]

    def filled(values: Array) -> Array:
        inner = values[after - 1] * (1.0 - share) + values[after] * share
        return np.concatenate([values[:1], inner, values[-1:]])

    rotations = quaternions.normalized(filled(quaternions.sign_continuous(clip.rotations)))
    clip = replace(clip, rotations=rotations, translations=filled(clip.translations))
    long = longest > _LONG_GAP_S * clip.fps
    doubt = f"{CHECK}too long to be known: cut it out" if long else ""
    return with_notes(
        clip, [f"{CORRECTED}{note}: bridged by straight lines{doubt and '; '}{doubt}"]
    )


def checked_body(clip: Clip, path: str | Path) -> Clip:
    """The clip; FormatError if its lengths are not those of a body."""
    checked_skeleton(clip.skeleton, path)
    _check_lengths("a translation", clip.translations, path)
    return clip


def checked_skeleton(skeleton: Skeleton, path: str | Path | None = None) -> Skeleton:
    """The skeleton; FormatError if its lengths are not those of a body."""
    _check_lengths("an offset", skeleton.offsets, path)
    _check_lengths("the offset of an end site", skeleton.end_offsets, path)
    return skeleton


def check_writable_body(clip: Clip, path: str | Path) -> None:
    """Raise FormatError for a clip that readers would refuse, for its rate or its lengths."""
    checked_body(clip, path)
    if not is_plausible_rate(clip.fps):
        raise FormatError(
            f"readers refuse a clip at {clip.fps:.6g} frames a second",
            hint="resample it, or correct its rate",
            path=path,
        )


def _check_lengths(what: str, lengths: Array, path: str | Path | None) -> None:
    longest = float(np.abs(lengths).max(initial=0.0))
    if not longest <= LARGEST_LENGTH_M:
        raise FormatError(
            f"{what} of {longest:.3g} m: no body has such a size or place",
            hint="the unit may be wrong: give it with --unit",
            path=path,
        )
