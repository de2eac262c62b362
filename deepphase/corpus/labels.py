"""Labels of clips from tables, file names and folders."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from deepphase.errors import FormatError, ParameterError
from deepphase.extras import extra_packages

_FILE, _START, _STOP = "file", "start_s", "stop_s"
_ENCODINGS_BY_MARK = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


@dataclass(frozen=True)
class LabelledPiece:
    """A row of a label table.

    Parameters
    ----------
    start_s, stop_s
        Seconds from the start of the captured clip; None where the piece reaches its end.
    """

    labels: dict[str, str]
    start_s: float | None
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

    CSV: the delimiter may be a comma, a semicolon (with decimal commas) or a tab; the encoding
    UTF-8, or UTF-16 with a byte order mark. Parquet (``.parquet``, needs pyarrow) is read as the
    table of a large set, of which the folder may hold a part: rows of other files are left out, the
    column of files is found where none is called "file", and labels are its columns of text,
    whole numbers and truth values.
    """
    path = Path(path)
    by_name = _by_name(files)
    parquet = path.suffix.lower() == ".parquet"
    rows, delimiter = (_parquet_rows(path, by_name), ",") if parquet else _csv_rows(path)
    pieces: dict[str, list[LabelledPiece]] = {}
    columns: list[str] | None = None
    for line, row in rows:
        if columns is None:
            columns = _columns(path, row, line)
            continue
        file, piece = _piece(path, columns, row, line, by_name, delimiter)
        pieces.setdefault(file, []).append(piece)
    if columns is None:
        raise _wrong(path, 1, "the label table is empty")
    return {file: _without_overlap(path, file, rows) for file, rows in pieces.items()}


def _csv_rows(path: Path) -> tuple[Iterator[tuple[int, list[str]]], str]:
    """Line and cells of each row that is not empty, and the delimiter."""
    text = _text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    def rows() -> Iterator[tuple[int, list[str]]]:
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
        except csv.Error as error:
            raise _wrong(path, reader.line_num, f"not a CSV row: {error}") from None

    return rows(), delimiter


