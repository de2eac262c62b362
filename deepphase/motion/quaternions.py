"""Arithmetic of unit quaternions (x, y, z, w), component by component.

Written out by hand because forward kinematics multiplies whole joints at a time: on arrays of
thousands of frames this is several times faster than building a `scipy` Rotation per joint,
which is the oracle of the tests.
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])
# Up to this size the number of NumPy calls determines the time, beyond it the arithmetic.
_FEW = 2048
# Sine of half an angle below which a series replaces an ill-conditioned quotient.
_SMALL_SINE, _TINY = 1e-4, 1e-30


def _product_terms() -> Array:
    """(16, 4) coefficient of each product a_i b_j in each component of a Hamilton product."""
    terms = np.zeros((4, 4, 4))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        terms[i, j, k], terms[j, i, k] = 1.0, -1.0
        terms[i, i, 3] = -1.0
        terms[3, i, i] = terms[i, 3, i] = 1.0
    terms[3, 3, 3] = 1.0
    return terms.reshape(16, 4)


def _axis_terms() -> Array:
    """(9, 16) coefficient of each number of axes (x, y, z) in Davenport's matrix (x, y, z, w)."""
    terms = np.zeros((3, 3, 4, 4))
    for i in range(3):
        terms[i, i, 3, 3] = 1.0
        for j in range(3):
            terms[j, j, i, i] = 1.0 if i == j else -1.0
            if i != j:
                terms[i, j, i, j] = terms[i, j, j, i] = 1.0
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        terms[j, k, i, 3] = terms[j, k, 3, i] = 1.0
        terms[k, j, i, 3] = terms[k, j, 3, i] = -1.0
    return terms.reshape(9, 16)


_AXIS_TERMS = _axis_terms()
_PRODUCT_TERMS = {np.dtype(kind): _product_terms().astype(kind) for kind in (np.float32, float)}


def multiply(first: Array, second: Array) -> Array:
    """(..., 4) Hamilton product: the rotation that turns by `second`, then by `first`."""
    if first.size <= _FEW and second.size <= _FEW:
        pairs = first[..., :, None] * second[..., None, :]
        if pairs.dtype in _PRODUCT_TERMS:
            terms = _PRODUCT_TERMS[pairs.dtype]
            return pairs.reshape(*pairs.shape[:-2], 16) @ terms
    ax, ay, az, aw = first[..., 0], first[..., 1], first[..., 2], first[..., 3]
    bx, by, bz, bw = second[..., 0], second[..., 1], second[..., 2], second[..., 3]
    return _joined(
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotate(rotation: Array, vector: Array) -> Array:
    """Vectors (..., 3) rotated by quaternions (..., 4); leading axes broadcast."""
    qx, qy, qz, qw = rotation[..., 0], rotation[..., 1], rotation[..., 2], rotation[..., 3]
    vx, vy, vz = vector[..., 0], vector[..., 1], vector[..., 2]
    # v + 2 w (q x v) + 2 q x (q x v), with t = 2 (q x v).
    tx = 2.0 * (qy * vz - qz * vy)
    ty = 2.0 * (qz * vx - qx * vz)
    tz = 2.0 * (qx * vy - qy * vx)
    return _joined(
        vx + qw * tx + (qy * tz - qz * ty),
        vy + qw * ty + (qz * tx - qx * tz),
        vz + qw * tz + (qx * ty - qy * tx),
    )


def _joined(*components: Array) -> Array:
    """(..., components) as by np.stack, whose checks take longer than the products of one body."""
    joined = np.empty((*np.shape(components[0]), len(components)), components[0].dtype)
    for index, component in enumerate(components):
        joined[..., index] = component
    return joined


def conjugate(rotation: Array) -> Array:
    """(..., 4) the inverse rotations of unit quaternions (..., 4)."""
    conjugated = -rotation
    conjugated[..., 3] = rotation[..., 3]
    return conjugated


def normalized(rotation: Array) -> Array:
    """(..., 4) unit quaternions; a quaternion of length 0 becomes the identity."""
    length = np.linalg.norm(rotation, axis=-1, keepdims=True)
    safe = np.where(length > 0, length, 1.0).astype(rotation.dtype)
    return np.where(length > 0, rotation / safe, IDENTITY.astype(rotation.dtype))


def sign_continuous(rotation: Array) -> Array:
    """Rotations (frames, ..., 4) with the signs of their neighbours in time: q and -q are one."""
    if len(rotation) == 1:
        return rotation
    agree = np.einsum("...c,...c->...", rotation[1:], rotation[:-1]) >= 0
    flips = np.where(agree, 1.0, -1.0).astype(rotation.dtype)
    signs = np.concatenate([np.ones_like(flips[:1]), flips])
    return rotation * np.cumprod(signs, axis=0)[..., None]


def about_axis(axis: Array, angle: Array) -> Array:
    """Rotations by `angle` (...), radians, about a unit `axis` (3,) or (..., 3): (..., 4)."""
    half = np.asarray(angle)[..., None] / 2.0
    return np.concatenate([np.sin(half) * np.asarray(axis), np.cos(half)], axis=-1)


def angle_between(first: Array, second: Array) -> Array:
    """(...) radians in [0, pi]: angle of the rotation between two quaternions (..., 4)."""
    cosine = np.abs(np.einsum("...c,...c->...", first, second))
    return 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))


