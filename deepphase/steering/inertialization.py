"""Inertialization: smooth transitions in which the new motion plays at once.

At a transition the difference in value and velocity becomes an offset to the new motion, which
decays like a critically damped spring (Bollo 2018, Inertialization; with springs in place of
polynomials as in Holden 2020).
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.steering.springs import decayed

# Below this angle in radians series replace ill-conditioned quotients.
_SMALL = 1e-4
_TINY = 1e-30


def rotation_vectors(rotations: Array) -> Array:
    """Axis times angle, (..., 3) radians of length at most pi, of unit quaternions (..., 4)."""
    shorter = np.where(rotations[..., 3:] < 0, -rotations, rotations)
    vector = shorter[..., :3]
    sine = np.sqrt(np.einsum("...c,...c->...", vector, vector))[..., None]
    angle = 2.0 * np.arctan2(sine, shorter[..., 3:])
    small = sine < _SMALL
    return vector * np.where(small, 2.0, angle / np.where(small, 1.0, sine))


def from_rotation_vectors(vectors: Array) -> Array:
    """Unit quaternions (..., 4) of axis times angle (..., 3), radians."""
    half = 0.5 * np.sqrt(np.vecdot(vectors, vectors))
    rotations = np.empty((*half.shape, 4), half.dtype)
    # Without rotation the vector is 0, whatever the divisor.
    scale = 0.5 * np.sin(half) / np.maximum(half, _TINY)
    np.multiply(vectors, scale[..., None], out=rotations[..., :3])
    np.cos(half, out=rotations[..., 3])
    return rotations


def angular_velocities(before: Array, after: Array, seconds: float) -> Array:
    """(..., 3) rad/s: constant angular velocity, in the parent's frame, between two rotations."""
    return rotation_vectors(quaternions.multiply(after, quaternions.conjugate(before))) / seconds


def rotation_offsets(
    old: Array, old_velocity: Array, new: Array, new_velocity: Array
) -> tuple[Array, Array]:
    """The offset that a new motion needs to continue the old one.

    `old, new` (..., 4) Unit quaternions at the moment of the transition; `old_velocity,
    new_velocity` (..., 3) rad/s, as from `angular_velocities`. Returns `offset, velocity` (..., 3):
    A rotation vector, radians, and its rate of change: from_rotation_vectors(offset) * new is old,
    and turns as old does. The angular velocity of exp(offset) is not the offset's rate of change
    but J(offset) times it, J the left Jacobian of rotations; its inverse is applied here, so that
    large offsets too start with the old velocity exactly.
    """
    turn = quaternions.multiply(old, quaternions.conjugate(new))
    offset = rotation_vectors(turn)
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
    return quaternions.multiply(from_rotation_vectors(left), new)