def _parquet_rows(path: Path, by_name: Mapping[str, set[str]]) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the row of names and of each row of a file in `by_name`."""
    with extra_packages("tables in Parquet"):
        import pyarrow
        import pyarrow.parquet
    cells: dict[str, list[str]] = {}
    types = pyarrow.types
    kinds = (types.is_string, types.is_large_string, types.is_integer, types.is_boolean)
    try:
        table = pyarrow.parquet.read_table(path)
        for field in table.schema:
            if field.name in (_START, _STOP) or any(is_kind(field.type) for is_kind in kinds):
                values = table.column(field.name).to_pylist()
                cells[field.name] = ["" if value is None else str(value) for value in values]
    # Names and texts that are not UTF-8 are found when they are read.
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        raise FormatError(
            f"the label table cannot be read: {' '.join(str(error).split())[:200]}",
            hint="check that it is a Parquet file, or save it as CSV",
            path=path,
        ) from None

    of_files = {
        column: [_file_name(cell) in by_name for cell in cells[column]]
        for column in ([_FILE] if _FILE in cells else cells)
    }
    files = max(of_files, key=lambda column: sum(of_files[column]), default="")
    if not files or not any(of_files[files]):
        raise _wrong(path, 1, "no column names a file of the folder that is prepared")
    names = [_FILE if name == files else name for name in cells]
    yield 1, names
    for number, (is_known, *row) in enumerate(
        zip(of_files[files], *cells.values(), strict=True), 2
    ):
        if is_known:
            yield number, row


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(
            f"the label table cannot be read: {error.strerror}",
            hint="check the path and the permission to read it",
            path=path,
        ) from None
    encoding = next(
        (name for mark, name in _ENCODINGS_BY_MARK.items() if content.startswith(mark)), "utf-8"
    )
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"the label table is not {encoding} text",
            hint="save the table as UTF-8",
            path=path,
            line=line,
        ) from None


def _columns(path: Path, row: list[str], line: int) -> list[str]:
    columns = [cell.strip() for cell in row]
    if _FILE not in columns:
        raise _wrong(path, line, f"no column {_FILE!r} among {', '.join(columns)}")
    for column in columns:
        if not column or columns.count(column) > 1:
            raise _wrong(path, line, f"column {column!r} is nameless or occurs twice")
    if not set(columns) - {_FILE, _START, _STOP}:
        raise _wrong(path, line, "no label column")
    return columns


def _by_name(files: Iterable[str | PurePosixPath]) -> dict[str, set[str]]:
    """Every name of a file -> the files that it may refer to."""
    by_name: dict[str, set[str]] = {}
    for file in map(PurePosixPath, files):
        for name in (
            file,
            file.with_suffix(""),
            PurePosixPath(file.name),
            PurePosixPath(file.stem),
        ):
            by_name.setdefault(name.as_posix(), set()).add(file.as_posix())
    return by_name


def _piece(
    path: Path,
    columns: list[str],
    row: list[str],
    line: int,
    by_name: dict[str, set[str]],
    delimiter: str,
) -> tuple[str, LabelledPiece]:
    if len(row) != len(columns):
        raise _wrong(path, line, f"{len(row)} cells under {len(columns)} columns")
    cells = dict(zip(columns, (cell.strip() for cell in row), strict=True))
    name = _file_name(cells.pop(_FILE))
    meant = by_name.get(name, set())
    # A path refers to exactly one file, even where it is another file's name.
    file = name if name in meant else next(iter(meant), "")
    if not meant:
        raise _wrong(path, line, f"no file {name!r} in the folder that is prepared")
    if len(meant) > 1 and name not in meant:
        raise _wrong(path, line, f"{name!r} could be {' or '.join(sorted(meant))}: give its folder")
    times = []
    for column in (_START, _STOP):
        cell = cells.pop(column, "")
        try:
            time = float(cell if delimiter == "," else cell.replace(",", ".")) if cell else None
        except ValueError:
            raise _wrong(path, line, f"{column} {cell!r} is not a number") from None
        if time is not None and not (math.isfinite(time) and time >= 0):
            raise _wrong(path, line, f"{column} {cell!r} is not a time in the clip")
        times.append(time)
    start, stop = times
    if stop is not None and stop <= (start or 0.0):
        raise _wrong(path, line, f"a piece that stops at {stop:g} s, not after its start")
    labels = {column: value for column, value in cells.items() if value}
    return file, LabelledPiece(labels, start, stop, line)


def _file_name(cell: str) -> str:
    return cell.strip().replace("\\", "/").removeprefix("./")


def _without_overlap(path: Path, file: str, rows: list[LabelledPiece]) -> list[LabelledPiece]:
    ordered = sorted(rows, key=lambda piece: (piece.start_s or 0.0, piece.line))
    for before, after in itertools.pairwise(ordered):
        if before.stop_s is None or (after.start_s or 0.0) < before.stop_s:
            later, other = max(before.line, after.line), min(before.line, after.line)
            raise _wrong(path, later, f"a piece of {file!r} that overlaps the one of line {other}")
    return ordered


def _wrong(path: Path, line: int, fact: str) -> FormatError:
    hint = "columns: file, one for each label, and start_s, stop_s where a row is a piece of a clip"
    return FormatError(fact, hint=hint, path=path, line=line)


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
        self._check(literals, fields, digits)
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
        return {
            name: value
            for name, value in zip(self._names, match.groups(), strict=True)
            if not name.startswith("_")
        }

    def _check(self, literals: list[str], fields: list[str], digits: list[bool]) -> None:
        wrong = ""
        if not fields:
            wrong = "names no field"
        elif any("{" in literal or "}" in literal for literal in literals):
            wrong = "has a brace without its other half"
        elif not all(name.isidentifier() for name in fields):
            wrong = "has a field without a plain name"
        elif len({name for name in fields if name != "_"}) < len(fields) - fields.count("_"):
            wrong = "names a field twice"
        elif any(
            not literal and one == other
            for literal, (one, other) in zip(
                literals[1:-1], itertools.pairwise(digits), strict=True
            )
        ):
            wrong = "has nothing between two fields"
        if wrong:
            raise ParameterError(
                f"the label pattern {self.pattern!r} cannot be used: it {wrong}",
                hint="write it as in '{set}_{action}_{style}_{take}'",
            )
