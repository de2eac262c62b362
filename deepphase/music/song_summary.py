"""Summary of a song by metre, tempo and timbre, which tell styles of dance apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.music.features import SongFeatures
from deepphase.music.spectra import MFCC
from deepphase.short_repr import short_repr

# Frames quieter than this below the song's loudest band are pauses, without timbre.
_SOUNDING_DB = -60.0
# Typical difference of two songs: of the probability of bars of three, of tempo in octaves, and of
# all means of MFCCs but the first, in dB.
_METRE, _TEMPO, _TIMBRE_DB = 0.5, 0.25, 10.0
# Tempo and metre of a song without a beat.
_NEUTRAL_BPM = 110.0


@dataclass(frozen=True, eq=False)
class SongSummary:
    """Metre, tempo and timbre of a song.

    Parameters
    ----------
    beats_per_bar
        3 or 4; None where no bars are reliable.
    triple_probability
        Probability that bars have 3 beats and not 4; 0.5 without reliable beats.
    tempo_bpm
        Beats a minute, the median; 0 without reliable beats.
    beat_confidence
        0 to 1, see `SongFeatures`.
    timbre, timbre_deviation
        (20,) mean and standard deviation in dB of the MFCCs over the frames with sound. The first
        is the mean level below the song's loudest.
    """

    beats_per_bar: int | None
    triple_probability: float
    tempo_bpm: float
    beat_confidence: float
    timbre: Array
    timbre_deviation: Array

    def __repr__(self) -> str:
        tempo = f"{self.tempo_bpm:.0f} beats/min" if self.tempo_bpm else "no beat"
        return short_repr(self, tempo, f"bars of 3 with probability {self.triple_probability:.2f}")

    def vector(self) -> Array:
        """(21,) float64: the summary as a point whose Euclidean distances compare songs.

        Columns are metre, tempo in octaves, and 19 of timbre (the MFCCs' means without the first),
        each block scaled so that a typical difference between songs is 1. A song without a beat
        has the neutral metre 0.5 and 110 beats a minute.
        """
        tempo = np.log2((self.tempo_bpm or _NEUTRAL_BPM) / _NEUTRAL_BPM) / _TEMPO
        metre = (self.triple_probability - 0.5) / _METRE
        timbre = self.timbre[1:] / (_TIMBRE_DB * np.sqrt(MFCC - 1))
        return np.concatenate([[metre, tempo], timbre]).astype(np.float64)


def song_summary(song: SongFeatures) -> SongSummary:
    """The summary of a song, out of its features (which `song_features` keeps in a cache).

    It takes less than a millisecond. Raises ParameterError for a song without frames.
    """
    mfcc = song.blocks["mfcc"]
    if not len(mfcc):
        raise ParameterError(f"{song.name}: a song without frames has no summary")
    sounding = song.blocks["mel"].max(axis=1) > _SOUNDING_DB
    loud = mfcc[sounding] if sounding.any() else mfcc
    beat = song.has_beat
    return SongSummary(
        song.beats_per_bar if beat else None,
        song.triple_probability if beat else 0.5,
        song.tempo_bpm if beat else 0.0,
        song.beat_confidence,
        loud.mean(axis=0, dtype=np.float64),
        loud.std(axis=0, dtype=np.float64),
    )
