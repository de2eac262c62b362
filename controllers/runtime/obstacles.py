"""Walls and pits on the ground, and paths that avoid them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.parts import CharacterPart
from deepphase.errors import FormatError, ParameterError
from deepphase.features.trajectory import complex_of
from deepphase.formats.file_content import read_text

_SHAPES_HINT = (
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
        With the line or the entry, if the file is neither.
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
        raise FormatError(
            f"this is not valid JSON: {error}", hint=_SHAPES_HINT, path=path
        ) from None
    known = {"walls", "pits", "clearance"}
    if not isinstance(content, dict) or set(content) - known:
        raise FormatError(
            "this is not a mapping of walls, pits and clearance", hint=_SHAPES_HINT, path=path
        )
    shapes: dict[str, list[Obstacle]] = {"walls": [], "pits": []}
    for kind, found in shapes.items():
        entries = content.get(kind, [])
        if not isinstance(entries, list):
            raise FormatError(f"{kind}: this is not a list", hint=_SHAPES_HINT, path=path)
        for place, entry in enumerate(entries, start=1):
            if not isinstance(entry, dict) or len(entry) != 1:
                raise FormatError(
                    f"{kind}, entry {place}: this is not a mapping of one shape to its numbers",
                    hint=_SHAPES_HINT,
                    path=path,
                )
            ((name, numbers),) = entry.items()
            found.append(_shape(name, numbers, path, f"{kind}, entry {place}: "))
    options = {"clearance": content["clearance"]} if "clearance" in content else {}
    return _obstacles(shapes["walls"], shapes["pits"], options, path)


def _from_csv(text: str, path: Path) -> Obstacles:
    shapes: dict[str, list[Obstacle]] = {"wall": [], "pit": []}
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
                    f"this line cannot be read: it starts with {cells[0]!r}",
                    hint=f"lines start with wall, pit or clearance; {_SHAPES_HINT}",
                    path=path,
                    line=line,
                )
    except csv.Error as error:
        raise FormatError(
            f"this is not a CSV row: {error}", hint=_SHAPES_HINT, path=path, line=reader.line_num
        ) from None
    return _obstacles(shapes["wall"], shapes["pit"], options, path)


def _obstacles(
    walls: list[Obstacle], pits: list[Obstacle], options: dict[str, Any], path: Path
) -> Obstacles:
    if not walls and not pits:
        raise FormatError("this is neither a wall nor a pit", hint=_SHAPES_HINT, path=path)
    try:
        numbers = {name: _number(value) for name, value in options.items()}
        return Obstacles(walls, pits, **numbers)
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None


def _shape(name: str, values: Any, path: Path, where: str, line: int | None = None) -> Obstacle:
    makers: dict[str, Callable[..., Obstacle]] = {
        "segment": lambda a, b, c, d: Wall((a, b), (c, d)),
        "circle": lambda x, z, radius: Disk((x, z), radius),
        "box": lambda x, z, width, depth, angle=0.0: Polygon.box((x, z), (width, depth), angle),
        "polygon": lambda *each: Polygon(tuple(zip(each[::2], each[1::2], strict=True))),
    }
    try:
        if name not in makers:
            raise ParameterError(f"there is no shape {name!r}", hint=_SHAPES_HINT)
        if not isinstance(values, list):
            raise ParameterError(f"{name}: this is not a list of numbers")
        numbers = [_number(value) for value in values]
        try:
            return makers[name](*numbers)
        except (TypeError, ValueError):
            raise ParameterError(
                f"a {name} with {len(numbers)} numbers is not possible", hint=_SHAPES_HINT
            ) from None
    except ParameterError as error:
        raise FormatError(
            f"{where}{error.fact}", hint=error.hint or _SHAPES_HINT, path=path, line=line
        ) from None


def _number(value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{value!r} is not a number", hint=_SHAPES_HINT) from None


# Maximum distance between two samples of a trajectory.
_MAX_STEP_M = 10.0
# Paths are checked in steps of this share of the clearance, so that none jumps over a wall.
_STEP_SHARE = 0.5
# In a corner one wall pushes into the other; after this many pushes a path stops.
_MAX_PUSHES = 4
_MAX_COORDINATE_M = 10_000.0


@dataclass(frozen=True)
class Wall:
    """A straight line on the ground from `start` to `end`, (x, z) metres each."""

    start: tuple[float, float]
    end: tuple[float, float]

    def __post_init__(self) -> None:
        _check_numbers("a segment", *self.start, *self.end)
        if self.start == self.end:
            raise ParameterError("this is a segment without length", hint="give two different ends")


@dataclass(frozen=True)
class Disk:
    """A round area about `centre`, (x, z) metres, of a radius in metres."""

    centre: tuple[float, float]
    radius: float

    def __post_init__(self) -> None:
        _check_numbers("a circle", *self.centre, self.radius)
        if not self.radius > 0:
            raise ParameterError(f"a circle with the radius {self.radius}: it must be above 0")


@dataclass(frozen=True)
class Polygon:
    """An area with straight edges; `points` are its corners, (x, z) metres, in order."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if len(self.points) < 3:
            raise ParameterError(f"a polygon with {len(self.points)} corners: it needs 3")
        _check_numbers("a polygon", *(value for point in self.points for value in point))
        if any(
            a == b for a, b in zip(self.points, (*self.points[1:], self.points[0]), strict=True)
        ):
            raise ParameterError(
                "this is a polygon with two equal corners", hint="leave one of the two out"
            )

    @classmethod
    def box(
        cls, centre: tuple[float, float], size: tuple[float, float], angle: float = 0.0
    ) -> Polygon:
        """A rectangle: `size` along x and z, metres, turned about Y by an angle, radians."""
        _check_numbers("a box", *centre, *size, angle)
        if not min(size) > 0:
            raise ParameterError(f"a box of {size[0]:g} by {size[1]:g} m: both must be above 0")
        corners = np.array([-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j])
        turned = (corners.real * size[0] + 1j * corners.imag * size[1]) / 2 * np.exp(-1j * angle)
        return cls(tuple((centre[0] + c.real, centre[1] + c.imag) for c in turned.tolist()))


