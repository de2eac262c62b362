"""Song features as network input: values at given times, beats scaled by their confidence."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.music.features import FPS, MIN_CONFIDENCE, SongFeatures

# Features that are scaled by the confidence of a song's beats or bars.
_CYCLES = {"beat_cycle": "beat_confidence", "bar_cycle": "bar_confidence"}

BEAT_CYCLES = tuple(_CYCLES)
"""Sine and cosine of beat and bar."""


def confidence_weight(confidence: float) -> float:
    """0 to 1: weight of beats or bars of that confidence; 0 where they are not reliable."""
    return min(confidence, 1.0) if confidence >= MIN_CONFIDENCE else 0.0


def feature_values(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 of one feature, 60 frames a second.

    Sine and cosine of beat and bar are scaled by the song's confidence, 0 where there are no beats
    or bars, or none that are reliable. Raises ParameterError for an unknown name.
    """
    values = song.array([name])
    if name in _CYCLES:
        values = values * np.float32(confidence_weight(getattr(song, _CYCLES[name])))
    return values


def sample_at(values: Array, times: Array) -> Array:
    """(..., values) the frames of (frames, values), 60 a second, nearest to seconds of a song.

    Before the start and after the end, the first and last frame are repeated.
    """
    frames = np.rint(np.asarray(times, np.float64) * FPS)
    return values[np.clip(frames, 0, len(values) - 1).astype(np.intp)]
