"""Audio input of a dancer: normalised and smoothed features of a song, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import convolve1d

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, ParameterError
from deepphase.music.conditioning import BEAT_CYCLES, feature_values, sample_at
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, SongFeatures, value_names
from deepphase.music.tempo_range import (
    Range,
    bar_seconds,
    beat_seconds,
    octaves_to,
    within_tempo_range,
)

# Lower bound of a standard deviation: a feature that hardly changes is not scaled up.
_MIN_DEVIATION = 1e-3
# Features that are not smoothed: they are smooth already, or jump where they are wrapped.
_SMOOTH_ALREADY = (*BEAT_CYCLES, "beat_phase", "bar_phase", "tempo_bpm")


@dataclass(frozen=True, eq=False)
class MusicInput:
    """Audio features with the normalisation of a training.

    Parameters
    ----------
    features
        Names of song features.
    values
        (dims,) names of the columns, as in "chroma.C#".
    mean, scale
        (dims,) each, subtracted and then multiplied: each feature has mean 0 and standard
        deviation 1 over the training songs. Sine and cosine of beat and bar keep mean 0, and are
        0 in songs without reliable beats.
    step_s
        Seconds between the samples of the network's audio window. An onset lasts one frame;
        sampled every `step_s` it is usually missed, and when hit it makes the motion jerk.
        Features are therefore smoothed with a Hann window of twice that length, so that every
        onset reaches one or two samples of every window.
    bars_s, beats_s
        Shortest and longest bar and beat of the training songs, in seconds; (0, 0) if they had
        none. The beats of songs outside of this range are counted at half or double tempo.
    """

    features: tuple[str, ...]
    values: tuple[str, ...]
    mean: Array
    scale: Array
    step_s: float
    bars_s: Range
    beats_s: Range

    @classmethod
    def of_songs(
        cls,
        songs: Sequence[SongFeatures],
        features: Sequence[str],
        step_s: float,
        tempi: Range = (1.0, 1.0),
    ) -> MusicInput:
        """Fit the normalisation to songs.

        Parameters
        ----------
        songs, features, step_s
            Songs of the training, and the attributes of the result.
        tempi
            Slowest and fastest tempo at which the songs are used, as multiples of their own.

        Raises
        ------
        ParameterError
            For an unknown feature.
        """
        bars_s = _range([bar_seconds(song) for song in songs], tempi)
        beats_s = _range([beat_seconds(song) for song in songs], tempi)
        means, scales = [], []
        for name in features:
            smoothed = [_smoothed(song, name, step_s) for song in songs]
            rows = np.concatenate(smoothed).astype(np.float64)
            mean = np.zeros(rows.shape[1]) if name in BEAT_CYCLES else rows.mean(axis=0)
            # One scale per feature keeps quiet bands quieter than loud ones.
            deviation = np.sqrt(np.square(rows - mean).mean())
            means.append(mean)
            scales.append(np.full(rows.shape[1], 1.0 / max(deviation, _MIN_DEVIATION)))
        return cls(
            tuple(features),
            tuple(value_names(features)),
            np.concatenate(means).astype(np.float32),
            np.concatenate(scales).astype(np.float32),
            step_s,
            bars_s,
            beats_s,
        )

    @property
    def dims(self) -> int:
        """Number of values per frame."""
        return len(self.mean)

    def in_tempo_range(self, song: SongFeatures) -> SongFeatures:
        """The song, with beats at half or double tempo if it is outside the training range."""
        return within_tempo_range(song, octaves_to(song, self.bars_s, self.beats_s))

    def rows(self, song: SongFeatures) -> Array:
        """(frames, dims) float32 normalised features of a song, 60 frames a second."""
        song = self.in_tempo_range(song)
        smoothed = [_smoothed(song, name, self.step_s) for name in self.features]
        values = np.concatenate(smoothed, axis=1)
        return ((values - self.mean) * self.scale).astype(np.float32)

    def track(self, song: SongFeatures, frames: int, fps: float, start_s: float) -> Array:
        """(frames, dims) normalised features at the frames of a motion.

        The motion's first frame is at `start_s` of the song. Before the song's start and after its
        end, the first and last frame are repeated.
        """
        return sample_at(self.rows(song), np.arange(frames) / fps + start_s)

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        return {
            "features": list(self.features),
            "values": list(self.values),
            "mean": self.mean.astype(float).tolist(),
            "scale": self.scale.astype(float).tolist(),
            "step_s": self.step_s,
            "bars_s": list(self.bars_s),
            "beats_s": list(self.beats_s),
        }

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> MusicInput:
        """What `as_mapping` wrote.

        Raises
        ------
        CheckpointError
            If the content is invalid, or its features are computed in another way now.
        """
        try:
            features = tuple(content["features"])
            made = cls(
                features,
                tuple(content["values"]),
                np.array(content["mean"], np.float32),
                np.array(content["scale"], np.float32),
                float(content["step_s"]),
                *(_pair(content[name]) for name in ("bars_s", "beats_s")),
            )
            if not 0 < made.step_s < np.inf:
                raise ValueError(f"step_s is {made.step_s}")
            dims = sum(len(SONG_FEATURE_KINDS[name].values) for name in features)
            if made.mean.shape != (dims,) or made.scale.shape != (dims,):
                raise ValueError(f"mean of shape {made.mean.shape}, expected ({dims},)")
            if list(made.values) != value_names(features):
                raise ValueError("other names of values")
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise CheckpointError(
                f"these are invalid music input: {' '.join(str(error).split())[:200]}",
                hint="train the dancer again",
            ) from None
        return made


def _range(lengths_s: Sequence[float | None], tempi: Range) -> Range:
    known = [each for each in lengths_s if each]
    return (min(known) / tempi[1], max(known) / tempi[0]) if known else (0.0, 0.0)


def _pair(values: Sequence[float]) -> Range:
    shortest, longest = map(float, values)
    if not 0 <= shortest <= longest < np.inf:
        raise ValueError(f"a range from {shortest} to {longest} s")
    return shortest, longest


def _smoothed(song: SongFeatures, name: str, step_s: float) -> Array:
    """(frames, values) of a feature, smoothed for sampling every `step_s` seconds."""
    values = feature_values(song, name)
    if name in _SMOOTH_ALREADY:
        return values
    window = np.hanning(2 * round(step_s * FPS) + 1)
    # Steps of one frame need no smoothing.
    if len(window) < 5:
        return values
    return convolve1d(values, window / window.sum(), axis=0, mode="nearest")
