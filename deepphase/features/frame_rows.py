"""Feature rows of frames, and the body in root space that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import TRAJECTORY_PATH, path_of_clip, relative_trajectory
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions, velocities
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Joints of every frame of a motion in root space, and the root trajectory."""

    joints: tuple[str, ...]  # Joint names
    positions: Array  # (frames, joints, 3) metres, root space
    velocities: Array  # (frames, joints, 3) m/s relative to the world, in the axes of root space
    root: RootTrajectory  # The root trajectory
    fps: float  # Frames per second

    def __len__(self) -> int:
        return len(self.positions)

    @classmethod
    def of_clip(cls, clip: Clip, body: Mapping[str, str] | None = None) -> BodyFrames:
        """The frames of a clip.

        `body`: role -> joint name (hips, hip and shoulder joints) and "kind", which makes the
        facing consistent with other clips of the body; found from the clip by default.
        """
        roles = find_roles(clip.skeleton, description=body, clip=clip)
        positions = joint_positions(clip)
        root = root_trajectory(clip, roles, positions=positions)
        return cls(
            clip.skeleton.names,
            to_root_space(positions, root),
            velocities_in_root_space(velocities(positions, clip.fps), root),
            root,
            clip.fps,
        )

    def index_of(self, joints: tuple[str, ...]) -> Array:
        """(named,) indices of named joints."""
        return np.array([self.joints.index(name) for name in joints])


def frame_rows(
    layout: FeatureLayout,
    body: BodyFrames,
    *,
    manifold: Array | None = None,
    tracks: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Raw features of every frame, neither normalised nor weighted.

    `manifold` (frames, 2 * channels) phase manifold; needed where the layout has phases; `tracks`:
    name -> (frames, values): tracks that the layout names. Returns `rows` (frames, dims) float32.
    `inside` (frames,) bool: Whether all offsets of trajectories and tracks lie inside the clip.
    Outside, trajectories are continued straight and tracks repeat their outermost value. Raises
    ParameterError where phases or a track are missing or of another length, or a value is not
    finite.
    """
    inside = np.ones(len(body), bool)
    blocks = {}
    for feature in layout:
        if feature.kind in TRAJECTORY_PATH:
            path, within = path_of_clip(body.root, np.array(feature.offsets_s), body.fps)
            roots = body.root.positions, body.root.directions
            both = relative_trajectory(path.positions, path.directions, *roots)
            block = both[TRAJECTORY_PATH.index(feature.kind)]
            inside &= within
        elif feature.kind.startswith("joint"):
            values = body.positions if feature.kind == "joint_position" else body.velocities
            block = values[:, body.index_of(feature.joints)].reshape(len(body), -1)
            if feature.smoothing_s:
                deviation = feature.smoothing_s * body.fps
                block = gaussian_filter1d(block, deviation, axis=0, mode="nearest")
        else:
            source = (
                manifold if feature.kind == "phase_manifold" else (tracks or {}).get(feature.track)
            )
            if source is None or len(source) != len(body):
                raise ParameterError(
                    f"feature {feature.name!r} must have values for each of the clip's {len(body)} "
                    "frames"
                )
            block = at_offsets(source.reshape(len(body), -1), feature.offsets_s, body.fps)
            inside &= reach_inside(len(body), feature.offsets_s, body.fps)
        blocks[feature.name] = block
    return layout.assembled(blocks), inside


def at_offsets(values: Array, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, n * values) values at n offsets from each frame; the outermost are repeated."""
    frames = offset_frames(len(values), offsets_s, fps)
    return values[frames].reshape(len(values), -1)


def offset_frames(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, offsets) nearest frame at each offset from each frame, clamped to the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    return np.clip(np.arange(frames)[:, None] + steps, 0, frames - 1)


def reach_inside(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames,) bool: whether the frames at all offsets lie within the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    index = np.arange(frames)
    return (index + steps.min() >= 0) & (index + steps.max() < frames)
