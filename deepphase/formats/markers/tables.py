"""Tables of text: CSV with named columns; markers as TRC of Motion Analysis, CSV of Motive."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.files import atomic_write
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData, frames_by_time
from deepphase.formats.reading import (
    COMMAS,
    CORRECTED,
    EXPORT_AGAIN,
    FRONT_BYTES,
    foreign_content,
    lines_of,
    read_content,
    read_text,
    unit_named,
)
from deepphase.motion.clip import Clip, joint_positions

_GAPS = ("", "nan", "-nan", "nan(ind)", "-nan(ind)")
# Rows may end at their last number. More missing cells than this are another header's rows.
_MOST_MISSING, _FEW_CELLS = 8, 100_000
_MOTIVE_BEGIN = "Format Version"
# In order of preference: labelled markers, markers that a solver places, joints of a skeleton.
_TYPES = ("marker", "bone marker", "rigid body marker", "bone", "rigid body")
# Times of frames that are so far off a stated rate contradict it; as many frames tell. Frames that
# are missing, as a multiple of those that are there, are another kind of file.
_OTHER_RATE, _FEWEST_STEPS, _MOST_GAPS = 0.02, 10, 2
# Rows above the names of columns.
_MAX_HEADER_ROWS = 12

Rows = Sequence[tuple[int, Sequence[str]]]


def _text_lines(path: Path, what: str, begin: str) -> list[str]:
    """Lines of a text file that begins with certain words, in any case."""
    content = read_content(path)
    lines = lines_of(content)
    if not "".join(lines[:4]).lstrip(' \t"').lower().startswith(begin.lower()):
        found = foreign_content(content) or f"it does not begin with {begin}"
        raise FormatError(f"this is not {what}: {found}", path=path, line=1)
    return lines


def _number(word: str) -> float:
    """A number with a decimal point or comma. Raises ValueError."""
    return float(word if "." in word else word.replace(",", ".", 1))


def _number_rows(rows: Rows, width: int, path: Path) -> tuple[Array, tuple[str, ...]]:
    """(rows, width) numbers, NaN for empty cells, and notes; cells beyond the width are empty."""
    fault = partial(FormatError, path=path)
    if len(rows) * width > _MOST_MISSING * sum(len(cells) for _, cells in rows) + _FEW_CELLS:
        raise fault(
            f"there are rows with far fewer cells than the {width:,} of the header",
            hint=EXPORT_AGAIN,
            line=min(rows, key=lambda row: len(row[1]))[0],
        )
    values, commas = np.full((len(rows), width), np.nan), False
    for row, (line, cells) in enumerate(rows):
        if any(cell.strip() for cell in cells[width:]):
            fact = f"{len(cells)} cells, but the header declares {width}"
            raise fault(fact, hint=EXPORT_AGAIN, line=line)
        for column, cell in enumerate(cells[:width]):
            word = cell.strip()
            if word.lower() in _GAPS:
                continue
            try:
                value = _number(word)
                commas |= "," in word
            except ValueError:
                value = math.inf
            if not math.isfinite(value):
                raise fault(
                    f"column {column + 1}: {word[:30]!r} is not a finite number",
                    hint="empty cells are gaps",
                    line=line,
                )
            values[row, column] = value
    return values, (COMMAS,) if commas else ()


def _whole(table: Array, rates: dict[str, float]) -> tuple[Array, tuple[str, ...]]:
    """All frames of a table, with gaps, and notes; a rate that times contradict gets company."""
    steps = np.diff(table[:, 0])
    step = float(np.median(steps)) if len(steps) >= _FEWEST_STEPS else 0.0
    if not step > 0 or not (steps > 0).all() or (steps % step).any():
        return table, ()
    frames = np.rint((table[:, 0] - table[0, 0]) / step).astype(np.int64)
    for stated in rates.values():
        by_time = frames_by_time(table[:, 1], stated)
        # Times of numbers without a gap may have one.
        frames = by_time if len(by_time) and frames[-1] == len(steps) else frames
    count = int(frames[-1]) + 1
    seconds = float(table[-1, 1] - table[0, 1])
    if seconds > 0:
        timed = (count - 1) / seconds
        for stated in filter(None, list(rates.values())):
            # Some write milliseconds.
            if all(abs(timed * unit / stated - 1.0) > _OTHER_RATE for unit in (1.0, 1000.0)):
                rates["the times of rows"] = timed
    if len(table) < count <= _MOST_GAPS * len(table):
        whole = np.full((count, table.shape[1]), np.nan)
        whole[frames] = table
        return whole, (f"{count - len(table)} frames are missing: they are gaps",)
    return table, ()


def _csv_rows(
    lines: Iterable[str], delimiter: str, fault: Callable[..., FormatError], *, strict: bool
) -> list[tuple[int, list[str]]]:
    """Line and stripped cells of each row that is not empty."""
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise fault(f"this is not a CSV row: {str(error)[:60]}", line=reader.line_num) from None
    return [(line, cells) for line, cells in rows if any(cells)]


def read_trc(path: Path) -> MarkerData:
    """Read the markers of a TRC file."""
    lines, fault = _text_lines(path, "a TRC file", "PathFileType"), partial(FormatError, path=path)
    if len(lines) < 5:
        raise fault("the header ends too early", hint=EXPORT_AGAIN, line=len(lines))
    pairs = zip(_cells(lines[1]), _cells(lines[2]), strict=False)
    stated = {name.strip().lower(): value.strip() for name, value in pairs}
    try:
        rate, count = _number(stated["datarate"]), int(_number(stated["nummarkers"]))
    except (KeyError, ValueError, OverflowError):
        raise fault(
            "the header has no DataRate and NumMarkers",
            hint="line 2 names the values of line 3",
            line=3,
        ) from None
    if not 0 < count <= MAX_POINTS:
        raise fault(f"there are {count:,} markers", hint=f"1 to {MAX_POINTS:,} are read", line=3)
    names = [label for cell in _cells(lines[3])[2:] if (label := cell.strip())]
    # Some leave out the row of axes, whose first cell is empty.
    rows = [(n, _cells(line)) for n, line in enumerate(lines[4:], start=5) if line.strip()]
    rows = rows[not rows[0][1][0].strip().isdigit() :] if rows else rows
    miscounted: tuple[str, ...] = ()
    if len(names) != count and rows and len(rows[0][1]) == 2 + 3 * len(names):
        # Programs that leave out or add markers forget the header.
        miscounted = (f"{CORRECTED}{len(names)} markers, but NumMarkers is {count}",)
        count = len(names)
    if len(names) != count:
        raise fault(
            f"{len(names)} labels, but NumMarkers is {count}",
            hint="line 4 has Frame#, Time and every label",
            line=4,
        )
    table, notes = _number_rows(rows, 2 + 3 * count, path)
    rates = {"DataRate": rate}
    table, gaps = _whole(table, rates)
    notes = (*miscounted, *notes, *gaps)
    positions = np.ascontiguousarray(table[:, 2:]).reshape(len(table), count, 3)
    word, frames = stated.get("units", "").lower(), stated.get("numframes", "")
    unit_m = unit_named(word)
    if word and not unit_m:
        notes = (*notes, f"the unit {word[:20]!r} is not known")
    if frames.isdigit() and int(frames) != len(positions):
        notes = (*notes, f"{len(positions)} frames, but the header declares {frames[:12]}")
    return MarkerData(tuple(names), positions, rates, unit_m, notes)


def _cells(line: str) -> list[str]:
    # Without tabs or semicolons there are no empty cells.
    marks = "\t;" if " " in line.strip() else "\t;,"
    separator = next((mark for mark in marks if mark in line), None)
    return line.split(separator)


def is_motive_csv(path: Path) -> bool:
    """Whether a file begins as exports of Motive do; other CSV files are not motion."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            front = file.read(FRONT_BYTES)
    except OSError:
        return False
    text = front.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return text.lstrip().strip('"').lower().startswith(_MOTIVE_BEGIN.lower())


