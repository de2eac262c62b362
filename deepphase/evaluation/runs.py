"""What a run of made motion is worth: do feet stay, is it smooth where it was joined?"""

from __future__ import annotations

import numpy as np

from deepphase.errors import ParameterError

Array = np.ndarray


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