Obstacle = Wall | Disk | Polygon


class Obstacles(CharacterPart):
    """Walls and pits, with a clearance.

    Parameters
    ----------
    walls
        Obstacles that paths slide along.
    pits
        Areas that paths stop at.
    clearance
        Distance in metres of a character's root from both.

    Raises
    ------
    ParameterError
        If a pit is a segment, or the clearance is not above 0.
    """

    def __init__(
        self,
        walls: Sequence[Obstacle] = (),
        pits: Sequence[Obstacle] = (),
        *,
        clearance: float = 0.3,
    ) -> None:
        if not (math.isfinite(clearance) and clearance > 0):
            raise ParameterError(f"a clearance of {clearance} m: it must be above 0")
        if any(isinstance(pit, Wall) for pit in pits):
            raise ParameterError("a pit that is a segment", hint="pits are circles and polygons")
        self.walls, self.pits, self.clearance = tuple(walls), tuple(pits), float(clearance)
        self._walls, self._pits = _Outline(self.walls), _Outline(self.pits)

    @property
    def barriers(self) -> tuple[Obstacles]:
        """As `CharacterPart.barriers`."""
        return (self,)

    def check_free(self, positions: Array) -> None:
        """Raise ParameterError unless all places (characters, 2) keep the clearance."""
        places = complex_of(positions)[:, 0]
        for name, outline in (("a wall", self._walls), ("a pit", self._pits)):
            touching = outline.distances(places) < self.clearance * (1.0 - 1e-6)
            taken = np.flatnonzero(touching | outline.contain(places))
            if taken.size:
                x, z = positions[taken[0]]
                raise ParameterError(
                    f"character {taken[0]} at ({x:g}, {z:g}) m is inside {name} or within its "
                    f"clearance of {self.clearance:g} m",
                    hint="choose another start, or reduce the clearance",
                )

    def kept_off(self, places: Array, paths: Array) -> Array:
        """Paths that slide along walls and stop at pits.

        Parameters
        ----------
        places : (characters,) complex
            x + i z metres: their starts, outside all obstacles.
        paths : (characters, samples) complex
            Their samples.

        Returns
        -------
        (characters, samples) complex
        """
        steps = np.diff(paths, axis=1, prepend=places[:, None])
        lengths = np.abs(steps)
        steps = steps * np.minimum(1.0, _MAX_STEP_M / np.maximum(lengths, 1e-12))
        nearest = np.minimum(self._walls.distances(places), self._pits.distances(places))
        which = np.flatnonzero(nearest < np.abs(steps).sum(axis=1) + self.clearance)
        free = paths.copy()
        if not which.size:
            return free
        place = places[which]
        for sample in range(paths.shape[1]):
            step = steps[which, sample]
            longest = float(np.abs(step).max())
            count = max(1, math.ceil(longest / (_STEP_SHARE * self.clearance)))
            for _ in range(count):
                place = self._moved(place, place + step / count)
            free[which, sample] = place
        return free

    def _moved(self, places: Array, goals: Array) -> Array:
        """(characters,) the ends of short steps."""
        clearance = self.clearance
        if self.walls:
            for _ in range(_MAX_PUSHES):
                nearest = self._walls.nearest(goals)
                away = goals - nearest
                distance = np.abs(away)
                touching = distance < clearance
                if not touching.any():
                    break
                pushed = nearest + clearance * away / np.maximum(distance, 1e-12)
                goals = np.where(touching, pushed, goals)
            else:
                stuck = self._walls.distances(goals) < clearance * (1.0 - 1e-9)
                goals = np.where(stuck, places, goals)
        if self.pits:
            after = self._pits.distances(goals)
            falls = (after < clearance) & (after < self._pits.distances(places))
            goals = np.where(falls, places, goals)
        return goals


