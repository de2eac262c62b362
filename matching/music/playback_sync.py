"""Synchronisation of playback with the beat: a phase-locked loop that changes the playback rate."""

from __future__ import annotations

import math

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.music.beats import beat_position
from deepphase.music.features import SongFeatures

MAX_RATE_CHANGE = 0.1
"""Maximum change of the playback rate at a lock of 1, as a share of the captured speed."""

# Time in which a phase difference would be made up, and time constant of the smoothed rate.
_SETTLING_S, _SMOOTHING_S = 0.5, 0.15
# Minimum length of (sin, cos), which is the confidence, for a row to have a beat.
_MIN_LENGTH = 0.5


def beat_phases(database: MotionDatabase) -> tuple[Array, Array] | None:
    """Beat phase and beat frequency of the rows of a database, in their own songs.

    Returns `phase, frequency` (rows,) each: Cycles in [-0.5, 0.5), and Hz; 0 Hz in rows without a
    clear beat. None if the database has no beat feature at the current frame.
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
    has_beat = np.hypot(*cycle.T) > _MIN_LENGTH
    frequency = np.zeros(len(phase))
    frequency[:-1] = wrapped(np.diff(phase)) * database.fps
    ends = database.range_stops - 1
    frequency[ends] = frequency[np.maximum(ends - 1, database.range_starts)]
    return phase, np.where(has_beat & (frequency > 0), frequency, 0.0)


class PlaybackSync:
    """Playback rate that keeps the recorded beats of a database on the beats of a song.

    Attributes: `runs`: whether the rate follows the beat; it is 1 otherwise.

    Raises ParameterError if the lock is not between 0 and 1.
    """

    def __init__(
        self, database: MotionDatabase, song: SongFeatures, lock: float, notes: list[str]
    ) -> None:
        if not (math.isfinite(lock) and 0.0 <= lock <= 1.0):
            raise ParameterError(
                f"lock must lie in 0 to 1, not {lock}", hint="0 is the captured speed"
            )
        self._max_change, self._rate = MAX_RATE_CHANGE * lock, 1.0
        self._seconds = 1.0 / database.fps
        self._song = np.asarray(song.beats_s, np.float64)
        phases = beat_phases(database) if lock else None
        if lock and phases is None:
            notes.append("the database has no beat feature: playback does not follow the beat")
        if lock and not song.has_beat:
            notes.append("no reliable beat in this song: playback does not follow the beat")
            phases = None
        self._phase: Array = phases[0] if phases else np.zeros(0)
        self._frequency: Array = phases[1] if phases else np.zeros(0)
        self.runs = phases is not None

    def rate(self, row: int, time_s: float) -> float:
        """Frames of the database per frame of the song, about 1.

        `time_s`: time in the song, in seconds.
        """
        if not self.runs:
            return 1.0
        change = float(
            np.clip(self._desired_change(row, time_s), -self._max_change, self._max_change)
        )
        self._rate += (1.0 - math.exp(-self._seconds / _SMOOTHING_S)) * (1.0 + change - self._rate)
        return self._rate

    def _desired_change(self, row: int, time_s: float) -> float:
        """Change of the rate that matches the song's tempo and settles the phase difference."""
        own_hz = float(self._frequency[row])
        half = 0.5 * self._seconds
        before, beat, after = beat_position(self._song, time_s + np.array([-half, 0.0, half]))
        song_hz = float(after - before) / self._seconds
        if not (own_hz > 0 and song_hz > 0):
            return 0.0
        # Beat trackers may find one waltz at 87 beats a minute and another at 174: the phases are
        # compared at the faster of both tempi.
        octave = round(math.log2(song_hz / own_hz))
        own_beats, song_beats = 2.0 ** max(octave, 0), 2.0 ** max(-octave, 0)
        difference = float(wrapped(np.asarray(song_beats * beat - own_beats * self._phase[row])))
        own_hz, song_hz = own_beats * own_hz, song_beats * song_hz
        return song_hz / own_hz - 1.0 + difference / (own_hz * _SETTLING_S)
