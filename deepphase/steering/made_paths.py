"""Generated paths: a wave, a square and a circle."""

from __future__ import annotations

import numpy as np

from deepphase.errors import ParameterError
from deepphase.steering.path import GroundPath

_POINTS_PER_S = 30
# Default sizes in seconds of travel, proportional to the speed.
_TRAVEL_S = {"wave": 5.0, "square": 3.2, "circle": 3.2}
# The wave's height from crest to trough as a share of its length.
_WAVE_HEIGHT = 0.35


def wave(speed: float, size: float, seconds: float) -> GroundPath:
    """A sine line along +Z at a constant speed.

    `speed`: m/s. Raises ParameterError if one of them is not above 0.
    """
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