class _Outline:
    """Edges and rims of shapes."""

    def __init__(self, shapes: Sequence[Obstacle]) -> None:
        lines = [(shape.start, shape.end) for shape in shapes if isinstance(shape, Wall)]
        self._polygons = []
        for shape in shapes:
            if isinstance(shape, Polygon):
                corners = (*shape.points[1:], shape.points[0])
                lines += zip(shape.points, corners, strict=True)
                self._polygons.append(np.array([complex(*point) for point in shape.points]))
        self._starts = np.array([complex(*start) for start, _ in lines], np.complex128)
        self._steps = np.array([complex(*end) for _, end in lines], np.complex128) - self._starts
        disks = [shape for shape in shapes if isinstance(shape, Disk)]
        self._centres = np.array([complex(*disk.centre) for disk in disks], np.complex128)
        self._radii = np.array([disk.radius for disk in disks], np.float64)

    def nearest(self, places: Array) -> Array:
        """(characters,) complex: the nearest point of all outlines; far away without any."""
        offset = places[:, None] - self._starts
        along = (offset * self._steps.conj()).real / (np.abs(self._steps) ** 2)
        on_edges = self._starts + np.clip(along, 0.0, 1.0) * self._steps
        out = places[:, None] - self._centres
        rims = self._centres + self._radii * out / np.maximum(np.abs(out), 1e-12)
        every = np.concatenate([on_edges, rims], axis=1)
        if not every.shape[1]:
            return places + 2.0 * _MAX_COORDINATE_M
        closest = np.abs(places[:, None] - every).argmin(axis=1)
        return every[np.arange(len(places)), closest]

    def distances(self, places: Array) -> Array:
        """(characters,) metres to the nearest outline."""
        return np.abs(places - self.nearest(places))

    def contain(self, places: Array) -> Array:
        """(characters,) bool: inside an area."""
        inside: Array = np.any(np.abs(places[:, None] - self._centres) < self._radii, axis=1)
        for corners in self._polygons:
            first, second = corners - places[:, None], np.roll(corners, -1) - places[:, None]
            turned = np.angle(second / np.where(first == 0, 1e-12, first)).sum(axis=1)
            inside |= np.abs(turned) > np.pi
        return inside


def _check_numbers(what: str, *values: float) -> None:
    for value in values:
        if not (math.isfinite(value) and abs(value) <= _MAX_COORDINATE_M):
            raise ParameterError(
                f"{what} is at fault with the number {value}",
                hint=f"metres, {_MAX_COORDINATE_M:g} at most",
            )
