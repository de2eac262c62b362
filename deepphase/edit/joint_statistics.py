"""Statistics of how the joints of clips turn: what is usual, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.steering.springs import rotation_vectors

# Frames of the window that roughness is measured over, and the share of usual roughness.
_ROUGH_FRAMES = 9
_USUAL_PERCENTILE = 99.0


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """How the joints of the training clips turn, by which damage is found.

    Parameters
    ----------
    mean
        (body joints, 4) mean local rotation.
    spread
        (body joints,) radians: root mean square angle from the mean.
    roughness
        (body joints + 1,) highest usual roughness (the 99th percentile) of the hips' place in
        metres, then of each joint's rotation in radians; see `PoseTrack.roughness`.
    """

    mean: Array
    spread: Array
    roughness: Array


@dataclass(frozen=True, eq=False)
class PoseTrack:
    """Local rotations of a body's joints and the place of the hips.

    Parameters
    ----------
    rotations
        (frames, body joints, 4), the hips' relative to the world.
    places
        (frames, 3) metres.
    """

    rotations: Array
    places: Array

    @classmethod
    def of_clip(cls, clip: Clip, space: MotionSpace) -> PoseTrack:
        """The track of a clip whose travel is on the hips."""
        rotations = clip.rotations[:, space.points.joints].astype(np.float64)
        places = clip.local_positions()[:, space.hips].astype(np.float64)
        return cls(quaternions.sign_continuous(rotations), places)

    def steps(self) -> Array:
        """(frames - 1, body joints + 1) change from frame to frame: metres, then radians."""
        moved = np.linalg.norm(np.diff(self.places, axis=0), axis=-1)
        turned = np.linalg.norm(rotation_steps(self.rotations), axis=-1)
        return np.concatenate([moved[:, None], turned], axis=1)

    def roughness(self) -> Array:
        """(frames, body joints + 1) root mean square fourth difference around each frame.

        It is 8.4 times the standard deviation of noise that is independent from frame to frame, and
        small for movement: metres for the hips' place, then radians.
        """
        if len(self.places) < 5:
            return np.zeros((len(self.places), self.rotations.shape[1] + 1))
        moved = np.square(np.diff(self.places, n=4, axis=0)).sum(axis=-1)
        turned = np.square(np.diff(rotation_steps(self.rotations), n=3, axis=0)).sum(axis=-1)
        squares = np.concatenate([moved[:, None], turned], axis=1)
        squares = np.pad(squares, ((2, 2), (0, 0)))
        return np.sqrt(np.maximum(uniform_filter1d(squares, _ROUGH_FRAMES, axis=0), 0.0))


def joint_statistics(tracks: Sequence[PoseTrack]) -> JointStatistics:
    """Statistics of tracks at the editor's rate."""
    rotations = np.concatenate([track.rotations for track in tracks])
    mean = quaternions.mean_rotation(rotations)
    angle = quaternions.angle_between(rotations, mean[None])
    rough = np.concatenate([track.roughness() for track in tracks])
    return JointStatistics(
        mean,
        np.sqrt(np.mean(angle**2, axis=0)),
        np.percentile(rough, _USUAL_PERCENTILE, axis=0),
    )


def rotation_steps(rotations: Array) -> Array:
    """(frames - 1, joints, 3) radians: rotation vectors from each frame to the next."""
    return rotation_vectors(
        quaternions.multiply(rotations[1:], quaternions.conjugate(rotations[:-1]))
    )
