"""Tables in CSV files: rows of cells with their lines, and the places of a clip's joints."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.errors import FormatError
from deepphase.files import atomic_write
from deepphase.formats.reading import read_text
from deepphase.motion.clip import Clip, joint_positions


def save_places(clip: Clip, path: str | Path) -> None:
    """Write the places of a clip's joints in metres, a row a frame: time, <joint>.x, .y, .z, ..."""
    columns = ["time", *(f"{name}.{axis}" for name in clip.skeleton.names for axis in "xyz")]
    head = io.StringIO()
    csv.writer(head, lineterminator="").writerow(columns)
    places = joint_positions(clip).reshape(len(clip), -1)
    rows = np.column_stack([np.arange(len(clip)) / clip.fps, places])
    with atomic_write(Path(path)) as file:
        np.savetxt(file, rows, "%.6f", ",", header=head.getvalue(), comments="", encoding="utf-8")


@dataclass(frozen=True)
class CsvTable:
    """A table with named columns."""

    columns: tuple[str, ...]  # Their names
    line: int  # Line of the names in the file
    # Line and cells of each row; as many cells as columns
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def read_csv_table(path: str | Path, required: Sequence[str], hint: str) -> CsvTable:
    """Read a table, its cells between commas, semicolons or tabs; empty rows are left out."""
    path = Path(path)
    fault, text = partial(FormatError, hint=hint, path=path), read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [
            (reader.line_num, cells)
            for row in reader
            if any(cells := tuple(cell.strip() for cell in row))
        ]
    except csv.Error as error:
        raise fault(f"this is not a CSV row: {error}", line=reader.line_num) from None
    if not rows:
        raise fault("this is an empty table", line=1)
    first_line, columns = rows.pop(0)
    missing = [column for column in required if column not in columns]
    if missing:
        raise fault(f"there is no column {missing[0]!r}", line=first_line)
    for column in columns:
        if not column or columns.count(column) > 1:
            raise fault(f"the column {column!r} has no name or is repeated", line=first_line)
    for line, cells in rows:
        if len(cells) != len(columns):
            raise fault(f"there are {len(cells)} cells under {len(columns)} columns", line=line)
    return CsvTable(columns, first_line, tuple(rows))
