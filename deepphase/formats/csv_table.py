"""Tables in CSV files: rows of cells with their lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepphase.errors import FormatError
from deepphase.formats.reading import read_text


@dataclass(frozen=True)
class CsvTable:
    """A table with named columns."""

    # Their names
    columns: tuple[str, ...]
    # Line of the names in the file
    line: int
    # Line and cells of each row; as many cells as columns
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def read_csv_table(path: str | Path, required: Sequence[str], hint: str) -> CsvTable:
    """Read a table; empty rows and spaces around cells are left out."""
    path = Path(path)
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        rows = [
            (reader.line_num, tuple(cell.strip() for cell in row))
            for row in reader
            if any(cell.strip() for cell in row)
        ]
    except csv.Error as error:
        raise FormatError(
            f"this is not a CSV row: {error}", hint=hint, path=path, line=reader.line_num
        ) from None
    if not rows:
        raise FormatError("this is an empty table", hint=hint, path=path)
    first_line, columns = rows.pop(0)
    for column in required:
        if column not in columns:
            raise FormatError(
                f"there is no column {column!r}", hint=hint, path=path, line=first_line
            )
    for column in columns:
        if not column or columns.count(column) > 1:
            raise FormatError(
                f"the column {column!r} has no name or is repeated",
                hint=hint,
                path=path,
                line=first_line,
            )
    for line, cells in rows:
        if len(cells) != len(columns):
            raise FormatError(
                f"there are {len(cells)} cells under {len(columns)} columns",
                hint=hint,
                path=path,
                line=line,
            )
    return CsvTable(columns, first_line, tuple(rows))
