"""When the beats of a song are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion.skeleton import Array


@dataclass(frozen=True, eq=False)
class TempoMap:
    """A tempo that changes linearly between given moments and is constant before and after.

    Parameters
    ----------
    seconds, bpm
        (moments,) rising times, and beats a minute at them.
    first_beat
        Seconds at which beat 0, the first of a bar, falls.
    beats_per_bar
        3 or 4, or any other number.
    """

    seconds: Array
    bpm: Array
    first_beat: float
    beats_per_bar: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", np.asarray(self.seconds, np.float64))
        object.__setattr__(self, "bpm", np.asarray(self.bpm, np.float64))
        if self.seconds.shape != self.bpm.shape or self.seconds.ndim != 1 or not self.bpm.size:
            raise ParameterError("a tempo map needs one tempo for each moment")
        if not (np.isfinite(self.seconds).all() and (np.diff(self.seconds) > 0).all()):
            raise ParameterError("the moments of a tempo map must rise")
        if not ((self.bpm >= 20) & (self.bpm <= 400)).all():
            raise ParameterError("a tempo outside of 20 to 400 beats a minute")
        if self.beats_per_bar < 1:
            raise ParameterError("a bar without beats")

    def tempo_bpm(self, seconds: Array) -> Array:
        """Beats a minute at times in seconds, any shape."""
        return np.interp(seconds, self.seconds, self.bpm)

    def beat_position(self, seconds: Array) -> Array:
        """Beats since beat 0 at times in seconds, any shape: exact, as tempo is linear."""
        return self._since_start(seconds) - self._since_start(np.asarray(self.first_beat))

    def _since_start(self, seconds: Array) -> Array:
        seconds = np.asarray(seconds, np.float64)
        lengths = np.diff(self.seconds)
        reached = np.concatenate(
            [[0.0], np.cumsum(lengths * 0.5 * (self.bpm[1:] + self.bpm[:-1]) / 60.0)]
        )
        index = np.clip(
            np.searchsorted(self.seconds, seconds, side="right") - 1, 0, len(self.bpm) - 1
        )
        # Before the first moment this runs backwards at the first tempo.
        since = seconds - self.seconds[index]
        mean = 0.5 * (self.bpm[index] + self.tempo_bpm(seconds))
        return reached[index] + since * mean / 60.0

    def seconds_at(self, beats: Array) -> Array:
        """Times in seconds of beat positions, any shape: the inverse of `beat_position`."""
        beats = np.asarray(beats, np.float64)
        bounds = self.beat_position(self.seconds)
        known_beats = np.concatenate([[bounds[0] - 1e4], bounds, [bounds[-1] + 1e4]])
        known_seconds = np.concatenate(
            [
                [self.seconds[0] - 6e5 / self.bpm[0]],
                self.seconds,
                [self.seconds[-1] + 6e5 / self.bpm[-1]],
            ]
        )
        seconds = np.interp(beats, known_beats, known_seconds)
        # Newton's method on a piecewise quadratic converges in a few steps.
        for _ in range(6):
            seconds = seconds - (self.beat_position(seconds) - beats) * 60 / self.tempo_bpm(seconds)
        return seconds
