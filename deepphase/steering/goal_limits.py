"""Limits of goals: desired trajectories are kept within what the captured motion can do.

A network that reads places far outside its training data leaves all bounds, and a search finds
nothing near them. Places and velocities are therefore limited by a speed, and by a lower one in
directions of travel, relative to the facing, in which the data is slower. In directions in which it
never goes, the facing is turned: a body that cannot walk sideways walks ahead in a slant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource, RootStates
from deepphase.steering.springs import wrapped_angle

# Speed limit as a share of the data's top speed, its 99th percentile: a character that lags behind
# a path of that speed can still be asked to catch up.
_OF_TOP_SPEED = 1.5
# The same in directions off the facing, and the angle in radians from which on they are.
_OF_REACH, _AHEAD = 1.1, np.radians(50.0)
# Facings are turned the more, the faster a body shall travel: from the first of these speeds on,
# m/s, and wholly from the second on. Turns by less than this, radians, do not count.
_SLOW, _TURNED = (0.15, 0.4), 1e-3


@dataclass(frozen=True)
class GoalLimits:
    """Limits of desired trajectories."""

    # m/s: the largest desired velocity. A desired place in t seconds is at most `speed` * t metres
    # away.
    speed: float
    # (directions,) m/s: the same in directions of travel from the facing on, in equal steps to the
    # left, all around; 0 for those that the data never goes; empty for no limit but `speed`.
    reaches: tuple[float, ...] = ()
    # First and last angle, radians from ahead to the left, of each range of directions that the
    # data goes; empty for all.
    spans: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.speed) and self.speed > 0):
            raise ParameterError(f"a speed limit of {self.speed} m/s: it must be above 0")

    @classmethod
    def from_top_speed(cls, top_speed: float) -> GoalLimits:
        """The limits for motion whose speed has this 99th percentile, in m/s."""
        return cls(_OF_TOP_SPEED * top_speed)

    def with_speeds(self, speeds: Sequence[float]) -> GoalLimits:
        """These limits for motion with such largest speeds in directions, as `reaches` has them."""
        count = len(speeds)
        step = 2.0 * np.pi / max(count, 1)
        places = np.arange(count)
        lower = np.minimum(_OF_REACH * np.asarray(speeds, np.float64), self.speed)
        ahead = step * np.minimum(places, count - places) < _AHEAD
        reaches = np.where(ahead, self.speed, lower)
        # From the middle of the back on, so that what is ahead is one range.
        behind = count // 2
        goes = (lower > 0.0) | (places == 0)
        runs = true_runs(np.roll(goes, behind))
        # Each direction stands for those that are nearer to it than to others.
        spans = [
            (step * (start - behind - 0.5), step * (stop - behind - 0.5)) for start, stop in runs
        ]
        if len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == count:
            spans = [*spans[1:-1], (spans[-1][0], spans[0][1] + 2.0 * np.pi)]
        return replace(self, reaches=tuple(reaches.tolist()), spans=() if goes.all() else (*spans,))

    @property
    def top_speed(self) -> float:
        """m/s: the 99th percentile of the motion's speed, of which these are the limits."""
        return self.speed / _OF_TOP_SPEED

    def limited_places(self, places: Array, root: Array, offsets_s: Array) -> tuple[Array, Array]:
        """Desired places, moved towards the root where they are out of reach at any facing.

        Of (characters, offsets, 2) metres in the world, and (characters,) whether one was out of
        reach. Values that are not finite are not changed to finite ones.
        """
        relative = places - root[:, None]
        return self._within(places, relative, root[:, None], self.speed * offsets_s)

    def projected(
        self, places: Array, facings: Array, root_states: RootStates, offsets_s: Array
    ) -> tuple[Array, Array, Array]:
        """A desired trajectory, projected onto the directions and speeds of the data.

        Returns also (characters,) whether a place was out of reach, or a facing was turned. Where a
        value is not finite, only the speed is limited.
        """
        roots = root_states.positions[:, None]
        places, limited = self.limited_places(places, root_states.positions, offsets_s)
        if not (self.reaches and np.isfinite(places).all() and np.isfinite(facings).all()):
            return places, facings, limited
        relative, angles = places - roots, root_states.angles[:, None]
        ways = np.arctan2(relative[..., 0], relative[..., 1])
        if self.spans:
            velocities = _velocities(relative, offsets_s)
            turn = self._excess(np.arctan2(velocities[..., 0], velocities[..., 1]) - facings)
            speeds = np.hypot(velocities[..., 0], velocities[..., 1])
            turn *= np.clip((speeds - _SLOW[0]) / (_SLOW[1] - _SLOW[0]), 0.0, 1.0)
            facings = facings + turn
            limited = limited | (np.abs(turn) > _TURNED).any(axis=-1)
        # In a curve a place lies ahead of the facing in the middle of the way to it.
        middle = angles + 0.5 * wrapped_angle(facings - angles)
        reach = np.maximum(self._speed_towards(ways - facings), self._speed_towards(ways - middle))
        places, beyond = self._within(places, relative, roots, offsets_s * reach)
        return places, facings, limited | beyond

    def _excess(self, angles: Array) -> Array:
        """Radians by which directions from the facing are off the nearest that the data goes."""
        best = np.full(np.shape(angles), np.inf)
        for first, last in self.spans:
            half = 0.5 * (last - first)
            off = wrapped_angle(angles - (first + half))
            excess = off - np.clip(off, -half, half)
            best = np.where(np.abs(excess) < np.abs(best), excess, best)
        return best

    def _speed_towards(self, angles: Array) -> Array:
        count = len(self.reaches)
        table = np.array([*self.reaches, self.reaches[0]])
        place = (angles * (count / (2.0 * np.pi))) % count
        before = np.minimum(place.astype(np.int64), count - 1)
        return table[before] + (place - before) * (table[before + 1] - table[before])

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


def _velocities(places: Array, offsets_s: Array) -> Array:
    """(characters, offsets, 2) m/s at places relative to the root, whose times need not rise."""
    if len(offsets_s) == 1:
        return places / offsets_s[0]
    order = np.argsort(offsets_s)
    before, after = order[[0, *range(len(order) - 1)]], order[[*range(1, len(order)), -1]]
    velocities = np.empty_like(places)
    moved, seconds = places[:, after] - places[:, before], offsets_s[after] - offsets_s[before]
    velocities[:, order] = moved / seconds[:, None]
    return velocities


class LimitedGoals(ForwardedGoals):
    """Goals of another source within limits. A `GoalSource`.

    `limited` (characters,) is set to whether the goals of the characters asked for were beyond.
    """

    def __init__(self, goal_source: GoalSource, limits: GoalLimits, limited: Array) -> None:
        super().__init__(goal_source)
        self._limits, self.limited = limits, limited

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`, within reach."""
        places, angles = self._goal_source.trajectory(root_states, which, offsets_s)
        places, angles, self.limited[which] = self._limits.projected(
            places, angles, root_states.of(which), offsets_s
        )
        return places, angles
