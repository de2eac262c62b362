"""Audio features of a song: named features at 60 frames a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array, short_repr, timed
from deepphase.errors import ParameterError
from deepphase.music.audio import HOP, SAMPLE_RATE
from deepphase.music.bars import BarEvidence, Bars, bar_position, find_bars, find_rhythm
from deepphase.music.beats import Beats, beat_position, check_hint, local_tempo_bpm
from deepphase.music.beats_file import GivenBeats
from deepphase.music.spectra import MEL_BANDS, MFCC, PITCH_CLASSES, Spectra, short_time_spectra

FPS = SAMPLE_RATE / HOP
"""Frames a second, exactly 60: frame i is second i / 60 of the song."""


@dataclass(frozen=True)
class SongFeatureKind:
    """Value names and unit of a song feature."""

    values: tuple[str, ...]  # Names of its values; one of the name "" where it is a single number
    unit: str


_NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")

SONG_FEATURE_KINDS = {
    # Decibels below the loudest value of the song, down to -80; low bands first.
    "mel": SongFeatureKind(tuple(map(str, range(MEL_BANDS))), "dB"),
    "mfcc": SongFeatureKind(tuple(map(str, range(MFCC))), "dB"),
    # Share of the loudest pitch class; 0 in silence.
    "chroma": SongFeatureKind(_NOTES[:PITCH_CLASSES], "1"),
    # Rise of the spectrum over two frames, as a share of the song's mean spectrum.
    "spectral_flux": SongFeatureKind(("",), "1"),
    # Rise of loudness over two frames, in the mean over mel bands, 1 at the song's strong onsets.
    "onset_strength": SongFeatureKind(("",), "1"),
    # 1 in the frame that a beat falls on, otherwise 0.
    "beat": SongFeatureKind(("",), "1"),
    # Sign changes a sample.
    "zero_crossing_rate": SongFeatureKind(("",), "1"),
    # Cycles in [-0.5, 0.5) that grow with time, 0 on every beat (first beat of a bar).
    "beat_phase": SongFeatureKind(("",), "cycles"),
    "bar_phase": SongFeatureKind(("",), "cycles"),
    # The same without a jump, which is what a network reads; (0, 0) where there is no beat or bar.
    "beat_cycle": SongFeatureKind(("sin", "cos"), "1"),
    "bar_cycle": SongFeatureKind(("sin", "cos"), "1"),
    # Beats a minute around the frame; 0 where there is no beat.
    "tempo_bpm": SongFeatureKind(("",), "1/min"),
}
"""The features of a song, by name."""

PAPER_FEATURES = ("mel", "mfcc", "chroma", "spectral_flux", "beat", "zero_crossing_rate")
"""The 62 numbers a frame that a dance is controlled by in DeepPhase, section 5.2."""


MIN_CONFIDENCE = 0.5
"""Confidence from which beats and bars are reliable: they are there rather than not."""


@dataclass(frozen=True, eq=False)
class SongFeatures:
    """Audio features of every frame of a song, and its beats and bars.

    Parameters
    ----------
    blocks
        Feature name -> (frames, values) float32, all names of `SONG_FEATURE_KINDS`, finite.
    duration_s
        Seconds; there are ceil(60 * duration_s) frames.
    beats_s
        (beats,) seconds of the beats between the first and the last sound, rising; empty in
        silence.
    downbeats_s
        (bars,) seconds of the first beats of bars; None where they are not known.
    beats_per_bar
        3 or 4, or what given beats have; None where it is not known.
    tempo_bpm
        Beats a minute, the median over the song; 0 where there is no beat.
    beat_confidence, bar_confidence
        Probability that the song has a beat and that people count it at this tempo, see
        `find_rhythm`, and confidence from 0 to 1 in its bars; 1 where they are
        given. Below `MIN_CONFIDENCE` the beats are a guess, which noise and speech get too
        (`has_beat`), and there are no bars where theirs is below it.
    name, source, sha256
        The song, its file, and the hash of the file's bytes; empty where it was not a file.
    fps
        60.
    tempo_confidence, other_tempi
        The probability that people count beats at this tempo, if there are any, and beats a minute
        at which they may count as well, such as half of them.
    """

    blocks: Mapping[str, Array]
    duration_s: float
    beats_s: Array
    downbeats_s: Array | None
    beats_per_bar: int | None
    tempo_bpm: float
    beat_confidence: float
    bar_confidence: float
    name: str = "song"
    source: str = ""
    sha256: str = ""
    fps: float = FPS
    tempo_confidence: float = 1.0
    other_tempi: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, repr(self.name), timed(len(self), self.fps), self.rhythm)

    def __len__(self) -> int:
        return len(self.blocks["mel"])

    @property
    def has_beat(self) -> bool:
        """Whether there are reliable beats; without them nothing follows a beat.

        Beats that may be counted at half or twice the tempo are reliable as well.
        """
        enough = MIN_CONFIDENCE * self.tempo_confidence
        return len(self.beats_s) > 1 and self.beat_confidence >= enough

    @property
    def rhythm(self) -> str:
        """Tempo and metre in words, as in "87 beats a minute in bars of 3"."""
        if not self.has_beat:
            return "no reliable beat"
        bars = "without reliable bars"
        if self.beats_per_bar is not None:
            bars = f"in bars of {self.beats_per_bar}"
        return f"{self.tempo_bpm:.0f} beats a minute {bars}"

    @property
    def doubt(self) -> str:
        """One sentence on other tempi that fit nearly as well; empty if there are none."""
        if not self.other_tempi:
            return ""
        others = " or ".join(f"{tempo:.0f}" for tempo in self.other_tempi)
        return (
            f"the beats may be counted at {others} a minute as well as at {self.tempo_bpm:.0f} "
            f"(confidence {self.beat_confidence:.2f}): --bpm says which"
        )

    @property
    def time(self) -> Array:
        """(frames,) seconds from the song's start."""
        return np.arange(len(self)) / self.fps

    def array(self, names: Sequence[str] = PAPER_FEATURES) -> Array:
        """(frames, dims) float32: the features of these names side by side.

        Raises ParameterError for a name that is none.
        """
        check_names(names)
        return np.concatenate([self.blocks[name] for name in names], axis=1)


