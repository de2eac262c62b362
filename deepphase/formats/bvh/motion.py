"""The MOTION section of a BVH file: its frame count, its frame time and its table of numbers."""

from __future__ import annotations

import io
import re
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.bvh.hierarchy import DECIMAL, LARGEST_NUMBER, is_number
from deepphase.formats.frame_rates import resolve_frame_time
from deepphase.formats.reading import EXPORT_AGAIN

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
