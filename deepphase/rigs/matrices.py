"""Turns as matrices (3, 3, ..., poses) of vectors (3, ..., poses).

Sums over poses are contiguous, several times faster than products of (poses, 3, 3).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array

# Axes of the three turns of a control, by the axis of the twist, which stands in the middle: the
# turns are singular where the middle one is a quarter turn.
_ORDERS = ((1, 0, 2), (0, 1, 2), (0, 2, 1))


def product(first: Array, second: Array) -> Array:
    """(3, 3, ...) the turn by `second`, then by `first`."""
    return np.einsum("ij...,jk...->ik...", first, second)


def apply(matrices: Array, vectors: Array) -> Array:
    """Vectors (3, ...) turned by matrices (3, 3, ...)."""
    return np.asarray((matrices * vectors).sum(axis=1))


def turns(angles: Array, twist: int) -> Array:
    """(3, 3, ...) turns by angles (3, ...), radians, about x, y and z, the twist in the middle."""
    i, j, k = _ORDERS[twist]
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    cosine, sine = np.cos(angles), sign * np.sin(angles)
    ca, cb, cc, sa, sb, sc = cosine[i], cosine[j], cosine[k], sine[i], sine[j], sine[k]
    turn = np.empty((3, *angles.shape))
    turn[i, i], turn[i, j], turn[i, k] = cb * cc, -cb * sc, sb
    turn[j, i], turn[j, j], turn[j, k] = ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb
    turn[k, i], turn[k, j], turn[k, k] = sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb
    return turn


def pitch(angle: Array) -> Array:
    """(3, 3, ...) turns by an angle (...), radians, about x."""
    return turns(np.stack([angle, 0.0 * angle, 0.0 * angle]), 1)


def angles(matrices: Array, twist: int) -> Array:
    """(poses, 3) radians of matrices (poses, 3, 3), continuous: inverse of `turns`."""
    order = _ORDERS[twist]
    letters = "".join("XYZ"[axis] for axis in order)
    found = np.empty((len(matrices), 3))
    found[:, list(order)] = Rotation.from_matrix(matrices).as_euler(letters)
    found = np.unwrap(found, axis=0)
    # Whole turns off, if the first pose was far from the rest pose.
    return np.asarray(found - 2.0 * np.pi * np.round(np.median(found, axis=0) / (2.0 * np.pi)))


def dot(first: Array, second: Array) -> Array:
    """(...) scalar products of vectors (3, ...)."""
    return np.asarray((first * second).sum(axis=0))


def cross(first: Array, second: Array) -> Array:
    """(3, ...) vector products."""
    (ax, ay, az), (bx, by, bz) = first, second
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def unit(vectors: Array) -> Array:
    """Vectors (3, ...) of length 1; those without length stay 0."""
    squares = dot(vectors, vectors)
    return np.asarray(vectors / np.sqrt(np.where(squares > 1e-18, squares, 1.0)))


def across(vectors: Array, axis: Array) -> Array:
    """(3, ...) the part of vectors that is at right angles to a unit axis."""
    return np.asarray(vectors - dot(vectors, axis) * axis)


def frame(along: Array, side: Array) -> Array:
    """(3, 3, ...) turns whose columns are a direction, what is upright on both, and its side."""
    return np.stack(np.broadcast_arrays(along, cross(side, along), side), axis=1)


def orthonormal(matrices: Array) -> Array:
    """(3, 3, ...) turns from matrices, by Gram and Schmidt on their first two columns."""
    first = unit(matrices[:, 0])
    second = unit(across(matrices[:, 1], first))
    return np.stack([first, second, cross(first, second)], axis=1)
