"""Resampling of clips, smooth to the second derivative, and low-pass filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip

BANDS_HZ = (12.0, 8.0, 4.0)
"""Hertz: jerk and rotation are also measured below these, since most noise lies above."""
# A filter's edge at or above this share of the frame rate would let everything through.
_HIGHEST_SHARE = 0.45


def low_passed(values: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, ...) values low-passed at `cutoff_hz` by a forward-backward Butterworth filter.

    Values are unchanged if the cutoff is 0, or close to half the frame rate or above. Winter 2009,
    Biomechanics and motor control of human movement, section 2.2.4.4.
    """
    if cutoff_hz <= 0 or cutoff_hz >= _HIGHEST_SHARE * fps or len(values) < 3:
        return values
    # Imported where it is used: it takes half a second, and most clips need no filter.
    from scipy.signal import butter, sosfiltfilt

    sections = butter(2, cutoff_hz, fs=fps, output="sos")
    # The length of the filter's response at the edges: a few of its longest periods.
    margin = min(len(values) - 1, int(np.ceil(3 * fps / cutoff_hz)))
    return sosfiltfilt(sections, values, axis=0, padtype="odd", padlen=margin)


def low_passed_rotations(rotations: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, ..., 4) unit quaternions, low-passed as `low_passed` does, in float64."""
    smooth = quaternions.sign_continuous(np.asarray(rotations, np.float64))
    return quaternions.normalized(low_passed(smooth, cutoff_hz, fps))


def low_passed_clip(clip: Clip, cutoff_hz: float) -> Clip:
    """The clip with rotations and translations low-passed as `low_passed` does."""
    rotations = low_passed_rotations(clip.rotations, cutoff_hz, clip.fps)
    translations = low_passed(clip.translations.astype(np.float64), cutoff_hz, clip.fps)
    return replace(
        clip,
        rotations=rotations.astype(clip.rotations.dtype),
        translations=translations.astype(clip.translations.dtype),
    )


# The low-pass keeps frequencies up to this share of the new Nyquist frequency, and attenuates
# those above that frequency to a thousandth.
_PASS_BAND = 0.8
_STOP_BAND_DB = 60.0


@dataclass(frozen=True)
class ResampleLimit:
    """Size of the result up to which a clip is resampled to a higher rate."""

    frames: int = 24 * 3600 * 60  # Number of frames; by default a day at 60 frames a second
    # Bytes of rotations and translations; by default six hours of 50 joints at 60 frames a second
    # in float64.
    size_bytes: int = 2 << 30

    def check(self, clip: Clip, frames: int, fps: float) -> None:
        """Raise ParameterError where `frames` frames at `fps` of a clip's body are too many."""
        size = frames * _frame_bytes(clip)
        if frames <= len(clip) or (frames <= self.frames and size <= self.size_bytes):
            return
        raise ParameterError(
            f"{len(clip):,} frames at {clip.fps:.6g} a second would be {frames:,} at {fps:g} a "
            f"second, {size / 1e6:,.0f} MB: more than {self.frames:,} frames or "
            f"{self.size_bytes / 1e6:,.0f} MB",
            hint="check the file's rate (fps=, or --file-fps on the command line), or cut the file",
            path=clip.source.path or None,
        )

    def without(self, clip: Clip) -> ResampleLimit:
        """What is left of the limit for other clips of the same file."""
        return ResampleLimit(
            max(self.frames - len(clip), 0),
            max(self.size_bytes - len(clip) * _frame_bytes(clip), 0),
        )


DEFAULT_LIMIT = ResampleLimit()


def _frame_bytes(clip: Clip) -> int:
    return clip.rotations[0].nbytes + clip.translations[0].nbytes


