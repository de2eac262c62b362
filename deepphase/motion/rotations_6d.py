"""Six-dimensional representation of rotations, which is continuous (Zhou et al. 2019)."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions

_MIN_LENGTH = 1e-8
_X, _Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def six_numbers(rotations: Array) -> Array:
    """Quaternions (..., 4) -> (..., 6): the rotated x and y axes.

    References
    ----------
    Zhou et al. 2019, On the continuity of rotation representations.
    """
    x = quaternions.rotate(rotations, _X.astype(rotations.dtype))
    y = quaternions.rotate(rotations, _Y.astype(rotations.dtype))
    return np.concatenate([x, y], axis=-1)


def from_six_numbers(numbers: Array) -> Array:
    """Predicted numbers (..., 6), not exactly orthonormal -> unit quaternions (..., 4).

    The x axis keeps its direction, and y is made perpendicular to it. Axes of length 0 and parallel
    axes are replaced, so that any finite numbers give a rotation.
    """
    return from_axes(axes_of(numbers))


def axes_of(numbers: Array) -> Array:
    """(..., 6) -> (..., 3, 3): unit x, y and z axes of the rotation."""
    axes = np.empty((*numbers.shape[:-1], 3, 3), numbers.dtype)
    x = _unit(numbers[..., :3], _X.astype(numbers.dtype))
    y = numbers[..., 3:]
    y = y - np.vecdot(x, y)[..., None] * x
    length = np.sqrt(np.vecdot(y, y))[..., None]
    if length.size and length.min() <= _MIN_LENGTH:
        # x is parallel to at most one of the two axes.
        aside = np.where(np.abs(x[..., 1:2]) < 0.9, _Y, _X).astype(numbers.dtype)
        aside = aside - np.vecdot(x, aside)[..., None] * x
        y = _unit(y, aside / np.linalg.norm(aside, axis=-1, keepdims=True))
    else:
        y = y / length
    axes[..., 0, :], axes[..., 1, :] = x, y
    for here, (one, other) in enumerate(((1, 2), (2, 0), (0, 1))):
        axes[..., 2, here] = x[..., one] * y[..., other] - x[..., other] * y[..., one]
    return axes


def from_axes(axes: Array) -> Array:
    """Unit quaternions (..., 4) of right-handed unit axes (..., 3, 3), x, y and z.

    References
    ----------
    Shepperd 1978: the largest of the four squared components gives the others.
    """
    flat = axes.reshape(-1, 9)
    products = (flat @ _AXIS_TERMS.astype(axes.dtype)).reshape(-1, 4, 4)
    for component, signs in enumerate(_SQUARE_SIGNS):
        products[:, component, component] = 1.0 + flat[:, ::4] @ signs.astype(axes.dtype)
    largest = np.argmax(products.reshape(-1, 16)[:, ::5], axis=1)
    found = products[np.arange(len(products)), largest]
    found /= np.sqrt(np.vecdot(found, found))[:, None]
    return found.reshape(*axes.shape[:-2], 4)


def _unit(vectors: Array, otherwise: Array) -> Array:
    length = np.sqrt(np.vecdot(vectors, vectors))[..., None]
    if length.size and length.min() > _MIN_LENGTH:
        return vectors / length
    safe = np.maximum(length, _MIN_LENGTH)
    return np.where(length > _MIN_LENGTH, vectors / safe, otherwise)


def _axis_terms() -> Array:
    """(9, 16) coefficient of each number of the axes in 4 q_i q_j, i and j different."""
    terms = np.zeros((3, 3, 4, 4))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        # Axis i's component j is 2 (q_i q_j + q_k w), axis j's component i 2 (q_i q_j - q_k w).
        for one, other, sign in ((i, j, 1.0), (k, 3, 1.0)):
            terms[i, j, one, other] = terms[i, j, other, one] = sign
        for one, other, sign in ((i, j, 1.0), (k, 3, -1.0)):
            terms[j, i, one, other] = terms[j, i, other, one] = sign
    return terms.reshape(9, 16)


_AXIS_TERMS = _axis_terms()
# 4 q_i^2 is 1 plus the diagonal with these signs.
_SQUARE_SIGNS = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
