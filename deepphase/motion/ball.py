"""Balls: their state and physics on flat ground, and touches by feet.

A ball flies, bounces and rolls. Spin is left out: a rolling ball is slowed down by a constant
share of its weight, and a bounce changes only the vertical velocity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.contacts import GRAVITY

# A bounce that would be slower than this, m/s, ends: the ball rolls.
_SETTLED = 0.1
# Metres above the ground at which a ball still lies on it; rounding of world positions.
_ON_GROUND_M = 1e-9
_EPSILON = 1e-12


@dataclass(frozen=True)
class Ball:
    """A ball on the ground at height 0; a football of size 5 has a radius of 0.11 m.

    `restitution`: speed after a bounce as a share of that before, 0 to 1. `rolling`: deceleration
    as a share of gravity, about 0.07 on short grass.
    """

    radius_m: float = 0.11
    mass_kg: float = 0.43
    restitution: float = 0.6
    rolling: float = 0.07

    def __post_init__(self) -> None:
        for name, value, possible, way_out in (
            ("radius", self.radius_m, self.radius_m > 0, "more than 0 metres"),
            ("mass", self.mass_kg, self.mass_kg > 0, "more than 0 kilograms"),
            ("restitution", self.restitution, 0 <= self.restitution <= 1, "0 to 1"),
            ("rolling", self.rolling, self.rolling >= 0, "0 or more"),
        ):
            if not (possible and np.isfinite(value)):
                raise ParameterError(
                    f"a {name} of {value:g} is not possible for a ball", hint=f"give {way_out}"
                )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """The ball of a file's header. Those of earlier versions also state that ground is flat."""
        return cls(**{item.name: float(values[item.name]) for item in fields(cls)})

    @property
    def deceleration(self) -> float:
        """m/s2 by which rolling is slowed down."""
        return float(self.rolling * GRAVITY)

    def height(self, positions: Array) -> Array:
        """(...) metres between the ball at positions (..., 3) and the ground; 0 where it lies."""
        return np.asarray(positions, np.float64)[..., 1] - self.radius_m

    def resting(self, places: Array) -> Array:
        """(..., 3) positions of balls that lie on the ground at places (..., 2), x and z."""
        return np.insert(np.asarray(places, np.float64), 1, self.radius_m, axis=-1)

    def speed_to_roll(self, distance: Array | float, seconds: Array | float | None = None) -> Array:
        """(...) m/s at which a ball leaves that rolls a distance in metres within some seconds.

        Where it would come to rest within this time, and without one, it comes to rest there.
        """
        distance = np.asarray(distance, np.float64)
        to_rest = np.sqrt(2.0 * self.deceleration * distance)
        if seconds is None:
            return np.asarray(to_rest)
        seconds = np.maximum(seconds, _EPSILON)
        in_time = distance / seconds + 0.5 * self.deceleration * seconds
        return np.where(in_time < self.deceleration * seconds, to_rest, in_time)


@dataclass(frozen=True, eq=False)
class BallState:
    """Positions and velocities of balls."""

    position: Array  # (..., 3) metres: the centre
    velocity: Array  # (..., 3) m/s

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, np.asarray(value, np.float64))
        shape = self.position.shape
        if not shape or shape[-1] != 3 or self.velocity.shape != shape:
            raise ParameterError(
                f"a ball's position has shape {shape} and its velocity {self.velocity.shape}, "
                "expected (..., 3) each"
            )
        if not (np.isfinite(self.position).all() and np.isfinite(self.velocity).all()):
            raise ParameterError(
                "a ball's position or velocity is not finite",
                hint="find where the first NaN comes from",
            )

    @property
    def speed(self) -> Array:
        """(...) m/s."""
        return np.sqrt(np.square(self.velocity).sum(axis=-1))


def ball_energy(state: BallState, ball: Ball) -> Array:
    """(...) joules: kinetic energy, and potential energy over the height of the origin."""
    kinetic = 0.5 * ball.mass_kg * np.square(state.velocity).sum(axis=-1)
    return np.asarray(kinetic + ball.mass_kg * GRAVITY * state.position[..., 1])


