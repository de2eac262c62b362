"""Bar tracking: the metre of a song and the first beats of its bars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.music.beats import Beats
from deepphase.music.spectra import Spectra

METERS = (3, 4)
"""Beats per bar that can be distinguished."""

# Bars needed to estimate the metre.
_FEWEST_BARS = 3
# How much a bar of another length costs, in standard deviations of a beat's accent: a beat too
# many or too few shifts all bars behind it.
_SLIP = 8.0
# Beats a minute above which bars of three may be counted in half as many beats; they are where less
# than this share of what returns after six beats returns after three.
_FASTEST_COUNTED_BPM, _NO_BAR = 150.0, 1 / 3
# What chord changes, bass onsets, bass and onsets add to a beat's accent.
_ACCENT = np.array([0.65, 0.65, 0.35, 0.0])
# Deviations (of change, bass onset, bass, onset; of bands) below which beats sound alike: frames
# cut one and the same sound at different places.
_AUDIBLE_DIFFERENCES, _AUDIBLE_DB = (0.02, 0.15, 0.03, 0.15), 3.0
# Share of the accents' rise and fall, and of what returns after a bar, that is as clear as can be.
_CLEAR_ACCENT, _CLEAR_RETURN = 1.2, 0.35
# Log odds of bars of three per unit by which their score exceeds that of bars of four: logistic
# regression over half of the songs of docs/measurements/songs.md, without an intercept.
_METRE_LOG_ODDS = 6.5


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of a song.

    Parameters
    ----------
    beats_per_bar
        3 or 4.
    downbeats
        (bars,) index of the beat that each whole or last bar begins with.
    confidence
        0 to 1: how much clearer this metre and these first beats are than the others.
    triple_probability
        Probability that bars have 3 beats and not 4, as likely as each other beforehand.
    """

    beats_per_bar: int
    downbeats: Array
    confidence: float
    triple_probability: float = 0.5


def find_bars(beats_s: Array, spectra: Spectra, fps: float) -> Bars | None:
    """The metre by which sound returns, and the beats on which bass and chords come in.

    Parameters
    ----------
    beats_s : (beats,)
        Seconds.
    fps
        Frames a second of the spectra.

    Returns
    -------
    None where there are too few beats, or all beats sound alike.
    """
    if len(beats_s) < _FEWEST_BARS * max(METERS):
        return None
    accent, sound = _beat_sounds(beats_s, spectra, fps)
    if not accent.std() > 1e-6:
        return None
    returns = _returns(sound)
    found = {}
    for metre in METERS:
        places, strength = _places(accent, metre)
        repeats = np.mean([returns[lag] for lag in range(metre, len(returns), metre)])
        found[metre] = places, strength, float(repeats)
    scores = {metre: strength * 0.25 + repeats for metre, (_, strength, repeats) in found.items()}
    metre = max(scores, key=lambda key: scores[key])
    other = scores[next(each for each in METERS if each != metre)]
    places, strength, _ = found[metre]
    downbeats = np.flatnonzero(places == 0)
    if not len(downbeats):
        return None
    # What few bars show by chance.
    chance = 1 / np.sqrt(len(downbeats))
    confidence = np.sqrt(
        np.clip((scores[metre] - other - 0.25 * chance) / _CLEAR_RETURN, 0, 1)
        * np.clip((strength - chance) / _CLEAR_ACCENT, 0, 1)
    )
    triple = 1 / (1 + np.exp(-_METRE_LOG_ODDS * (scores[3] - scores[4])))
    return Bars(metre, downbeats, float(confidence), float(triple))


def beats_of_bars(beats: Beats, spectra: Spectra, fps: float) -> Beats:
    """Every second beat where the tracker follows the half beats of bars of three.

    A waltz at 87 beats a minute is tracked at 174 where its quavers are as loud as its beats. Its
    sound then repeats after six tracked beats, and after three (half a bar) hardly more than after
    two and four. In bars of three fast beats the sound repeats after three. The accents on the
    first beat of a bar decide which of two tracked beats is kept.

    Returns
    -------
    The same beats where they are not faster than people count, or no such bar is clear.
    """
    if beats.tempo_bpm <= _FASTEST_COUNTED_BPM or len(beats.beats_s) < 2 * _FEWEST_BARS * 3:
        return beats
    accent, sound = _beat_sounds(beats.beats_s, spectra, fps)
    returns = _returns(sound)
    half, whole = (returns[lag] - 0.5 * (returns[lag - 1] + returns[lag + 1]) for lag in (3, 6))
    bars = returns[[6, 12]].mean()
    if half > _NO_BAR * whole or bars < max(returns[[4, 8]].mean(), returns[[2, 4, 8, 10]].mean()):
        return beats
    places, _ = _places(accent, 6)
    first = int(np.argmax(places == 0)) % 2
    kept = beats.beats_s[first::2]
    return Beats(kept, float(60 / np.median(np.diff(kept))), beats.confidence)


