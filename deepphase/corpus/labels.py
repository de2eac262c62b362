"""Labels of clips from tables, file names and folders."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from deepphase.errors import FormatError, ParameterError
from deepphase.files import check_size, unpacked_bytes
from deepphase.formats.markers.tables import CsvTable, read_csv_table
from deepphase.packages import extra_packages

# Cells for each byte of a file of Parquet, where nothing takes none.
_CELLS_PER_BYTE, _ALWAYS_ALLOWED = 4, 1_000_000
_FILE, _START, _STOP = "file", "start_s", "stop_s"
_HINT = "columns: file, one for each label, and start_s, stop_s where a row is a piece of a clip"


@dataclass(frozen=True)
class LabelledPiece:
    """A row of a label table."""

    labels: dict[str, str]
    start_s: float | None  # From the start of the captured clip; None where it reaches its end
    stop_s: float | None
    line: int

    @property
    def whole(self) -> bool:
        """Whether the piece is the whole clip."""
        return self.start_s is None and self.stop_s is None


def read_label_table(
    path: str | Path, files: Iterable[str | PurePosixPath]
) -> dict[str, list[LabelledPiece]]:
    """Read a table with a column "file", label columns and optional "start_s" and "stop_s".

    CSV may have decimal commas. Parquet (needs pyarrow) is read as the table of a large set, of
    which the folder holds a part: the column of files is found where none is called "file", and
    labels are its columns of text, whole numbers and truth values.
    """
    path = Path(path)
    by_name: dict[str, set[str]] = {}
    for file in map(PurePosixPath, files):
        for name in (file.as_posix(), file.with_suffix("").as_posix(), file.name, file.stem):
            by_name.setdefault(name, set()).add(file.as_posix())
    if path.suffix.lower() == ".parquet":
        table = _parquet_table(path, by_name)
    else:
        table = read_csv_table(path, [_FILE], _HINT)
    if not set(table.columns) - {_FILE, _START, _STOP}:
        raise _wrong(path, table.line, "no label column")
    pieces: dict[str, list[LabelledPiece]] = {}
    for line, row in table.rows:
        file_name, piece = _piece(path, dict(zip(table.columns, row, strict=True)), line, by_name)
        pieces.setdefault(file_name, []).append(piece)
    for file_name, of_file in pieces.items():
        of_file.sort(key=lambda piece: (piece.start_s or 0.0, piece.line))
        for before, after in pairwise(of_file):
            if before.stop_s is None or (after.start_s or 0.0) < before.stop_s:
                first_line, second_line = sorted((before.line, after.line))
                fact = f"a piece of {file_name!r} that overlaps the one of line {first_line}"
                raise _wrong(path, second_line, fact)
    return pieces


def _parquet_table(path: Path, by_name: Mapping[str, set[str]]) -> CsvTable:
    """The rows of the files in `by_name`."""
    with extra_packages("tables in Parquet"):
        import pyarrow
        from pyarrow import parquet, types
    try:
        size = check_size(path, "table")
        with parquet.ParquetFile(path) as file:
            front, schema = file.metadata, file.schema_arrow
        kinds = (types.is_string, types.is_large_string, types.is_integer, types.is_boolean)
        texts = [column.name for column in schema if any(is_kind(column.type) for is_kind in kinds)]
        names = [name for name in schema.names if name and name in (_START, _STOP, *texts)]
        groups = map(front.row_group, range(front.num_row_groups))
        unpacked = sum(group.total_byte_size for group in groups)
        most = max(_CELLS_PER_BYTE * size, _ALWAYS_ALLOWED)
        if front.num_rows * len(names) > most or unpacked > unpacked_bytes(size):
            raise ValueError(f"{front.num_rows:,} rows in {size:,} bytes are too many")
        # A text of a dictionary is kept once, not once a row.
        table = parquet.read_table(path, columns=names, read_dictionary=names)
        table.validate(full=True)
        cells = {name: [*chain(*map(_cells, table.column(name).chunks))] for name in names}
    # Names and texts that are not UTF-8 are found when they are read.
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        fact = f"the label table cannot be read: {' '.join(str(error).split())[:200]}"
        hint = "check that it is a Parquet file, or save it as CSV"
        raise FormatError(fact, hint=hint, path=path) from None
    columns = [_FILE] if _FILE in cells else list(cells)
    is_known = {name: [_file_name(cell) in by_name for cell in cells[name]] for name in columns}
    files = max(is_known, key=lambda column: sum(is_known[column]), default="")
    if not any(is_known.get(files, ())):
        raise _wrong(path, 1, "no column names a file of the folder that is prepared")
    columns = [_FILE if name == files else name for name in cells]
    rows = enumerate(zip(*cells.values(), strict=True), start=2)
    return CsvTable(tuple(columns), 1, tuple(compress(rows, is_known[files])))


def _cells(chunk: Any) -> list[str]:
    """The values of a column of Parquet as texts, empty where there are none."""
    own = getattr(chunk, "dictionary", chunk)
    texts = ["" if value is None else str(value) for value in own.to_pylist()]
    if own is chunk:
        return texts
    return ["" if row is None else texts[row] for row in chunk.indices.to_pylist()]


def _piece(
    path: Path, cells: dict[str, str], line: int, by_name: Mapping[str, set[str]]
) -> tuple[str, LabelledPiece]:
    """The file that a row names, and the row."""
    name = _file_name(cells.pop(_FILE))
    meant = by_name.get(name, set())
    # A path refers to exactly one file, even where it is another file's name.
    file = name if name in meant else next(iter(meant), "")
    if not meant:
        raise _wrong(path, line, f"no file {name!r} in the folder that is prepared")
    if len(meant) > 1 and name not in meant:
        raise _wrong(path, line, f"{name!r} could be {' or '.join(sorted(meant))}: give its folder")
    start, stop = (_time(path, line, column, cells.pop(column, "")) for column in (_START, _STOP))
    if stop is not None and stop <= (start or 0.0):
        raise _wrong(path, line, f"a piece that stops at {stop:g} s, not after its start")
    labels = {column: value for column, value in cells.items() if value}
    return file, LabelledPiece(labels, start, stop, line)


def _time(path: Path, line: int, column: str, cell: str) -> float | None:
    if not cell:
        return None
    try:
        # Where semicolons separate cells, numbers may have decimal commas.
        time = float(cell.replace(",", "."))
    except ValueError:
        raise _wrong(path, line, f"{column} {cell!r} is not a number") from None
    if not 0 <= time < math.inf:
        raise _wrong(path, line, f"{column} {cell!r} is not a time in the clip")
    return time


def _file_name(cell: str) -> str:
    return cell.strip().replace("\\", "/").removeprefix("./")


def _wrong(path: Path, line: int, fact: str) -> FormatError:
    return FormatError(fact, hint=_HINT, path=path, line=line)


_FIELD = re.compile(r"\{([^{}]*)\}")
_DIGITS = ":d"


class LabelPattern:
    """Pattern such as '{set}_{action}_{style}_{take}' for labels in file names.

    A field matches the text before the next literal part of the pattern; the last field matches
    the rest, literal parts included. Fields whose names start with an underscore are matched and
    dropped. A field '{take:d}' matches digits alone, so that '{action}{take:d}' reads "walk2". A
    pattern with n slashes is matched with the last n folders and the file's name.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern.replace("\\", "/")
        parts = _FIELD.split(self.pattern)
        literals, written = parts[0::2], parts[1::2]
        fields = [field.removesuffix(_DIGITS) for field in written]
        digits = [field.endswith(_DIGITS) for field in written]
        named = [name for name in fields if name != "_"]
        inner = zip(literals[1:-1], digits, digits[1:], strict=False)
        for fact, is_wrong in (
            ("names no field", not fields),
            ("has a brace without its other half", not set("{}").isdisjoint("".join(literals))),
            ("has a field without a plain name", not all(map(str.isidentifier, fields))),
            ("names a field twice", len(set(named)) < len(named)),
            (
                "has nothing between two fields",
                any(not literal and before == after for literal, before, after in inner),
            ),
        ):
            if is_wrong:
                raise ParameterError(
                    f"the label pattern {self.pattern!r} cannot be used: it {fact}",
                    hint="write it as in '{set}_{action}_{style}_{take}'",
                )
        self.fields = tuple(name for name in fields if not name.startswith("_"))
        self._names = fields
        expression = re.escape(literals[0])
        for number, literal in enumerate(literals[1:], start=1):
            # No field contains a slash, so folders stay apart.
            if digits[number - 1]:
                value = r"([0-9]+)" if literal else r"([0-9]+)(?![0-9])"
            elif number == len(fields):
                value = r"([^/]+)"
            elif literal:
                value = rf"((?:(?!{re.escape(literal)})[^/])+)"
            else:
                value = r"([^/]*?[^/0-9])"
            expression += value + re.escape(literal)
        self._expression = re.compile(expression)

    def labels(self, file: str | PurePosixPath) -> dict[str, str] | None:
        """The labels in a file's name; None where the name does not match."""
        parts = PurePosixPath(file).with_suffix("").parts
        match = self._expression.fullmatch("/".join(parts[-1 - self.pattern.count("/") :]))
        if match is None:
            return None
        values = zip(self._names, match.groups(), strict=True)
        return {name: value for name, value in values if not name.startswith("_")}
