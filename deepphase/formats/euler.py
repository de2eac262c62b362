"""Euler angles of files: to quaternions, and back to curves that an animator can read.

An order such as "ZXY" is read as the file applies it, matrix products from left to right:
R = Rz @ Rx @ Ry, which SciPy calls intrinsic and writes in capitals.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.skeleton import Array

# Each with the parity of its axes: even orders turn XYZ in a circle.
EULER_ORDERS = {"XYZ": 1, "YZX": 1, "ZXY": 1, "XZY": -1, "ZYX": -1, "YXZ": -1}
# Cosine of the middle angle below which the outer two turn about one axis.
_GIMBAL_LOCK = 1e-6


def completed_order(order: str) -> str:
    """An order of three axes that begins as `order` does, "ZXY" where none does."""
    return next((full for full in ("ZXY", *EULER_ORDERS) if full.startswith(order)), "ZXY")


def quaternions_from_euler(angles: Array, order: str) -> Array:
    """Unit quaternions (x, y, z, w) of Euler angles.

    Parameters
    ----------
    angles : (3, ...)
        Degrees, in the order's order.
    order
        One of `EULER_ORDERS`.

    Returns
    -------
    (..., 4). Angles that grow past 180 degrees keep the quaternion's sign continuous.
    """
    # sin and cos of the half angle from the tangent of the quarter: one transcendental function
    # in place of two.
    tangent = np.tan(angles * (np.pi / 720.0))
    ratio = 2.0 / (1.0 + tangent * tangent)
    s1, s2, s3 = tangent * ratio
    c1, c2, c3 = ratio - 1.0
    parity = EULER_ORDERS[order]
    first, second, third = ("XYZ".index(axis) for axis in order)
    quaternions = np.empty((*angles.shape[1:], 4))
    sc, cs, cc, ss = s1 * c2, c1 * s2, c1 * c2, (s1 * s2) * parity
    quaternions[..., first] = sc * c3 + (cs * s3) * parity
    quaternions[..., second] = cs * c3 - (sc * s3) * parity
    quaternions[..., third] = ss * c3 + cc * s3
    quaternions[..., 3] = cc * c3 - ss * s3
    return quaternions


def continuous_euler(rotations: Array, order: str) -> Array:
    """Euler angles that follow a motion without jumps.

    Of the two triples that give a rotation, each frame takes the one nearer to the frame before,
    and whole turns are added where that is nearer still. In gimbal lock, where only the sum of
    the outer angles counts, the third angle is held from the last frame that was free.

    Parameters
    ----------
    rotations : (frames, ..., 4)
        Quaternions (x, y, z, w).
    order
        One of `EULER_ORDERS`.

    Returns
    -------
    (frames, ..., 3), degrees, in the order's order.
    """
    shape = rotations.shape[:-1]
    with warnings.catch_warnings():
        # SciPy warns of gimbal lock, which is dealt with below.
        warnings.simplefilter("ignore", UserWarning)
        angles = Rotation.from_quat(rotations.reshape(-1, 4).astype(np.float64)).as_euler(order)
    angles = angles.reshape(*shape, 3)
    _hold_third_angle(angles, EULER_ORDERS[order])
    other = angles + np.pi
    other[..., 1] = np.pi - angles[..., 1]
    to_same = _turn_between(angles[:-1], angles[1:])
    to_other = _turn_between(angles[:-1], other[1:])
    # Both triples are equally far from both of the next frame's, so a change of triple is told
    # from one frame to the next and adds up.
    is_other = np.cumsum(to_other < to_same, axis=0) % 2 == 1
    angles[1:][is_other] = other[1:][is_other]
    return np.rad2deg(np.unwrap(angles, axis=0))


def _turn_between(before: Array, after: Array) -> Array:
    turn = after - before
    turn -= 2.0 * np.pi * np.rint(turn / (2.0 * np.pi))
    return np.abs(turn).sum(axis=-1)


def _hold_third_angle(angles: Array, parity: int) -> None:
    locked = np.abs(np.cos(angles[..., 1])) < _GIMBAL_LOCK
    if not locked.any():
        return
    frames = np.arange(len(angles)).reshape(-1, *(1,) * (locked.ndim - 1))
    last_free = np.maximum.accumulate(np.where(locked, -1, frames), axis=0)
    held = np.take_along_axis(angles[..., 2], np.maximum(last_free, 0), axis=0)
    held = np.where(locked & (last_free >= 0), held, angles[..., 2])
    moved = held - angles[..., 2]
    angles[..., 0] -= parity * np.sign(angles[..., 1]) * moved
    angles[..., 2] = held
