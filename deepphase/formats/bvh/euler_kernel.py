"""Quaternions of Euler angles, compiled by numba: the arithmetic of `quaternions_from_euler`."""

from __future__ import annotations

from numba import types

from deepphase.compiled import compiled

_SIGNATURE = types.void(
    types.float64[:, ::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.int64[::1],
    types.float64,
    types.float64[:, :, ::1],
)


@compiled(_SIGNATURE)
def rotate_joints(tangents, columns, joints, axes, parity, rotations):
    """Fill the rotations of the joints of one order of Euler angles, in a block of frames.

    The operations and their order are those of `quaternions_from_euler`: so are the results, to
    the last bit.

    Parameters
    ----------
    tangents
        (frames, channels) tangents of a quarter of the channels' angles.
    columns
        (joints, 3) each joint's channels in the order of its axes; -1 for an angle of zero.
    joints
        (joints,) their places in `rotations`.
    axes
        (3,) the order's axes: 0 for X, 1 for Y, 2 for Z.
    rotations
        (frames, all joints, 4) quaternions (x, y, z, w).
    """
    first, second, third = axes[0], axes[1], axes[2]
    for frame in range(tangents.shape[0]):
        for slot in range(joints.shape[0]):
            column = columns[slot, 0]
            tangent = tangents[frame, column] if column >= 0 else 0.0
            ratio = 2.0 / (1.0 + tangent * tangent)
            s1, c1 = tangent * ratio, ratio - 1.0
            column = columns[slot, 1]
            tangent = tangents[frame, column] if column >= 0 else 0.0
            ratio = 2.0 / (1.0 + tangent * tangent)
            s2, c2 = tangent * ratio, ratio - 1.0
            column = columns[slot, 2]
            tangent = tangents[frame, column] if column >= 0 else 0.0
            ratio = 2.0 / (1.0 + tangent * tangent)
            s3, c3 = tangent * ratio, ratio - 1.0
            sc, cs, cc, ss = s1 * c2, c1 * s2, c1 * c2, (s1 * s2) * parity
            joint = joints[slot]
            rotations[frame, joint, first] = sc * c3 + (cs * s3) * parity
            rotations[frame, joint, second] = cs * c3 - (sc * s3) * parity
            rotations[frame, joint, third] = ss * c3 + cc * s3
            rotations[frame, joint, 3] = cc * c3 - ss * s3
