"""Trajectory feature: the path of a body over the ground at offsets from now, relative to its root.

Up to three blocks of a row hold it. Each has x and z of every sample, interleaved, in the frame
whose +Z is the current facing:

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
"""The blocks that `relative_trajectory` returns, in its order."""
TRAJECTORY_BLOCKS = (*TRAJECTORY_PATH, TRAJECTORY_VELOCITY)

# Seconds at a clip's ends whose mean velocity extrapolates the path.
_EXTRAPOLATION_S = 0.2


@dataclass(frozen=True, eq=False)
class GroundTrajectory:
    """Positions on the ground and facings at moments, with any leading axes."""

    positions: Array  # (..., moments, 3) metres in the world; the height is ignored
    directions: Array  # (..., moments, 3) unit vectors on the ground


def relative_trajectory(
    positions: Array, directions: Array, root_position: Array, root_direction: Array
) -> tuple[Array, Array]:
    """A path relative to a root: the blocks of TRAJECTORY_PATH.

    Used for the frames of a clip and for desired paths alike.

    `positions, directions` (..., moments, 3) the path in the world: metres, and unit vectors on the
    ground; `root_position, root_direction` (..., 3) root position, and its facing (a unit vector on
    the ground). Returns Two arrays (..., 2 * moments): x and z of each moment, interleaved (x0, z0,
    x1, z1, ...), in. the frame whose +Z is the facing.
    """
    relative = positions - root_position[..., None, :]
    return _in_frame(relative, root_direction), _in_frame(directions, root_direction)


def path_of_clip(
    root: RootTrajectory, offsets_s: Array, fps: float
) -> tuple[GroundTrajectory, Array]:
    """The path at offsets in seconds from every frame.

    The path is interpolated between frames, and extrapolated beyond the clip's ends with the mean
    velocity of the outermost 0.2 s and constant facing.

    `offsets_s` (moments,). Returns `path` (frames, moments, 3) each. `inside` (frames,) bool:
    Whether every moment lies within the clip.
    """
    frames = len(root)
    moments = np.arange(frames)[:, None] + np.asarray(offsets_s, np.float64) * fps
    # Tolerance of 0.01 frames: offsets in decimal seconds are not exact numbers of frames.
    inside: Array = np.all((moments >= -0.01) & (moments <= frames - 1 + 0.01), axis=1)
    held = np.clip(moments, 0, frames - 1)
    known = np.arange(frames)
    ground = root.positions[:, [0, 2]].astype(np.float64)
    positions = np.stack([np.interp(held, known, ground[:, axis]) for axis in (0, 1)], -1)
    count = min(max(round(_EXTRAPOLATION_S * fps), 1), frames - 1)
    if count:
        before, after = np.minimum(moments, 0), np.maximum(moments - (frames - 1), 0)
        positions += before[..., None] * (ground[count] - ground[0]) / count
        positions += after[..., None] * (ground[-1] - ground[-1 - count]) / count
    angles = np.interp(held, known, root.angles.astype(np.float64))
    return GroundTrajectory(_on_ground(positions), facing_directions(angles)), inside


def facing_directions(angles: Array) -> Array:
    """(..., 3) unit vectors on the ground of angles (...) about Y from +Z, radians."""
    return _on_ground(np.stack([np.sin(angles), np.cos(angles)], -1))


class TrajectoryBlocks:
    """Access to the columns of rows that hold a trajectory.

    The samples of a block rise in time; the last ones are the present and the future. A layout may
    leave out past samples, and whole blocks.
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
        """(..., later) complex x + i z of the present and future samples."""
        return self.read(rows, name)[..., -self._later :]

    def write(self, rows: Array, trajectory: Array) -> None:
        """Write every block of rows (batch, dims).

        `trajectory` (3, batch, samples) complex x + i z of TRAJECTORY_BLOCKS; a block with fewer
        samples takes the last ones.
        """
        values = pairs(trajectory).reshape(3, len(rows), -1)
        for block, name in zip(values, TRAJECTORY_BLOCKS, strict=True):
            columns = self._slices.get(name)
            if columns is not None:
                rows[:, columns] = block[:, columns.start - columns.stop :]

    def columns_later(self, name: str, *, now: bool) -> range:
        """Columns of a block's future samples, with the present one if `now`."""
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
    """(..., moments, 3) -> (..., 2 * moments): components along +X (left) and +Z."""
    sine, cosine = direction[..., None, 0], direction[..., None, 2]
    x, z = vectors[..., 0], vectors[..., 2]
    components = np.stack([cosine * x - sine * z, sine * x + cosine * z], -1)
    return components.reshape(*components.shape[:-2], -1)
