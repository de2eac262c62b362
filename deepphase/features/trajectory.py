"""Where a body goes: its path over the ground at chosen times, seen from where it is now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.motion.skeleton import Array

# Seconds at a clip's end over which the speed is measured that carries the path on.
_LAST_S = 0.2


@dataclass(frozen=True, eq=False)
class Path:
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
    """A path as seen from a root: the blocks trajectory_position and trajectory_direction.

    The same for the frames of a clip and for the way that a user wishes.

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


def path_of_clip(root: RootTrajectory, offsets_s: Array, fps: float) -> tuple[Path, Array]:
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
    return Path(_on_ground(places), facing_directions(angles)), inside


def facing_directions(angles: Array) -> Array:
    """(..., 3) unit vectors on the ground of angles (...) about Y from +Z, radians."""
    return _on_ground(np.stack([np.sin(angles), np.cos(angles)], -1))


def _on_ground(vectors: Array) -> Array:
    x, z = vectors[..., 0], vectors[..., 1]
    return np.stack([x, np.zeros_like(x), z], -1)


def _in_frame(vectors: Array, direction: Array) -> Array:
    """(..., moments, 3) -> (..., 2 * moments): along the right hand's opposite (+X) and +Z."""
    sine, cosine = direction[..., None, 0], direction[..., None, 2]
    x, z = vectors[..., 0], vectors[..., 2]
    seen = np.stack([cosine * x - sine * z, sine * x + cosine * z], -1)
    return seen.reshape(*seen.shape[:-2], -1)
