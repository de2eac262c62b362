"""Beats and bars of a song as a clock that phases are held against."""

from __future__ import annotations

import numpy as np

from deepphase.music.beats import beat_position
from deepphase.music.features import SURE, SongFeatures

Array = np.ndarray

# Seconds over which a tempo is read.
_AROUND_S = 1.0 / 60.0


class SongClock:
    """Where beat and bar of a song are.

    Parameters
    ----------
    song
        Its beats are told from a confidence of `SURE` on, its bars where both are.
    """

    def __init__(self, song: SongFeatures) -> None:
        sure = song.beat_confidence >= SURE and len(song.beats_s) > 1
        beats = song.beats_s if sure else None
        downs = song.downbeats_s
        bars = downs if sure and song.bar_confidence >= SURE and downs is not None else None
        self._ticks = [
            None if ticks is None or len(ticks) < 2 else np.asarray(ticks, np.float64)
            for ticks in (beats, bars)
        ]

    @property
    def told(self) -> bool:
        """Whether there are beats that can be told."""
        return self._ticks[0] is not None

    def at(self, seconds: Array) -> tuple[Array, Array]:
        """Position and speed of both at seconds (...) of the song.

        Returns
        -------
        position : (..., 2)
            Beats since the first beat, bars since the first downbeat; evenly on beyond their ends.
        hz : (..., 2)
            Theirs; 0 where they cannot be told.
        """
        seconds = np.asarray(seconds, np.float64)
        position, hz = np.zeros((2, *seconds.shape, 2))
        around = seconds[..., None] + _AROUND_S * np.array([-0.5, 0.0, 0.5])
        for index, ticks in enumerate(self._ticks):
            if ticks is not None:
                found = beat_position(ticks, around)
                position[..., index] = found[..., 1]
                hz[..., index] = (found[..., 2] - found[..., 0]) / _AROUND_S
        return position, hz

    def inside(self, seconds: Array) -> Array:
        """(..., 2) bool: between the first and the last beat, downbeat."""
        seconds = np.asarray(seconds, np.float64)
        return np.stack(
            [
                np.zeros(seconds.shape, bool)
                if ticks is None
                else (seconds >= ticks[0]) & (seconds <= ticks[-1])
                for ticks in self._ticks
            ],
            axis=-1,
        )
