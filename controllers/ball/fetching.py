"""Goals of characters that follow their ball where it gets away, and fetch a lost one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.springs import wrapped_angle

# Characters stop this far from the middle of the ball, metres.
_STOP_M = 0.3
# Balls are fetched at this speed if the data have none, m/s.
_SPEED = 1.2


def fetching_speed(data: Mapping[str, Any]) -> float:
    """m/s at which balls are fetched: that of travelling in a controller's data."""
    return float(data.get("travelling_speed", 0.0)) or _SPEED


class FetchingGoals(ForwardedGoals):
    """Goals of a source, blended with the way to the ball of characters that are losing it.

    Parameters
    ----------
    balls
        Function that returns the balls' places (characters, 2) in metres, their velocities
        (characters, 2) in m/s, and the share of the way to each ball in the goals (characters,).
    speed
        m/s at which balls are fetched.
    """

    def __init__(
        self,
        goal_source: GoalSource,
        balls: Callable[[], tuple[Array, Array, Array]],
        speed: float,
    ) -> None:
        super().__init__(goal_source)
        self._balls, self._speed = balls, speed

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`."""
        positions, angles = super().trajectory(root_states, which, offsets_s)
        places, velocities, shares = self._balls()
        rows = np.flatnonzero(shares[which])
        if not len(rows):
            return positions, angles
        positions, angles = np.array(positions, np.float64), np.array(angles, np.float64)
        times = np.asarray(offsets_s, np.float64)
        for row in rows:
            character = which[row]
            here = root_states.positions[character]
            way = places[character] - here
            # A ball that rolls away is met where it will be.
            lead = min(float(np.hypot(*way)) / self._speed, 1.0)
            way = way + lead * velocities[character]
            distance = max(float(np.hypot(*way)), 1e-6)
            along = np.minimum(times * self._speed, max(distance - _STOP_M, 0.0))
            share = shares[character]
            places_to = here + along[:, None] * way / distance
            positions[row] += share * (places_to - positions[row])
            angles[row] += share * wrapped_angle(np.arctan2(way[0], way[1]) - angles[row])
        return positions, angles
