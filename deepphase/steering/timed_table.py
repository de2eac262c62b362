"""Tables of values over time: CSV files with a rising column `t`, for paths and gamepads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.tables import read_csv_table

_TIME = "t"


@dataclass(frozen=True, eq=False)
class TimedTable:
    """Columns of a table with a time in each row."""

    times: Array  # (rows,) seconds, strictly rising
    numbers: dict[str, Array]  # Column -> (rows,) float64, finite
    texts: dict[str, tuple[str, ...]]  # Every other column -> its cells


def read_timed_table(
    path: str | Path, required: Sequence[str], optional: Sequence[str] = ()
) -> TimedTable:
    """Read a CSV with the columns t and `required`, numbers of `optional`, and others as text."""
    path = Path(path)
    hint = f"columns: {', '.join((_TIME, *required))}, optionally {', '.join(optional)}, and labels"
    table = read_csv_table(path, (_TIME, *required), hint)
    columns, rows = table.columns, table.rows
    if len(rows) < 2:
        raise FormatError(
            f"{len(rows)} row{'' if len(rows) == 1 else 's'} of values, at least two are needed",
            hint="give at least a first and a last time",
            path=path,
        )
    numeric = {_TIME, *required, *(name for name in optional if name in columns)}
    numbers = {
        name: np.array([_number(path, line, name, cells[place]) for line, cells in rows])
        for place, name in enumerate(columns)
        if name in numeric
    }
    times = numbers.pop(_TIME)
    still = np.flatnonzero(np.diff(times) <= 0)
    if still.size:
        row = int(still[0]) + 1
        raise FormatError(
            f"t {times[row]:g} s is not after the {times[row - 1]:g} s of the row before",
            hint="t must rise from row to row",
            path=path,
            line=rows[row][0],
        )
    texts = {
        name: tuple(cells[place] for _, cells in rows)
        for place, name in enumerate(columns)
        if name not in numeric
    }
    return TimedTable(times, numbers, texts)


def value_at(times: Array, values: Sequence[str], time: float) -> str:
    """The value at a time of values that each hold from their time on."""
    place = np.searchsorted(times, time, side="right") - 1
    return values[int(np.clip(place, 0, len(times) - 1))]


def _number(path: Path, line: int, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(
            f"{column} {cell!r} is not a finite number",
            hint="write numbers with a decimal point, without a unit",
            path=path,
            line=line,
        )
    return value
