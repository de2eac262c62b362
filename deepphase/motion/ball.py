"""Balls: their state and physics on flat or sloping ground, and touches by feet.

A ball flies, bounces and rolls. Spin is left out: a rolling ball is slowed down by a constant
share of its weight, and a bounce changes only the velocity along the ground's normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.contacts import GRAVITY

# A bounce that would be slower than this, m/s, ends: the ball rolls.
_SETTLED = 0.1
# On a slope the direction of friction changes: the motion is cut into steps of this length.
_SLOPE_STEP_S = 1.0 / 480.0
# Metres above the ground at which a ball still lies on it; rounding of world positions.
_ON_GROUND_M = 1e-9
_EPSILON = 1e-12


@dataclass(frozen=True)
class Ball:
    """Properties of a ball and of its ground.

    Parameters
    ----------
    radius_m
        Radius in metres; a football of size 5 has 0.11 m.
    restitution
        Speed after a bounce as a share of that before, 0 to 1.
    rolling
        Deceleration of a rolling ball as a share of gravity: about 0.07 on short grass.
    slope
        Rise of the ground in metres for each metre along x and along z. The ground contains the
        origin.
    """

    radius_m: float = 0.11
    mass_kg: float = 0.43
    restitution: float = 0.6
    rolling: float = 0.07
    slope: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", tuple(float(rise) for rise in self.slope))
        values = self.radius_m, self.mass_kg, self.restitution, self.rolling, *self.slope
        if len(values) != 6 or not np.isfinite(values).all():
            raise ParameterError(f"{self}: values that are not finite")
        for name, value, possible, way_out in (
            ("radius", self.radius_m, self.radius_m > 0, "more than 0 metres"),
            ("mass", self.mass_kg, self.mass_kg > 0, "more than 0 kilograms"),
            ("restitution", self.restitution, 0 <= self.restitution <= 1, "0 to 1"),
            ("rolling", self.rolling, self.rolling >= 0, "0 or more"),
        ):
            if not possible:
                raise ParameterError(
                    f"a {name} of {value:g} is not possible for a ball", hint=f"give {way_out}"
                )

    @property
    def normal(self) -> Array:
        """(3,) unit normal of the ground."""
        normal = np.array([-self.slope[0], 1.0, -self.slope[1]])
        return normal / np.sqrt(normal @ normal)

    @property
    def deceleration(self) -> float:
        """m/s2 by which rolling is slowed down."""
        return float(self.rolling * GRAVITY * self.normal[1])

    def height(self, positions: Array) -> Array:
        """(...) metres between the ball at positions (..., 3) and the ground; 0 where it lies."""
        return np.asarray(np.asarray(positions, np.float64) @ self.normal - self.radius_m)

    def resting(self, places: Array) -> Array:
        """(..., 3) positions of balls that lie on the ground at places (..., 2), x and z."""
        places, normal = np.asarray(places, np.float64), self.normal
        up = (self.radius_m - places @ normal[::2]) / normal[1]
        return np.stack([places[..., 0], up, places[..., 1]], axis=-1)

    def speed_to_roll(self, distance: Array | float, seconds: Array | float | None = None) -> Array:
        """(...) m/s at which a ball has to leave to roll a distance in metres over flat ground.

        It arrives there in a time, or comes to rest there. A ball that would come to rest within
        this time leaves at the speed that takes it there to rest.
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
        for name in ("position", "velocity"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
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
    """The state of balls some seconds later, without touches.

    Flights and bounces are exact at any number of seconds, and so is rolling on flat ground. On a
    slope rolling is cut into steps of 1/480 s. A ball below the ground is put on it.
    """
    if not (np.isfinite(seconds) and seconds >= 0):
        raise ParameterError(f"a ball after {seconds} s is not possible", hint="give 0 or more")
    shape, normal = state.position.shape, ball.normal
    position, velocity = state.position.reshape(-1, 3), state.velocity.reshape(-1, 3)
    # Heights and velocities along the normal, and what is along the ground.
    height = np.maximum(ball.height(position), 0.0)
    along = position - (position @ normal)[:, None] * normal
    rising = velocity @ normal
    speed = velocity - rising[:, None] * normal
    weight = GRAVITY * normal[1]
    pull = weight * normal - np.array([0.0, GRAVITY, 0.0])
    left = np.full(len(position), float(seconds))
    while True:
        rolls = (height <= _ON_GROUND_M) & (np.abs(rising) < _SETTLED)
        height[rolls] = rising[rolls] = 0.0
        flies = ~rolls & (left > 0)
        if not flies.any():
            break
        landing = (rising + np.sqrt(rising**2 + 2.0 * weight * height)) / weight
        lands = flies & (landing <= left)
        step = np.where(flies, np.where(lands, landing, left), 0.0)
        along += (speed + 0.5 * pull * step[:, None]) * step[:, None]
        speed += pull * step[:, None]
        height = np.maximum(height + (rising - 0.5 * weight * step) * step, 0.0)
        height[lands] = 0.0
        rising = np.where(lands, -ball.restitution, 1.0) * (rising - weight * step)
        left = left - step
        # What is slower than this after the bounce rolls on.
        rising[lands & (rising < _SETTLED)] = 0.0
    along, speed = _rolled(along, speed, pull, ball.deceleration, np.where(rolls, left, 0.0))
    return BallState(
        (along + (height + ball.radius_m)[:, None] * normal).reshape(shape),
        (speed + rising[:, None] * normal).reshape(shape),
    )


def _rolled(
    places: Array, velocities: Array, pull: Array, deceleration: float, seconds: Array
) -> tuple[Array, Array]:
    """Places and velocities (balls, 3) along the ground after rolling for seconds (balls,)."""
    slopes = bool(np.abs(pull).max() > _EPSILON)
    steps = max(1, int(np.ceil(seconds.max(initial=0.0) / _SLOPE_STEP_S))) if slopes else 1
    step = (seconds / steps)[:, None]
    for _ in range(steps):
        pulled = velocities + pull * step
        speed = np.linalg.norm(pulled, axis=1, keepdims=True)
        slowed = np.minimum(deceleration * step, speed)
        after = pulled * (1.0 - slowed / np.maximum(speed, _EPSILON))
        # Flat ground has constant deceleration until the ball rests; then nothing moves.
        moving = step
        if not slopes and deceleration > _EPSILON:
            moving = np.minimum(step, speed / deceleration)
        places = places + 0.5 * (velocities + after) * moving
        velocities = after
    return places, velocities


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

    Each of the points (..., points, 3) is the centre of a sphere of a foot, which is taken to be
    much heavier than the ball. A ball that overlaps a sphere is put beside it. The restitution is
    the speed at which ball and foot part as a share of that at which they met.
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
    if radius_m < 0 or not 0 <= restitution <= 1:
        raise ParameterError(
            f"feet of {radius_m:g} m with restitution {restitution:g} are not possible",
            hint="give a radius of 0 or more, and a restitution of 0 to 1",
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
    height = ball.height(position)[..., None]
    position -= np.minimum(height, 0.0) * ball.normal
    into = (velocity * ball.normal).sum(axis=-1, keepdims=True)
    velocity -= np.where((height <= _ON_GROUND_M) & (into < 0), into, 0.0) * ball.normal
    return BallState(position, velocity), impulses
