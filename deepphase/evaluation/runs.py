"""What a run of made motion is worth: do feet stay, is it smooth where it was joined?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions

FELT_S = 0.1
"""Seconds after a jump in which its blend is visible."""


def joint_accelerations(positions: Array, fps: float) -> Array:
    """(frames,) m/s^2: of each frame, the acceleration of the joint that accelerates most.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres, in the world. The first and the last frame have the value beside them.
    """
    return _derivative(positions, fps, order=2).max(axis=1)


def joint_jerks(positions: Array, fps: float) -> Array:
    """(frames,) m/s^3: of each frame, the mean over joints of the third derivative's size.

    The outermost frames have the value beside them.
    """
    return _derivative(positions, fps, order=3).mean(axis=1)


def _derivative(positions: Array, fps: float, order: int) -> Array:
    """(frames, joints) size of a derivative by differences."""
    if len(positions) <= order:
        raise ParameterError(f"{len(positions)} frames have no derivative of order {order}")
    differences = np.diff(positions.astype(np.float64), n=order, axis=0) * fps**order
    size = np.linalg.norm(differences, axis=-1)
    before = order // 2
    return np.pad(size, ((before, order - before), (0, 0)), mode="edge")


def joint_rotation_rates(rotations: Array, fps: float) -> Array:
    """(frames - 1, joints) degrees a second: how fast each joint turns from frame to frame.

    Jitter turns joints as well: read it beside `joint_jerks` and the data's own value.

    Parameters
    ----------
    rotations : (frames, joints, 4)
        Quaternions. Of local rotations an arm that swings counts once, at the shoulder; of
        rotations in the world or in root space it would count for every joint below.

    References
    ----------
    Starke et al. 2022, table 2, which does not say its space and unit.
    """
    if len(rotations) < 2:
        raise ParameterError(f"{len(rotations)} frames have no rotation from one to the next")
    exact = quaternions.normalized(rotations.astype(np.float64))
    turns = quaternions.multiply(quaternions.conjugate(exact[:-1]), exact[1:])
    # The arc cosine of the real part would lose small angles.
    half = np.arctan2(np.linalg.norm(turns[..., :3], axis=-1), np.abs(turns[..., 3]))
    return np.degrees(2.0 * half) * fps


def near(marked: Array, frames: int) -> Array:
    """(count,) bool: frames that are marked, the one before each, and so many after it."""
    found = np.array(marked, bool)
    for shift in range(1, min(frames, len(marked) - 1) + 1):
        found[shift:] |= marked[:-shift]
    found[:-1] |= marked[1:]
    return found


def contact_speeds(tips: Array, contacts: Array, fps: float) -> Array:
    """(n,) m/s over the ground of feet in contact, one value a foot and frame.

    A foot counts between two frames that both have it in contact.

    Parameters
    ----------
    tips : (frames, feet, 3)
        Metres: what touches the floor.
    contacts : (frames, feet)
        Whether it does.
    """
    steps = np.diff(tips[..., ::2].astype(np.float64), axis=0) * fps
    standing = contacts[1:] & contacts[:-1]
    return np.linalg.norm(steps, axis=-1)[standing]


def foot_speeds(feet: Sequence[Array], fps: float) -> Array:
    """(frames - 1, feet) m/s over the ground of each foot's slowest point, from frame to frame.

    A foot that rolls from heel to toe stands on one point after the other, and slides on none.

    Parameters
    ----------
    feet
        Of each foot the points (frames, points, 3) that may touch the floor, metres.
    """
    steps = [np.diff(points[..., ::2].astype(np.float64), axis=0) * fps for points in feet]
    return np.stack([np.linalg.norm(step, axis=-1).min(axis=1) for step in steps], axis=1)


def foot_skating(speeds: Array, largest: float) -> float:
    """Mean of v / v_max: speeds of feet in contact over the data's largest in contact.

    References
    ----------
    Starke et al. 2022, table 3.
    """
    if not largest > 0:
        raise ParameterError(f"a largest contact speed of {largest} m/s")
    return float(np.mean(speeds) / largest) if len(speeds) else 0.0


def pose_distances(poses: Array, others: Array) -> Array:
    """(n,) metres: the mean distance of corresponding joints of poses (n, joints, 3), root space.

    Of the poses on both sides of a jump: their alignment error.
    """
    return np.linalg.norm(poses - others, axis=-1).mean(axis=-1)