def rotation_vectors(rotations: Array) -> Array:
    """Axis times angle, (..., 3) radians of length at most pi, of unit quaternions (..., 4)."""
    shorter = np.where(rotations[..., 3:] < 0, -rotations, rotations)
    vector = shorter[..., :3]
    sine = np.sqrt(np.einsum("...c,...c->...", vector, vector))[..., None]
    angle = 2.0 * np.arctan2(sine, shorter[..., 3:])
    small = sine < _SMALL_SINE
    return vector * np.where(small, 2.0, angle / np.where(small, 1.0, sine))


def vectors_between(before: Array, after: Array) -> Array:
    """Rotation vectors (..., 3), radians in the parent's frame, from one rotation to another."""
    return rotation_vectors(multiply(after, conjugate(before)))


def from_rotation_vectors(vectors: Array) -> Array:
    """Unit quaternions (..., 4) of axis times angle (..., 3), radians."""
    half = 0.5 * np.sqrt(np.vecdot(vectors, vectors))
    rotations = np.empty((*half.shape, 4), half.dtype)
    # Without rotation the vector is 0, whatever the divisor.
    scale = 0.5 * np.sin(half) / np.maximum(half, _TINY)
    np.multiply(vectors, scale[..., None], out=rotations[..., :3])
    np.cos(half, out=rotations[..., 3])
    return rotations


def mean_rotation(rotation: Array) -> Array:
    """(..., 4) chordal mean over frames of rotations (frames, ..., 4) (Markley et al. 2007)."""
    moments = np.einsum("f...a,f...b->...ab", rotation, rotation)
    return np.linalg.eigh(moments)[1][..., -1]


def rotation_fit(moments: Array) -> Array:
    """(..., 4) rotations R that fit pairs of vectors best: the largest trace of R^T M.

    `moments` (..., 3, 3) are M, the sum over pairs of measured (column) times rest vector (row).
    Moments of vectors in one line leave the rotation open; one of those that fit is returned.

    Kabsch 1976, A solution for the best rotation to relate two sets of vectors.
    """
    left, _, right = np.linalg.svd(moments)
    left[np.linalg.det(left @ right) < 0, :, 2] *= -1.0
    return from_axes((left @ right).swapaxes(-1, -2))


_MIN_LENGTH = 1e-8
_X, _Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def six_numbers(rotations: Array) -> Array:
    """Quaternions (..., 4) -> (..., 6): the rotated x and y axes (Zhou et al. 2019)."""
    x = rotate(rotations, _X.astype(rotations.dtype))
    y = rotate(rotations, _Y.astype(rotations.dtype))
    return np.concatenate([x, y], axis=-1)


def from_six_numbers(numbers: Array) -> Array:
    """Any finite predicted numbers (..., 6), of which x keeps its direction -> unit quaternions."""
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
    """Unit quaternions (..., 4) of right-handed unit axes (..., 3, 3): x, y, z (Shepperd 1978)."""
    # Davenport's matrix of a rotation q is 4 q q^T - 1.
    products = (axes.reshape(-1, 9) @ _AXIS_TERMS.astype(axes.dtype)).reshape(-1, 4, 4)
    products += np.eye(4, dtype=axes.dtype)
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
