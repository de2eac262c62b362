"""Quality of generated motion: smoothness, foot skating and transitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions

BLEND_S = 0.1
"""Time after a jump in seconds in which its blend is visible."""


def joint_accelerations(positions: Array, fps: float) -> Array:
    """(frames,) m/s^2: the largest acceleration of a joint in each frame.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres, in the world. The first and the last frame repeat their neighbour's value.
    """
    return _derivative(positions, fps, order=2).max(axis=1)


def joint_jerks(positions: Array, fps: float) -> Array:
    """(frames,) m/s^3: mean over joints of the third derivative's size in each frame.

    The outermost frames repeat their neighbour's value.
    """
    return _derivative(positions, fps, order=3).mean(axis=1)


def _derivative(positions: Array, fps: float, order: int) -> Array:
    """(frames, joints) size of a derivative by differences."""
    if len(positions) <= order:
        raise ParameterError(
            f"a derivative of order {order} needs more than {order} frames, not {len(positions)}"
        )
    differences = np.diff(positions.astype(np.float64), n=order, axis=0) * fps**order
    size = np.linalg.norm(differences, axis=-1)
    before = order // 2
    return np.pad(size, ((before, order - before), (0, 0)), mode="edge")


def joint_rotation_rates(rotations: Array, fps: float) -> Array:
    """(frames - 1, joints) degrees per second: rotation rate of each joint.

    Jitter raises it too, so compare it with `joint_jerks` and the data's value.

    Parameters
    ----------
    rotations : (frames, joints, 4)
        Quaternions. With local rotations a swinging arm counts once, at the shoulder; in the world
        or in root space it would count for every descendant.

    References
    ----------
    Starke et al. 2022, table 2, which does not state space and unit.
    """
    if len(rotations) < 2:
        raise ParameterError(f"rotation rates need at least 2 frames, not {len(rotations)}")
    exact = quaternions.normalized(rotations.astype(np.float64))
    turns = quaternions.multiply(quaternions.conjugate(exact[:-1]), exact[1:])
    # The arc cosine of the real part is inaccurate for small angles.
    half = np.arctan2(np.linalg.norm(turns[..., :3], axis=-1), np.abs(turns[..., 3]))
    return np.degrees(2.0 * half) * fps


def near_marked(marked: Array, frames: int) -> Array:
    """(count,) bool: marked frames, the frame before each, and some frames after it."""
    near = np.array(marked, bool)
    for shift in range(1, min(frames, len(marked) - 1) + 1):
        near[shift:] |= marked[:-shift]
    near[:-1] |= marked[1:]
    return near


def contact_speeds(tips: Array, contacts: Array, fps: float) -> Array:
    """(n,) m/s over the ground of feet in contact, one value for each foot and frame.

    A foot counts between two frames if it is in contact in both.

    Parameters
    ----------
    tips : (frames, feet, 3)
        Metres: the points that touch the floor.
    contacts : (frames, feet)
        Bool.
    """
    steps = np.diff(tips[..., ::2].astype(np.float64), axis=0) * fps
    standing = contacts[1:] & contacts[:-1]
    return np.linalg.norm(steps, axis=-1)[standing]


def foot_speeds(feet: Sequence[Array], fps: float) -> Array:
    """(frames - 1, feet) m/s over the ground of each foot's slowest point.

    A foot that rolls from heel to toe has a point at rest at any time, and does not slide.

    Parameters
    ----------
    feet
        For each foot (frames, points, 3), metres: the points that may touch the floor.
    """
    steps = [np.diff(points[..., ::2].astype(np.float64), axis=0) * fps for points in feet]
    return np.stack([np.linalg.norm(step, axis=-1).min(axis=1) for step in steps], axis=1)


def foot_skating(speeds: Array, largest: float) -> float:
    """Mean of v / v_max: speeds of feet in contact relative to the data's largest.

    References
    ----------
    Starke et al. 2022, table 3.
    """
    if not largest > 0:
        raise ParameterError(f"the largest contact speed must be above 0, not {largest} m/s")
    return float(np.mean(speeds) / largest) if len(speeds) else 0.0


def pose_distances(poses: Array, others: Array) -> Array:
    """(n,) metres: mean distance of corresponding joints of poses (n, joints, 3), root space.

    For the poses on both sides of a jump this is the alignment error.
    """
    return np.linalg.norm(poses - others, axis=-1).mean(axis=-1)
