"""Low-pass filters for points and poses that do not delay them."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from deepphase.motion import quaternions
from deepphase.motion.rig.solver import RigState
from deepphase.motion.skeleton import Array

# A filter's edge at or above this share of the frame rate would let everything through.
_HIGHEST_SHARE = 0.45


def low_passed(values: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, ...) values without what is faster than `cutoff_hz`: forth and back Butterworth.

    Values stay as they are where the cutoff is 0 or near half the rate and above.

    References
    ----------
    Winter 2009, Biomechanics and motor control of human movement, section 2.2.4.4.
    """
    if cutoff_hz <= 0 or cutoff_hz >= _HIGHEST_SHARE * fps or len(values) < 3:
        return values
    sections = butter(2, cutoff_hz, fs=fps, output="sos")
    # What the filter still remembers beyond the edges: a few of its longest waves.
    margin = min(len(values) - 1, int(np.ceil(3 * fps / cutoff_hz)))
    return sosfiltfilt(sections, values, axis=0, padtype="odd", padlen=margin)


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
