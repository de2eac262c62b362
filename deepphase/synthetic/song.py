"""Songs made by formula, with their true beats, bars and tempo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import ParameterError

SAMPLE_RATE = 30720
"""512 samples of it are exactly one frame of 60 a second."""
_LEAD_IN_S = 0.5
# Degrees of a major scale, in halftones, that the bars' chords stand on, and their thirds.
_PROGRESSIONS = (
    ((0, 4), (9, 3), (5, 4), (7, 4)),
    ((0, 4), (7, 4), (9, 3), (5, 4)),
    ((9, 3), (5, 4), (0, 4), (7, 4)),
    ((2, 3), (7, 4), (0, 4), (9, 3)),
)
_LOWEST_KEY_HZ = 110.0


@dataclass(frozen=True, eq=False)
class TempoMap:
    """A tempo that changes linearly between given moments and is constant before and after."""

    seconds: Array  # (moments,) rising
    bpm: Array  # (moments,) beats a minute
    first_beat: float
    beats_per_bar: int

    def __post_init__(self) -> None:
        if not (np.isfinite(self.seconds).all() and (np.diff(self.seconds) > 0).all()):
            raise ParameterError("the moments of a tempo map must rise")
        if not ((self.bpm >= 20) & (self.bpm <= 400)).all():
            raise ParameterError("a tempo must lie in 20 to 400 beats a minute")

    def tempo_bpm(self, seconds: Array) -> Array:
        """Beats a minute at times in seconds, any shape."""
        return np.interp(seconds, self.seconds, self.bpm)

    def beat_position(self, seconds: Array) -> Array:
        """Beats since beat 0 at times in seconds, any shape: exact, as tempo is linear."""
        return self._since_start(seconds) - self._since_start(np.asarray(self.first_beat))

    @cached_property
    def _reached(self) -> Array:
        """(moments,) beats since the first moment."""
        steps = np.diff(self.seconds) * 0.5 * (self.bpm[1:] + self.bpm[:-1]) / 60.0
        return np.concatenate([[0.0], np.cumsum(steps)])

    def _since_start(self, seconds: Array) -> Array:
        # Before the first moment this runs backwards at the first tempo.
        index = np.maximum(np.searchsorted(self.seconds, seconds, side="right") - 1, 0)
        mean = 0.5 * (self.bpm[index] + self.tempo_bpm(seconds))
        return self._reached[index] + (seconds - self.seconds[index]) * mean / 60.0

    def seconds_at(self, beats: Array) -> Array:
        """Times in seconds of beat positions, any shape: the inverse of `beat_position`."""
        bounds = self.beat_position(self.seconds)
        first, last = 6e5 / self.bpm[0], 6e5 / self.bpm[-1]
        seconds = np.interp(
            beats,
            np.concatenate([[bounds[0] - 1e4], bounds, [bounds[-1] + 1e4]]),
            np.concatenate([[self.seconds[0] - first], self.seconds, [self.seconds[-1] + last]]),
        )
        # Newton's method on a piecewise quadratic converges in a few steps.
        for _ in range(6):
            seconds = seconds - (self.beat_position(seconds) - beats) * 60 / self.tempo_bpm(seconds)
        return seconds


@dataclass(frozen=True, eq=False)
class Song:
    """A song and what is true of it.

    Parameters
    ----------
    samples
        (samples,) float32, mono, from -1 to 1.
    sample_rate
        Samples a second.
    beats, bars
        Seconds of every beat, and of the first beat of every bar.
    tempo
        The tempo, and where between the beats any moment is.
    seed
        What it was made from.
    """

    samples: Array
    sample_rate: int
    beats: Array
    bars: Array
    tempo: TempoMap
    seed: int

    def __repr__(self) -> str:
        return short_repr(
            self,
            f"seed {self.seed}",
            f"{self.duration:.2f} s at {self.sample_rate} Hz",
            counted(len(self.beats), "beat"),
        )

    @property
    def duration(self) -> float:
        """Seconds."""
        return len(self.samples) / self.sample_rate


def make_song(
    seed: int,
    seconds: float = 30.0,
    *,
    tempo_bpm: float | Sequence[tuple[float, float]] = 120.0,
    beats_per_bar: int = 4,
    swing: float = 0.5,
    noise: float = 0.0,
    sample_rate: int = SAMPLE_RATE,
) -> Song:
    """Drums, bass and chords on known beats.

    Parameters
    ----------
    seed
        Key, chords and drum pattern; the same seed makes the same song.
    tempo_bpm
        Beats a minute; or (seconds, beats a minute) pairs between which the tempo changes
        linearly.
    beats_per_bar
        4 or 3.
    swing
        Where in a beat its off-beat lies: 0.5 is straight, 2/3 swings.
    noise
        Root mean square of white noise, as a share of the music's.

    Raises
    ------
    ParameterError
        For a number out of range.
    """
    if not (np.isfinite(seconds) and seconds >= 1):
        raise ParameterError(
            f"a song of {seconds} s is not possible", hint="songs take at least 1 s"
        )
    if beats_per_bar not in (3, 4):
        raise ParameterError(f"{beats_per_bar} beats in a bar: songs are made in 3 or 4")
    if not 0.4 <= swing <= 0.8 or not (np.isfinite(noise) and noise >= 0) or sample_rate < 8000:
        raise ParameterError(
            "swing must be from 0.4 to 0.8, noise at least 0, and sample_rate at least 8000"
        )
    pairs = [(0.0, tempo_bpm)] if isinstance(tempo_bpm, int | float) else list(tempo_bpm)
    moments, bpm = np.array(pairs, np.float64).T
    tempo = TempoMap(moments, bpm, _LEAD_IN_S, beats_per_bar)
    generator = np.random.default_rng([seed, 0x50])
    last = int(np.floor(tempo.beat_position(np.asarray(seconds - 1e-9))))
    beats = tempo.seconds_at(np.arange(last + 1))
    track = _Track(np.zeros(round(seconds * sample_rate)), sample_rate, tempo)
    _play_drums(track, last, swing, generator)
    _play_harmony(track, last, generator)
    samples = track.samples * (0.8 / max(np.abs(track.samples).max(), 1e-9))
    if noise:
        level = noise * np.sqrt(np.mean(samples**2))
        samples = np.clip(samples + level * generator.standard_normal(len(samples)), -1.0, 1.0)
    return Song(samples.astype(np.float32), sample_rate, beats, beats[::beats_per_bar], tempo, seed)


@dataclass(frozen=True, eq=False)
class _Track:
    """Samples that sounds are added to, at beats."""

    samples: Array
    rate: int
    tempo: TempoMap

    def times(self, seconds: float) -> Array:
        """(samples,) seconds since the start of a sound that is so long."""
        return np.arange(max(int(seconds * self.rate), 1)) / self.rate

    def play(self, beat: float, sound: Array) -> None:
        start = round(float(self.tempo.seconds_at(np.asarray(beat))) * self.rate)
        part = sound[: max(len(self.samples) - start, 0)]
        self.samples[start : start + len(part)] += part

    def fade(self, samples: int) -> Array:
        """1, falling to 0 over the last 15 ms: a note that ends without a click."""
        return np.clip((samples - 1 - np.arange(samples)) / (0.015 * self.rate), 0.0, 1.0)


def _play_drums(track: _Track, last: int, swing: float, generator: np.random.Generator) -> None:
    per_bar = track.tempo.beats_per_bar
    beat = np.arange(last + 1, dtype=np.float64)
    place = beat % per_bar
    backbeat = place % 2 == 1 if per_bar == 4 else place > 0
    kick = _kick(track)
    for at, accent in zip(beat[~backbeat], place[~backbeat] == 0, strict=True):
        track.play(at, (1.0 if accent else 0.8) * kick)
    if per_bar == 4 and generator.uniform() < 0.6:
        for at in beat[place == 2]:
            track.play(at + swing, 0.5 * kick)
    snare = _snare(track, generator)
    for at in beat[backbeat]:
        track.play(at, 0.7 * snare)
    cymbal = _cymbal(track, generator, 0.025)
    for at in beat:
        track.play(at, 0.45 * cymbal)
        track.play(at + swing, 0.25 * cymbal)
    crash = _cymbal(track, generator, 0.2)
    for at in beat[beat % (4 * per_bar) == 0]:
        track.play(at, 0.4 * crash)


def _play_harmony(track: _Track, last: int, generator: np.random.Generator) -> None:
    progression = _PROGRESSIONS[generator.integers(len(_PROGRESSIONS))]
    key = _LOWEST_KEY_HZ * 2 ** (generator.integers(12) / 12)
    per_bar = track.tempo.beats_per_bar
    for number, first in enumerate(range(0, last + 1, per_bar)):
        degree, third = progression[number % len(progression)]
        root = key * 2 ** (degree / 12)
        start, stop = track.tempo.seconds_at(np.array([first, first + per_bar], np.float64))
        tones = root * 2 ** (np.array([12, 12 + third, 19]) / 12)
        track.play(first, 0.09 * _chord(track, tones, stop - start))
        for place in range(min(per_bar, last + 1 - first)):
            tone = 0.5 * root * (1.5 if place == per_bar - 1 else 1.0)
            track.play(first + place, 0.35 * _bass(track, tone, (stop - start) / per_bar))


def _kick(track: _Track) -> Array:
    """A bass drum: a sine that falls from 130 to 48 Hz."""
    time = track.times(0.25)
    angle = 2 * np.pi * (48.0 * time + 82.0 * 0.03 * (1 - np.exp(-time / 0.03)))
    return np.sin(angle) * np.exp(-time / 0.09)


def _snare(track: _Track, generator: np.random.Generator) -> Array:
    """A snare drum: noise and a short tone."""
    time = track.times(0.2)
    noise = generator.standard_normal(len(time)) * np.exp(-time / 0.06)
    return 0.5 * noise + 0.5 * np.sin(2 * np.pi * 190.0 * time) * np.exp(-time / 0.04)


def _cymbal(track: _Track, generator: np.random.Generator, decay: float) -> Array:
    """A cymbal: noise without its low end."""
    time = track.times(6 * decay)
    noise = np.diff(generator.standard_normal(len(time) + 2), n=2)
    return 0.3 * noise * np.exp(-time / decay)


def _bass(track: _Track, hertz: float, seconds: float) -> Array:
    """A plucked bass note."""
    time = track.times(seconds)
    note = sum(np.sin(2 * np.pi * hertz * k * time) / k**1.5 for k in range(1, 6))
    return note * np.exp(-time / 0.3) * track.fade(len(time))


def _chord(track: _Track, hertz: Array, seconds: float) -> Array:
    """A chord of tones in Hz, struck softly and held."""
    time = track.times(seconds)
    tones = sum(
        np.sin(2 * np.pi * tone * k * time + tone) / k**2 for tone in hertz for k in (1, 2, 3)
    )
    attack = 1.0 - np.exp(-time / 0.01)
    return tones * attack * (0.35 + 0.65 * np.exp(-time / 0.5)) * track.fade(len(time))
