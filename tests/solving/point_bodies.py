"""Joint positions of made bodies as point tracks: without names, shuffled, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
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


# Marker of the 39 of Vicon, of CMU and of OptiTrack -> joint that carries it, metres from the joint
# in the rest pose; of the left side, where a label has one.
_MARKERS = {
    ("LASI", "LFWT", "WaistLFront"): ("Hips", (0.12, 0.05, 0.09)),
    ("LPSI", "LBWT", "WaistLBack"): ("Hips", (0.04, 0.05, -0.08)),
    ("LTHI", "LTHI", "LThigh"): ("LeftUpLeg", (0.08, -0.25, 0.0)),
    ("LKNE", "LKNE", "LKneeOut"): ("LeftLeg", (0.05, 0.0, 0.0)),
    ("LTIB", "LSHN", "LShin"): ("LeftLeg", (0.04, -0.2, 0.02)),
    ("LANK", "LANK", "LAnkleOut"): ("LeftFoot", (0.04, 0.0, 0.0)),
    ("LHEE", "LHEE", "LHeel"): ("LeftFoot", (0.0, -0.05, -0.06)),
    ("LTOE", "LTOE", "LToeIn"): ("LeftToeBase", (0.0, 0.02, 0.02)),
    ("LSHO", "LSHO", "LShoulderTop"): ("LeftShoulder", (0.13, 0.05, 0.0)),
    ("LUPA", "LUPA", "LUArmHigh"): ("LeftArm", (0.14, 0.0, -0.04)),
    ("LELB", "LELB", "LElbowOut"): ("LeftForeArm", (0.0, 0.0, -0.04)),
    ("LWRA", "LWRA", "LWristIn"): ("LeftForeArm", (0.25, 0.0, 0.03)),
    ("LWRB", "LWRB", "LWristOut"): ("LeftForeArm", (0.25, 0.0, -0.03)),
    ("LFIN", "LFIN", "LHandOut"): ("LeftHand", (0.08, 0.02, 0.0)),
    ("LFHD", "LFHD", "HeadL"): ("Head", (0.07, 0.06, 0.09)),
    ("LBHD", "LBHD", "HeadTop"): ("Head", (0.06, 0.08, -0.08)),
    ("C7", "C7", "BackTop"): ("Spine2", (0.0, 0.15, -0.08)),
    ("T10", "T10", "BackL"): ("Spine2", (0.0, -0.1, -0.12)),
    ("CLAV", "CLAV", "ChestTop"): ("Spine2", (0.0, 0.12, 0.08)),
    ("STRN", "STRN", "Chest"): ("Spine2", (0.0, -0.05, 0.12)),
    ("RBAK", "RBAC", "BackR"): ("Spine2", (-0.07, 0.05, -0.1)),
}
MARKER_SETS = ("Vicon", "CMU", "OptiTrack")


def markers_of_set(clip: Clip, name: str) -> PointTrack:
    """The markers of a standard set on a body of `walker`."""
    column = MARKER_SETS.index(name)
    turns, places = global_transforms(clip)
    labels, positions = [], []
    for row, (joint, offset) in _MARKERS.items():
        label = row[column]
        sides = [(label, joint, 1.0)]
        if label.startswith(("L", "WaistL")) or label == "HeadL":
            other = label.replace("L", "R", 1)
            sides.append((other, joint.replace("Left", "Right"), -1.0))
        for own, carrier, sign in sides:
            at = clip.skeleton.index(carrier)
            local = np.array(offset) * (sign, 1.0, 1.0)
            labels.append(own)
            positions.append(places[:, at] + quaternions.rotate(turns[:, at], local))
    return PointTrack(tuple(labels), np.stack(positions, axis=1), clip.fps)
