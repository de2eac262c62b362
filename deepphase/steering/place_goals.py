"""Goals of place and facing at a time: to arrive at a point, turned as desired."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.easing import smoothstep
from deepphase.errors import ParameterError
from deepphase.steering.root_states import RootStates
from deepphase.steering.springs import decayed, wrapped_angle

# Near the place the speed is this many times the distance, 1/s, which takes so many seconds more
# until a character has arrived: within 5 cm.
_NEARING, _SETTLING_S, _ARRIVED_M = 3.0, 0.8, 0.05
# Halflife of a deviation from the desired velocity and facing.
_HALFLIFE_S = 0.1


class PlaceGoals:
    """Goals of being at a place, with a facing, at a time. A `GoalSource`.

    Characters set out at once, travel at `speed` on average, or faster where the time is short, and
    wait at the place. Far places that no speed of the data reaches in time are reached late.

    Parameters
    ----------
    places
        (characters, 2) metres, x and z.
    times_s
        (characters,) seconds from the start; the latest time of the arrival.
    facings
        (characters,) radians about Y from +Z to +X at the arrival; NaN, or None for all, for the
        direction of travel.
    speed
        m/s: the usual speed of travel.

    Raises
    ------
    ParameterError
        If shapes do not fit, a place or time is not finite, or the speed is not above 0.
    """

    def __init__(
        self,
        places: Array,
        times_s: Array,
        facings: Array | None = None,
        *,
        speed: float = 1.3,
    ) -> None:
        self.places = np.asarray(places, np.float64)
        count = len(self.places)
        self.times_s = np.asarray(times_s, np.float64)
        self.facings = np.full(count, np.nan) if facings is None else np.asarray(facings, float)
        shapes = self.places.shape, self.times_s.shape, self.facings.shape
        if shapes != ((count, 2), (count,), (count,)):
            raise ParameterError(
                f"places, times and facings have the shapes {shapes}",
                hint="give (n, 2), (n,) and (n,) for n characters",
            )
        if not (np.isfinite(self.places).all() and np.isfinite(self.times_s).all()):
            raise ParameterError("a place or a time is not finite", hint="give finite values")
        if not (np.isfinite(speed) and speed > 0):
            raise ParameterError(f"a speed must be above 0 m/s, not {speed}")
        self.speed, self.time_s = speed, 0.0
        self._way = np.full(count, np.nan)
        self._target = self.places.copy(), np.zeros(count)

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`; the goals change abruptly at the start only."""
        first = self.time_s == 0.0
        self.time_s += seconds
        everyone = np.arange(len(self.places))
        positions, angles = self.trajectory(root_states, everyone, np.array([seconds]))
        self._target = positions[:, 0], angles[:, 0]
        return np.full(len(self.places), first)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`: a straight way that ends at rest at the place."""
        start, place = root_states.positions[which], self.places[which]
        away = place - start
        distance = np.linalg.norm(away, axis=1)
        ahead = away / np.maximum(distance, 1e-9)[:, None]
        # Where the time is over, a character goes on at its usual speed.
        left = self.times_s[which] - self.time_s - _SETTLING_S
        hurried = distance / np.maximum(left, _SETTLING_S)
        speed = np.where(left > -_SETTLING_S, np.maximum(self.speed, hurried), self.speed)
        remaining = _remaining(distance[:, None], speed[:, None], offsets_s)
        desired = np.minimum(speed, distance * _NEARING)[:, None] * ahead
        lag, _ = decayed(
            np.zeros((len(which), 1, 2)),
            (root_states.velocities[which] - desired)[:, None],
            _HALFLIFE_S,
            offsets_s[:, None],
        )
        positions = place[:, None] - remaining[..., None] * ahead[:, None] + lag
        travelling = distance > _ARRIVED_M
        ways = np.where(travelling, np.arctan2(away[:, 0], away[:, 1]), self._way[which])
        ways = np.where(np.isfinite(ways), ways, root_states.angles[which])
        self._way[which] = ways
        facings = np.where(np.isfinite(self.facings[which]), self.facings[which], ways)
        turned = 1.0 - np.clip(remaining / (speed[:, None] / _NEARING), 0.0, 1.0)
        turned = np.where(travelling[:, None], smoothstep(turned), 1.0)
        current = root_states.angles[which, None]
        travel = current + wrapped_angle(ways[:, None] - current)
        desired_angles = travel + turned * wrapped_angle(facings[:, None] - travel)
        twist, _ = decayed(
            wrapped_angle(current - desired_angles[:, :1]),
            root_states.rates[which, None],
            _HALFLIFE_S,
            offsets_s,
        )
        return positions, desired_angles + twist

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`."""
        return self._target

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: none."""
        return [{} for _ in self.places]


def _remaining(distance: Array, speed: Array, seconds: Array) -> Array:
    """Metres that are left after some seconds: at a speed, then ever more slowly near the end."""
    slow = np.minimum(distance, speed / _NEARING)
    even = (distance - slow) / speed
    travelled = distance - speed * seconds
    return np.where(seconds < even, travelled, slow * np.exp(-_NEARING * (seconds - even)))
