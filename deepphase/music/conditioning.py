"""Song features as network input: values at given times, beats and bars where reliable."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.music.features import FPS, MIN_CONFIDENCE, SongFeatures

# Features that are read where the confidence of a song's beats or bars suffices.
_CYCLES = {"beat_cycle": "beat_confidence", "bar_cycle": "bar_confidence"}

BEAT_CYCLES = tuple(_CYCLES)
"""Sine and cosine of beat and bar."""


def feature_values(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 of one feature, 60 frames a second.

    Sine and cosine of beat and bar are 0 where there are no beats or bars, or none that are
    reliable, as `SongFeatures.has_beat` says. Raises ParameterError for an unknown name.
    """
    values = song.array([name])
    if name in _CYCLES and getattr(song, _CYCLES[name]) < MIN_CONFIDENCE:
        values = np.zeros_like(values)
    return values


def sample_at(values: Array, times: Array) -> Array:
    """(..., values) the frames of (frames, values), 60 a second, nearest to seconds of a song.

    Before the start and after the end, the first and last frame are repeated.
    """
    frames = np.rint(np.asarray(times, np.float64) * FPS)
    return values[np.clip(frames, 0, len(values) - 1).astype(np.intp)]
