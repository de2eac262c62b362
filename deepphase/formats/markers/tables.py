"""Markers as tables of text: TRC of Motion Analysis and OpenSim, CSV of OptiTrack's Motive."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData
from deepphase.formats.reading import FRONT_BYTES, METRES_PER_UNIT, foreign_content, read_content

_GAPS = ("", "nan", "-nan", "nan(ind)", "-nan(ind)")

# Rows may end at their last number. More missing cells than this are another header's rows.
_MOST_MISSING, _FEW_CELLS = 8, 100_000


def text_lines(path: Path, what: str, begin: str) -> list[str]:
    """Lines of a text file that begins with certain words, in any case.

    Raises FormatError if it cannot be read or is another file; `what` names the expected format.
    """
    content = read_content(path)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode()
    front = content[:FRONT_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip(b' \t\r\n"').lower()
    if b"\0" in content or not front.startswith(begin.lower().encode()):
        found = foreign_content(content) or f"it does not begin with {begin}"
        raise FormatError(f"this is not {what}: {found}", path=path, line=1)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def number_rows(rows: Sequence[tuple[int, Sequence[str]]], width: int, path: Path) -> Array:
    """(rows, width) numbers; NaN for empty cells. Cells beyond the width must be empty.

    Parameters
    ----------
    rows
        (line number, cells) of each row.
    """
    cells_in_file = sum(len(cells) for _, cells in rows)
    if len(rows) * width > _MOST_MISSING * cells_in_file + _FEW_CELLS:
        line = min(rows, key=lambda row: len(row[1]))[0]
        raise FormatError(
            f"there are rows with far fewer cells than the {width:,} of the header",
            path=path,
            line=line,
            hint="export the table again",
        )
    values = np.full((len(rows), width), np.nan)
    for row, (line, cells) in enumerate(rows):
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            raise FormatError(
                f"{len(cells)} cells, but the header declares {width}",
                path=path,
                line=line,
                hint="export the table again",
            )
        for column, cell in enumerate(cells[:width]):
            word = cell.strip()
            if word.lower() in _GAPS:
                continue
            try:
                value = float(word)
            except ValueError:
                value = math.inf
            if not math.isfinite(value):
                raise FormatError(
                    f"column {column + 1}: {word[:30]!r} is not a finite number",
                    hint="empty cells are gaps",
                    path=path,
                    line=line,
                )
            values[row, column] = value
    return values


_TRC = "a TRC file"
_TRC_UNITS = {
    "meters": "m",
    "metres": "m",
    "millimeters": "mm",
    "centimeters": "cm",
    "inches": "inch",
}


def read_trc(path: Path) -> MarkerData:
    """Read the markers of a TRC file.

    Raises FormatError if it cannot be read; the error names the line.
    """
    lines = text_lines(path, _TRC, "PathFileType")
    if len(lines) < 5:
        raise FormatError(
            "the header ends too early", path=path, line=len(lines), hint="export the file again"
        )
    stated = dict(zip(_cells(lines[1]), _cells(lines[2]), strict=False))
    lower = {name.strip().lower(): value.strip() for name, value in stated.items()}
    try:
        rate, count = float(lower["datarate"]), int(float(lower["nummarkers"]))
    except (KeyError, ValueError, OverflowError):
        raise FormatError(
            "the header has no DataRate and NumMarkers",
            hint="line 2 names the values of line 3",
            path=path,
            line=3,
        ) from None
    if not 0 < count <= MAX_POINTS:
        raise FormatError(
            f"there are {count:,} markers", hint=f"1 to {MAX_POINTS:,} are read", path=path, line=3
        )
    word = lower.get("units", "").lower()
    unit_m = METRES_PER_UNIT.get(_TRC_UNITS.get(word, word))
    labels = [cell.strip() for cell in _cells(lines[3])[2:]]
    names = [label for label in labels if label]
    if len(names) != count:
        raise FormatError(
            f"{len(names)} labels, but NumMarkers is {count}",
            hint="line 4 has Frame#, Time and every label",
            path=path,
            line=4,
        )
    rows = [
        (number, _cells(line)) for number, line in enumerate(lines[5:], start=6) if line.strip()
    ]
    table = number_rows(rows, 2 + 3 * count, path)
    positions = table[:, 2:].reshape(len(table), count, 3)
    notes = () if unit_m or not word else (f"the unit {word[:20]!r} is not known",)
    frames = lower.get("numframes", "")
    if frames.isdigit() and int(frames) != len(positions):
        notes = (*notes, f"{len(positions)} frames, but the header declares {frames[:12]}")
    return MarkerData(
        tuple(names), np.ascontiguousarray(positions), {"DataRate": rate}, unit_m, notes=notes
    )


def _cells(line: str) -> list[str]:
    # Without tabs there are no empty cells.
    return line.split("\t") if "\t" in line else line.split()


_MOTIVE = "a CSV export of Motive"
_BEGIN = "Format Version"
_MOTIVE_UNITS = {"meters": 1.0, "metres": 1.0, "centimeters": 0.01, "millimeters": 0.001}
# In order of preference: labelled markers, markers that a solver places, joints of a skeleton.
_TYPES = ("marker", "bone marker", "rigid body marker", "bone", "rigid body")
# Rows above the names of columns.
_MAX_HEADER_ROWS = 12
_PEEKED_BYTES = 64


def is_motive_csv(path: Path) -> bool:
    """Whether a file begins as exports of Motive do; other CSV files are not motion."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            front = file.read(_PEEKED_BYTES)
    except OSError:
        return False
    text = front.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return text.lstrip().strip('"').lower().startswith(_BEGIN.lower())