def check_names(names: Sequence[str]) -> None:
    """Raise ParameterError, which lists all features, unless the names are some of them."""
    # A config may list anything.
    known = list(SONG_FEATURE_KINDS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ParameterError(
            f"no song feature {unknown[0]!r}" if unknown else "no song feature is named",
            hint=f"features: {', '.join(SONG_FEATURE_KINDS)}",
        )


def value_names(names: Sequence[str] = PAPER_FEATURES) -> list[str]:
    """(dims,) one name a column of :meth:`SongFeatures.array`, as in "chroma.C#"."""
    check_names(names)
    return [
        f"{name}.{value}".rstrip(".") for name in names for value in SONG_FEATURE_KINDS[name].values
    ]


def features_of(
    samples: Array,
    *,
    name: str = "song",
    source: str = "",
    sha256: str = "",
    beats: GivenBeats | None = None,
    bpm: float | None = None,
) -> SongFeatures:
    """The features of a song in memory.

    `samples` (samples,) mono, 30,720 a second, finite; at least one frame of 512. `beats` or `bpm`,
    about how many beats a minute there are, where they are known.
    """
    samples = np.ascontiguousarray(samples, np.float32)
    if samples.ndim != 1 or len(samples) < HOP or not np.isfinite(samples).all():
        raise ParameterError(
            f"{name}: the samples have shape {samples.shape}",
            hint=f"features are of finite mono samples, {HOP} or more",
        )
    spectra = short_time_spectra(samples)
    if bpm is not None:
        check_hint(bpm)
    found, bars, bar_confidence = _rhythm(spectra, beats, len(samples) / SAMPLE_RATE, bpm)
    if bar_confidence < MIN_CONFIDENCE:
        bars = None
    blocks = {
        "mel": spectra.mel_db,
        "mfcc": spectra.mfcc,
        "chroma": spectra.chroma,
        "spectral_flux": spectra.flux[:, None],
        "onset_strength": spectra.onset_strength[:, None],
        "zero_crossing_rate": spectra.zero_crossing_rate[:, None],
    } | rhythm_blocks(found, bars, len(spectra.flux))
    return SongFeatures(
        {kind: np.ascontiguousarray(blocks[kind], np.float32) for kind in SONG_FEATURE_KINDS},
        len(samples) / SAMPLE_RATE,
        found.beats_s,
        None if bars is None else found.beats_s[bars.downbeats],
        None if bars is None else bars.beats_per_bar,
        found.tempo_bpm,
        found.confidence,
        bar_confidence,
        name,
        source,
        sha256,
        tempo_confidence=found.tempo_confidence,
        other_tempi=found.other_tempi,
    )


def stretched(song: SongFeatures, factor: float) -> SongFeatures:
    """The song played at `factor` times its tempo: features of the nearest moment, beats moved."""
    frames = max(round(len(song) / factor), 1)
    nearest = np.clip(np.rint(np.arange(frames) * factor), 0, len(song) - 1).astype(np.intp)
    blocks = {name: song.blocks[name][nearest] for name in SONG_FEATURE_KINDS}
    blocks["tempo_bpm"] = (factor * blocks["tempo_bpm"]).astype(np.float32)
    beats_s = song.beats_s / factor
    # A beat is one frame: the nearest frames of a faster song would miss some.
    blocks["beat"] = _beat_pulse(beats_s, frames).astype(np.float32)
    return replace(
        song,
        blocks=blocks,
        duration_s=song.duration_s / factor,
        beats_s=beats_s,
        downbeats_s=None if song.downbeats_s is None else song.downbeats_s / factor,
        tempo_bpm=song.tempo_bpm * factor,
        other_tempi=tuple(factor * tempo for tempo in song.other_tempi),
        name=f"{song.name} at {factor:g}",
        source="",
        sha256="",
    )


def _beat_pulse(beats_s: Array, frames: int) -> Array:
    """(frames, 1) 1 in the frame that a beat falls on, otherwise 0."""
    pulse = np.zeros((frames, 1))
    hit = np.rint(beats_s * FPS).astype(int)
    pulse[hit[hit < frames]] = 1.0
    return pulse


def _rhythm(
    spectra: Spectra, given: GivenBeats | None, duration_s: float, bpm: float | None
) -> tuple[Beats, Bars | None, float]:
    """Beats, bars, and confidence in the bars."""
    if given is None:
        beats, bars = find_rhythm(spectra, FPS, bpm)
        return beats, bars, 0.0 if bars is None else bars.confidence
    given.check_inside(duration_s)
    bars = given.bars() or find_bars(BarEvidence.from_beats(given.beats_s, spectra, FPS))
    return given.beats(), bars, 0.0 if bars is None else bars.confidence


def rhythm_blocks(beats: Beats, bars: Bars | None, frames: int) -> dict[str, Array]:
    """The features that follow from beats and bars, each (frames, values)."""
    nothing = np.zeros((frames, 1))
    found = {"beat": _beat_pulse(beats.beats_s, frames), "tempo_bpm": nothing}
    position = None
    if len(beats.beats_s) > 1:
        times = np.arange(frames) / FPS
        position = beat_position(beats.beats_s, times)
        found["tempo_bpm"] = local_tempo_bpm(beats.beats_s, times)[:, None]
    bar = None if bars is None or position is None else bar_position(bars, position)
    for name, cycles in (("beat", position), ("bar", bar)):
        if cycles is None:
            found |= {f"{name}_phase": nothing, f"{name}_cycle": np.zeros((frames, 2))}
        else:
            angle = 2 * np.pi * cycles
            # Rounded first: a phase of 0.49999999 is stored as float32, where it would be 0.5.
            phase = np.float32(np.mod(cycles + 0.5, 1.0) - 0.5)
            found[f"{name}_phase"] = np.where(phase >= 0.5, np.float32(-0.5), phase)[:, None]
            found[f"{name}_cycle"] = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return found


BEAT_CYCLES = ("beat_cycle", "bar_cycle")
"""Sine and cosine of beat and bar."""


def feature_values(song: SongFeatures, name: str) -> Array:
    """(frames, values) of a feature; sine and cosine of beats that are not reliable are 0."""
    values = song.array([name])
    reliable = {"beat_cycle": song.has_beat, "bar_cycle": song.bar_confidence >= MIN_CONFIDENCE}
    if not reliable.get(name, True):
        values = np.zeros_like(values)
    return values


def sample_at(values: Array, times: Array) -> Array:
    """(..., values) the frames of (frames, values), 60 a second, nearest to seconds of a song."""
    frames = np.rint(np.asarray(times, np.float64) * FPS)
    return values[np.clip(frames, 0, len(values) - 1).astype(np.intp)]
