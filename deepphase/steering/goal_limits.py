"""Limits of goals: desired trajectories are kept within what the captured motion can do.

A network that reads places far outside its training data leaves all bounds, and a search finds
nothing near them. Places and velocities are therefore limited by a speed. Facings need no limit:
each is a direction, and the data has them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource
from deepphase.steering.root_states import RootStates

# Speed limit as a share of the data's top speed, its 99th percentile: a character that lags behind
# a path of that speed can still be asked to catch up.
_OF_TOP_SPEED = 1.5


@dataclass(frozen=True)
class GoalLimits:
    """Limits of desired trajectories.

    Parameters
    ----------
    speed
        m/s: the largest desired velocity. A desired place in t seconds is at most `speed` * t
        metres away.

    Raises
    ------
    ParameterError
        If the speed is not above 0.
    """

    speed: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.speed) and self.speed > 0):
            raise ParameterError(f"a speed limit of {self.speed} m/s: it must be above 0")

    @classmethod
    def of_top_speed(cls, top_speed: float) -> GoalLimits:
        """The limits for motion whose speed has this 99th percentile, in m/s."""
        return cls(_OF_TOP_SPEED * top_speed)

    @property
    def top_speed(self) -> float:
        """m/s: the 99th percentile of the motion's speed, of which these are the limits."""
        return self.speed / _OF_TOP_SPEED

    def limited_places(self, places: Array, root: Array, offsets_s: Array) -> tuple[Array, Array]:
        """Desired places, moved towards the root where they are out of reach.

        Parameters
        ----------
        places : (characters, offsets, 2)
            Metres in the world. Values that are not finite are not changed to finite ones.
        root : (characters, 2)
            Current places, metres.
        offsets_s : (offsets,)
            Seconds from now.

        Returns
        -------
        places : (characters, offsets, 2)
            Equal to the given ones within reach.
        limited : (characters,) bool
            Whether a place was out of reach.
        """
        relative = places - root[:, None]
        return self._within(places, relative, root[:, None], self.speed * offsets_s)

    def limited_velocities(self, velocities: Array) -> tuple[Array, Array]:
        """Velocities (characters, offsets, 2) m/s of at most the limit, and (characters,) bool."""
        return self._within(velocities, velocities, np.zeros(2), self.speed)

    def _within(
        self, values: Array, relative: Array, origin: Array, longest: Array | float
    ) -> tuple[Array, Array]:
        # Lengths of the largest numbers overflow, and their share is 0.
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.hypot(relative[..., 0], relative[..., 1])
            beyond = length > longest
            limited = beyond.any(axis=-1)
            if not limited.any():
                return values, limited
            share = np.where(beyond, longest / np.maximum(length, 1e-12), 1.0)[..., None]
            return np.where(beyond[..., None], origin + share * relative, values), limited


class LimitedGoals(ForwardedGoals):
    """Goals of another source within limits. A `GoalSource`.

    Parameters
    ----------
    goal_source
        The goals.
    limits
        Their limits.
    limited
        (characters,) bool: for the characters of each request, it is set to whether their goals
        were out of the limits.
    """

    def __init__(self, goal_source: GoalSource, limits: GoalLimits, limited: Array) -> None:
        super().__init__(goal_source)
        self._limits, self.limited = limits, limited

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`, within reach."""
        places, angles = super().trajectory(root_states, which, offsets_s)
        places, self.limited[which] = self._limits.limited_places(
            places, root_states.positions[which], offsets_s
        )
        return places, angles