def advanced(state: BallState, ball: Ball, seconds: float) -> BallState:
    """The state of balls some seconds later, without touches, exactly; none is below the ground."""
    if not (np.isfinite(seconds) and seconds >= 0):
        raise ParameterError(f"a ball after {seconds} s is not possible", hint="give 0 or more")
    shape = state.position.shape
    position, velocity = state.position.reshape(-1, 3).copy(), state.velocity.reshape(-1, 3).copy()
    places, speed = position[:, ::2], velocity[:, ::2]
    height, rising = np.maximum(ball.height(position), 0.0), velocity[:, 1].copy()
    left = np.full(len(position), float(seconds))
    while True:
        rolls = (height <= _ON_GROUND_M) & (np.abs(rising) < _SETTLED)
        height[rolls] = rising[rolls] = 0.0
        flies = ~rolls & (left > 0)
        if not flies.any():
            break
        landing = (rising + np.sqrt(rising**2 + 2.0 * GRAVITY * height)) / GRAVITY
        lands = flies & (landing <= left)
        step = np.where(flies, np.where(lands, landing, left), 0.0)
        places += speed * step[:, None]
        height = np.maximum(height + (rising - 0.5 * GRAVITY * step) * step, 0.0)
        height[lands] = 0.0
        rising = np.where(lands, -ball.restitution, 1.0) * (rising - GRAVITY * step)
        left = left - step
        # What is slower than this after the bounce rolls on.
        rising[lands & (rising < _SETTLED)] = 0.0
    # Rolling has a constant deceleration until the ball rests.
    rolling = np.where(rolls, left, 0.0)[:, None]
    size = np.linalg.norm(speed, axis=1, keepdims=True)
    slowed = np.minimum(ball.deceleration * rolling, size) / np.maximum(size, _EPSILON)
    if ball.deceleration > _EPSILON:
        rolling = np.minimum(rolling, size / ball.deceleration)
    places += speed * (1.0 - 0.5 * slowed) * rolling
    speed *= 1.0 - slowed
    position[:, 1], velocity[:, 1] = height + ball.radius_m, rising
    return BallState(position.reshape(shape), velocity.reshape(shape))


def touched(
    state: BallState,
    ball: Ball,
    points: Array,
    point_velocities: Array,
    *,
    radius_m: float = 0.04,
    restitution: float = 0.5,
) -> tuple[BallState, Array]:
    """Balls after collisions with moving points of feet, and the impulses (..., points) in N s.

    The points (..., points, 3) are centres of spheres of feet, which are taken to be much heavier
    than the ball. The restitution is the speed at which ball and foot part as a share of that at
    which they met.
    """
    points = np.asarray(points, np.float64)
    if points.shape != np.shape(point_velocities) or (
        points.shape[:-2] + points.shape[-1:] != state.position.shape
    ):
        raise ParameterError(
            f"feet have points {points.shape} and velocities {np.shape(point_velocities)} for "
            f"balls {state.position.shape}",
            hint="points are (..., points, 3) for balls (..., 3)",
        )
    position, velocity = state.position.copy(), state.velocity.copy()
    impulses = np.zeros(points.shape[:-1])
    for index in range(points.shape[-2]):
        foot, moving = points[..., index, :], np.asarray(point_velocities)[..., index, :]
        away = position - foot
        distance = np.sqrt(np.square(away).sum(axis=-1, keepdims=True))
        # From a centre in a centre, the ball leaves upwards.
        normal = np.where(
            distance > _EPSILON, away / np.maximum(distance, _EPSILON), np.array([0.0, 1.0, 0.0])
        )
        overlap = ball.radius_m + radius_m - distance
        meets = overlap >= 0
        approach = ((moving - velocity) * normal).sum(axis=-1, keepdims=True)
        change = np.where(meets & (approach > 0), (1.0 + restitution) * approach, 0.0)
        velocity += change * normal
        position += np.where(meets, overlap, 0.0) * normal
        impulses[..., index] = ball.mass_kg * change[..., 0]
    # A foot from above does not press the ball into the ground.
    height = ball.height(position)
    position[..., 1] -= np.minimum(height, 0.0)
    into = np.minimum(velocity[..., 1], 0.0)
    velocity[..., 1] -= np.where(height <= _ON_GROUND_M, into, 0.0)
    return BallState(position, velocity), impulses
