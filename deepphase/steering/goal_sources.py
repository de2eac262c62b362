"""Goal sources: desired trajectories of characters from a path or a gamepad recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.errors import ParameterError
from deepphase.steering.path import BEFORE_CORNER_S, STANDING_M_S, GroundPath
from deepphase.steering.springs import check_settings, decayed, decayed_offset, wrapped_angle


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
        return RootStates(*(values[which] for values in vars(self).values()))

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
    """(characters, 2) metres: places from the origin to the left at this distance."""
    if characters < 1:
        raise ParameterError(f"characters must be at least 1, not {characters}")
    return np.arange(characters)[:, None] * np.array([apart, 0.0])


# Half the time over which the velocity of a path's line is taken.
_LINE_S = 1.0 / 120.0
_TINY = 1e-9
# A lead fades away with this time constant, in seconds; m/s of a path at which leads are small.
_LEAD_FADE_S, _SLOW = 1.0, 0.2
# Largest angle in radians between the path and the facing of a body that returns to it.
_MOST_BEARING = np.radians(60.0)
# Goals of a body that lags go on along the path no slower than at this share of its speed.
_LEAST_RATE = 0.5


class GoalSource(Protocol):
    """Desired trajectories and labels of a batch of characters.

    A goal source of your own extends this class and defines `trajectory`, `target` and `labels`;
    it overrides `advance` if it depends on time::

        class Ahead(dp.steering.GoalSource):
            def trajectory(self, root_states, which, offsets_s):
                places = root_states.positions[which, None] + offsets_s[:, None] * [0.0, 1.2]
                return places, np.zeros(places.shape[:2])
            def target(self):
                return np.zeros((1, 2)), np.zeros(1)
            def labels(self):
                return [{}]

        goals = Ahead()
        characters = source.start(goals, dp.steering.RootStates.at_rest(np.zeros((1, 2))))
        run = dp.steering.rollout(characters, goals, 4.0)
    """

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """Advance the time; (characters,) bool: characters whose goals changed abruptly.

        By default nothing changes.
        """
        return np.zeros(len(root_states.positions), bool)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """The desired trajectory of some characters at times from now.

        Returns positions (which, offsets, 2), metres in the world, and angles (which, offsets).
        """

    def target(self) -> tuple[Array, Array]:
        """The current target of each character: (characters, 2) m and (characters,) rad."""

    def labels(self) -> list[dict[str, str]]:
        """The current desired labels of each character."""


class ForwardedGoals:
    """Goals of another source, but for the trajectory, which classes that extend this change."""

    def __init__(self, goal_source: GoalSource) -> None:
        self._goal_source = goal_source

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`."""
        return self._goal_source.advance(root_states, seconds)

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`."""
        return self._goal_source.target()

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`."""
        return self._goal_source.labels()


@runtime_checkable
class VelocityCommands(Protocol):
    """Goal sources that know the desired velocity before any smoothing, to time responses to it."""

    def command(self) -> tuple[Array, Array]:
        """The current one of each character: (characters, 2) m/s, and (characters,) rad."""


@runtime_checkable
class LedGoals(Protocol):
    """Goal sources that lead networks which are slower or faster than desired for good."""

    def leads(self, root_states: RootStates) -> Array:
        """(characters, 2) m/s to add to the desired velocities."""


@dataclass(frozen=True)
class PathSettings:
    """Settings for following a path."""

    halflife_s: float = 0.35  # Half-life of a deviation from the path in seconds
    facing_halflife_s: float = 0.35  # Half-life of a deviation of the facing in seconds
    # Distance in metres that a character may lag behind before the path waits for it.
    slack_m: float = 0.3
    # Time constant in seconds with which goals move ahead of a character that lags all the time,
    # and out of a curve that it cuts, by at most `slack_m`; infinite for goals that never do.
    lead_s: float = 0.5

    def __post_init__(self) -> None:
        check_settings(self, ("slack_m", "lead_s"))


class PathGoals:
    """Goals along one path, with an origin for each character.

    The desired trajectory is the path from now on, plus the character's deviation from it, which
    decays like a spring; without facings of the path, characters face the way that leads back to
    it. In a pause of the path the goal stands, where the body has stopped if that is near, until
    0.3 s before its end. Each character has its own clock, which waits while the character lags, as
    its goals do.
    A runner that blends goals with its own predictions follows them at a distance, so the goals
    lead by the deviation's integral over time, as a proportional-integral controller does.

    Parameters
    ----------
    path
        Path to follow.
    origins
        (characters, 2) metres, added to the path's places for each character.
    settings
        Settings for following the path.
    """

    def __init__(
        self, path: GroundPath, origins: Array | None = None, settings: PathSettings | None = None
    ) -> None:
        self.path = path
        self.settings = settings or PathSettings()
        self.origins = np.zeros((1, 2)) if origins is None else np.asarray(origins, np.float64)
        self.times = np.full(len(self.origins), path.times[0])
        self._corners = path.corners - BEFORE_CORNER_S
        self._starts = np.append(path.pauses[:, 1] - BEFORE_CORNER_S, np.inf)
        # Seconds along the path's velocity, and across it.
        self._leads = np.zeros((len(self.origins), 2))
        self._rates = np.ones(len(self.origins))

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`; goals change abruptly 0.3 s before a corner of the path."""
        passed = np.searchsorted(self._corners, self.times)
        error = self.path.positions_at(self.times) + self.origins - root_states.positions
        way = self.path.velocities_at(self.times)
        distance = np.sqrt(np.vecdot(error, error))
        behind = np.vecdot(error, way) > 0
        waiting = np.minimum(np.maximum(2.0 - distance / self.settings.slack_m, 0.0), 1.0)
        self._rates = np.where(behind, waiting, 1.0)
        self.times = self.times + seconds * self._rates
        self._move_leads(error, way, seconds)
        return np.asarray(np.searchsorted(self._corners, self.times) > passed)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`."""
        now, settings, path = self.times[which], self.settings, self.path
        rate = np.maximum(self._rates[which], _LEAST_RATE)[:, None]
        until = self._starts[np.searchsorted(self._starts, now, "right")]
        later = np.minimum(now[:, None] + rate * offsets_s, until[:, None])
        origins = self.origins[which]
        way, ways = path.velocities_at(now), path.velocities_at(later)
        leads, halflife = self._leads[which], settings.halflife_s
        places = root_states.positions[which] - origins - path.positions_at(now)
        drift = root_states.velocities[which] - rate * way
        led = places - _led(leads, way)
        stays = self._stays(led, root_states.velocities[which], way)
        positions = path.positions_at(later) + (origins + stays)[:, None]
        positions += decayed_offset(
            (led - stays)[:, None], drift[:, None], halflife, offsets_s[:, None]
        )
        positions += _led(leads[:, None], ways)
        facings = path.facings_at(later)
        turned = wrapped_angle(root_states.angles[which] - path.facings_at(now))
        if path.facings is None:
            # Bodies face the way that they take, which leads back to the path.
            _, back = decayed(places[:, None], drift[:, None], halflife, offsets_s[:, None])
            facings = facings + _bearings(back, rate[:, None] * ways)
            turned = turned - _bearings(drift, rate * way)
        step = 1.0 / 60.0
        turns = (path.facings_at(now + step) - path.facings_at(now - step)) / (2.0 * step)
        rates = root_states.rates[which] - rate[:, 0] * turns
        twist = decayed_offset(
            turned[:, None], rates[:, None], settings.facing_halflife_s, offsets_s
        )
        return positions, facings + twist

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`: the path's place at the character's clock."""
        places = self.path.positions_at(self.times) + self.origins
        return places, self.path.facings_at(self.times)

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: the path's label columns; empty cells give no label."""
        path = self.path
        return [
            {name: value for name in path.labels if (value := path.label_at(name, float(time)))}
            for time in self.times
        ]

    def command(self) -> tuple[Array, Array]:
        """As `VelocityCommands.command`: of the path's line at the character's clock."""
        path, step = self.path, _LINE_S
        ends = path.positions_at(self.times + step) - path.positions_at(self.times - step)
        velocities = ends / (2.0 * step)
        facings = path.facings_at(self.times)
        if path.facings is None:
            moving = np.linalg.norm(velocities, axis=1) > STANDING_M_S
            ways = np.arctan2(velocities[:, 0], velocities[:, 1])
            facings = np.where(moving, ways, facings)
        return velocities, facings

    def _move_leads(self, error: Array, way: Array, seconds: float) -> None:
        """Move the leads by (characters, 2) m from a character to its place on the path."""
        square = np.vecdot(way, way)
        lag = np.stack([np.vecdot(error, way), np.vecdot(error, _across(way))], axis=1)
        lag /= (square + _SLOW**2)[:, None]
        leads = self._leads + seconds * (lag / self.settings.lead_s - self._leads / _LEAD_FADE_S)
        length = np.sqrt(square * np.vecdot(leads, leads))
        most = np.minimum(1.0, self.settings.slack_m / np.maximum(length, _TINY))
        self._leads = leads * most[:, None]

    def _stays(self, away: Array, velocities: Array, way: Array) -> Array:
        """(characters, 2) m by which bodies stay away from where the path stands.

        A body that has gone past it, up to twice the slack, does not come back; one that comes
        nearer goes on. `away` is the distance from there, `way` the path's velocity.
        """
        distance = np.maximum(np.sqrt(np.vecdot(away, away)), _TINY)
        speed, nearer = np.sqrt(np.vecdot(way, way)), -np.vecdot(away, velocities) / distance
        share = np.clip(1.0 - speed / _SLOW, 0.0, 1.0) * np.clip(1.0 - nearer / _SLOW, 0.0, 1.0)
        share *= np.minimum(2.0 * self.settings.slack_m / distance, 1.0)
        return share[:, None] * away


