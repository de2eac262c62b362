"""Paths over the ground: from files and by formula, with positions, facings, labels and pauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath

import numpy as np
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

from deepphase.arrays import Array, brief_repr, true_runs
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.timed_table import read_timed_table, value_at

# Standard deviation in seconds of the smoothing for the direction of travel and the velocity, so
# that corners do not require a turn on the spot.
_SMOOTHING_S = 0.1
_GRID_FPS = 60.0
STANDING_M_S = 0.05
"""Speed below which a path stands."""
# Standing for so many seconds is a pause.
_PAUSE_S = 1.0
BEFORE_CORNER_S = 0.3
"""Seconds before a corner, or the end of a pause, in which bodies prepare what follows."""
# A corner is a change of the velocity by this share of it, or of the second number in m/s where the
# path is slower, within this many seconds.
_CORNER, _CORNER_SPEED, _CORNER_S = 0.9, 0.2, 0.5
_COMPLEX = np.array([1.0, 1.0j])
# What captured people do in turns that they walk: the direction of travel changes by at most this
# rate in rad/s and accelerates them sideways by at most m/s^2 (99 % of the frames). A corner is cut
# by so much that its turn is smoothed over this time in s. A body slows down for it in so many
# seconds, to no less than m/s.
_TURN_RATE, _SIDEWAYS, _CUT_S, _BRAKING_S, _SLOWEST = np.radians(80.0), 2.0, 0.25, 0.3, 0.45
_ROUNDED = 0.2
# Larger float32 positions have errors above a millimetre.
_MAX_COORDINATE_M, _TINY = 10_000.0, 1e-9
_MAX_DURATION_S = 86_400.0


@brief_repr
@dataclass(frozen=True, eq=False)
class GroundPath:
    """Places on the ground at rising times, joined by straight lines.

    Before its first time the path is at its first place, after its last time at its last.

    Parameters
    ----------
    times
        (points,) seconds, strictly rising.
    positions
        (points, 2) metres: x and z.
    facings
        (points,) radians about Y from +Z to +X, or None for the direction of travel.
    labels
        Name -> (points,) values, each from its point on, as in {"gait": ("walk", "run")}.
    name
        Name in figures and reports.
    given_times
        (points,) seconds of the path before `slowed_at_corners`, or None.

    Raises
    ------
    ParameterError
        If shapes do not fit, times do not rise or a value is not finite.
    """

    times: Array
    positions: Array
    facings: Array | None = None
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "path"
    given_times: Array | None = None

    def __post_init__(self) -> None:
        times = np.asarray(self.times, np.float64)
        positions = np.asarray(self.positions, np.float64)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "positions", positions)
        count = len(times)
        if count < 2 or times.shape != (count,) or positions.shape != (count, 2):
            raise ParameterError(
                f"{self.name}: times have the shape {times.shape} and positions {positions.shape}",
                hint="give (points,) and (points, 2) with at least two points",
            )
        arrays = [times, positions.ravel()]
        if self.facings is not None:
            object.__setattr__(self, "facings", np.asarray(self.facings, np.float64))
            arrays.append(np.asarray(self.facings))
            if np.shape(self.facings) != (count,):
                raise ParameterError(
                    f"{self.name}: facings have the shape {np.shape(self.facings)}, and there "
                    f"are {count} points",
                    hint="give one facing for each point",
                )
        if not all(np.isfinite(values).all() for values in arrays):
            raise ParameterError(f"{self.name}: a value is not finite", hint="give finite values")
        if (np.diff(times) <= 0).any():
            raise ParameterError(
                f"{self.name}: the times do not rise", hint="sort the points by time"
            )
        if self.duration > _MAX_DURATION_S:
            raise ParameterError(
                f"{self.name}: the path is {self.duration:g} s long",
                hint="times are seconds, a day at most",
            )
        farthest = np.abs(positions).max()
        if farthest > _MAX_COORDINATE_M:
            raise ParameterError(
                f"{self.name}: a place {farthest:g} m from the origin is too far",
                hint=f"places are metres, {_MAX_COORDINATE_M:g} at most: motion is float32",
            )

    @property
    def duration(self) -> float:
        """Seconds from the first point to the last."""
        return float(self.times[-1] - self.times[0])

    @property
    def length(self) -> float:
        """Metres along the path."""
        return float(self._arc_lengths[-1])

    def positions_at(self, times: Array) -> Array:
        """(..., 2) metres: the place at times (...), seconds."""
        return _at(times, self.times, self._places)

    def velocities_at(self, times: Array) -> Array:
        """(..., 2) m/s of the path, smoothed over a tenth of a second."""
        return _at(times, *self._grid)

    def facings_at(self, times: Array) -> Array:
        """(...) radians, continuous over time."""
        if self.facings is not None:
            return np.interp(times, self.times, self._unwrapped)
        return np.interp(times, self._grid[0], self._travel_angles)

    def label_at(self, name: str, time: float) -> str:
        """The value of a label at a time."""
        return value_at(self.times, self.labels[name], time)

    def distances(self, points: Array) -> Array:
        """(...) metres from each of points (..., 2) to the nearest place on the path."""
        points = np.asarray(points, np.float64)
        starts, steps = self.positions[:-1], np.diff(self.positions, axis=0)
        squares = np.maximum(np.einsum("sc,sc->s", steps, steps), 1e-18)
        nearest = np.full(points.shape[:-1], np.inf)
        for start, step, square in zip(starts, steps, squares, strict=True):
            along = np.clip((points - start) @ step / square, 0.0, 1.0)
            away = points - start - along[..., None] * step
            nearest = np.minimum(nearest, np.einsum("...c,...c->...", away, away))
        return np.sqrt(nearest)

    def at_speed(self, speed: float) -> GroundPath:
        """The same places at a constant speed, m/s; places where the path rests are left out.

        Raises ParameterError where the speed is not above 0 or the path has no length.
        """
        if not (np.isfinite(speed) and speed > 0):
            raise ParameterError(
                f"a speed of {speed} m/s along a path is not possible", hint="give more than 0"
            )
        arc = self._arc_lengths
        moved = np.concatenate([[True], np.diff(arc) > 1e-9])
        if moved.sum() < 2:
            raise ParameterError(f"{self.name}: a path that stays where it is has no speed")
        return replace(
            self,
            times=arc[moved] / speed,
            positions=self.positions[moved],
            facings=None if self.facings is None else self.facings[moved],
            labels={
                name: tuple(value for value, kept in zip(values, moved, strict=True) if kept)
                for name, values in self.labels.items()
            },
            given_times=None,
        )

    def slowed_at_corners(self) -> GroundPath:
        """The same places, with more time where the direction changes faster than bodies turn.

        Walkers turn by 80 degrees a second at most, and slow down for sharper corners. Where the
        path is slow already, or curves gently, nothing changes.
        """
        grid, _ = self._grid
        velocities = np.gradient(self.positions_at(grid) @ _COMPLEX) * _GRID_FPS
        speeds, width = np.abs(velocities), _CUT_S * _GRID_FPS
        cut = gaussian_filter1d(velocities, width, mode="nearest")
        turns = np.zeros(len(grid))
        turns[1:-1] = np.abs(np.angle(cut[2:] * np.conj(cut[:-2]))) * _GRID_FPS / 2
        pace = np.minimum(
            _TURN_RATE / np.maximum(turns, _TINY),
            np.sqrt(_SIDEWAYS / np.maximum(turns * speeds, _TINY)),
        )
        pace = np.clip(np.maximum(pace, _SLOWEST / np.maximum(speeds, _TINY)), 0.0, 1.0)
        frames = round(_BRAKING_S * _GRID_FPS)
        pace = gaussian_filter1d(minimum_filter1d(pace, 2 * frames + 1), 0.5 * frames)
        slowed = pace < 0.99
        if not slowed.any():
            return self
        later = np.concatenate([[0.0], np.cumsum(np.diff(grid) / (0.5 * (pace[1:] + pace[:-1])))])
        inside = grid[slowed & (grid > self.times[0]) & (grid < self.times[-1])]
        # A frame that is nearly at a point would leave no time between them.
        after = np.searchsorted(self.times, inside)
        near = np.minimum(inside - self.times[after - 1], self.times[after] - inside)
        times = np.union1d(self.times, inside[near > 0.1 / _GRID_FPS])
        moments = np.interp(times, grid, later)
        places = self.positions_at(grid)
        rounded = gaussian_filter1d(places, _SMOOTHING_S * _GRID_FPS, axis=0, mode="nearest")
        share = np.minimum((1.0 - pace) / _ROUNDED, 1.0)
        moved = _at(times, grid, ((rounded - places) * share[:, None]) @ _COMPLEX)
        return replace(
            self,
            times=self.times[0] + moments - moments[0],
            positions=self.positions_at(times) + moved,
            facings=None if self.facings is None else self.facings_at(times),
            labels={
                name: tuple(self.label_at(name, time) for time in times) for name in self.labels
            },
            given_times=times,
        )

    def first_seconds(self, seconds: float) -> GroundPath:
        """The path up to a time after its start; the whole one where it is shorter."""
        end = float(self.times[0]) + seconds
        inside = np.flatnonzero(self.times < end)
        if len(inside) == len(self.times):
            return self
        times = np.append(self.times[inside], end)
        return replace(
            self,
            times=times,
            positions=np.concatenate([self.positions[inside], self.positions_at(times[-1:])]),
            facings=None if self.facings is None else self.facings_at(times),
            # A label holds from its point on.
            labels={
                name: (*values[: len(inside)], values[len(inside) - 1])
                for name, values in self.labels.items()
            },
            given_times=None,
        )

    @cached_property
    def corners(self) -> Array:
        """(corners,) s: times at which the velocity changes abruptly, as at starts and stops.

        It changes by nine tenths of the speed within half a second; a turn by 53 degrees does.
        """
        grid, velocities = self._grid
        half = round(_CORNER_S * _GRID_FPS / 2)
        before, after = velocities[: -2 * half], velocities[2 * half :]
        fastest = np.maximum(np.abs(before), np.abs(after))
        share = np.abs(after - before) / np.maximum(fastest, _CORNER_SPEED)
        middles = [(begin + stop) // 2 for begin, stop in true_runs(share > _CORNER)]
        return grid[half + np.array(middles, int)]

    @cached_property
    def pauses(self) -> Array:
        """(pauses, 2) s: begins and ends of where it stands for a second or more and goes on."""
        grid, velocities = self._grid
        moving = np.append(self.times[0], grid[np.abs(velocities) > STANDING_M_S])
        found = np.flatnonzero(np.diff(moving) >= _PAUSE_S)
        return np.stack([moving[found], moving[found + 1]], axis=1)

    @cached_property
    def _places(self) -> Array:
        """(points,) x + i z: one interpolation serves both."""
        return self.positions @ _COMPLEX

    @cached_property
    def _unwrapped(self) -> Array:
        assert self.facings is not None
        return np.unwrap(self.facings)

    @cached_property
    def _arc_lengths(self) -> Array:
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    @cached_property
    def _grid(self) -> tuple[Array, Array]:
        """Times and smoothed velocities x + i z (frames,), on a grid."""
        margin = 4.0 * _SMOOTHING_S
        count = int(np.ceil((self.duration + 2 * margin) * _GRID_FPS)) + 1
        times = self.times[0] - margin + np.arange(count) / _GRID_FPS
        velocities = gaussian_filter1d(
            np.gradient(self.positions_at(times), 1.0 / _GRID_FPS, axis=0),
            _SMOOTHING_S * _GRID_FPS,
            axis=0,
            mode="nearest",
        )
        return times, velocities @ _COMPLEX

    @cached_property
    def _travel_angles(self) -> Array:
        """(frames,) radians on the grid; where a pause begins they are held almost to its end."""
        times, velocities = self._grid
        moving = np.abs(velocities) > STANDING_M_S
        if not moving.any():
            return np.zeros(len(times))
        way, moments = velocities[moving], times[moving]
        angles = np.unwrap(np.arctan2(way.real, way.imag))
        begins, ends = self.pauses.T
        at = np.searchsorted(moments, ends)
        held = np.insert(angles, at, np.interp(begins, moments, angles))
        return np.interp(times, np.insert(moments, at, ends - BEFORE_CORNER_S), held)


def _at(times: Array, known: Array, values: Array) -> Array:
    """(..., 2) of complex values (points,), interpolated."""
    found = np.asarray(np.interp(times, known, values))
    return found[..., None].view(np.float64)


def read_path(path: str | FilePath) -> GroundPath:
    """Read a path from CSV: columns t (s), x, z (m), optionally facing (rad); others are labels.

    Raises
    ------
    FormatError
        With the line, as for :func:`deepphase.steering.timed_table.read_timed_table`.
    """
    table = read_timed_table(path, ("x", "z"), ("facing",))
    place = FilePath(path)
    try:
        return GroundPath(
            table.times,
            np.stack([table.numbers["x"], table.numbers["z"]], axis=1),
            table.numbers.get("facing"),
            table.texts,
            place.stem,
        )
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=place) from None


_POINTS_PER_S = 30
# Default sizes in seconds of travel, proportional to the speed.
_TRAVEL_S = {"wave": 5.0, "square": 3.2, "circle": 3.2}
# The wave's height from crest to trough as a share of its length.
_WAVE_HEIGHT = 0.35


def wave(speed: float, size: float, seconds: float) -> GroundPath:
    """A sine line along +Z at a constant speed in m/s."""
    _check(speed, size, seconds)
    along = np.linspace(0.0, speed * seconds, max(2, round(seconds * _POINTS_PER_S)))
    across = 0.5 * _WAVE_HEIGHT * size * np.sin(2.0 * np.pi * along / size)
    drawn = GroundPath(
        along + np.arange(len(along)) * 1e-9, np.stack([across, along], 1), name="wave"
    )
    return drawn.at_speed(speed).first_seconds(seconds)


def square(speed: float, size: float, seconds: float) -> GroundPath:
    """Laps around a square with sides of `size` metres, first along +Z, then to the left."""
    _check(speed, size, seconds)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]) * size
    sides = int(np.ceil(speed * seconds / size)) + 1
    places = corners[np.arange(sides + 1) % 4]
    drawn = GroundPath(np.arange(sides + 1.0), places, name="square")
    return drawn.at_speed(speed).first_seconds(seconds)


def circle(speed: float, size: float, seconds: float) -> GroundPath:
    """Laps around a circle of `size` metres across, first along +Z, then to the left."""
    _check(speed, size, seconds)
    times = np.linspace(0.0, seconds, max(2, round(seconds * _POINTS_PER_S)))
    angle = times * speed / (0.5 * size)
    places = 0.5 * size * np.stack([1.0 - np.cos(angle), np.sin(angle)], axis=1)
    return GroundPath(times, places, name="circle")


MADE_PATHS = {"wave": wave, "square": square, "circle": circle}


def usual_size(name: str, speed: float) -> float:
    """Default size in metres of the made path of that name at a speed in m/s."""
    return _TRAVEL_S[name] * speed


def made_path(name: str, speed: float, seconds: float, size: float | None = None) -> GroundPath:
    """The made path of that name, by default with `usual_size`.

    Raises
    ------
    ParameterError
        If there is no such path, or a number is not above 0.
    """
    if name not in MADE_PATHS:
        raise ParameterError(
            f"there is no path {name!r}", hint=f"give a CSV file, or {', '.join(MADE_PATHS)}"
        )
    return MADE_PATHS[name](speed, size or usual_size(name, speed), seconds)


def _check(speed: float, size: float, seconds: float) -> None:
    for name, value in (("speed", speed), ("size", size), ("duration", seconds)):
        if not (np.isfinite(value) and value > 0):
            raise ParameterError(
                f"a path with a {name} of {value} is not possible", hint="give more than 0"
            )
