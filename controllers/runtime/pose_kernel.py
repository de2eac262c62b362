"""Poses of predicted rotations, compiled by numba: the arithmetic of `body_pose`."""

from __future__ import annotations

import math

import numpy as np
from numba import float32, int64, void

from deepphase.compiled import compiled

_MIN_LENGTH = 1e-8


@compiled(
    void(
        float32[:, :, ::1],
        float32[:, ::1],
        int64[::1],
        int64[::1],
        float32[:, ::1],
        float32[:, :, ::1],
        float32[:, :, ::1],
        float32[:, :, ::1],
    ),
    error_model="numpy",
)
def read_poses(numbers, hips, order, parents, offsets, rotations, axes, positions):
    """Fill rotations and joint positions of predicted numbers, all in root space.

    The rotations are those of `rotations_6d.from_six_numbers`.

    Parameters
    ----------
    numbers
        (characters, joints, 6) predicted x and y axes.
    hips
        (characters, 3) metres: place of the first joint.
    order
        (joints,) places of the joints, parents before children.
    parents
        (joints,) place of each joint's parent.
    offsets
        (joints, 3) metres from the parent, in its axes.
    rotations
        (characters, joints, 4) quaternions (x, y, z, w).
    axes
        (characters, joints, 6) unit x and y axes.
    positions
        (characters, joints, 3) metres.
    """
    least = float32(_MIN_LENGTH)
    one, zero = float32(1.0), float32(0.0)
    z_axes = np.empty((numbers.shape[1], 3), np.float32)
    for n in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            x0, x1, x2 = numbers[n, j, 0], numbers[n, j, 1], numbers[n, j, 2]
            length = math.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
            if length > least:
                x0, x1, x2 = x0 / length, x1 / length, x2 / length
            else:
                x0, x1, x2 = one, zero, zero
            y0, y1, y2 = numbers[n, j, 3], numbers[n, j, 4], numbers[n, j, 5]
            along = x0 * y0 + x1 * y1 + x2 * y2
            y0, y1, y2 = y0 - along * x0, y1 - along * x1, y2 - along * x2
            length = math.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
            if not length > least:
                # x is parallel to at most one of the two axes.
                y0, y1 = (zero, one) if abs(x1) < float32(0.9) else (one, zero)
                along = x0 * y0 + x1 * y1
                y0, y1, y2 = y0 - along * x0, y1 - along * x1, -along * x2
                length = math.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
            y0, y1, y2 = y0 / length, y1 / length, y2 / length
            z0, z1, z2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
            axes[n, j, 0], axes[n, j, 1], axes[n, j, 2] = x0, x1, x2
            axes[n, j, 3], axes[n, j, 4], axes[n, j, 5] = y0, y1, y2
            z_axes[j, 0], z_axes[j, 1], z_axes[j, 2] = z0, z1, z2
            # Shepperd 1978: the largest of the four squared components gives the others.
            xx, yy = one + x0 - y1 - z2, one - x0 + y1 - z2
            zz, ww = one - x0 - y1 + z2, one + x0 + y1 + z2
            if xx >= yy and xx >= zz and xx >= ww:
                a, b, c, d = xx, y0 + x1, z0 + x2, y2 - z1
            elif yy >= zz and yy >= ww:
                a, b, c, d = y0 + x1, yy, z1 + y2, z0 - x2
            elif zz >= ww:
                a, b, c, d = z0 + x2, z1 + y2, zz, x1 - y0
            else:
                a, b, c, d = y2 - z1, z0 - x2, x1 - y0, ww
            scale = one / math.sqrt(a * a + b * b + c * c + d * d)
            rotations[n, j, 0], rotations[n, j, 1] = a * scale, b * scale
            rotations[n, j, 2], rotations[n, j, 3] = c * scale, d * scale
        for place in order:
            above = parents[place]
            if place == 0:
                for c in range(3):
                    positions[n, 0, c] = hips[n, c]
                continue
            for c in range(3):
                positions[n, place, c] = positions[n, above, c] + (
                    offsets[place, 0] * axes[n, above, c]
                    + offsets[place, 1] * axes[n, above, 3 + c]
                    + offsets[place, 2] * z_axes[above, c]
                )


@compiled(
    void(float32[:, :, ::1], float32[:, ::1], int64[::1], int64[::1], float32[:, :, ::1]),
    error_model="numpy",
)
def localise(rotations, first, parents, joints, local):
    """Fill the rotations of joints relative to their parents.

    Parameters
    ----------
    rotations
        (characters, joints, 4) quaternions in root space.
    first
        (characters, 4) quaternion that the first joint's rotation is multiplied by from the left.
    parents
        (joints,) place of each joint's parent.
    joints
        (joints,) places in `local`.
    local
        (characters, all joints, 4) quaternions.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            if j == 0:
                ax, ay, az, aw = first[n, 0], first[n, 1], first[n, 2], first[n, 3]
            else:
                above = rotations[n, parents[j]]
                ax, ay, az, aw = -above[0], -above[1], -above[2], above[3]
            own = rotations[n, j]
            bx, by, bz, bw = own[0], own[1], own[2], own[3]
            k = joints[j]
            local[n, k, 0] = aw * bx + ax * bw + ay * bz - az * by
            local[n, k, 1] = aw * by - ax * bz + ay * bw + az * bx
            local[n, k, 2] = aw * bz + ax * by - ay * bx + az * bw
            local[n, k, 3] = aw * bw - ax * bx - ay * by - az * bz
