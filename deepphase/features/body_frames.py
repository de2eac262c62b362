"""The body in root space, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.clip import Clip, joint_positions, velocities
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
    def from_clip(cls, clip: Clip, body: Mapping[str, str] | None = None) -> BodyFrames:
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
