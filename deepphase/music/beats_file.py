"""Reader of files with the beats of a song: times, beat numbers and Audacity labels."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.reading import read_text
from deepphase.music.audio import check_is_sound, sound_bytes, stated_duration_s
from deepphase.music.bars import Bars
from deepphase.music.beats import Beats, check_hint

BEATS_SUFFIX = ".beats"
"""Suffix of the file beside a song, of the same stem, that has its beats."""

_HINT = (
    "one beat a line: its second, and optionally its number in the bar (1 is the first beat); or "
    "labels as Audacity exports them; decimals after a point, not after a comma"
)
# Before the first beat.
_NONE = (-math.inf, None)
# Neither music nor an annotation has faster beats, 600 a minute.
_SHORTEST_S = 0.1
# A tracker that misses first beats counts on.
_MOST_BEATS_PER_BAR = 100
_COMMENT = "#"
# Audacity writes a second line for the frequencies of a label.
_FREQUENCIES = "\\"


@dataclass(frozen=True, eq=False)
class GivenBeats:
    """Beats of a song out of a file."""

    beats_s: Array  # (beats,) seconds, rising
    # (beats,) number of each beat in its bar, from 1; None where the file has none.
    numbers: Array | None
    lines: tuple[int, ...]  # (beats,) line of each beat in the file
    path: Path
    sha256: str

    def beats(self) -> Beats:
        """The beats, with confidence 1."""
        return Beats(self.beats_s, float(60 / np.median(np.diff(self.beats_s))), 1.0)

    def bars(self) -> Bars | None:
        """The bars, with confidence 1; None where beats have no numbers."""
        if self.numbers is None:
            return None
        downbeats = np.flatnonzero(self.numbers == 1)
        lengths = np.diff(downbeats)
        metre = int(np.median(lengths)) if len(lengths) else int(self.numbers.max())
        return Bars(metre, downbeats, 1.0)

    def check_inside(self, duration_s: float) -> None:
        """Raise FormatError, with the line, for a beat behind the end of the song."""
        late = np.flatnonzero(self.beats_s > duration_s)
        if len(late):
            first = int(late[0])
            raise FormatError(
                f"a beat at {self.beats_s[first]:g} s, but the song ends at {duration_s:.2f} s",
                hint="give the beats of this song, in seconds from its start",
                path=self.path,
                line=self.lines[first],
            )


def read_beats(path: str | Path) -> GivenBeats:
    """The beats in a text file: a second a line, or second and number in the bar, or labels.

    Labels are those of Audacity. Empty lines and lines that begin with # are skipped.
    """
    path = Path(path)
    text = read_text(path)
    rows: list[tuple[float, int | None]] = []
    lines: list[int] = []
    line: int | None = None
    try:
        for line, row in enumerate(text.splitlines(), start=1):
            if row.strip() and not row.lstrip().startswith((_COMMENT, _FREQUENCIES)):
                rows.append(_parsed(row))
                _check_next(rows)
                lines.append(line)
        line = None
        if len(rows) < 2:
            count = f"{len(rows)} beat{'' if len(rows) == 1 else 's'}"
            raise ValueError(f"{count}, at least two are needed")
        numbers = [number for _, number in rows]
        if None in numbers and any(numbers):
            line = lines[numbers.index(None)]
            raise ValueError("a beat without a number, where others have one")
        if None not in numbers and 1 not in numbers:
            raise ValueError("no beat has the number 1")
    except ValueError as error:
        raise FormatError(str(error), hint=_HINT, path=path, line=line) from None
    return GivenBeats(
        np.array([second for second, _ in rows]),
        None if None in numbers else np.array(numbers),
        tuple(lines),
        path,
        hashlib.sha256(text.encode()).hexdigest(),
    )


def check_beats(song: str | Path, beats: str | Path | None, bpm: float | None = None) -> None:
    """Raise an error, without decoding the song, where its beats or a hint cannot be used."""
    if bpm is not None:
        check_hint(bpm)
        if beats is not None:
            raise ParameterError(
                "a file of beats and a hint for the tempo cannot be used together",
                hint="leave --bpm out: the file has the beats",
            )
    content = sound_bytes(song)
    check_is_sound(content, song)
    beats = beats or beats_beside(song)
    if beats is not None:
        own_beats, stated_s = read_beats(beats), stated_duration_s(content, song)
        if stated_s:
            own_beats.check_inside(stated_s)


def beats_beside(song: str | Path) -> Path | None:
    """The file of beats beside a song; None where there is none."""
    path = Path(song).with_suffix(BEATS_SUFFIX)
    return path if path.is_file() else None


def _parsed(row: str) -> tuple[float, int | None]:
    """Second of a beat, and its number. Raises ValueError with what is wrong."""
    cells = row.split("\t")
    if len(cells) == 3:
        _number(cells[1])
        label = cells[2].strip()
        # Python refuses to read numbers of thousands of digits.
        is_number = label.isdecimal() and len(label) < 10
        return _number(cells[0]), int(label) if is_number else None
    cells = row.replace(",", " ").split()
    if len(cells) not in (1, 2):
        raise ValueError(f"there are {len(cells)} values in a line")
    # An editor that removes spaces at the ends of lines leaves this of a label without text.
    unnamed = len(cells) == 2 and cells[0] == cells[1] and "." in cells[0]
    if len(cells) == 1 or unnamed:
        return _number(cells[0]), None
    number = _number(cells[1])
    if number != int(number):
        raise ValueError(f"the beat number {cells[1]!r} is not a whole number")
    return _number(cells[0]), int(number)


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{cell.strip()[:40]!r} is not a number")
    return value


def _check_next(rows: list[tuple[float, int | None]]) -> None:
    """Raise ValueError where the last of the beats cannot follow the one before."""
    (before, counted), (second, number) = rows[-2:] if len(rows) > 1 else (_NONE, rows[0])
    if second < 0:
        raise ValueError(f"a beat at {second:g} s is before the start of the song")
    if not second - before >= _SHORTEST_S:
        raise ValueError(
            f"a beat at {second:g} s, less than {_SHORTEST_S:g} s after the one at {before:g} s "
            "is not possible"
        )
    if number is not None and not 1 <= number <= _MOST_BEATS_PER_BAR:
        raise ValueError(f"a beat has the number {number}, expected 1 to {_MOST_BEATS_PER_BAR}")
    if number is not None and counted is not None and number not in (1, counted + 1):
        raise ValueError(f"beat number {number} after {counted} is not possible")