def read_motive(path: Path) -> MarkerData:
    """Read the markers of a take."""
    lines = _text_lines(path, "a CSV export of Motive", _MOTIVE_BEGIN)
    fault = partial(FormatError, path=path)
    # As spreadsheets of many countries write them, with decimal commas.
    delimiter = ";" if ";" in lines[0] else ","
    rows = _csv_rows(lines, delimiter, fault, strict=False)
    first = rows[0][1]
    stated = {key.lower(): value for key, value in zip(first[::2], first[1::2], strict=False)}
    header = rows[:_MAX_HEADER_ROWS]
    place = next((n for n, (_, cells) in enumerate(header) if cells[0].lower() == "frame"), 0)
    if place < 3:
        raise fault(
            "no row of column names that begins with Frame",
            hint="export with a header",
            line=header[-1][0],
        )
    line, axes = rows[place][0], [cell.upper() for cell in rows[place][1]]
    width = len(axes)

    def row(cells: list[str]) -> list[str]:
        return cells[:width] + [""] * (width - len(cells))

    # What a header row is about is its first word.
    labelled = {
        next((cell.lower() for cell in cells[:2] if cell), ""): row(cells)
        for _, cells in reversed(rows[1:place])
    }
    if "name" not in labelled:
        raise fault("there is no row of names", hint="export with a header", line=line)
    names, kinds = labelled["name"], labelled.get("type", row(rows[1][1]))
    parts = row(rows[place - 1][1])
    columns: dict[str, dict[str, list[int]]] = {}
    for column in range(2, width - 2):
        is_place = parts[column].lower() == "position" and axes[column : column + 3] == list("XYZ")
        if is_place and names[column]:
            of_kind = columns.setdefault(kinds[column].lower(), {})
            of_kind.setdefault(names[column], [column, column + 1, column + 2])
    chosen = next((kind for kind in _TYPES if kind in columns), None)
    if chosen is None:
        raise fault("there are no positions of markers or bones", hint="export markers", line=line)
    if "marker" not in chosen and stated.get("coordinate space", "").lower() == "local":
        raise fault(
            f"places of type {chosen!r} in the frames of their parents (Coordinate Space: Local)",
            hint="export with the coordinate space Global",
            line=rows[0][0],
        )
    labels = list(columns[chosen])
    table, notes = _number_rows(rows[place + 1 :], width, path)
    rates: dict[str, float] = {}
    for key in ("export frame rate", "capture frame rate"):
        try:
            rates[key] = _number(stated[key])
            break
        except (KeyError, ValueError):
            continue
    table, gaps = _whole(table, rates)
    notes = (f"{len(labels)} positions of type {chosen!r}", *notes, *gaps)
    positions = table[:, [columns[chosen][name] for name in labels]]
    unit_m = unit_named(stated.get("length units", ""))
    return MarkerData(tuple(labels), np.ascontiguousarray(positions), rates, unit_m, notes)


