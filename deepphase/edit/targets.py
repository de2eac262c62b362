"""Tables of targets of joints, and of key frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.markers.tables import read_csv_table

Row = TypeVar("Row")


@dataclass(frozen=True)
class JointTarget:
    """A place where a joint is over frames of a clip.

    Raises ParameterError if the frames do not rise from 0, or a number is not finite.
    """

    joint: str
    # Frames from 0; the same for one frame
    first: int
    last: int
    place: tuple[float, float, float]  # x, y and z in metres, in the world of the clip

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ParameterError(
                f"{self.joint}: the first frame must be at least 0 and at most the last, but "
                f"they are {self.first} and {self.last}"
            )
        if len(self.place) != 3 or not all(math.isfinite(value) for value in self.place):
            raise ParameterError(
                f"{self.joint}: a place must have three finite coordinates, not {self.place}"
            )


def read_targets(path: str | Path) -> list[JointTarget]:
    """Read targets from CSV: columns joint, frame, x, y, z (m), optionally last (frame).

    Raises FormatError with the line of what cannot be read.
    """
    hint = "columns: joint, frame, x, y, z, optionally last; frames are whole numbers from 0, "
    hint += "places are in metres"

    def target(row: Mapping[str, str]) -> JointTarget:
        first = int(row["frame"])
        x, y, z = (float(row[axis]) for axis in "xyz")
        return JointTarget(row["joint"], first, int(row.get("last") or first), (x, y, z))

    columns = ("joint", "frame", "x", "y", "z")
    targets = _read(Path(path), columns, ("last",), hint, "a target", target)
    if not targets:
        raise FormatError("the table has no rows", hint=hint, path=path)
    return targets


@dataclass(frozen=True)
class KeyFrames:
    """Key frames of a clip."""

    frames: list[int]
    times: list[float] | None = None  # seconds at which they stand; None if nothing is said


def read_keys(path: str | Path) -> KeyFrames:
    """Read keys from CSV: a column frame, optionally time (s)."""

    def key(row: Mapping[str, str]) -> tuple[int, float | None]:
        return int(row["frame"]), float(row["time"]) if "time" in row else None

    hint = "columns: frame, and optionally time; write a key as in 30, or 30,1.0"
    rows = _read(Path(path), ("frame",), ("time",), hint, "a key", key)
    times = [time for _, time in rows if time is not None]
    return KeyFrames([frame for frame, _ in rows], times or None)


def _read(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str],
    hint: str,
    name: str,
    convert: Callable[[Mapping[str, str]], Row],
) -> list[Row]:
    """Rows of a table that has these columns alone, each of which is called by a name."""
    table = read_csv_table(path, required, hint)
    if set(table.columns) - {*required, *optional}:
        raise FormatError(
            f"the table has unknown columns: {', '.join(table.columns)}",
            hint=hint,
            path=path,
            line=table.line,
        )
    rows = []
    for line, cells in table.rows:
        try:
            rows.append(convert(dict(zip(table.columns, cells, strict=True))))
        except (ValueError, ParameterError):
            raise FormatError(
                f"{','.join(cells)!r} is not {name}", hint=hint, path=path, line=line
            ) from None
    return rows
