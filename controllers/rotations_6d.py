"""Rotations as six numbers, which a network can predict: continuous, without signs or jumps."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions

Array = np.ndarray
_NO_LENGTH = 1e-8
_X, _Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def six_numbers(rotations: Array) -> Array:
    """Quaternions (..., 4) -> (..., 6): where the x and the y axis are turned to.

    References
    ----------
    Zhou et al. 2019, On the continuity of rotation representations.
    """
    x = quaternions.rotate(rotations, _X.astype(rotations.dtype))
    y = quaternions.rotate(rotations, _Y.astype(rotations.dtype))
    return np.concatenate([x, y], axis=-1)


def from_six_numbers(numbers: Array) -> Array:
    """(..., 6) as a network predicts them, so not exact -> unit quaternions (..., 4).

    The x axis keeps its direction, y is made perpendicular to it. Axes without a direction, or
    along each other, are replaced by others, so that any finite numbers give a rotation.
    """
    x = _unit(numbers[..., :3], _X)
    y = numbers[..., 3:]
    y = y - (x * y).sum(-1, keepdims=True) * x
    # Whichever of two axes x lies along, it is not along the other.
    other = np.where(np.abs(x[..., 1:2]) < 0.9, _Y, _X)
    other = other - (x * other).sum(-1, keepdims=True) * x
    y = _unit(y, other / np.linalg.norm(other, axis=-1, keepdims=True))
    matrices = np.stack([x, y, np.cross(x, y)], axis=-1)
    found = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_quat()
    return found.reshape(*numbers.shape[:-1], 4).astype(numbers.dtype)


def _unit(vectors: Array, otherwise: Array) -> Array:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    safe = np.maximum(length, _NO_LENGTH)
    return np.where(length > _NO_LENGTH, vectors / safe, otherwise)