@dataclass(frozen=True)
class CsvTable:
    """A table with named columns."""

    columns: tuple[str, ...]  # Their names
    line: int  # Line of the names in the file
    # Line and cells of each row; as many cells as columns
    rows: tuple[tuple[int, Sequence[str]], ...]


def read_csv_table(path: str | Path, required: Sequence[str], hint: str) -> CsvTable:
    """Read a table, its cells between commas, semicolons or tabs; empty rows are left out."""
    path = Path(path)
    fault, text = partial(FormatError, hint=hint, path=path), read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = _csv_rows(io.StringIO(text, newline=""), delimiter, fault, strict=True)
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
    return CsvTable(tuple(columns), first_line, tuple(rows))


def save_places(clip: Clip, path: str | Path) -> None:
    """Write the places of a clip's joints in metres, a row a frame: time, <joint>.x, .y, .z, ..."""
    columns = ["time", *(f"{name}.{axis}" for name in clip.skeleton.names for axis in "xyz")]
    head = io.StringIO()
    csv.writer(head, lineterminator="").writerow(columns)
    places = joint_positions(clip).reshape(len(clip), -1)
    rows = np.column_stack([np.arange(len(clip)) / clip.fps, places])
    with atomic_write(Path(path)) as file:
        np.savetxt(file, rows, "%.6f", ",", header=head.getvalue(), comments="", encoding="utf-8")
