"""Goals of velocity and facing: set by a program, or by the sticks of a recorded gamepad."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.springs import spring_to_angle, spring_to_velocity

FASTEST_M_S = 1e3
"""Largest part of a velocity that can be desired, far above what a body reaches."""
# Seconds in which a body shall come to its target; in less, it pops under quick sticks.
_CATCH_UP_S = 0.7


class VelocityGoals:
    """Desired velocities and facings, which a program may change before every frame.

    A spring moves the velocity and the facing to the desired ones.

    Parameters
    ----------
    root_states
        Initial root states of the characters.
    settings
        Half-lives and leash; `top_speed` is not read.
    """

    def __init__(self, root_states: RootStates, settings: GamepadSettings | None = None) -> None:
        self.settings = settings or GamepadSettings()
        self._position = np.array(root_states.positions, np.float64)
        self._velocity = np.array(root_states.velocities, np.float64)
        self._acceleration = np.zeros_like(self._velocity)
        self._angle = np.array(root_states.angles, np.float64)
        self._rate = np.zeros_like(self._angle)
        self._desired = np.zeros_like(self._velocity)
        self._facings = np.full(len(self._angle), np.nan)
        self._changed = np.zeros(len(self._angle), bool)

    def set(self, velocities: Array, facings: Array | None = None) -> None:
        """Set what is desired from now on.

        Parameters
        ----------
        velocities : (characters, 2)
            m/s in the world, x and z.
        facings : (characters,)
            Radians about Y from +Z to +X; NaN, or None for all, for the direction of travel, or
            the present facing of characters that stand.

        Raises
        ------
        ParameterError
            If a shape does not fit, or a velocity is not finite or above `FASTEST_M_S`.
        """
        count = len(self._angle)
        desired = np.asarray(velocities, np.float64)
        turned = np.full(count, np.nan) if facings is None else np.asarray(facings, np.float64)
        if desired.shape != (count, 2) or turned.shape != (count,):
            raise ParameterError(
                f"velocities have the shape {desired.shape} and facings {turned.shape}",
                hint=f"give ({count}, 2) and ({count},) for {count} characters",
            )
        if not (np.abs(desired) <= FASTEST_M_S).all():
            raise ParameterError(
                f"a desired velocity is {np.abs(desired).max():g} m/s",
                hint=f"give values up to {FASTEST_M_S:g} m/s, and not NaN",
            )
        away = np.linalg.norm(desired - self._desired, axis=1)
        fastest = np.maximum(np.linalg.norm(desired, axis=1), np.linalg.norm(self._desired, axis=1))
        self._changed |= away > self.settings.jump * np.maximum(fastest, 1e-9)
        self._desired, self._facings = desired, turned

    def _goal_angles(self) -> Array:
        """(characters,) rad: desired facings."""
        moving = self._desired.any(axis=1)
        ways = np.arctan2(self._desired[:, 0], self._desired[:, 1])
        travel = np.where(moving, ways, self._angle)
        return np.where(np.isfinite(self._facings), self._facings, travel)

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`: characters whose velocity was changed abruptly since."""
        settings = self.settings
        self._position, self._velocity, self._acceleration = spring_to_velocity(
            self._position,
            self._velocity,
            self._acceleration,
            self._desired,
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
        changed, self._changed = self._changed, np.zeros_like(self._changed)
        return changed

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`: from the current place, at the desired velocity."""
        settings = self.settings

        def columns(values: Array) -> Array:
            # (characters, 2, 1): rows of offsets are longer, and quicker, than rows of x and z.
            return values[which][:, :, None]

        positions, _, _ = spring_to_velocity(
            columns(root_states.positions),
            columns(self._velocity),
            columns(self._acceleration),
            columns(self._desired),
            settings.halflife_s,
            offsets_s,
        )
        angles, _ = spring_to_angle(
            self._angle[which, None],
            self._rate[which, None],
            self._goal_angles()[which, None],
            settings.facing_halflife_s,
            offsets_s,
        )
        return np.ascontiguousarray(positions.swapaxes(1, 2)), angles

    def leads(self, root_states: RootStates) -> Array:
        """As `LedGoals.leads`: along the desired velocities, to the target, by at most as much."""
        gaps, way = self._position - root_states.positions, self._desired
        along = np.vecdot(gaps, way) / np.maximum(np.vecdot(way, way), 1e-12)
        return np.asarray(np.clip(along / _CATCH_UP_S, -1.0, 1.0)[:, None] * way)

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`: the place of a character that has the desired velocity."""
        return self._position, self._angle

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: none."""
        return [{}] * len(self._angle)

    def command(self) -> tuple[Array, Array]:
        """As `VelocityCommands.command`."""
        return self._desired.copy(), self._goal_angles().copy()


class GamepadGoals(VelocityGoals):
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
        super().__init__(root_states, settings)
        self.gamepad = gamepad
        self.time = float(gamepad.times[0])
        self._last_sticks = self._read()

    def _read(self) -> Array:
        """Take over the sticks' values; (4,) move x, z, look x, z."""
        now, count = np.array(self.time), len(self._angle)
        move, look = self.gamepad.move_at(now), self.gamepad.look_at(now)
        self._desired = np.tile(self.settings.top_speed * move, (count, 1))
        facing = np.arctan2(look[0], look[1]) if look.any() else np.nan
        self._facings = np.full(count, facing)
        return np.concatenate([move, look])

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`."""
        self.time += seconds
        sticks = self._read()
        if np.abs(sticks - self._last_sticks).max() > self.settings.jump:
            self._last_sticks = sticks
            self._changed[:] = True
        return super().advance(root_states, seconds)

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: the buttons' values."""
        now = {name: self.gamepad.button_at(name, self.time) for name in self.gamepad.buttons}
        desired = {name: value for name, value in now.items() if value}
        return [desired for _ in self._angle]
