"""Critically damped springs, inertialization of poses with them, and corrections of roots.

A critically damped spring y'' = -2 w y' - w^2 y has the solution (y0 + (v0 + w y0) t) e^(-w t).
From rest the distance is halved after one half-life. All steps use this solution, so that they are
exact for any time step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions

# The root u > 0 of (1 + u) e^-u = 1/2: from rest, a spring of rate w halves its distance in u / w.
_HALVING = 1.6783469900166605


def spring_rate(halflife_s: float) -> float:
    """1/s: rate w of the critically damped spring with this half-life from rest."""
    return _HALVING / _checked(halflife_s)


def _checked(halflife_s: float) -> float:
    if not (math.isfinite(halflife_s) and halflife_s > 0):
        raise ParameterError(
            f"a halflife of {halflife_s} s is not possible", hint="give seconds above 0"
        )
    return halflife_s


def check_settings(settings: object, positive: Iterable[str]) -> None:
    """ParameterError where half-lives of settings, or values of these names, are not above 0."""
    for name, value in vars(settings).items():
        if name.endswith("halflife_s"):
            _checked(value)
        elif name in positive and not value > 0:
            raise ParameterError(f"{name} {value}: it must be above 0")


def decayed(
    offset: Array, velocity: Array, halflife_s: float, seconds: float | Array
) -> tuple[Array, Array]:
    """An offset (...) and its velocity (...), which decay to 0 by a spring, after some seconds."""
    return faded(offset, velocity, spring_rate(halflife_s), seconds)


def faded(
    offset: Array, velocity: Array, rate: float | Array, seconds: float | Array
) -> tuple[Array, Array]:
    """`decayed` with a rate of `spring_rate` in 1/s: one, or one for each offset."""
    slope = velocity + rate * offset
    fading = _fading(rate, seconds)
    return (offset + slope * seconds) * fading, (velocity - rate * slope * seconds) * fading


def decayed_offset(
    offset: Array, velocity: Array, halflife_s: float, seconds: float | Array
) -> Array:
    """The offset alone of `decayed`, in half the time."""
    rate = spring_rate(halflife_s)
    return (offset + (velocity + rate * offset) * seconds) * _fading(rate, seconds)


def _fading(rate: float | Array, seconds: float | Array) -> float | Array:
    # A Python float keeps float32 offsets; a NumPy scalar would widen them.
    plain = isinstance(rate, float) and isinstance(seconds, float)
    return math.exp(-rate * seconds) if plain else np.exp(-rate * seconds)


def spring_to(
    value: Array, velocity: Array, goal: Array, halflife_s: float, seconds: float | Array
) -> tuple[Array, Array]:
    """A value (...) that a spring moves to a constant goal, and its velocity, some seconds on."""
    offset, velocity = decayed(value - goal, velocity, halflife_s, seconds)
    return goal + offset, velocity


def spring_to_angle(
    angle: Array, rate: Array, goal: Array, halflife_s: float, seconds: float | Array
) -> tuple[Array, Array]:
    """`spring_to` for radians: it turns the shorter way, and the result is not wrapped."""
    return spring_to(angle, rate, angle + wrapped_angle(goal - angle), halflife_s, seconds)


def spring_to_velocity(
    position: Array,
    velocity: Array,
    acceleration: Array,
    goal: Array,
    halflife_s: float,
    seconds: float | Array,
) -> tuple[Array, Array, Array]:
    """A position (...) whose velocity a spring moves to a desired one, after some seconds.

    Returns it with velocity and acceleration. It is the integral of the spring's velocity.
    """
    rate = spring_rate(halflife_s)
    difference = velocity - goal
    slope = acceleration + rate * difference
    fading = _fading(rate, seconds)
    # All that depends on the time alone is computed once for all characters.
    eased = (1.0 - fading) / rate
    place = (
        position + goal * seconds + difference * eased + slope * ((eased - seconds * fading) / rate)
    )
    return (
        place,
        goal + (difference + slope * seconds) * fading,
        (acceleration - rate * slope * seconds) * fading,
    )


def damping_share(halflife_s: float, seconds: float) -> float:
    """Share of a distance that an exponential approach of that halflife covers in some seconds."""
    return 1.0 - 0.5 ** (seconds / _checked(halflife_s))


def wrapped_angle(angle: Array) -> Array:
    """The same angles, radians, in [-pi, pi)."""
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def angular_velocities(before: Array, after: Array, seconds: float) -> Array:
    """(..., 3) rad/s: constant angular velocity, in the parent's frame, between two rotations."""
    return quaternions.vectors_between(before, after) / seconds


