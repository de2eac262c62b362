"""TRC: markers as a table of text, of Motion Analysis and OpenSim."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData
from deepphase.formats.markers.number_table import number_rows, text_lines
from deepphase.formats.units import METRES_PER_UNIT

_WHAT = "a TRC file"
_UNITS = {"meters": "m", "metres": "m", "millimeters": "mm", "centimeters": "cm", "inches": "inch"}


def read_trc(path: Path) -> MarkerData:
    """Read the markers of a TRC file.

    Raises FormatError if it cannot be read; the error names the line.
    """
    lines = text_lines(path, _WHAT, "PathFileType")
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
    unit_m = METRES_PER_UNIT.get(_UNITS.get(word, word))
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
