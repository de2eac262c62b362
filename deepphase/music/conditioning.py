"""What is heard of a song at a moment: values of its features, those of beats as they are sure."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.music.features import FPS, MIN_CONFIDENCE, SongFeatures

# Features whose length says how sure a song's beats or bars are.
_CYCLES = {"beat_cycle": "beat_confidence", "bar_cycle": "bar_confidence"}

BEAT_CYCLES = tuple(_CYCLES)
"""Sine and cosine of beat and bar."""


def confidence(confidence: float) -> float:
    """0 to 1: how far beats or bars of that confidence are to be relied on."""
    return min(confidence / MIN_CONFIDENCE, 1.0)


def feature_values(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 of one feature, 60 frames a second.

    Sine and cosine of beat and bar are as long as the song's beats are sure, 0 where there are
    none. Raises ParameterError for a name that is none.
    """
    values = song.array([name])
    if name in _CYCLES:
        values = values * np.float32(confidence(getattr(song, _CYCLES[name])))
    return values


def sample_at(values: Array, times: Array) -> Array:
    """(..., values) the frames of (frames, values), 60 a second, nearest to seconds of a song.

    Before the song and behind it its first and last frame go on.
    """
    frames = np.rint(np.asarray(times, np.float64) * FPS)
    return values[np.clip(frames, 0, len(values) - 1).astype(np.intp)]