def rotation_offsets(
    old: Array, old_velocity: Array, new: Array, new_velocity: Array
) -> tuple[Array, Array]:
    """The offset that a new motion needs to continue the old one: rotation vectors, and their rate.

    Of rotations (..., 4) at the transition, and rad/s (..., 3) as from `angular_velocities`:
    from_rotation_vectors(offset) * new is old, and turns as old does. The angular velocity of
    exp(offset) is not the offset's rate of change but J(offset) times it, J the left Jacobian of
    rotations; its inverse is applied, so that large offsets start with the old velocity exactly.
    """
    turn = quaternions.multiply(old, quaternions.conjugate(new))
    offset = quaternions.rotation_vectors(turn)
    wanted = old_velocity - quaternions.rotate(turn, new_velocity)
    return offset, _without_left_jacobian(offset, wanted)


def _without_left_jacobian(offset: Array, velocity: Array) -> Array:
    square = np.einsum("...c,...c->...", offset, offset)[..., None]
    angle = np.sqrt(square)
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    # 1/a^2 - (1 + cos a) / (2 a sin a), written with the cotangent of a half.
    factor = np.where(small, 1.0 / 12.0, (1.0 - half / np.tan(half)) / safe**2)
    once = np.cross(offset, velocity)
    return velocity - 0.5 * once + factor * np.cross(offset, once)


def inertialized_rotations(
    offset: Array, velocity: Array, new: Array, halflife_s: float, seconds: float | Array
) -> Array:
    """Rotations (..., 4) some time after a transition: the new motion with the decayed offset."""
    left, _ = decayed(offset, velocity, halflife_s, seconds)
    return quaternions.multiply(quaternions.from_rotation_vectors(left), new)


@dataclass(frozen=True)
class CorrectionConstants:
    """Constants of `RootCorrection`."""

    # Half-life of a change of the correction.
    settling_s: float = 0.03
    # Half-lives of the corrections of the facing, and of the root's place.
    facing_halflife_s: float = 0.12
    adjust_halflife_s: float = 0.2
    # steer_s, most_steer: A body beside its path turns to where the path is in so many seconds, by
    # at most this angle in radians.
    steer_s: float = 0.2
    most_steer: float = 0.35


CORRECTION = CorrectionConstants()


class RootCorrection:
    """Corrects steps and turns of roots (characters,) towards targets.

    A body turns to its path where it is beside it; a shift, with which feet slide, does the rest:
    each at most `share` of the motion's own, the turn with `turn` radians per metre more.
    `standing_speed` m/s: slower bodies do not turn to their path. `seconds` of a frame.
    """

    def __init__(
        self, count: int, seconds: float, *, share: float, turn: float, standing_speed: float
    ) -> None:
        self._seconds, self._standing_speed = seconds, standing_speed
        self._share, self._most_turn = share, turn
        self._settled = damping_share(CORRECTION.settling_s, seconds)
        # Metres in the world as complex numbers, and radians, a frame.
        self._shift, self._turn = np.zeros(count, np.complex128), np.zeros(count)

    def turn(
        self, turned: Array, velocity: Array, angle: Array, gap: Array, facing: Array
    ) -> Array:
        """(characters,) radians by which roots turn in this frame.

        `turned` (characters,) radians of the motion's own turn; `velocity, gap` (characters,)
        complex x + i z in the world: m/s of the motion, and metres from root to target; `angle,
        facing` (characters,) Radians: of the root, and desired.
        """
        seconds, speed = self._seconds, np.abs(velocity)
        travels = speed > self._standing_speed
        # Positive to the left of the way: a positive turn about Y has a negative complex angle.
        aside = np.where(travels, -(gap * velocity.conj()).imag, 0.0) / np.maximum(speed, 1e-9) ** 2
        steer = np.clip(aside / CORRECTION.steer_s, -CORRECTION.most_steer, CORRECTION.most_steer)
        share = damping_share(CORRECTION.facing_halflife_s, seconds)
        turn = share * wrapped_angle(facing + steer - angle - turned)
        most = self._share * np.abs(turned) + self._most_turn * speed * seconds
        # A correction that begins or ends at once would jerk the body.
        self._turn += self._settled * (np.clip(turn, -most, most) - self._turn)
        return turned + self._turn

    def shift(self, step: Array, gap: Array) -> Array:
        """(characters,) complex metres in the world of the correction towards targets.

        `step, gap` (characters,) complex metres in the world: of the step, and from the root after
        it to the target.
        """
        correction = damping_share(CORRECTION.adjust_halflife_s, self._seconds) * gap
        limit = self._share * np.abs(step)
        correction *= np.minimum(1.0, limit / np.maximum(np.abs(correction), 1e-12))
        self._shift += self._settled * (correction - self._shift)
        return self._shift
