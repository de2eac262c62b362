"""Targets of joints: places where a joint is at a frame, or over frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.csv_table import CsvTable, read_csv_table

_COLUMNS = ("joint", "frame", "x", "y", "z")


@dataclass(frozen=True)
class JointTarget:
    """A place where a joint is over frames of a clip.

    Parameters
    ----------
    joint
        Name of the joint.
    first, last
        Frames from 0; the same for one frame.
    place
        x, y and z in metres, in the world of the clip.

    Raises
    ------
    ParameterError
        If the frames do not rise from 0, or a number is not finite.
    """

    joint: str
    first: int
    last: int
    place: tuple[float, float, float]

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

    Raises
    ------
    FormatError
        With the line of what cannot be read.
    """
    path = Path(path)
    hint = f"columns: {', '.join(_COLUMNS)}, optionally last"
    table = _table(path, _COLUMNS, ("last",), hint)
    targets: list[JointTarget] = []
    for line, cells in table.rows:
        values = dict(zip(table.columns, cells, strict=True))
        try:
            first = int(values["frame"])
            x, y, z = (float(values[axis]) for axis in "xyz")
            targets.append(
                JointTarget(values["joint"], first, int(values.get("last") or first), (x, y, z))
            )
        except (ValueError, ParameterError):
            raise FormatError(
                f"{','.join(cells)!r} is not a target",
                hint=f"{hint}; frames are whole numbers from 0, places are in metres",
                path=path,
                line=line,
            ) from None
    if not targets:
        raise FormatError("the table has no rows", hint=hint, path=path)
    return targets


@dataclass(frozen=True)
class KeyFrames:
    """Key frames of a clip.

    Parameters
    ----------
    frames
        Frames of the clip.
    times
        Seconds at which they stand; None if nothing is said.
    steps
        Steps from the key before to each; None if nothing is said, as one of them may be.
    """

    frames: list[int]
    times: list[float] | None = None
    steps: list[float | None] | None = None


def read_keys(path: str | Path) -> KeyFrames:
    """Read keys from CSV: a column frame, optionally time (s) and steps.

    Raises
    ------
    FormatError
        With the line of what cannot be read.
    """
    path = Path(path)
    table = _table(
        path, ("frame",), ("time", "steps"), "expected frame, and optionally time, steps"
    )
    frames: list[int] = []
    times: list[float] = []
    steps: list[float | None] = []
    for line, cells in table.rows:
        values = dict(zip(table.columns, cells, strict=True))
        try:
            frames.append(int(values["frame"]))
            times.append(float(values.get("time", 0.0)))
            steps.append(float(values["steps"]) if values.get("steps", "").strip() else None)
        except ValueError:
            raise FormatError(
                f"{','.join(cells)!r} is not a key",
                hint="write a key as in 30, or 30,1.0",
                path=path,
                line=line,
            ) from None
    return KeyFrames(
        frames,
        times if "time" in table.columns else None,
        steps if "steps" in table.columns else None,
    )


def _table(path: Path, required: Sequence[str], optional: Sequence[str], hint: str) -> CsvTable:
    """The table of a file that has these columns alone."""
    table = read_csv_table(path, required, hint)
    if set(table.columns) - {*required, *optional}:
        raise FormatError(
            f"the table has unknown columns: {', '.join(table.columns)}",
            hint=hint,
            path=path,
            line=table.line,
        )
    return table
