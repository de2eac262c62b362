"""Joint positions of made bodies as point tracks: without names, shuffled, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.solving.point_structure import PointStructure, plain_names
from deepphase.synthetic.gait_motion import locomotion


@dataclass(frozen=True, eq=False)
class TruePoints:
    """A track and the joint's true name of every point."""

    track: PointTrack
    joints: tuple[str, ...]

    def truth_of(self, structure: PointStructure) -> dict[str, str]:
        """Joint of the structure -> true name of its one point; joints of several left out."""
        return {
            name: self.joints[points[0]]
            for name, points in zip(structure.names, structure.points, strict=True)
            if len(points) == 1
        }


def points_of(
    clip: Clip, seed: int = 0, *, noise: float = 0.01, left_out: tuple[str, ...] = ()
) -> TruePoints:
    """The joints of a clip in random order; `noise` in metres on every coordinate."""
    rng = np.random.default_rng(seed)
    kept = [j for j, name in enumerate(clip.skeleton.names) if name not in left_out]
    order = rng.permutation(kept)
    positions = joint_positions(clip)[:, order]
    positions = positions + noise * rng.standard_normal(positions.shape)
    track = PointTrack(plain_names(len(order)), positions, clip.fps)
    return TruePoints(track, tuple(clip.skeleton.names[j] for j in order))


def walker(seed: int = 3, gait: str = "walk", seconds: float = 6.0) -> Clip:
    return locomotion(seed, seconds, gait=gait, fps=30.0).clip