def resample(clip: Clip, fps: float = 60.0, limit: ResampleLimit = DEFAULT_LIMIT) -> Clip:
    """The clip at another frame rate.

    The result starts at the first frame; its duration is shorter by less than one new frame.
    Upwards, a cubic spline (twice continuously differentiable) runs through all frames, exactly;
    downwards, a zero-phase low-pass first removes frequencies above the new Nyquist frequency.
    Rotations are interpolated as quaternion components of continuous sign and normalized.

    A rate that differs by rounding of the frame time (0.0166667 s) is replaced without
    interpolation, unless that moves the last frame by half a frame or more.

    Parameters
    ----------
    fps
        Frames a second of the result.
    limit
        Largest result of a clip that grows, checked before anything is computed.

    Raises
    ------
    ParameterError
        If `fps` is not a positive number, or the result would exceed the limit.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise ParameterError(
            f"cannot resample to {fps} frames a second", hint="give a rate above 0"
        )
    frames, count = len(clip), resampled_frames(len(clip), clip.fps, fps)
    if abs(fps / clip.fps - 1.0) * frames < 0.5:
        return clip if fps == clip.fps else replace(clip, fps=float(fps))
    limit.check(clip, count, fps)
    times = np.minimum(np.arange(count) * (clip.fps / fps), frames - 1.0)
    rotations = quaternions.sign_continuous(clip.rotations.astype(np.float64))
    translations = clip.translations.astype(np.float64)
    if fps < clip.fps:
        rotations = _low_passed(rotations, fps / clip.fps)
        translations = _low_passed(translations, fps / clip.fps)
    return replace(
        clip,
        rotations=_splined(rotations, times, clip.rotations.dtype, quaternions.normalized),
        translations=_splined(translations, times, clip.translations.dtype),
        fps=float(fps),
    )


def resampled_frames(frames: int, fps: float, other_fps: float) -> int:
    """Number of frames that `resample` makes of `frames` at `fps`."""
    if abs(other_fps / fps - 1.0) * frames < 0.5:
        return frames
    # The tolerance keeps a last frame that falls on the clip's end in spite of rounding.
    return int(np.floor((frames - 1) * other_fps / fps + 1e-6)) + 1


def at_frames(clip: Clip, frames: Array) -> Clip:
    """The clip at fractional frames (n,), within the first and last, by `resample`'s splines."""
    rotations = values_at_frames(quaternions.sign_continuous(clip.rotations), frames)
    return replace(
        clip,
        rotations=quaternions.normalized(rotations),
        translations=values_at_frames(clip.translations, frames),
    )


def values_at_frames(values: Array, frames: Array) -> Array:
    """(n, ...) of values (frames, ...) at fractional frames, by the spline of `at_frames`."""
    times = np.clip(np.asarray(frames, np.float64), 0.0, len(values) - 1.0)
    return _splined(values.astype(np.float64), times, values.dtype)


# Values of a spline that are computed at once: the rest of the memory is the result's.
_VALUES_AT_ONCE = 1 << 20


def _splined(
    values: Array,
    times: Array,
    dtype: np.dtype,
    finish: Callable[[Array], Array] = lambda values: values,
) -> Array:
    """(times, ...) of (frames, ...) float64 `values`, each block finished by a function of it."""
    if len(values) < 2:
        return finish(np.repeat(values, len(times), axis=0)).astype(dtype)
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(np.arange(len(values), dtype=np.float64), values, axis=0)
    result = np.empty((len(times), *values.shape[1:]), dtype)
    step = max(_VALUES_AT_ONCE // max(values[0].size, 1), 1)
    for start in range(0, len(times), step):
        block = slice(start, start + step)
        result[block] = finish(spline(times[block]))
    return result


def _low_passed(values: Array, ratio: float) -> Array:
    """(frames, ...) values low-passed at `ratio` times the Nyquist frequency."""
    if len(values) < 2:
        return values
    from scipy.signal import oaconvolve

    taps = _kernel(round(ratio, 9))
    margin = len(taps) // 2
    # Odd reflection continues a value and its slope: constants and linear motion are unchanged.
    widths = ((margin, margin), *((0, 0),) * (values.ndim - 1))
    padded = np.pad(values, widths, mode="reflect", reflect_type="odd")
    shape = (len(taps), *(1,) * (values.ndim - 1))
    return oaconvolve(padded, taps.reshape(shape), mode="valid", axes=0)


@lru_cache(maxsize=16)
def _kernel(ratio: float) -> Array:
    from scipy.signal import firwin, kaiserord

    length, beta = kaiserord(_STOP_BAND_DB, (1.0 - _PASS_BAND) * ratio)
    length += 1 - length % 2
    return firwin(length, 0.5 * (1.0 + _PASS_BAND) * ratio, window=("kaiser", beta), scale=True)
