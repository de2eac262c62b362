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


def _product_terms() -> Array:
    """(16, 4) coefficient of each product a_i b_j in each component of a Hamilton product."""
    terms = np.zeros((4, 4, 4))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        terms[i, j, k], terms[j, i, k] = 1.0, -1.0
        terms[i, i, 3] = -1.0
        terms[3, i, i] = terms[i, 3, i] = 1.0
    terms[3, 3, 3] = 1.0
    return terms.reshape(16, 4)


_PRODUCT_TERMS = {np.dtype(kind): _product_terms().astype(kind) for kind in (np.float32, float)}


def multiply(first: Array, second: Array) -> Array:
    """Hamilton product: the rotation that turns by `second`, then by `first`.

    Parameters
    ----------
    first, second : (..., 4)
        Quaternions; leading axes broadcast.

    Returns
    -------
    (..., 4)
    """
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
    """The same rotations with signs chosen so that neighbours in time lie in one half space.

    Parameters
    ----------
    rotation : (frames, ..., 4)
        q and -q are the same rotation; recorded motion jumps between them.

    Returns
    -------
    (frames, ..., 4), the first frame as given.
    """
    agree = np.einsum("...c,...c->...", rotation[1:], rotation[:-1]) >= 0
    flips = np.where(agree, 1.0, -1.0).astype(rotation.dtype)
    signs = np.concatenate([np.ones_like(flips[:1]), flips]) if len(flips) else flips
    if len(rotation) == 1:
        return rotation
    return rotation * np.cumprod(signs, axis=0)[..., None]


def about_axis(axis: Array, angle: Array) -> Array:
    """Rotations by `angle` (...), radians, about a unit `axis` (3,) or (..., 3): (..., 4)."""
    half = np.asarray(angle)[..., None] / 2.0
    return np.concatenate([np.sin(half) * np.asarray(axis), np.cos(half)], axis=-1)


def angle_between(first: Array, second: Array) -> Array:
    """(...) radians in [0, pi]: angle of the rotation between two quaternions (..., 4)."""
    cosine = np.abs(np.einsum("...c,...c->...", first, second))
    return 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))


def mean_rotation(rotation: Array) -> Array:
    """(..., 4) mean over frames of rotations (frames, ..., 4), by the chordal distance.

    References
    ----------
    Markley et al. 2007, Averaging quaternions: the first eigenvector of the sum of q q^T.
    """
    moments = np.einsum("f...a,f...b->...ab", rotation, rotation)
    return np.linalg.eigh(moments)[1][..., -1]
