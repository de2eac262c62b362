"""Obstacles from files: JSON, or CSV with one shape a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controllers.obstacles import Disk, Obstacles, Polygon, Segment, Shape
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.file_content import read_text

_WAY_OUT = (
    "shapes: segment x z x z; box x z width depth [angle]; circle x z radius; "
    "polygon x z x z x z ...; metres, and radians"
)


def read_obstacles(path: str | Path) -> Obstacles:
    """Read walls and pits.

    JSON: ``{"walls": [{"segment": [0, 3, 2, 3]}, {"box": [0, 5, 1, 1, 0.5]}], "pits":
    [{"circle": [4, 0, 1]}, {"polygon": [1, 1, 2, 1, 2, 2]}], "clearance": 0.3}``. CSV: the same
    line by line, as in ``wall,segment,0,3,2,3``; a line ``clearance,0.3`` sets the clearance, and
    lines that begin with # are left out.

    Raises
    ------
    FormatError
        Where the file is neither, with the line or the entry.
    """
    path = Path(path)
    text = read_text(path)
    if path.suffix.lower() == ".json":
        return _from_json(text, path)
    return _from_csv(text, path)


def _from_json(text: str, path: Path) -> Obstacles:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}", hint=_WAY_OUT, path=path) from None
    known = {"walls", "pits", "clearance"}
    if not isinstance(content, dict) or set(content) - known:
        raise FormatError("no mapping of walls, pits and clearance alone", hint=_WAY_OUT, path=path)
    shapes: dict[str, list[Shape]] = {"walls": [], "pits": []}
    for kind, found in shapes.items():
        entries = content.get(kind, [])
        if not isinstance(entries, list):
            raise FormatError(f"{kind}: no list", hint=_WAY_OUT, path=path)
        for place, entry in enumerate(entries, start=1):
            if not isinstance(entry, dict) or len(entry) != 1:
                raise FormatError(
                    f"{kind}, entry {place}: not one shape with its numbers",
                    hint=_WAY_OUT,
                    path=path,
                )
            ((name, numbers),) = entry.items()
            found.append(_shape(name, numbers, path, f"{kind}, entry {place}: "))
    options = {"clearance": content["clearance"]} if "clearance" in content else {}
    return _obstacles(shapes["walls"], shapes["pits"], options, path)


def _from_csv(text: str, path: Path) -> Obstacles:
    shapes: dict[str, list[Shape]] = {"wall": [], "pit": []}
    options: dict[str, Any] = {}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if not cells or cells[0].startswith("#"):
                continue
            line = reader.line_num
            if cells[0] == "clearance" and len(cells) == 2:
                options["clearance"] = cells[1]
            elif cells[0] in shapes and len(cells) > 1:
                made = _shape(cells[1], cells[2:], path, "", line)
                shapes[cells[0]].append(made)
            else:
                raise FormatError(
                    f"a line that begins with {cells[0]!r}",
                    hint=f"wall, pit or clearance; {_WAY_OUT}",
                    path=path,
                    line=line,
                )
    except csv.Error as error:
        raise FormatError(
            f"not a CSV row: {error}", hint=_WAY_OUT, path=path, line=reader.line_num
        ) from None
    return _obstacles(shapes["wall"], shapes["pit"], options, path)


def _obstacles(
    walls: list[Shape], pits: list[Shape], options: dict[str, Any], path: Path
) -> Obstacles:
    if not walls and not pits:
        raise FormatError("neither a wall nor a pit", hint=_WAY_OUT, path=path)
    try:
        numbers = {name: _number(value) for name, value in options.items()}
        return Obstacles(walls, pits, **numbers)
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None


def _shape(name: str, values: Any, path: Path, where: str, line: int | None = None) -> Shape:
    makers: dict[str, Callable[..., Shape]] = {
        "segment": lambda a, b, c, d: Segment((a, b), (c, d)),
        "circle": lambda x, z, radius: Disk((x, z), radius),
        "box": lambda x, z, width, depth, angle=0.0: Polygon.box((x, z), (width, depth), angle),
        "polygon": lambda *each: Polygon(tuple(zip(each[::2], each[1::2], strict=True))),
    }
    try:
        if name not in makers:
            raise ParameterError(f"no shape {name!r}")
        if not isinstance(values, list):
            raise ParameterError(f"a {name} without a list of numbers")
        numbers = [_number(value) for value in values]
        try:
            return makers[name](*numbers)
        except (TypeError, ValueError):
            raise ParameterError(f"a {name} of {len(numbers)} numbers") from None
    except ParameterError as error:
        raise FormatError(
            f"{where}{error.fact}", hint=error.hint or _WAY_OUT, path=path, line=line
        ) from None


def _number(value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{value!r} is not a number") from None