def bar_position(bars: Bars, beat: Array) -> Array:
    """Bars since the first whole bar at positions in beats (...,), linear between downbeats."""
    number = np.arange(len(bars.downbeats))
    inside = np.interp(beat, bars.downbeats, number)
    first, last = bars.downbeats[0], bars.downbeats[-1]
    before = (beat - first) / bars.beats_per_bar
    after = number[-1] + (beat - last) / bars.beats_per_bar
    return np.where(beat < first, before, np.where(beat > last, after, inside))


def _beat_sounds(beats_s: Array, spectra: Spectra, fps: float) -> tuple[Array, Array]:
    """(beats,) standardised accent of each beat, and (beats, values) what it sounds like."""
    frames = len(spectra.flux)
    at = np.clip(np.rint(beats_s * fps).astype(int), 0, frames - 1)
    around = np.clip(at[:, None] + np.arange(-2, 4), 0, frames - 1)
    bass_onset = spectra.bass_onset_strength[around].max(axis=1)
    onset = spectra.onset_strength[around].max(axis=1)
    # From one beat to the next: what sounds, chords and bass among it.
    period = max(int(np.median(np.diff(at))), 2)
    during = np.clip(at[:, None] + np.arange(1, period), 0, frames - 1)
    chroma = spectra.chroma[during].mean(axis=1)
    chroma /= np.maximum(np.linalg.norm(chroma, axis=1, keepdims=True), 1e-6)
    change = 1 - np.sum(chroma * np.roll(chroma, 1, axis=0), axis=1)
    change[0] = np.median(change)
    bass = spectra.bass[during].mean(axis=1)
    columns = _standardised(
        np.stack([change, bass_onset, bass, onset], axis=1), np.array(_AUDIBLE_DIFFERENCES)
    )
    mel = _standardised(spectra.mel_db[around].max(axis=1), np.array(_AUDIBLE_DB))
    # All mel bands together weigh as much as the four.
    sound = np.concatenate([columns, mel * np.sqrt(4 / mel.shape[1])], axis=1)
    return columns @ _ACCENT, sound


def _standardised(values: Array, least: Array) -> Array:
    """Columns (beats, columns) with mean 0 and deviation 1, or less where they hardly differ."""
    values = np.asarray(values, np.float64) - values.mean(axis=0)
    return np.clip(values / np.maximum(values.std(axis=0), least), -3, 3)


def _returns(sound: Array) -> Array:
    """(13,) autocorrelation of what beats (beats, values) sound like, by lag in beats."""
    power = np.mean(sound * sound)
    most = min(12, len(sound) - 1)
    return np.array(
        [1.0]
        + [np.mean(sound[lag:] * sound[:-lag]) / max(power, 1e-9) for lag in range(1, most + 1)]
    )


def _places(accent: Array, metre: int) -> tuple[Array, float]:
    """(beats,) each beat's place in its bar, 0 the first, and how much stronger firsts are.

    The best way through the places (Viterbi): one further with each beat, unless it pays to slip.
    """
    beats = len(accent)
    total = np.where(np.arange(metre) == 0, accent[0], 0.0)
    came = np.zeros((beats, metre), int)
    for beat in range(1, beats):
        onward = np.roll(total, 1)
        best = int(total.argmax())
        slips = total[best] - _SLIP > onward
        came[beat] = np.where(slips, best, np.roll(np.arange(metre), 1))
        total = np.where(slips, total[best] - _SLIP, onward)
        total[0] += accent[beat]
    places = np.zeros(beats, int)
    places[-1] = total.argmax()
    for beat in range(beats - 1, 0, -1):
        places[beat - 1] = came[beat, places[beat]]
    first = places == 0
    if first.all() or not first.any():
        return places, 0.0
    return places, float(accent[first].mean() - accent[~first].mean())
