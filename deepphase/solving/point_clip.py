"""Point tracks as clips: joints with translations and identity rotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack
from deepphase.motion.skeleton import Skeleton
from deepphase.solving.point_distances import distance_frames
from deepphase.solving.point_structure import find_structure
from deepphase.solving.point_tree import PointStructure, joint_positions_of

_UP = np.array([0.0, 1.0, 0.0])


def clip_of_points(
    track: PointTrack,
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> Clip:
    """Convert a track to a clip whose joints are its points: all translated, none rotated.

    The joints are exactly at the points. In the rest pose each joint is at its median distance
    from its parent, in its mean direction in upright poses.

    Parameters
    ----------
    structure
        The hierarchy, if it is known; files of one set share one.
    """
    structure = find_structure(track, description) if structure is None else structure
    points = {point for each in structure.points for point in each}
    if max(points) >= len(track.names):
        raise SkeletonError(
            f"a hierarchy of {max(points) + 1} points, but the track has {len(track.names)}",
            hint="solve files with other points separately",
            path=track.source.path or None,
        )
    parents = np.array(structure.parents)
    positions = joint_positions_of(track.positions, structure)
    local = positions.copy()
    local[:, 1:] -= positions[:, parents[1:]]
    rotations = np.tile(quaternions.IDENTITY.astype(local.dtype), (*local.shape[:2], 1))
    return Clip(
        skeleton=Skeleton(structure.names, parents, _rest_offsets(positions, structure)),
        rotations=rotations,
        translations=local,
        fps=track.fps,
        translated_joints=np.arange(len(parents)),
        labels=track.labels,
        source=replace(track.source, notes=(*track.source.notes, *structure.notes)),
        name=track.name,
    )


def _rest_offsets(positions: Array, structure: PointStructure) -> Array:
    """(joints, 3) metres."""
    frames = distance_frames(positions)
    heights = frames[:, 0, 1] - frames[..., 1].min(axis=1)
    local = frames - frames[:, np.maximum(structure.parents, 0)]
    lengths = np.median(np.linalg.norm(local, axis=-1), axis=0)
    upright = heights >= np.median(heights)
    mean = _facing_front(frames, local, structure)[upright].mean(axis=0)
    size = np.linalg.norm(mean, axis=1, keepdims=True)
    # Directions that cancel over time are arbitrary: up is used.
    directions = np.where(size > 1e-6, mean / np.maximum(size, 1e-6), _UP)
    offsets = directions * lengths[:, None]
    offsets[0] = (0.0, np.median(heights), 0.0)
    return offsets


def _facing_front(frames: Array, vectors: Array, structure: PointStructure) -> Array:
    """(frames, joints, 3) vectors rotated about Y so that the body faces +Z."""
    across = sum(frames[:, left] - frames[:, right] for left, right in structure.across)
    if not structure.across:
        return vectors
    front = np.cross(across, _UP)
    turns = quaternions.about_axis(_UP, -np.arctan2(front[:, 0], front[:, 2]))
    return quaternions.rotate(turns[:, None], vectors)
