"""Transforms of limbs, compiled by numba: the arithmetic of `foot_ik.LimbSolver`."""

from __future__ import annotations

import numpy as np
from numba import float64, int64, void

from deepphase.compiled import compiled


@compiled(
    void(
        float64[:, :, ::1],
        float64[:, :, ::1],
        int64[::1],
        int64[:, ::1],
        int64[:, ::1],
        float64[:, :, :, ::1],
        float64[:, :, ::1],
    ),
    error_model="numpy",
)
def limb_transforms(rotations, places, parents, chain, above, matrices, positions):
    """Fill the world transforms of limbs by forward kinematics.

    Parameters
    ----------
    rotations
        (frames, joints, 4) local quaternions (x, y, z, w), parents before children.
    places
        (frames, joints, 3) metres from the parent, in its axes.
    parents
        (joints,) of each joint; -1 for the root.
    chain
        (4, limbs) upper, middle and last joints, and tips.
    above
        (3, limbs) parents of upper, middle and last joints.
    matrices
        (3, limbs * frames, 3, 3) rotation matrices of `above` in the world, limb by limb.
    positions
        (4, limbs * frames, 3) metres: places of `chain` in the world.
    """
    frames, joints = rotations.shape[0], rotations.shape[1]
    turned = np.empty((joints, 3, 3))
    moved = np.empty((joints, 3))
    own = np.empty((3, 3))
    for n in range(frames):
        for j in range(joints):
            x, y, z, w = (
                rotations[n, j, 0],
                rotations[n, j, 1],
                rotations[n, j, 2],
                rotations[n, j, 3],
            )
            own[0, 0] = 1.0 - 2.0 * (y * y + z * z)
            own[0, 1] = 2.0 * (x * y - z * w)
            own[0, 2] = 2.0 * (x * z + y * w)
            own[1, 0] = 2.0 * (x * y + z * w)
            own[1, 1] = 1.0 - 2.0 * (x * x + z * z)
            own[1, 2] = 2.0 * (y * z - x * w)
            own[2, 0] = 2.0 * (x * z - y * w)
            own[2, 1] = 2.0 * (y * z + x * w)
            own[2, 2] = 1.0 - 2.0 * (x * x + y * y)
            parent = parents[j]
            for r in range(3):
                if parent < 0:
                    moved[j, r] = places[n, j, r]
                    for c in range(3):
                        turned[j, r, c] = own[r, c]
                    continue
                a, b, d = turned[parent, r, 0], turned[parent, r, 1], turned[parent, r, 2]
                moved[j, r] = moved[parent, r] + (
                    a * places[n, j, 0] + b * places[n, j, 1] + d * places[n, j, 2]
                )
                for c in range(3):
                    turned[j, r, c] = a * own[0, c] + b * own[1, c] + d * own[2, c]
        for limb in range(chain.shape[1]):
            row = limb * frames + n
            for part in range(4):
                for c in range(3):
                    positions[part, row, c] = moved[chain[part, limb], c]
            for part in range(3):
                for r in range(3):
                    for c in range(3):
                        matrices[part, row, r, c] = turned[above[part, limb], r, c]