def _led(leads: Array, way: Array) -> Array:
    """(..., 2) m: leads (..., 2) of a path with velocities (..., 2) m/s."""
    return leads[..., :1] * way + leads[..., 1:] * _across(way)


def _bearings(drift: Array, way: Array) -> Array:
    """(...) rad by which way + drift, (..., 2) m/s each, is turned from a way that is not slow."""
    turned = np.vecdot(drift, _across(way)) / (np.vecdot(way, way) + _SLOW**2)
    return np.clip(np.arctan(turned), -_MOST_BEARING, _MOST_BEARING)


def _across(way: Array) -> Array:
    """(..., 2) vectors on the ground, turned by 90 degrees."""
    return np.stack([way[..., 1], -way[..., 0]], axis=-1)


@dataclass(frozen=True)
class GamepadSettings:
    """Settings for the response to a gamepad."""

    top_speed: float = 1.4  # Speed at full deflection in m/s
    halflife_s: float = 0.1  # Half-life of a change of velocity in seconds
    facing_halflife_s: float = 0.12  # Half-life of a change of facing in seconds
    # Change of a stick since the last jump that counts as an abrupt change of the goals.
    jump: float = 0.3
    leash_m: float = 0.3  # Maximum distance in metres of the target from the character

    def __post_init__(self) -> None:
        check_settings(self, ("top_speed", "jump", "leash_m"))
