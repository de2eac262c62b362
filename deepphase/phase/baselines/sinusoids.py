"""One sinusoid a limb: the phase of any signal that swings, frame by frame."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.phase.clip_ends import advanced_to_ends
from deepphase.phase.networks.sine_fit import SineFitLayer
from deepphase.phase.parameters import PhaseParameters

# Windows that are fitted at once.
_BATCH = 2048
# Seconds, standard deviation: corners of a block signal and jitter of a velocity are rounded off,
# 1 Hz keeps 95 % of its amplitude.
_SMOOTHING_S = 0.05


@torch.inference_mode()
def fitted_sinusoids(
    signals: Array, fps: float, window: int, *, silence: float, normalised: bool = False
) -> PhaseParameters:
    """The sinusoid that fits each signal best in the window around each frame.

    Parameters
    ----------
    signals : (frames, channels)
        In any unit. Frames near the ends have the sinusoid of the nearest whole window, advanced;
        of a clip shorter than a window, that of the clip.
    fps
        Frames a second.
    window
        Frames; odd.
    silence
        Amplitude, in the signals' unit, below which nothing swings: amplitude and frequency are 0
        there and the phase stays as it was.
    normalised
        Amplitude as a share of the signal's own deviation in the window: 1 is a pure sinusoid,
        however small.

    Returns
    -------
    (frames, channels) each, float32. Phase is .25 where the signal is highest.
    """
    frames = len(signals)
    smooth = gaussian_filter1d(
        signals.astype(np.float64), _SMOOTHING_S * fps, axis=0, mode="nearest"
    )
    # A window is odd, and as long as the fit needs.
    window = max(min(window, frames - 1 + frames % 2), SineFitLayer.LEAST_FRAMES)
    short = max(window - frames, 0)
    whole = np.pad(smooth, ((0, short), (0, 0)), mode="edge").astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(whole, window, axis=0)
    layer = SineFitLayer(window, fps)
    parts: list[list[Array]] = [[] for _ in range(5)]
    for start in range(0, len(windows), _BATCH):
        batch = torch.from_numpy(windows[start : start + _BATCH].copy())
        fit = layer(batch.permute(2, 0, 1))
        # sine * sin(wt) + cosine * cos(wt) = length * sin(wt + 2 pi phase)
        turned = torch.atan2(fit.cosine, fit.sine) / (2.0 * math.pi)
        values = (turned, fit.frequency, fit.amplitude, fit.offset, fit.deviation)
        for part, value in zip(parts, values, strict=True):
            part.append(value.numpy())
    phase, frequency, amplitude, offset, deviation = (np.concatenate(part) for part in parts)
    moves = amplitude >= silence
    if normalised:
        amplitude = amplitude / (math.sqrt(2.0) * deviation)
    fitted = PhaseParameters(
        wrapped(_held(phase, moves)),
        np.where(moves, frequency, 0.0).astype(np.float32),
        np.where(moves, amplitude, 0.0).astype(np.float32),
        offset,
    )
    return advanced_to_ends(fitted, frames, window // 2, fps)


def _held(phase: Array, moves: Array) -> Array:
    """The phase of the last frame that moves; before the first, that one's; 0 where none does."""
    frames = np.arange(len(phase))[:, None]
    last = np.maximum.accumulate(np.where(moves, frames, -1), axis=0)
    last = np.where(last < 0, moves.argmax(axis=0), last)
    held = np.take_along_axis(phase, last, axis=0)
    return np.where(moves.any(axis=0), held, np.zeros_like(held))