def read_motive(path: Path) -> MarkerData:
    """Read the markers of a take.

    Raises FormatError if it cannot be read; the error names the line.
    """
    lines = text_lines(path, _MOTIVE, _BEGIN)
    try:
        rows = [
            (number, cells)
            for number, cells in enumerate(csv.reader(lines), start=1)
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise FormatError(f"the file has damaged CSV: {str(error)[:60]}", path=path) from None
    first = [cell.strip() for cell in rows[0][1]]
    stated = {
        key.lower(): value for key, value in zip(first[::2], first[1::2], strict=False) if key
    }
    rates = {}
    for key in ("export frame rate", "capture frame rate"):
        try:
            rates[key] = float(stated[key])
            break
        except (KeyError, ValueError):
            continue
    place = next(
        (
            index
            for index, (_, cells) in enumerate(rows[:_MAX_HEADER_ROWS])
            if cells[0].strip().lower() == "frame"
        ),
        None,
    )
    if place is None or place < 3:
        raise FormatError(
            "no row of column names that begins with Frame",
            hint="export with a header",
            path=path,
            line=rows[min(len(rows), _MAX_HEADER_ROWS) - 1][0],
        )
    axes = [cell.strip().upper() for cell in rows[place][1]]
    width = len(axes)
    of_types = next((cells for _, cells in rows[1:place] if _label(cells) == "type"), rows[1][1])
    kinds, parts = _row(of_types, width), _row(rows[place - 1][1], width)
    names = next(
        (_row(cells, width) for _, cells in rows[1:place] if _label(cells) == "name"), None
    )
    if names is None:
        raise FormatError(
            "there is no row of names", hint="export with a header", path=path, line=rows[place][0]
        )
    columns: dict[str, dict[str, tuple[int, int, int]]] = {}
    for column in range(2, width - 2):
        kind = kinds[column].lower()
        is_place = parts[column].lower() == "position" and axes[column : column + 3] == list("XYZ")
        if kind in _TYPES and is_place and names[column]:
            of_kind = columns.setdefault(kind, {})
            of_kind.setdefault(names[column], (column, column + 1, column + 2))
    chosen = next((kind for kind in _TYPES if columns.get(kind)), None)
    if chosen is None:
        raise FormatError(
            "there are no positions of markers or bones",
            hint="export markers",
            path=path,
            line=rows[place][0],
        )
    if "marker" not in chosen and stated.get("coordinate space", "").lower() == "local":
        raise FormatError(
            f"places of type {chosen!r} in the frames of their parents (Coordinate Space: Local)",
            hint="export with the coordinate space Global",
            path=path,
            line=rows[0][0],
        )
    table = number_rows(rows[place + 1 :], width, path)
    labels = tuple(columns[chosen])
    positions = table[:, [list(columns[chosen][name]) for name in labels]]
    notes = [f"{len(labels)} positions of type {chosen!r}"]
    unlabelled = [n for n, name in enumerate(labels) if name.lower().startswith("unlabeled")]
    if unlabelled and len(unlabelled) < len(labels):
        kept = [n for n in range(len(labels)) if n not in set(unlabelled)]
        labels, positions = tuple(labels[n] for n in kept), positions[:, kept]
        notes.append(f"{len(unlabelled)} markers without a label were left out")
    unit_m = _MOTIVE_UNITS.get(stated.get("length units", "").lower())
    return MarkerData(labels, np.ascontiguousarray(positions), rates, unit_m, notes=tuple(notes))


def _label(cells: list[str]) -> str:
    """What a header row is about: its first word."""
    return next((cell.strip().lower() for cell in cells[:2] if cell.strip()), "")


def _row(cells: list[str], width: int) -> list[str]:
    return [cell.strip() for cell in cells[:width]] + [""] * (width - len(cells))
