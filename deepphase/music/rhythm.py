"""Rhythm of a song: its beats at the level that people count, its bars, and how reliable both are.

The tempo that onsets repeat at may be double, half, or two thirds of the one that is counted.
Beats are laid at each of these levels and looked at again, with the bars that they make; a
logistic model chooses among the levels, another one separates songs from noise and speech.
docs/measurements/songs.md has the songs that both were fitted to, and those that they were not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.music.bars import METERS, BarEvidence, Bars, find_bars
from deepphase.music.beats import (
    NO_BEATS,
    Beats,
    OnsetReturns,
    follow_tempo,
    has_sounds,
    lay_beats,
)
from deepphase.music.spectra import Spectra

# Tempi of the levels over the tempo that was followed; and beats a minute that are counted.
_LEVELS = (1, 2, 1 / 2, 3 / 2, 2 / 3, 4 / 3, 3 / 4, 3, 1 / 3)
_SLOWEST_BPM, _FASTEST_BPM = 42.0, 235.0
_USUAL_BPM = 110.0
_FEWEST_BEATS = 4
# As much of the onsets returns after a beat, as a share of the level of which most does: a song of
# few sounds has other levels whose beats are silent at times.
_LEAST_RETURN = 0.4
# Weights of a level's evidence, in the order of `_Level.evidence`.
_LEVEL_WEIGHTS = np.array(
    [2.59, 0.37, 0.87, 4.81, 1.89, -1.32, -4.48, -2.46, 2.3, -5.41, 1.28, 0.64, 2.77]
)
# Log odds of a beat: what returns after one to four beats in the mean, of all bands and of the
# bass; what so few beats show by chance; how well bars fit; and a constant.
_BEAT_WEIGHTS = np.array([13.6, 9.5, -9.9, 7.0])
_BEAT_CONSTANT = -2.9


@dataclass(frozen=True, eq=False)
class _Level:
    """Beats at one level, and what speaks for it."""

    beats_s: Array
    tempo_bpm: float
    # (2, 4) what returns after one to four beats, of all bands and of the bass.
    returns: Array
    # (13,), see `_LEVEL_WEIGHTS`.
    evidence: Array
    bars: BarEvidence

    @property
    def beat_probability(self) -> float:
        score = max(self.bars.score(metre) for metre in METERS)
        chance = 1 / np.sqrt(len(self.beats_s))
        values = np.array([*self.returns.mean(axis=1), chance, score])
        return float(1 / (1 + np.exp(-(_BEAT_WEIGHTS @ values + _BEAT_CONSTANT))))


def find_rhythm(spectra: Spectra, fps: float) -> tuple[Beats, Bars | None]:
    """Beats and bars of a song.

    The confidence of the beats is the probability that the song has a beat, where noise, speech
    and sounds at random times have none, and each is as likely beforehand. That of the bars is at
    most as high.

    Parameters
    ----------
    fps
        Frames of the spectra a second.
    """
    onsets, bass = spectra.onset_strength, spectra.bass_onset_strength
    if not has_sounds(onsets):
        return NO_BEATS, None
    returns = OnsetReturns.of_onsets(onsets, bass, fps, _SLOWEST_BPM)
    tempo = follow_tempo(returns, len(onsets), fps)
    levels = []
    for ratio in _LEVELS:
        if _SLOWEST_BPM <= ratio * np.median(tempo) <= _FASTEST_BPM:
            beats_s = lay_beats(onsets, ratio * tempo, fps)
            if len(beats_s) >= _FEWEST_BEATS:
                levels.append(_level(beats_s, spectra, returns, fps))
    if not levels:
        return NO_BEATS, None
    least = _LEAST_RETURN * max(each.returns[0, 0] for each in levels)
    levels = [each for each in levels if each.returns[0, 0] >= least] or levels
    level = max(levels, key=lambda each: float(_LEVEL_WEIGHTS @ each.evidence))
    beats = Beats(level.beats_s, level.tempo_bpm, level.beat_probability)
    return beats, find_bars(level.bars)


def _level(beats_s: Array, spectra: Spectra, returns: OnsetReturns, fps: float) -> _Level:
    tempo_bpm = float(60 / np.median(np.diff(beats_s)))
    lag = 60 * fps / tempo_bpm
    after = returns.at(lag * np.array([1, 2, 3, 4]))
    _, (half, third, dotted) = returns.at(lag * np.array([1 / 2, 1 / 3, 3 / 2]))
    steps = np.diff(beats_s)
    on_thirds = max(
        _loudness_at(spectra.onset_strength, beats_s[:-1] + part * steps, fps)
        for part in (1 / 3, 2 / 3)
    )
    on_beats = _loudness_at(spectra.onset_strength, beats_s, fps)
    bars = BarEvidence.of_beats(beats_s, spectra, fps)
    octaves = np.log2(tempo_bpm / _USUAL_BPM)
    evidence = np.array(
        [
            # People count neither very fast nor very slowly.
            -(octaves**2),
            octaves,
            max(bars.strength.values()),
            after[0, 0],
            after[1, 0],
            half,
            third,
            dotted,
            after[1, 2],
            on_thirds / (on_beats + 1e-6),
            bars.returns[3],
            bars.returns[6],
            max(bars.score(metre) for metre in METERS),
        ]
    )
    return _Level(beats_s, tempo_bpm, after, evidence, bars)


def _loudness_at(onset_strength: Array, times: Array, fps: float) -> float:
    """Mean onset strength around times in seconds."""
    frames = np.rint(times * fps).astype(int)[:, None] + np.arange(-1, 3)
    return float(onset_strength[np.clip(frames, 0, len(onset_strength) - 1)].max(axis=1).mean())
