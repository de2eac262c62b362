"""Rows of numbers in text files, with empty cells as gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.file_content import FRONT_BYTES, foreign_content, read_content

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
