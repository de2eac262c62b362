"""CSV exports of OptiTrack's Motive: markers, or positions of bones where it has no markers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import MarkerData
from deepphase.formats.markers.number_table import number_rows, text_lines

_WHAT = "a CSV export of Motive"
_BEGIN = "Format Version"
_UNITS = {"meters": 1.0, "metres": 1.0, "centimeters": 0.01, "millimeters": 0.001}
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
    lines = text_lines(path, _WHAT, _BEGIN)
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
    unit_m = _UNITS.get(stated.get("length units", "").lower())
    return MarkerData(labels, np.ascontiguousarray(positions), rates, unit_m, notes=tuple(notes))


def _label(cells: list[str]) -> str:
    """What a header row is about: its first word."""
    return next((cell.strip().lower() for cell in cells[:2] if cell.strip()), "")


def _row(cells: list[str], width: int) -> list[str]:
    return [cell.strip() for cell in cells[:width]] + [""] * (width - len(cells))
