"""Goal sources: desired trajectories of characters from a path or a gamepad recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.path import GroundPath
from deepphase.steering.root_states import RootStates
from deepphase.steering.springs import (
    decayed,
    spring_rate,
    spring_to_angle,
    spring_to_velocity,
    wrapped_angle,
)

# Half the time over which the velocity of a path's line is taken, and m/s below which it stands.
_LINE_S = 1.0 / 120.0
_STANDING = 0.05
# Before a corner of a path: what follows it is ahead already, and must be prepared.
_BEFORE_CORNER_S = 0.3


class GoalSource(Protocol):
    """Desired trajectories and labels of a batch of characters.

    A goal source of your own extends this class and defines `trajectory`, `target` and `labels`;
    it overrides `advance` if it depends on time::

        class Ahead(dp.GoalSource):
            def trajectory(self, root_states, which, offsets_s):
                places = root_states.positions[which, None] + offsets_s[:, None] * [0.0, 1.2]
                return places, np.zeros(places.shape[:2])
            def target(self):
                return np.zeros((1, 2)), np.zeros(1)
            def labels(self):
                return [{}]

        goals = Ahead()
        characters = source.start(goals, dp.RootStates.at_rest(np.zeros((1, 2))))
        run = dp.rollout(characters, goals, 4.0)
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
        ...

    def target(self) -> tuple[Array, Array]:
        """The current target of each character: (characters, 2) m and (characters,) rad."""
        ...

    def labels(self) -> list[dict[str, str]]:
        """The current desired labels of each character."""
        ...


@runtime_checkable
class VelocityCommands(Protocol):
    """Goal sources that know the desired velocity before any smoothing, to time responses to it."""

    def command(self) -> tuple[Array, Array]:
        """The current one of each character: (characters, 2) m/s, and (characters,) rad."""
        ...


@dataclass(frozen=True)
class PathSettings:
    """Settings for following a path.

    Parameters
    ----------
    halflife_s
        Half-life of a deviation from the path in seconds.
    facing_halflife_s
        Half-life of a deviation of the facing in seconds.
    slack_m
        Distance in metres that a character may lag behind before the path waits for it.
    """

    halflife_s: float = 0.35
    facing_halflife_s: float = 0.35
    slack_m: float = 0.3

    def __post_init__(self) -> None:
        spring_rate(self.halflife_s)
        spring_rate(self.facing_halflife_s)
        if not self.slack_m > 0:
            raise ParameterError(f"slack_m {self.slack_m}: it must be above 0")


class PathGoals:
    """Goals along one path, with an origin for each character.

    The desired trajectory is the path from now on, plus the character's deviation from it, which
    decays like a spring. Each character has its own clock, which waits while the character lags.

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
        self._corners = path.corners - _BEFORE_CORNER_S

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`; goals change abruptly 0.3 s before a corner of the path."""
        passed = np.searchsorted(self._corners, self.times)
        error = self.path.positions_at(self.times) + self.origins - root_states.positions
        way = self.path.velocities_at(self.times)
        distance = np.sqrt(np.vecdot(error, error))
        behind = np.vecdot(error, way) > 0
        waiting = np.minimum(np.maximum(2.0 - distance / self.settings.slack_m, 0.0), 1.0)
        self.times = self.times + seconds * np.where(behind, waiting, 1.0)
        return np.asarray(np.searchsorted(self._corners, self.times) > passed)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`."""
        now, settings, path = self.times[which], self.settings, self.path
        later = now[:, None] + offsets_s
        deviation, _ = decayed(
            (root_states.positions[which] - self.origins[which] - path.positions_at(now))[:, None],
            (root_states.velocities[which] - path.velocities_at(now))[:, None],
            settings.halflife_s,
            offsets_s[:, None],
        )
        positions = path.positions_at(later) + self.origins[which, None] + deviation
        turned = wrapped_angle(root_states.angles[which] - path.facings_at(now))
        rates = root_states.rates[which] - self._facing_rates(now)
        twist, _ = decayed(turned[:, None], rates[:, None], settings.facing_halflife_s, offsets_s)
        return positions, path.facings_at(later) + twist

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`: the path's place at the character's clock."""
        return (
            self.path.positions_at(self.times) + self.origins,
            self.path.facings_at(self.times),
        )

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: the path's label columns; empty cells give no label."""
        path = self.path
        if not path.labels:
            return [{} for _ in self.times]
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
            moving = np.linalg.norm(velocities, axis=1) > _STANDING
            ways = np.arctan2(velocities[:, 0], velocities[:, 1])
            facings = np.where(moving, ways, facings)
        return velocities, facings

    def _facing_rates(self, times: Array) -> Array:
        step, facings_at = 1.0 / 60.0, self.path.facings_at
        return (facings_at(times + step) - facings_at(times - step)) / (2.0 * step)


