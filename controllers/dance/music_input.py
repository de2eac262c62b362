"""What a dancer hears: features of a song, every frame of them in comparable numbers."""

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

# A feature that hardly changes over all songs is no louder for that.
_LEAST_DEVIATION = 1e-3
# What goes on evenly between the samples of a window, or jumps where it is wrapped.
_SMOOTH_ALREADY = (*BEAT_CYCLES, "beat_phase", "bar_phase", "tempo_bpm")


@dataclass(frozen=True, eq=False)
class MusicInput:
    """Reads songs the way that a dancer was trained with.

    Parameters
    ----------
    features
        Names of song features.
    values
        (dims,) what each number is, as in "chroma.C#".
    mean, scale
        (dims,) taken off, and multiplied with: each feature has mean 0 and deviation 1 over the
        songs that were learnt from. Sine and cosine of beat and bar keep their middle, and are as
        long as the song's beats are sure.
    step_s
        Seconds between the moments that are heard at once. An onset is one frame wide: between
        two of them nobody would hear it, and the frame that one of them meets it would make the
        body start. So features are blurred (by a Hann window from one moment to the next but one)
        until an onset is heard in all frames, by one moment or by two.
    bars_s, beats_s
        Seconds, the shortest and the longest of the songs that were learnt from; (0, 0) where
        there were none. Songs outside of these are counted in twice or half as many beats.
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
        cls, songs: Sequence[SongFeatures], features: Sequence[str], step_s: float
    ) -> MusicInput:
        """The normalisation that these songs set.

        Raises ParameterError for a name that is no feature.
        """
        bars_s = _range([bar_seconds(song) for song in songs])
        beats_s = _range([beat_seconds(song) for song in songs])
        means, scales = [], []
        for name in features:
            blurred = [_blurred(song, name, step_s) for song in songs]
            rows = np.concatenate(blurred).astype(np.float64)
            mean = np.zeros(rows.shape[1]) if name in BEAT_CYCLES else rows.mean(axis=0)
            # One scale a feature: quiet bands stay quieter than loud ones.
            deviation = np.sqrt(np.square(rows - mean).mean())
            means.append(mean)
            scales.append(np.full(rows.shape[1], 1.0 / max(deviation, _LEAST_DEVIATION)))
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
        """Numbers a frame."""
        return len(self.mean)

    def counted(self, song: SongFeatures) -> SongFeatures:
        """The song, its beats counted as those of the songs that were learnt from."""
        return within_tempo_range(song, octaves_to(song, self.bars_s, self.beats_s))

    def rows(self, song: SongFeatures) -> Array:
        """(frames, dims) float32: every frame of a song, 60 a second."""
        song = self.counted(song)
        blurred = [_blurred(song, name, self.step_s) for name in self.features]
        heard = np.concatenate(blurred, axis=1)
        return ((heard - self.mean) * self.scale).astype(np.float32)

    def track(self, song: SongFeatures, frames: int, fps: float, start_s: float) -> Array:
        """(frames, dims) of a motion's frames, the first of which is at `start_s` of the song.

        Before the song and behind it its first and last frame go on.
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
            Where it is none, or of features that are computed otherwise now.
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
                raise ValueError(f"{made.step_s} s between moments")
            dims = sum(len(SONG_FEATURE_KINDS[name].values) for name in features)
            if made.mean.shape != (dims,) or made.scale.shape != (dims,):
                raise ValueError(f"{made.mean.shape} numbers of {dims}")
            if list(made.values) != value_names(features):
                raise ValueError("other values")
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise CheckpointError(
                f"no song features that are known: {' '.join(str(error).split())[:200]}",
                hint="train the dancer again",
            ) from None
        return made


def _range(lengths_s: Sequence[float | None]) -> Range:
    given = [each for each in lengths_s if each]
    return (min(given), max(given)) if given else (0.0, 0.0)


def _pair(values: Sequence[float]) -> Range:
    shortest, longest = map(float, values)
    if not 0 <= shortest <= longest < np.inf:
        raise ValueError(f"a range from {shortest} to {longest} s")
    return shortest, longest


def _blurred(song: SongFeatures, name: str, step_s: float) -> Array:
    """(frames, values) of a feature, as it may be sampled that far apart."""
    values = feature_values(song, name)
    if name in _SMOOTH_ALREADY:
        return values
    window = np.hanning(2 * round(step_s * FPS) + 1)
    # Of two frames or less: nothing lies between.
    if len(window) < 5:
        return values
    return convolve1d(values, window / window.sum(), axis=0, mode="nearest")
