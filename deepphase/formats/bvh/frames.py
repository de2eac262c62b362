"""The MOTION section of a BVH file: its frame count, its frame time and its table of numbers."""

from __future__ import annotations

import io
import re
from array import array
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.bvh.hierarchy import DECIMAL, LARGEST_NUMBER, LONGEST_NUMBER
from deepphase.formats.bvh.kernels import Kernels, kernels_for
from deepphase.formats.frame_rates import resolve_frame_time

_FRAMES = re.compile(rb"\s*Frames\s*:[ \t]*(\S*)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"\s*Frame[ \t]*Time\s*:[ \t]*(\S*)[ \t]*\n?", re.IGNORECASE)
_BLANK_LINES = re.compile(rb"(?:[ \t]*\n)*")
_WORD = re.compile(rb"\S+")
# More digits than this are damage, and Python's own limit on them would raise.
_COUNT = re.compile(rb"[0-9]{1,18}")


@dataclass(frozen=True)
class MotionHead:
    """What stands between MOTION and the first frame."""

    # How many frames the file declares
    frames: int
    # Seconds, as written
    frame_time: float
    # Frames a second: see `resolve_frame_time`
    fps: float
    # Offset in the file's bytes, and line, of the first frame
    start: int
    first_line: int
    # One sentence each
    notes: tuple[str, ...]


def parse_motion_head(
    text: bytes, start: int, path: Path, given_fps: float | None = None
) -> MotionHead:
    """Parse "Frames:" and "Frame Time:" from the offset behind the word MOTION on.

    A given rate has precedence over the file's.
    """

    def fault(fact: str, offset: int, hint: str = "") -> FormatError:
        line = text.count(b"\n", 0, offset) + 1
        return FormatError(fact, hint=hint, path=path, line=line)

    found = _FRAMES.match(text, start)
    if found is None:
        raise fault("MOTION is not followed by 'Frames:'", start)
    if not _COUNT.fullmatch(found[1]):
        raise fault(f"'Frames:' is followed by {_quoted(found[1])}, not by a count", found.end())
    frames = int(found[1])
    timed = _FRAME_TIME.match(text, found.end())
    if timed is None:
        raise fault("'Frames:' is not followed by 'Frame Time:'", found.end())
    word = timed[1].decode("latin-1")
    if not DECIMAL.fullmatch(word):
        raise fault(f"a Frame Time of {_quoted(timed[1])}", timed.end(1))
    frame_time = float(word)
    line = text.count(b"\n", 0, timed.end(1)) + 1
    fps, notes = resolve_frame_time(word, given_fps, path, line)
    blank = _BLANK_LINES.match(text, timed.end())
    body = blank.end() if blank else timed.end()
    return MotionHead(frames, frame_time, fps, body, text.count(b"\n", 0, body) + 1, notes)


def parse_frames(
    text: bytes, head: MotionHead, channels: int, path: Path, *, allow_truncated: bool
) -> tuple[Array, tuple[str, ...]]:
    """(frames, channels) float64, and notes.

    With `allow_truncated`, the whole frames before the first fault are taken if there are any.
    """
    # A view of the bytes, not a copy.
    body = io.BytesIO(text)
    body.seek(head.start)
    if not _WORD.search(text, head.start):
        if head.frames == 0:
            raise FormatError(
                "no frames: the file holds only a rest pose", path=path, line=head.first_line
            )
        raise FormatError(
            f"the file ends before the first of {head.frames:,} frames",
            hint="copy or export the file again",
            path=path,
            line=head.first_line,
        )
    if channels == 0:
        raise FormatError(
            "there are numbers, but no joint has channels",
            hint="export the joints with their rotations",
            path=path,
            line=head.first_line,
        )
    kernels = kernels_for(len(text) - head.start)
    if kernels is not None:
        scanned = scan_table(kernels, text, head.start, head.frames, channels)
        if scanned is not None:
            return scanned, ()
    try:
        # On files of 2 to 4 MB, 1.4 to 1.7 times as fast as np.fromstring or np.array of a split.
        values = np.loadtxt(body, comments=None, ndmin=2, encoding="latin-1")
    except ValueError:
        values = np.empty((0, 0))
    expected = (head.frames, channels)
    if values.shape == expected and (np.abs(values) < LARGEST_NUMBER).all():
        return values, ()
    del values
    body.seek(head.start)
    return _parse_with_care(body, head, channels, path, allow_truncated)


def _parse_with_care(
    body: BinaryIO, head: MotionHead, channels: int, path: Path, allow_truncated: bool
) -> tuple[Array, tuple[str, ...]]:
    """One number at a time: for tables that are wrapped, and to find the place of a fault."""
    numbers, lines, counts, fault = _numbers(body, head.first_line)
    wanted = head.frames * channels
    whole = len(numbers) // channels
    notes: tuple[str, ...] = ()
    if _is_wrapped(counts[:-1] if fault else counts, head.frames, channels):
        notes = ("frames are wrapped, not one a line",)
    else:
        row = next((row for row, count in enumerate(counts) if count != channels), len(counts))
        # The row that a bad number cut short is reported by that number.
        if row < len(counts) - bool(fault):
            fault = (
                f"{counts[row]:,} numbers, but the hierarchy declares {channels:,} channels",
                lines[row],
            )
        whole = min(whole, row)
    if fault is None and len(numbers) == wanted + channels and head.frames and not notes:
        # As Rokoko writes them.
        notes = (f"'Frames:' declares {head.frames:,}, but {whole:,} frames follow: all were read",)
        wanted += channels
    if fault is None and len(numbers) > wanted:
        raise FormatError(
            f"{whole:,} frames, but 'Frames:' declares {head.frames:,}",
            hint=f"if the file is whole, correct it to 'Frames: {whole}'",
            path=path,
            line=lines[-1] if notes else lines[head.frames],
        )
    if fault is None and len(numbers) < wanted:
        fault = f"the file ends after {whole:,} of {head.frames:,} declared frames", lines[-1]
    whole = min(whole, wanted // channels)
    values = np.frombuffer(numbers, np.float64)[: whole * channels].reshape(whole, channels)
    if fault is None:
        return values, notes
    fact, line = fault
    if allow_truncated and whole > 0:
        note = f"only the first {whole:,} of {head.frames:,} frames were read: line {line}: {fact}"
        return values, (*notes, note)
    hint = (
        f"{whole:,} of {head.frames:,} declared frames are readable; --allow-truncated "
        "(allow_truncated=True) takes those"
    )
    raise FormatError(fact, hint=hint if whole else "", path=path, line=line)


def _numbers(body: BinaryIO, first_line: int) -> tuple[array, array, array, tuple[str, int] | None]:
    """Numbers before the first fault, the lines that hold any, how many each, and the fault."""
    numbers, lines, counts = array("d"), array("q"), array("q")
    for line, text in enumerate(body, start=first_line):
        before, fault = len(numbers), None
        for word in _WORD.finditer(text):
            if not _is_number(word[0]):
                what = f"column {word.start() + 1}: {_quoted(word[0])} is not a finite number"
                fault = (what, line)
                break
            numbers.append(float(word[0]))
        if fault is not None or len(numbers) > before:
            lines.append(line)
            counts.append(len(numbers) - before)
        if fault is not None:
            return numbers, lines, counts, fault
    return numbers, lines, counts, None


def _is_wrapped(counts: array, frames: int, channels: int) -> bool:
    """Whether lines with other than one frame are meant so, rather than damaged.

    As many lines as frames are one frame a line. Else every frame begins on a new line, or every
    line holds whole frames, or all lines are shorter than a frame and the total fits; a table
    with one frame a line that lost or gained a number is none of these.
    """
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


def _is_number(word: bytes) -> bool:
    text = word.decode("latin-1")
    if len(text) > LONGEST_NUMBER or not DECIMAL.fullmatch(text):
        return False
    return abs(float(text)) < LARGEST_NUMBER


def _quoted(word: bytes) -> str:
    text = word[:80].decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


def scan_table(
    kernels: Kernels, text: bytes, start: int, frames: int, columns: int
) -> Array | None:
    """(frames, columns) float64 of the table that begins at an offset, each as `float` reads it.

    None where the text is not a table of `frames` lines of `columns` decimal numbers below
    `LARGEST_NUMBER`, or where many numbers have more digits than the scan takes.
    """
    # A number has a digit and a blank behind it: a count beyond that is not allocated.
    if not 0 < 2 * frames * columns <= len(text) - start + 1:
        return None
    values = np.empty(frames * columns)
    odd = np.empty((16 + len(values) // 16, 3), np.int64)
    content = np.frombuffer(text, np.uint8)
    count = kernels.scan_numbers(content, start, columns, values, LARGEST_NUMBER, odd)
    if count < 0:
        return None
    for index, first, stop in odd[:count].tolist():
        word = text[first:stop]
        if len(word) > LONGEST_NUMBER:
            return None
        values[index] = float(word)
        # False for infinity, too.
        if not abs(values[index]) < LARGEST_NUMBER:
            return None
    return values.reshape(frames, columns)