@dataclass(frozen=True)
class GamepadSettings:
    """Settings for the response to a gamepad.

    Parameters
    ----------
    top_speed
        Speed at full deflection in m/s.
    halflife_s
        Half-life of a change of velocity in seconds.
    facing_halflife_s
        Half-life of a change of facing in seconds.
    jump
        Change of a stick since the last jump that counts as an abrupt change of the goals.
    leash_m
        Maximum distance in metres of the target from the character.
    """

    top_speed: float = 1.4
    halflife_s: float = 0.1
    facing_halflife_s: float = 0.12
    jump: float = 0.3
    leash_m: float = 0.3

    def __post_init__(self) -> None:
        spring_rate(self.halflife_s)
        spring_rate(self.facing_halflife_s)
        for name in ("top_speed", "jump", "leash_m"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} {getattr(self, name)}: it must be above 0")


class GamepadGoals:
    """Goals from one gamepad recording for all characters.

    Parameters
    ----------
    gamepad
        The recording.
    root_states
        Initial root states of the characters.
    settings
        Settings for the response.
    """

    def __init__(
        self, gamepad: Gamepad, root_states: RootStates, settings: GamepadSettings | None = None
    ) -> None:
        self.gamepad = gamepad
        self.settings = settings or GamepadSettings()
        self.time = float(gamepad.times[0])
        self._position = np.array(root_states.positions, np.float64)
        self._velocity = np.array(root_states.velocities, np.float64)
        self._acceleration = np.zeros_like(self._velocity)
        self._angle = np.array(root_states.angles, np.float64)
        self._rate = np.zeros_like(self._angle)
        self._last_goal = self._goal()

    def _goal(self) -> Array:
        """(4,) current values of the sticks: move x, z, look x, z."""
        now = np.array(self.time)
        return np.concatenate([self.gamepad.move_at(now), self.gamepad.look_at(now)])

    def _goal_angles(self) -> Array:
        goal = self._goal()
        way = goal[2:] if goal[2:].any() else goal[:2]
        if not way.any():
            return self._angle
        return np.full_like(self._angle, np.arctan2(way[0], way[1]))

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`."""
        self.time += seconds
        settings, goal = self.settings, self._goal()
        self._position, self._velocity, self._acceleration = spring_to_velocity(
            self._position,
            self._velocity,
            self._acceleration,
            settings.top_speed * goal[:2],
            settings.halflife_s,
            seconds,
        )
        self._angle, self._rate = spring_to_angle(
            self._angle, self._rate, self._goal_angles(), settings.facing_halflife_s, seconds
        )
        lead = self._position - root_states.positions
        distance = np.sqrt(np.einsum("cd,cd->c", lead, lead))[:, None]
        kept = np.minimum(1.0, settings.leash_m / np.maximum(distance, 1e-9))
        self._position = root_states.positions + lead * kept
        jumped = bool(np.abs(goal - self._last_goal).max() > settings.jump)
        if jumped:
            self._last_goal = goal
        return np.full(len(self._angle), jumped)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`: from the current place, at the desired velocity."""
        goal, settings = self._goal(), self.settings
        positions, _, _ = spring_to_velocity(
            root_states.positions[which, None],
            self._velocity[which, None],
            self._acceleration[which, None],
            settings.top_speed * goal[:2],
            settings.halflife_s,
            offsets_s[:, None],
        )
        angles, _ = spring_to_angle(
            self._angle[which, None],
            self._rate[which, None],
            self._goal_angles()[which, None],
            settings.facing_halflife_s,
            offsets_s,
        )
        return positions, angles

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`: the place of a character that follows the gamepad exactly."""
        return self._position, self._angle

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: the buttons' values."""
        now = {name: self.gamepad.button_at(name, self.time) for name in self.gamepad.buttons}
        desired = {name: value for name, value in now.items() if value}
        return [desired for _ in self._angle]

    def command(self) -> tuple[Array, Array]:
        """As `VelocityCommands.command`: of the sticks."""
        velocity = self.settings.top_speed * self._goal()[:2]
        return np.tile(velocity, (len(self._angle), 1)), self._goal_angles().copy()
