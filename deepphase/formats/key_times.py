"""Times of the keys of animations: their frame rate, and the number of frames to sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.frame_rates import USUAL_RATES, frame_rate

DEFAULT_FPS = 60.0
# Slower than this, evenly spaced keys are poses between which something moves.
_SLOWEST_CAPTURE = 20.0
# Keys this near, in seconds, are one key that two tracks rounded differently.
_SAME_KEY = 1e-4
# How far keys may lie beside a rate's frames, as a share of a frame.
_OFF_FRAME = 0.02
_STATED_TOLERANCE = 0.01
# Digits of float32 times are not decimals: they are binary, and exact to eight or so.
_DECIMALS = 8
# A few keys and a high rate could ask for any number of poses. A file that has all its keys is
# larger than four bytes for the pose of a joint.
_FREE_POSES, _BYTES_PER_POSE = 2_000_000, 4


def sampling_rate(key_times: Sequence[Array], stated: float | None) -> tuple[float, str]:
    """Frames a second for an animation, and a note on why.

    Keys at every frame tell it; keys with gaps are held against the usual rates.
    """
    keys = merged_times(key_times)
    if len(keys) < 2:
        return stated or DEFAULT_FPS, f"one key: {stated or DEFAULT_FPS:g} frames a second"
    frames = (keys - keys[0]) * (len(keys) - 1) / (keys[-1] - keys[0])
    rate = frame_rate((keys[-1] - keys[0]) / (len(keys) - 1), _DECIMALS)
    even = np.abs(frames - np.arange(len(keys))).max() < _tolerance(keys, rate)
    if even and rate >= _SLOWEST_CAPTURE:
        if stated and abs(stated / rate - 1.0) < _STATED_TOLERANCE:
            return stated, f"{stated:.6g} frames a second, as the file says"
        return rate, f"{rate:.6g} frames a second: a key on every frame"
    # The slowest of those that fit.
    for usual in (stated, *map(float, USUAL_RATES)):
        if usual and _lie_on_frames(keys, usual):
            return usual, f"keys with gaps lie on the frames of {usual:g} a second"
    return DEFAULT_FPS, f"keys lie on no usual rate's frames: sampled at {DEFAULT_FPS:g} a second"


def merged_times(key_times: Sequence[Array]) -> Array:
    """Rising seconds of the keys of all tracks, each once."""
    keys = np.unique(np.concatenate([np.zeros(0), *key_times]))
    return keys[np.append(True, np.diff(keys) > _SAME_KEY)] if len(keys) else keys


def _tolerance(keys: Array, rate: float) -> float:
    """In frames: what exporters' arithmetic and float32 seconds may displace a key by."""
    return _OFF_FRAME + 4.0 * rate * float(np.spacing(np.float32(keys[-1])))


def _lie_on_frames(keys: Array, rate: float) -> bool:
    frames = (keys - keys[0]) * rate
    return bool(np.abs(frames - np.rint(frames)).max() < _tolerance(keys, rate))


def frame_count(seconds: float, fps: float, last_key: float) -> int:
    """Frames from the first key to the last; a frame that rounding puts behind it counts."""
    slack = _OFF_FRAME + 4.0 * fps * float(np.spacing(np.float32(last_key)))
    return int(np.floor(seconds * fps + min(slack, 0.5))) + 1


def allowed_poses(size: int) -> int:
    """Poses of joints that the animations of a file may hold together, by its bytes."""
    return max(_FREE_POSES, size // _BYTES_PER_POSE)
