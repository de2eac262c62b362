"""Where one thing stands in another, as plain numbers.

A file may have thousands of nodes in a row, each known only when the one above it is: there,
NumPy costs fifty times what the arithmetic does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

NO_TURN: Quaternion = (0.0, 0.0, 0.0, 1.0)
# Turns below this (1 - |w|) are an exporter's rounding.
_ROUNDING = 1e-12


class Place(NamedTuple):
    """A translation, and a rotation as a unit quaternion (x, y, z, w)."""

    translation: Vector
    rotation: Quaternion

    def holding(self, below: Place) -> Place:
        """`below`, which stands in this place, seen from above."""
        x, y, z = turned(self.rotation, below.translation)
        own = self.translation
        moved = (own[0] + x, own[1] + y, own[2] + z)
        return Place(moved, multiplied(self.rotation, below.rotation))


ORIGIN = Place((0.0, 0.0, 0.0), NO_TURN)


def multiplied(first: Quaternion, second: Quaternion) -> Quaternion:
    """Hamilton product: the rotation that turns by `second`, then by `first`."""
    if second == NO_TURN:
        return first
    ax, ay, az, aw = first
    bx, by, bz, bw = second
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def turned(rotation: Quaternion, vector: Vector) -> Vector:
    """A vector turned by a unit quaternion."""
    if rotation == NO_TURN:
        return vector
    qx, qy, qz, qw = rotation
    vx, vy, vz = vector
    tx = 2.0 * (qy * vz - qz * vy)
    ty = 2.0 * (qz * vx - qx * vz)
    tz = 2.0 * (qx * vy - qy * vx)
    return (
        vx + qw * tx + (qy * tz - qz * ty),
        vy + qw * ty + (qz * tx - qx * tz),
        vz + qw * tz + (qx * ty - qy * tx),
    )


def straightened(rotation: Quaternion) -> Quaternion:
    """A quaternion of unit length; `NO_TURN` itself where it turns by no more than rounding."""
    length = math.sqrt(sum(part * part for part in rotation))
    x, y, z, w = (part / length for part in rotation)
    return NO_TURN if 1.0 - abs(w) < _ROUNDING else (x, y, z, w)
