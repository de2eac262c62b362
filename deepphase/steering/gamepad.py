"""Gamepad recordings: two sticks, for movement and facing, and buttons over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.timed_table import read_timed_table, value_at

# Deflections below this count as 0.
DEAD_ZONE = 0.1
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Gamepad:
    """A recording of two sticks in world directions: +1 of z is +Z, +1 of x is +X."""

    times: Array  # (rows,) seconds, strictly rising
    # move, look: (rows, 2) x and z in [-1, 1]; lengths above 1 count as 1, which is full speed.
    # While `look` is at rest, the facing is the direction of travel.
    move: Array
    look: Array
    # Name -> (rows,) values, each from its time on.
    buttons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "stick"  # Name in figures and reports

    def __post_init__(self) -> None:
        for name in ("times", "move", "look"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        count = len(self.times)
        if count < 2 or self.move.shape != (count, 2) or self.look.shape != (count, 2):
            raise ParameterError(
                f"{self.name}: move has the shape {self.move.shape} and look {self.look.shape}",
                hint=f"give ({max(count, 2)}, 2) of each, at least two rows",
            )
        if not np.isfinite(self.times).all() or (np.diff(self.times) <= 0).any():
            raise ParameterError(
                f"{self.name}: the times do not rise", hint="sort the rows by time"
            )
        for values in (self.move, self.look):
            if not (np.abs(values) <= 1.0 + _ROUNDING).all():
                raise ParameterError(f"{self.name}: a stick value is outside [-1, 1]")

    @property
    def duration(self) -> float:
        """Seconds from the first row to the last."""
        return float(self.times[-1] - self.times[0])

    def move_at(self, times: Array) -> Array:
        """(..., 2) x and z at times (...): in the unit circle, 0 in the dead zone."""
        return _in_circle(self._between(times, self.move))

    def look_at(self, times: Array) -> Array:
        """(..., 2) x and z of `look`; see `move_at`."""
        return _in_circle(self._between(times, self.look))

    def button_at(self, name: str, time: float) -> str:
        """The value of a button at a time."""
        return value_at(self.times, self.buttons[name], time)

    def _between(self, times: Array, values: Array) -> Array:
        columns = (np.interp(times, self.times, values[:, axis]) for axis in (0, 1))
        return np.stack(list(columns), axis=-1)


def _in_circle(values: Array) -> Array:
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    shortened = values / np.maximum(length, 1.0)
    return np.where(length < DEAD_ZONE, 0.0, shortened)


def read_gamepad(path: str | Path) -> Gamepad:
    """Read a recording from CSV: t, move_x, move_z, optionally look_x, look_z, and buttons."""
    table = read_timed_table(path, ("move_x", "move_z"), ("look_x", "look_z"))
    numbers = table.numbers
    still = np.zeros(len(table.times))
    try:
        return Gamepad(
            table.times,
            np.stack([numbers["move_x"], numbers["move_z"]], axis=1),
            np.stack([numbers.get("look_x", still), numbers.get("look_z", still)], axis=1),
            table.texts,
            Path(path).stem,
        )
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None
