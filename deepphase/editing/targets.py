"""Targets of joints: places where a joint is at a frame, or over frames."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.file_content import read_text

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
            raise ParameterError(f"{self.joint}: frames {self.first} to {self.last}")
        if len(self.place) != 3 or not all(math.isfinite(value) for value in self.place):
            raise ParameterError(f"{self.joint}: {self.place} is no place")


def read_targets(path: str | Path) -> list[JointTarget]:
    """Read targets from CSV: columns joint, frame, x, y, z (m), optionally last (frame).

    Raises
    ------
    FormatError
        With the line of what cannot be read.
    """
    path = Path(path)
    hint = f"columns: {', '.join(_COLUMNS)}, optionally last"
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    names: list[str] = []
    targets: list[JointTarget] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not names:
                names = cells
                if sorted(set(names) - {"last"}) != sorted(_COLUMNS) or len(set(names)) < len(
                    names
                ):
                    raise FormatError(
                        f"columns {', '.join(names)}", hint=hint, path=path, line=reader.line_num
                    )
                continue
            try:
                values = dict(zip(names, cells, strict=True))
                first = int(values["frame"])
                x, y, z = (float(values[axis]) for axis in "xyz")
                targets.append(
                    JointTarget(values["joint"], first, int(values.get("last") or first), (x, y, z))
                )
            except (ValueError, ParameterError):
                raise FormatError(
                    f"{','.join(cells)!r} is no target",
                    hint=f"{hint}; frames are whole numbers from 0, places are in metres",
                    path=path,
                    line=reader.line_num,
                ) from None
    except csv.Error as error:
        raise FormatError(
            f"not a CSV row: {error}", hint=hint, path=path, line=reader.line_num
        ) from None
    if not targets:
        raise FormatError("no target", hint=hint, path=path)
    return targets
