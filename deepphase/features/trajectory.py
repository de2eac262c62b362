"""Trajectory feature: the path of a body over the ground at offsets from now, seen from its root.

Up to three blocks of a row hold it. Each has x and z of every sample, interleaved, in the frame
whose +Z is the facing of now:

trajectory_position    metres from the root
trajectory_direction   unit vectors of the facing
trajectory_velocity    m/s relative to the world
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.root_trajectory import RootTrajectory

TRAJECTORY_POSITION = "trajectory_position"
TRAJECTORY_DIRECTION = "trajectory_direction"
TRAJECTORY_VELOCITY = "trajectory_velocity"
TRAJECTORY_PATH = (TRAJECTORY_POSITION, TRAJECTORY_DIRECTION)
"""The blocks that `relative_trajectory` gives, in its order."""
TRAJECTORY_BLOCKS = (*TRAJECTORY_PATH, TRAJECTORY_VELOCITY)

# Seconds at a clip's end over which the speed is measured that carries the path on.
_LAST_S = 0.2


@dataclass(frozen=True, eq=False)
class GroundTrajectory:
    """Places on the ground and facings there; any leading axes, then one a moment.

    Parameters
    ----------
    positions
        (..., moments, 3) metres in the world; the height is not looked at.
    directions
        (..., moments, 3) unit vectors on the ground.
    """

    positions: Array
    directions: Array


def relative_trajectory(
    positions: Array, directions: Array, root_position: Array, root_direction: Array
) -> tuple[Array, Array]:
    """A path as seen from a root: the blocks of TRAJECTORY_PATH.

    The same for the frames of a clip and for a desired path.

    Parameters
    ----------
    positions, directions : (..., moments, 3)
        The path in the world: metres, and unit vectors on the ground.
    root_position, root_direction : (..., 3)
        Where it is seen from, and the facing there (a unit vector on the ground).

    Returns
    -------
    Two arrays (..., 2 * moments): x and z of each moment, interleaved (x0, z0, x1, z1, ...), in
    the frame whose +Z is the facing.
    """
    relative = positions - root_position[..., None, :]
    return _in_frame(relative, root_direction), _in_frame(directions, root_direction)


def path_of_clip(
    root: RootTrajectory, offsets_s: Array, fps: float
) -> tuple[GroundTrajectory, Array]:
    """The path of every frame at seconds from it.

    Between frames it is interpolated. Before a clip's first frame and behind its last one the
    body goes straight on, at the mean velocity of the outermost 0.2 s and with its facing held.

    Parameters
    ----------
    offsets_s : (moments,)

    Returns
    -------
    path : (frames, moments, 3) each
    inside : (frames,) bool
        Every moment lies within the clip.
    """
    frames = len(root)
    moments = np.arange(frames)[:, None] + np.asarray(offsets_s, np.float64) * fps
    # A hundredth of a frame: offsets in decimal seconds are no whole numbers of frames.
    inside: Array = np.all((moments >= -0.01) & (moments <= frames - 1 + 0.01), axis=1)
    held = np.clip(moments, 0, frames - 1)
    known = np.arange(frames)
    ground = root.positions[:, [0, 2]].astype(np.float64)
    places = np.stack([np.interp(held, known, ground[:, axis]) for axis in (0, 1)], -1)
    count = min(max(round(_LAST_S * fps), 1), frames - 1)
    if count:
        before, behind = np.minimum(moments, 0), np.maximum(moments - (frames - 1), 0)
        places += before[..., None] * (ground[count] - ground[0]) / count
        places += behind[..., None] * (ground[-1] - ground[-1 - count]) / count
    angles = np.interp(held, known, root.angles.astype(np.float64))
    return GroundTrajectory(_on_ground(places), facing_directions(angles)), inside


def facing_directions(angles: Array) -> Array:
    """(..., 3) unit vectors on the ground of angles (...) about Y from +Z, radians."""
    return _on_ground(np.stack([np.sin(angles), np.cos(angles)], -1))


class TrajectoryBlocks:
    """Columns of rows that hold a trajectory: reads and writes them.

    The samples of a block rise in time. Its last ones are those of now and later; a layout may
    leave out the samples before now, and whole blocks.

    Parameters
    ----------
    slices
        Block -> its columns in a row, as `FeatureLayout.slices`.
    later
        Number of samples of now and later.
    """

    def __init__(self, slices: Mapping[str, slice], later: int) -> None:
        self._slices = {name: slices[name] for name in TRAJECTORY_BLOCKS if name in slices}
        self._later = later

    def __contains__(self, name: str) -> bool:
        return name in self._slices

    def read(self, rows: Array, name: str) -> Array:
        """(..., samples) complex x + i z of all samples of a block, of rows (..., dims)."""
        return complex_of(rows[..., self._slices[name]])

    def read_later(self, rows: Array, name: str) -> Array:
        """(..., later) the same of now and later."""
        return self.read(rows, name)[..., -self._later :]

    def write(self, rows: Array, trajectory: Array) -> None:
        """Write every block of rows (batch, dims).

        Parameters
        ----------
        trajectory : (3, batch, samples)
            Complex x + i z of TRAJECTORY_BLOCKS; a block with fewer samples takes the last ones.
        """
        values = pairs(trajectory).reshape(3, len(rows), -1)
        for block, name in zip(values, TRAJECTORY_BLOCKS, strict=True):
            place = self._slices.get(name)
            if place is not None:
                rows[:, place] = block[:, place.start - place.stop :]

    def columns_later(self, name: str, *, now: bool) -> range:
        """Columns of a block's samples of now and later, or, without `now`, of later."""
        count = 2 * (self._later if now else self._later - 1)
        stop = self._slices[name].stop
        return range(stop - count, stop)


def complex_of(values: Array) -> Array:
    """(..., 2 * n) x and z interleaved -> (..., n) complex x + i z."""
    return np.ascontiguousarray(values, np.float64).view(np.complex128)


def pairs(values: Array) -> Array:
    """(...) complex x + i z -> (..., 2)."""
    return np.ascontiguousarray(values, np.complex128)[..., None].view(np.float64)


def _on_ground(vectors: Array) -> Array:
    x, z = vectors[..., 0], vectors[..., 1]
    return np.stack([x, np.zeros_like(x), z], -1)


def _in_frame(vectors: Array, direction: Array) -> Array:
    """(..., moments, 3) -> (..., 2 * moments): along the right hand's opposite (+X) and +Z."""
    sine, cosine = direction[..., None, 0], direction[..., None, 2]
    x, z = vectors[..., 0], vectors[..., 2]
    seen = np.stack([cosine * x - sine * z, sine * x + cosine * z], -1)
    return seen.reshape(*seen.shape[:-2], -1)
