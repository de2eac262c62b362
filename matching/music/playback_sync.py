"""Playback hurried or held back a little, so that what was danced on a beat stays on one."""

from __future__ import annotations

import math

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.music.beats import beat_position
from deepphase.music.features import MIN_CONFIDENCE, SongFeatures
from matching.database.database import MotionDatabase

MAX_RATE_CHANGE = 0.1
"""Of the captured speed, at most, that playback is faster or slower at a lock of 1."""

# Seconds in which a difference of phase would be made up, and over which changes are smoothed.
_SETTLES_S, _SMOOTHED_S = 0.5, 0.15
# Length of (sin, cos) from which on a beat is told.
_STATED = 0.5


def beat_phases(database: MotionDatabase) -> tuple[Array, Array] | None:
    """Where in the beat of their own songs the rows of a database are.

    Returns
    -------
    phase, frequency : (rows,) each
        Cycles in [-0.5, 0.5), and Hz; 0 Hz where no beat can be told. None where the features do
        not hear the beat.
    """
    feature = next(
        (
            each
            for each in database.layout.of_kind("track")
            if each.track == "beat_cycle" and 0.0 in each.offsets_s and each.weight > 0
        ),
        None,
    )
    if feature is None:
        return None
    first = database.layout.slices[feature.name].start + 2 * feature.offsets_s.index(0.0)
    place = slice(first, first + 2)
    scale, mean = database.normalisation.scale[place], database.normalisation.mean[place]
    cycle = np.asarray(database.features[:, place]) / scale + mean
    phase = wrapped(np.arctan2(cycle[:, 0], cycle[:, 1]) / (2 * np.pi))
    given = np.hypot(*cycle.T) > _STATED
    frequency = np.zeros(len(phase))
    frequency[:-1] = wrapped(np.diff(phase)) * database.fps
    ends = database.range_stops - 1
    frequency[ends] = frequency[np.maximum(ends - 1, database.range_starts)]
    return phase, np.where(given & (frequency > 0), frequency, 0.0)


class PlaybackSync:
    """How fast the frames of a database are to be played: a phase-locked loop.

    Parameters
    ----------
    database
        What is played.
    song
        Whose beats are kept.
    lock
        From 0, as captured, to 1: up to `MAX_RATE_CHANGE` faster or slower.
    notes
        Is told where nothing can be locked, in words.
    """

    def __init__(
        self, database: MotionDatabase, song: SongFeatures, lock: float, notes: list[str]
    ) -> None:
        if not (math.isfinite(lock) and 0.0 <= lock <= 1.0):
            raise ParameterError(f"a lock of {lock}", hint="from 0 (as captured) to 1")
        self._most, self._rate = MAX_RATE_CHANGE * lock, 1.0
        self._seconds = 1.0 / database.fps
        self._song = np.asarray(song.beats_s, np.float64)
        found = beat_phases(database) if lock else None
        if lock and found is None:
            notes.append("the database's features hear no beat: playback is not locked to it")
        if lock and (len(self._song) < 2 or song.beat_confidence < MIN_CONFIDENCE):
            notes.append("no beat can be told in this song: playback is not locked to it")
            found = None
        self._phase: Array = found[0] if found else np.zeros(0)
        self._frequency: Array = found[1] if found else np.zeros(0)
        self.runs = found is not None

    def rate(self, row: int, time_s: float) -> float:
        """Frames of the database in a frame's time of the song, about 1.

        Parameters
        ----------
        row
            What is danced now.
        time_s
            Second of the song.
        """
        if not self.runs:
            return 1.0
        wanted = float(np.clip(self._wanted(row, time_s), -self._most, self._most))
        self._rate += (1.0 - math.exp(-self._seconds / _SMOOTHED_S)) * (1.0 + wanted - self._rate)
        return self._rate

    def _wanted(self, row: int, time_s: float) -> float:
        own_hz = float(self._frequency[row])
        half = 0.5 * self._seconds
        before, beat, after = beat_position(self._song, time_s + np.array([-half, 0.0, half]))
        song_hz = float(after - before) / self._seconds
        if not (own_hz > 0 and song_hz > 0):
            return 0.0
        # A waltz is heard at 87 beats a minute here and at 174 there: twice is on the beat as well.
        octave = round(math.log2(song_hz / own_hz))
        own, theirs = 2.0 ** max(octave, 0), 2.0 ** max(-octave, 0)
        away = float(wrapped(np.asarray(theirs * beat - own * self._phase[row])))
        return theirs * song_hz / (own * own_hz) - 1.0 + away / (own * own_hz * _SETTLES_S)
