"""What readers of motion files share: content, options, joints, and clips in metres with Y up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import check_size
from deepphase.motion.clip import FASTEST_FPS, SLOWEST_FPS, Clip, Source, is_plausible_rate
from deepphase.motion.orientation import (
    AXES,
    FRAMES_LOOKED_AT,
    NOT_A_BODY,
    infer_unit,
    infer_up,
    rotate_up,
)
from deepphase.motion.skeleton import Skeleton

# Notes that begin so are about values that were changed, or doubt what was read and say the way
# out: shown for every file.
CORRECTED, CHECK = "corrected: ", "check: "
# Asked of clips that move as at another rate.
ANOTHER_RATE = "is the rate {:g}? --file-fps gives another".format
_GIVE_RATE = "give the right one: fps=, or --file-fps on the command line"

# Film and video rates of NTSC: 24, 30, 60 and 120 frames in 1.001 seconds.
_NTSC_RATES = (24 / 1.001, 30 / 1.001, 60 / 1.001, 120 / 1.001)
USUAL_RATES = (24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 200, 240, 250)
# A frame time that is off by a thousandth is a rounded one; "0.0333" just meets this.
_TOLERANCE = 1.01e-3
# "0.033" is 1 % off 1/30, "0.016" and "0.008" are 4 % off 1/60 and 1/120: beyond that, rounding is
# not an explanation.
_ROUNDING_TOLERANCE = 0.042
# Decimals of a frame time that is not rounded.
_EXACT_DECIMALS = 18
_NO_CHANGE = 1e-9
# Frame times that are milliseconds: 5 to 500 frames a second. As seconds, they would be less than
# one frame in two seconds.
SHORTEST_MS, LONGEST_MS = 2.0, 200.0


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


def check_rate_option(fps: float | None) -> None:
    """Raise ParameterError if a rate is given at which no body is captured."""
    # `yes` in a YAML file is not 1.
    is_number = isinstance(fps, Real) and not isinstance(fps, bool)
    if fps is not None and not (is_number and is_plausible_rate(fps)):
        raise ParameterError(
            f"a rate of {fps} frames a second is not possible",
            hint=f"give a rate of {SLOWEST_FPS:g} to {FASTEST_FPS:,.0f}",
        )


def frame_rate(frame_time: float, decimals: int) -> float:
    """The usual or NTSC rate within .1 % of a time, or one so written; else a whole or the same."""
    rate = 1.0 / frame_time
    last_digit = 10.0**-decimals

    def is_written_so(usual: float) -> bool:
        error = 1.0 / usual - frame_time
        return -0.5001 * last_digit <= error < last_digit and (
            abs(error) <= _ROUNDING_TOLERANCE * frame_time
        )

    def nearest_of(rates: Iterable[float]) -> float | None:
        return min(map(float, rates), key=lambda usual: abs(usual - rate), default=None)

    whole = (max(round(rate), 1), *_NTSC_RATES)
    nearest = nearest_of(usual for usual in whole if abs(usual - rate) <= _TOLERANCE * usual)
    if nearest in USUAL_RATES:
        return nearest
    return nearest_of(filter(is_written_so, USUAL_RATES)) or nearest or rate


def resolve_frame_time(
    word: str, given: float | None, path: Path, line: int
) -> tuple[float, tuple[str, ...]]:
    """Frames per second of a file that states the time of a frame, perhaps in ms, and notes."""
    if given is not None:
        instead = f"{given:g} frames a second as given, instead of the file's Frame Time"
        return float(given), (f"{instead} of {word[:40]}",)
    stated = float(word)
    decimals = _EXACT_DECIMALS if "e" in word.lower() else len(word.partition(".")[2])
    usual = (abs(rate / stated - 1.0) < _TOLERANCE for rate in (*USUAL_RATES, *_NTSC_RATES))
    if SHORTEST_MS <= stated <= LONGEST_MS and not any(usual):
        fps = frame_rate(stated / 1000.0, decimals + 3)
        fact = f"the Frame Time, {word[:40]}, is in milliseconds"
        return fps, (f"{CORRECTED}{fact}: read as {fps:.6g} frames a second",)
    fps = frame_rate(stated, decimals) if stated > 1e-300 else np.inf
    if not is_plausible_rate(fps):
        raise FormatError(
            f"a Frame Time of {word[:40]} seconds: no body is captured at such a rate",
            hint="write the seconds from one frame to the next, as in 0.0333333; or give the rate: "
            "fps=, or --file-fps on the command line",
            path=path,
            line=line,
        )
    if abs(fps * stated - 1.0) > 1e-4:
        return fps, (f"a frame time of {word} seconds was taken for {fps:.6g} frames a second",)
    return fps, ()


def resolve_rate(
    stated: Mapping[str, float], given: float | None, path: str | Path
) -> tuple[float, tuple[str, ...]]:
    """Frames per second of a file that states its rate under several names, and notes."""
    if given is not None:
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        instead = f", instead of the file's {said}" if said else ""
        return float(given), (f"{given:g} frames a second as given{instead}",)
    if not stated:
        hint = "give it: fps=, or --file-fps on the command line"
        raise FormatError("there is no frame rate in the file", hint=hint, path=path)
    (name, rate), *others = stated.items()
    if any(abs(other - rate) > _TOLERANCE * abs(rate) for _, other in others):
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        raise FormatError(f"frame rates that differ: {said}", hint=_GIVE_RATE, path=path)
    if not is_plausible_rate(rate):
        fact = f"{name} {rate:.6g} is an impossible number of frames a second"
        raise FormatError(fact, hint=_GIVE_RATE, path=path)
    meant = frame_rate(1.0 / rate, decimals=_EXACT_DECIMALS)
    if abs(meant - rate) < _NO_CHANGE * rate:
        return meant, ()
    return meant, (f"{rate:.9g} frames a second read as {meant:.6g}",)


def is_warning(note: str) -> bool:
    """Whether a note is on a value that was put right, or doubts what was read."""
    return CORRECTED in note or CHECK in note


def warnings_of(clip: Clip) -> tuple[str, ...]:
    """Notes of a clip on values of its file that were put right or are in doubt."""
    return tuple(filter(is_warning, clip.source.notes))


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
