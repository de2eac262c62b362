"""Inference of the up axis and the size of a body of points."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.orientation import ASSUMED_UP, AXES
from deepphase.solving.point_distances import distance_frames, point_distances, spanning_tree
from deepphase.solving.point_limbs import find_point_limbs

# Prior penalty of each axis, in shares of the body's size.
_UNUSUAL = {"y": 0.0, "z": 0.02, "x": 0.1}
_UPSIDE_DOWN = 0.1
_TALLNESS_WEIGHT = 0.5


def body_size(positions: Array) -> float:
    """Median over time of the diagonal of the box around (frames, points, 3) positions."""
    return float(np.median(np.linalg.norm(np.ptp(distance_frames(positions), axis=1), axis=-1)))


def infer_points_up(positions: Array, edges: Array) -> tuple[str, str]:
    """The up axis of points, as in "y" or "-z", and a sentence on the evidence.

    A standing body extends most along its up axis, and its lowest point stays at the height of
    the floor. The legs decide the direction: two branches lead up from the lowest points.

    Parameters
    ----------
    positions
        (frames, points, 3), in any unit.
    edges
        (edges, 2) pairs of points that are known to be connected.
    """
    frames = distance_frames(positions)
    size = body_size(positions)
    if size <= 0:
        return "y", f"{ASSUMED_UP}y: all points are in one place"
    tall = np.median(np.ptp(frames, axis=1), axis=0)
    # (2, 3) vertical range over time of the lowest and of the highest point of each axis.
    sways = np.array(
        [np.ptp(np.percentile(ends, [10, 90], axis=0), axis=0) for ends in _ends(frames)]
    )
    unlikely = (sways.min(axis=0) - _TALLNESS_WEIGHT * tall) / size
    axis = int(np.argmin(unlikely + [_UNUSUAL[name] for name in AXES[:3]]))
    distances = point_distances(frames)
    neighbours = spanning_tree(distances, edges)
    legs = [
        find_point_limbs(_upright(frames, axis, sign), distances, neighbours, ordered=False)
        is not None
        for sign in (1.0, -1.0)
    ]
    if legs[0] != legs[1]:
        up = AXES[axis if legs[0] else axis + 3]
        return up, f"{ASSUMED_UP}{up}: along it the body stands on two legs"
    down = sways[1, axis] + _UPSIDE_DOWN * size < sways[0, axis]
    up = AXES[axis + 3 if down else axis]
    return (
        up,
        f"{ASSUMED_UP}{up}: the lowest point is steady or the body longest along it",
    )


def _ends(frames: Array) -> tuple[Array, Array]:
    return frames.min(axis=1), frames.max(axis=1)


def _upright(frames: Array, axis: int, sign: float) -> Array:
    """The frames with an axis as Y, in any rotation about it."""
    others = [each for each in range(3) if each != axis]
    return np.stack(
        [frames[..., others[0]], sign * frames[..., axis], frames[..., others[1]]], axis=-1
    )
