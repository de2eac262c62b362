"""BVH motion capture files as clips.

The format is what its many writers made of it: channels of any kind and order on any joint, each
joint's rotation a product of its channels from left to right, no word on units or axes. Where the
writers differ, the reader decides from the data and says so in its notes.
"""

from __future__ import annotations

import io
import re
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.bvh.hierarchy import (
    DECIMAL,
    LARGEST_NUMBER,
    STILL,
    Hierarchy,
    is_number,
    local_positions,
    local_rotations,
    parse_hierarchy,
    rest_axes,
    rotation_order,
)
from deepphase.formats.reading import (
    COMMAS,
    EXPORT_AGAIN,
    RawMotion,
    check_pose_count,
    checked_options,
    foreign_content,
    in_metres_y_up,
    read_content,
    resolve_frame_time,
    with_notes,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, joint_positions
from deepphase.motion.orientation import thinned
from deepphase.motion.skeleton import Skeleton

# A body stands on the floor if its lowest joint is at so small a share of its height.
_NEAR_FLOOR, _FRAMES_ON_FLOOR = 0.1, 100
_HIERARCHY = re.compile(rb"\s*HIERARCHY\b", re.IGNORECASE)
# Numbers with commas or semicolons, and these alone.
_WITH_COMMAS = re.compile(rb"(?<!\S)[-+.0-9eE]*[,;][-+.,;0-9eE]*(?!\S)")
_MOTION = re.compile(rb"^[ \t}]*(MOTION)\b", re.IGNORECASE | re.MULTILINE)
_ENTRY = re.compile(rb"\s*Frame(s|[ \t]*Time)\s*:[ \t]*(\S*)[ \t]*\n?", re.IGNORECASE)
_ROW = re.compile(rb"\S[^\n]*")
_BLANK_LINES = re.compile(rb"(?:[ \t]*\n)*")
_WORD = re.compile(rb"\S+")
# More digits than this are damage, and Python's own limit on them would raise.
_COUNT = re.compile(rb"[0-9]{1,18}")
# Loading the compiled code takes some .7 s of processor time, once in a process: as long as NumPy
# needs for this much more text than the code does.
_BYTES_BEFORE_COMPILED = 64_000_000
_bytes_read = 0

Scan = Callable[..., int]


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
    offsets, translations, translated, position_notes = local_positions(hierarchy, motion.values)
    rotations, end_offsets = local_rotations(hierarchy, motion.values), hierarchy.end_offsets
    if hierarchy.rests is not None:
        # With A the joints' axes at rest, r = A(parent) r A(joint)^-1 and t = A(parent) t: then
        # the offsets are the rest pose.
        axes = rest_axes(hierarchy, hierarchy.rests)
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
        rotation_orders=tuple(map(rotation_order, hierarchy.channels)),
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


@dataclass(frozen=True, eq=False)
class Motion:
    """The MOTION section of a file."""

    values: Array  # (frames, channels) float64
    fps: float
    first_line: int  # Line of the first frame
    notes: tuple[str, ...]  # One sentence each


def parse_motion(
    text: bytes,
    start: int,
    channels: int,
    path: Path,
    *,
    fps: float | None = None,
    allow_truncated: bool = False,
) -> Motion:
    """Parse the frame count (else rows are counted), the frame time and the table behind MOTION."""

    def line_at(offset: int) -> int:
        return text.count(b"\n", 0, offset) + 1

    def fault(fact: str, offset: int) -> FormatError:
        return FormatError(fact, path=path, line=line_at(offset))

    counted = timed = None
    while entry := _ENTRY.match(text, start):
        start = entry.end()
        if entry[1].lower() == b"s":
            counted = entry
        else:
            timed = entry
    if timed is None:
        raise fault("MOTION is not followed by 'Frame Time:'", start)
    word = timed[2].decode("latin-1").replace(",", ".")
    if not DECIMAL.fullmatch(word):
        raise fault(f"a Frame Time of {_quoted(timed[2])}", timed.end(2))
    rate, notes = resolve_frame_time(word, fps, path, line_at(timed.end(2)))
    blank = _BLANK_LINES.match(text, start)
    begin = blank.end() if blank else start
    if counted is None or not counted[2]:
        frames = sum(1 for _ in _ROW.finditer(text, begin))
        notes = (*notes, f"no count of frames: {frames:,} by the rows")
    elif _COUNT.fullmatch(counted[2]):
        frames = int(counted[2])
    else:
        quoted = _quoted(counted[2])
        raise fault(f"'Frames:' is followed by {quoted}, not by a count", counted.end(2))
    table = _Table(text, begin, line_at(begin), frames, channels, path)
    values, table_notes = table.read(allow_truncated)
    return Motion(values, rate, table.first_line, (*notes, *table_notes))


@dataclass(frozen=True)
class _Table:
    """The table of numbers of a file."""

    text: bytes
    start: int  # Offset of its beginning
    first_line: int
    frames: int  # As declared
    channels: int  # Of the hierarchy
    path: Path

    def read(self, allow_truncated: bool) -> tuple[Array, tuple[str, ...]]:
        """(frames, channels) float64, and notes."""
        fault = partial(FormatError, path=self.path, line=self.first_line)
        if not _WORD.search(self.text, self.start):
            if self.frames == 0:
                raise fault("no frames: the file holds only a rest pose")
            fact = f"the file ends before the first of {self.frames:,} frames"
            raise fault(fact, hint=EXPORT_AGAIN)
        if self.channels == 0:
            raise fault(
                "there are numbers, but no joint has channels",
                hint="export the joints with their rotations",
            )
        if (scan := scan_for(len(self.text) - self.start)) is not None:
            scanned = scan_table(scan, self.text, self.start, self.frames, self.channels)
            if scanned is not None:
                return scanned, ()
        # A view of the bytes, not a copy.
        body = io.BytesIO(self.text)
        body.seek(self.start)
        try:
            # On files of 2 to 4 MB, 1.4 to 1.7 times as fast as np.fromstring or np.array of a
            # split.
            values = np.loadtxt(body, comments=None, ndmin=2, encoding="latin-1")
        except ValueError:
            values = np.empty((0, 0))
        expected = (self.frames, self.channels)
        if values.shape == expected and (np.abs(values) < LARGEST_NUMBER).all():
            return values, ()
        del values
        body.seek(self.start)
        return self._read_with_care(body, allow_truncated)

    def _read_with_care(
        self, body: BinaryIO, allow_truncated: bool
    ) -> tuple[Array, tuple[str, ...]]:
        """One number at a time: for tables that are wrapped, and to find the place of a fault."""
        frames, channels = self.frames, self.channels
        numbers, lines, counts, fault = _numbers(body, self.first_line)
        wanted = frames * channels
        whole = len(numbers) // channels
        notes: tuple[str, ...] = ()
        if _is_wrapped(counts[:-1] if fault else counts, frames, channels):
            notes = ("frames are wrapped, not one a line",)
        else:
            row = next((row for row, count in enumerate(counts) if count != channels), len(counts))
            # The row that a bad number cut short is reported by that number.
            if row < len(counts) - bool(fault):
                fact = f"{counts[row]:,} numbers, but the hierarchy declares {channels:,} channels"
                fault = fact, lines[row]
            whole = min(whole, row)
        if fault is None and len(numbers) == wanted + channels and frames and not notes:
            # As Rokoko writes them.
            notes = (f"'Frames:' declares {frames:,}, but {whole:,} frames follow: all were read",)
            wanted += channels
        if fault is None and len(numbers) > wanted:
            raise FormatError(
                f"{whole:,} frames, but 'Frames:' declares {frames:,}",
                hint=f"if the file is whole, correct it to 'Frames: {whole}'",
                path=self.path,
                line=lines[-1] if notes else lines[frames],
            )
        if fault is None and len(numbers) < wanted:
            fault = f"the file ends after {whole:,} of {frames:,} declared frames", lines[-1]
        whole = min(whole, wanted // channels)
        values = np.frombuffer(numbers, np.float64)[: whole * channels].reshape(whole, channels)
        if fault is None:
            return values, notes
        fact, line = fault
        if allow_truncated and whole > 0:
            note = f"only the first {whole:,} of {frames:,} frames were read: line {line}: {fact}"
            return values, (*notes, note)
        hint = (
            f"{whole:,} of {frames:,} declared frames are readable; --allow-truncated "
            "(allow_truncated=True) takes those"
        )
        raise FormatError(fact, hint=hint if whole else "", path=self.path, line=line)


def _numbers(body: BinaryIO, first_line: int) -> tuple[array, array, array, tuple[str, int] | None]:
    """Numbers before the first fault, the lines that hold any, how many each, and the fault."""
    numbers, lines, counts = array("d"), array("q"), array("q")
    fault = None
    for line, text in enumerate(body, start=first_line):
        before = len(numbers)
        for word in _WORD.finditer(text):
            if not is_number(word[0].decode("latin-1")):
                what = f"column {word.start() + 1}: {_quoted(word[0])} is not a finite number"
                fault = what, line
                break
            numbers.append(float(word[0]))
        if fault is not None or len(numbers) > before:
            lines.append(line)
            counts.append(len(numbers) - before)
        if fault is not None:
            break
    return numbers, lines, counts, fault


def _is_wrapped(counts: array, frames: int, channels: int) -> bool:
    """Whether lines with other than one frame are meant so, rather than damaged."""
    if len(counts) == frames or not counts:
        return False
    if all(count == channels for count in counts[:-1]) and counts[-1] <= channels:
        # One frame a line, up to where the file was cut.
        return False
    ends = list(accumulate(counts))
    if all(count % channels == 0 for count in counts):
        return True
    frame_ends = range(channels, ends[-1] + 1, channels)
    if len(frame_ends) > 0 and set(frame_ends) <= set(ends):
        return True
    return max(counts) < channels and ends[-1] == frames * channels


def _quoted(word: bytes) -> str:
    text = word[:80].decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


@lru_cache(maxsize=1)
def load_scan() -> Scan | None:
    """The compiled scan, from numba's cache or compiled now; None where that fails."""
    if sys.byteorder != "little":
        return None
    try:
        from deepphase.formats.bvh.compiled import scan_numbers
    except Exception:
        # numba knows only some versions of NumPy and of Python, which it reports by many errors.
        return None
    return scan_numbers  # type: ignore[no-any-return]


def scan_for(size: int) -> Scan | None:
    """The compiled scan, once this process has read so much text that loading it pays."""
    global _bytes_read
    _bytes_read += size
    if _bytes_read >= _BYTES_BEFORE_COMPILED or load_scan.cache_info().currsize:
        return load_scan()
    return None


def scan_table(scan: Scan, text: bytes, start: int, frames: int, columns: int) -> Array | None:
    """(frames, columns) float64 of a table of decimal numbers; None where it is not one."""
    # A number has a digit and a blank behind it: a count beyond that is not allocated.
    if not 0 < 2 * frames * columns <= len(text) - start + 1:
        return None
    values = np.empty(frames * columns)
    odd = np.empty((16 + len(values) // 16, 3), np.int64)
    content = np.frombuffer(text, np.uint8)
    count = scan(content, start, columns, values, odd)
    if count < 0:
        return None
    for index, first, stop in odd[:count].tolist():
        word = text[first:stop].decode("latin-1")
        if not is_number(word):
            return None
        values[index] = float(word)
    return values.reshape(frames, columns)
