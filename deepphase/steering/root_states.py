"""Root states of characters: position, facing and their rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.errors import ParameterError
from deepphase.steering.path import GroundPath


@brief_repr
@dataclass(frozen=True, eq=False)
class RootStates:
    """Positions, facings and velocities of characters on the ground.

    Parameters
    ----------
    positions, velocities
        (characters, 2) m and m/s, x and z in the world.
    angles, rates
        (characters,) rad about Y from +Z, and rad/s: the facing.
    """

    positions: Array
    velocities: Array
    angles: Array
    rates: Array

    def of(self, which: Array) -> RootStates:
        """Those of some characters."""
        return RootStates(*(each[which] for each in vars(self).values()))

    @classmethod
    def on_path(cls, path: GroundPath, origins: Array) -> RootStates:
        """At the start of a path, each on a copy of it with its origin (characters, 2) m."""
        count, begin = len(origins), path.times[:1]
        return cls(
            origins + path.positions_at(begin),
            np.repeat(path.velocities_at(begin), count, axis=0),
            np.repeat(path.facings_at(begin), count),
            np.zeros(count),
        )

    @classmethod
    def at_rest(cls, positions: Array) -> RootStates:
        """Standing at positions (characters, 2) m, facing +Z."""
        rest = np.zeros(len(positions))
        return cls(positions, np.zeros_like(positions), rest, rest)


def side_by_side(characters: int, apart: float) -> Array:
    """(characters, 2) metres: places from the origin to the left at this distance.

    Raises ParameterError if there is no character.
    """
    if characters < 1:
        raise ParameterError(f"characters must be at least 1, not {characters}")
    return np.arange(characters)[:, None] * np.array([apart, 0.0])
