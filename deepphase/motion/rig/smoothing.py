"""Low-pass filters for poses that do not delay them."""

from __future__ import annotations

from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.motion.low_pass import low_passed
from deepphase.motion.rig.solver import RigState
from deepphase.motion.skeleton import Array


def low_passed_state(state: RigState, cutoff_hz: float, fps: float) -> RigState:
    """The poses with rotations and root low-passed."""
    rotations = low_passed(quaternions_of(state), cutoff_hz, fps)
    rotations = quaternions.normalized(rotations)
    matrices = Rotation.from_quat(rotations.reshape(-1, 4)).as_matrix()
    return RigState(matrices.reshape(state.local.shape), low_passed(state.root, cutoff_hz, fps))


def quaternions_of(state: RigState) -> Array:
    """(frames, joints, 4) local rotations, continuous in sign."""
    flat = Rotation.from_matrix(state.local.reshape(-1, 3, 3)).as_quat()
    return quaternions.sign_continuous(flat.reshape(*state.local.shape[:2], 4))
