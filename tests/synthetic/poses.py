"""Clips that do not move, for the edges of what a method must bear."""

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.quaternions import IDENTITY
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait_motion import synthetic_clip


def constant_pose(seconds: float, body: str = "biped", fps: float = 60.0) -> Clip:
    """The rest pose (a person's T-pose), without any motion."""
    its_body, frames = body_named(body), round(seconds * fps)
    rotations = np.tile(IDENTITY, (frames, len(its_body.skeleton), 1))
    root = np.tile(its_body.skeleton.offsets[0], (frames, 1))
    labels = {"body": body, "gait": "constant_pose"}
    return synthetic_clip(its_body, rotations, root, fps, labels, "constant_pose")
