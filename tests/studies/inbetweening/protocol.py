"""Windows and measures of the LAFAN1 benchmark (Harvey et al. 2020), for any body.

At 30 frames a second, ten frames are given, some are missing, and one target frame is given again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import root_trajectory

FPS, PAST = 30.0, 10
# Frames of a window of the test and of the statistics, and from one window's start to the next's.
TEST_WINDOWS, STATISTICS_WINDOWS = (65, 40), (50, 20)


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of motion, centred on the ground and turned to the heading of the last past frame.

    Parameters
    ----------
    rotations
        (windows, frames, joints, 4) local; the first are those of the hips in the world.
    places
        (windows, frames, 3) metres of the hips.
    parents, offsets
        (joints,) and (joints, 3) of the body.
    """

    rotations: np.ndarray
    places: np.ndarray
    parents: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def part(self, first: int, stop: int) -> Windows:
        """The frames from `first` on and before `stop`."""
        frames = slice(first, stop)
        return Windows(
            self.rotations[:, frames], self.places[:, frames], self.parents, self.offsets
        )

    def with_motion(self, rotations: np.ndarray, places: np.ndarray) -> Windows:
        """Other motion of the same body."""
        return Windows(rotations, places, self.parents, self.offsets)

    def globals(self) -> tuple[np.ndarray, np.ndarray]:
        """Global rotations (windows, frames, joints, 4) and positions (..., 3) of all joints."""
        rotations = np.empty_like(self.rotations)
        positions = np.empty((*self.rotations.shape[:3], 3))
        rotations[:, :, 0], positions[:, :, 0] = self.rotations[:, :, 0], self.places
        for joint, parent in enumerate(self.parents[1:].tolist(), start=1):
            above = rotations[:, :, parent]
            rotations[:, :, joint] = quaternions.multiply(above, self.rotations[:, :, joint])
            arm = quaternions.rotate(above, self.offsets[joint])
            positions[:, :, joint] = positions[:, :, parent] + arm
        return rotations, positions


def windows_of(store: ClipStore, space: MotionSpace, frames: int, step: int) -> Windows:
    """All windows of the clips of a store."""
    joints = space.points.joints
    rotations, places = [], []
    for index in range(len(store)):
        clip = resample(space.on_hips(store.clip(index)), FPS)
        root = root_trajectory(clip, space.roles_of(clip))
        turned = clip.rotations[:, joints].astype(np.float64)
        hips = clip.local_positions()[:, space.hips].astype(np.float64)
        for start in range(0, len(clip) - frames + 1, step):
            part = slice(start, start + frames)
            back = quaternions.conjugate(root.rotations[start + PAST - 1])
            local, place = turned[part].copy(), hips[part].copy()
            place[:, ::2] -= place[:, ::2].mean(axis=0)
            local[:, 0] = quaternions.multiply(back, local[:, 0])
            rotations.append(local)
            places.append(quaternions.rotate(back, place))
    if not rotations:
        raise SystemExit(f"no clip has the {frames} frames of a window at {FPS:g} Hz")
    offsets = bone_offsets(store, space)
    return Windows(np.array(rotations), np.array(places), space.points.parents, offsets)


def bone_offsets(store: ClipStore, space: MotionSpace) -> np.ndarray:
    """(joints, 3) metres: the median of the bones of a store's clips."""
    clips = (space.on_hips(store.clip(index)) for index in range(len(store)))
    return np.median([clip.skeleton.offsets[space.points.joints] for clip in clips], axis=0)


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and deviation of positions (joints * 3,) over windows of the training clips."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, windows: Windows) -> Scale:
        """The scale of the positions of windows."""
        positions = windows.globals()[1]
        rows = positions.reshape(-1, positions.shape[2] * 3)
        return cls(rows.mean(axis=0), rows.std(axis=0))


@dataclass(frozen=True)
class Measures:
    """Errors of made frames: of z-scored positions, of rotations, and of power spectra."""

    l2p: float
    l2q: float
    npss: float


def measures(made: Windows, true: Windows, scale: Scale) -> Measures:
    """Measures of the missing frames of windows."""
    (turned, places), (turned_true, places_true) = made.globals(), true.globals()
    apart = (places - places_true).reshape(*places.shape[:2], -1) / scale.deviation
    turned = _nearest_sign(turned, turned_true)
    angles = (turned - turned_true).reshape(*turned.shape[:2], -1)
    return Measures(
        float(np.linalg.norm(apart, axis=-1).mean()),
        float(np.linalg.norm(angles, axis=-1).mean()),
        npss(turned.reshape(*turned.shape[:2], -1), turned_true.reshape(*turned.shape[:2], -1)),
    )


def npss(made: np.ndarray, true: np.ndarray) -> float:
    """Normalised power spectrum similarity of curves (windows, frames, values).

    Gopalakrishnan et al. 2019, equations 1 to 4: earth mover's distance of normalised power
    spectra, weighted by the power of the true curves.
    """
    powers = [np.square(np.abs(np.fft.fft(each, axis=1))) for each in (made, true)]
    totals = [power.sum(axis=1) for power in powers]
    shares = [
        np.cumsum(power / np.maximum(total, 1e-12)[:, None], axis=1)
        for power, total in zip(powers, totals, strict=True)
    ]
    distance = np.abs(shares[0] - shares[1]).sum(axis=1)
    return float((distance * totals[1]).sum() / totals[1].sum())


def _nearest_sign(rotations: np.ndarray, like: np.ndarray) -> np.ndarray:
    sign = np.sign((rotations * like).sum(axis=-1, keepdims=True))
    return rotations * np.where(sign == 0, 1.0, sign)


def held(windows: Windows, missing: int) -> Windows:
    """The last past frame, which stays."""
    last = windows.part(PAST - 1, PAST)
    return windows.with_motion(
        np.repeat(last.rotations, missing, axis=1), np.repeat(last.places, missing, axis=1)
    )


def straight(windows: Windows, missing: int) -> Windows:
    """Spherical interpolation of local rotations and linear one of the hips' places."""
    share = np.arange(1, missing + 1) / (missing + 1)
    first, last = windows.part(PAST - 1, PAST), windows.part(PAST + missing, PAST + missing + 1)
    places = first.places + share[:, None] * (last.places - first.places)
    count, joints = len(windows), windows.rotations.shape[2]
    rotations = np.empty((count, missing, joints, 4))
    for window in range(count):
        for joint in range(joints):
            ends = [first.rotations[window, 0, joint], last.rotations[window, 0, joint]]
            rotations[window, :, joint] = Slerp([0.0, 1.0], Rotation.from_quat(ends))(
                share
            ).as_quat()
    return windows.with_motion(rotations, places)


def clip_of(windows: Windows, window: int, space: MotionSpace, like: Clip) -> Clip:
    """A window as a clip of the body; `like` is a clip of it on the hips, at 30 Hz."""
    frames = windows.places.shape[1]
    return space.with_pose(
        like.sliced(0, frames), windows.rotations[window], windows.places[window]
    )
