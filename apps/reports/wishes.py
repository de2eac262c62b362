"""Paths and sticks that a run is asked for, by name or as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from deepphase.errors import ParameterError
from deepphase.steering.made_paths import MADE_PATHS, made_path
from deepphase.steering.path import Path as GroundPath
from deepphase.steering.path import read_path
from deepphase.steering.stick import Stick, read_stick

Wish = GroundPath | Stick

_SECONDS = 20.0


def check_one_wish(path: str | None, stick: Path | None) -> None:
    """Raise ParameterError where both a path and a stick are given."""
    if path is not None and stick is not None:
        raise ParameterError("both a path and a stick", hint="give one of --path and --stick")


def read_wishes(paths: Sequence[str], stick: Path | None) -> dict[str, Wish]:
    """The files of a request by the names that it has for them: paths and stick as they are.

    Raises
    ------
    ParameterError, FormatError
        Where one of them cannot be read, or two things are called the same.
    """
    if stick is not None:
        return {str(stick): read_stick(stick)}
    found: dict[str, Wish] = {}
    titles = []
    for name in paths:
        if name not in MADE_PATHS:
            if not (Path(name).suffix or Path(name).exists()):
                raise ParameterError(
                    f"no path {name!r}", hint=f"a CSV file, or {', '.join(MADE_PATHS)}"
                )
            found[name] = read_path(name)
        titles.append(found[name].name if name in found else name)
        if titles.count(titles[-1]) > 1:
            raise ParameterError(f"two paths called {titles[-1]!r}", hint="rename one of the files")
    return found


def wishes(
    paths: Sequence[str],
    read: Mapping[str, Wish],
    *,
    travelling_speed: float,
    speed: float | None = None,
    size: float | None = None,
    seconds: float | None = None,
) -> dict[str, Wish]:
    """Name -> path or stick that is wished, with made paths beside the ones that were read.

    Parameters
    ----------
    paths
        Files and names of made paths; none where a stick leads.
    read
        As `read_wishes` gives it.
    travelling_speed
        m/s of made paths where none is told: that of the data.
    speed, size, seconds
        As the user told them.

    Raises
    ------
    ParameterError
        Where a path cannot be made as it is asked for.
    """
    if not paths:
        return {wish.name: wish for wish in read.values()}
    made_speed = speed or travelling_speed
    found: dict[str, Wish] = {}
    for name in paths:
        if name in MADE_PATHS:
            if not made_speed > 0:
                raise ParameterError("no motion of the data travels", hint="tell --speed")
            path = made_path(name, made_speed, seconds or _SECONDS, size)
        else:
            given = cast(GroundPath, read[name])
            path = given if speed is None else given.at_speed(speed)
        found[path.name] = path
    return found
