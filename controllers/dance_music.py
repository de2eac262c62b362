"""What a dancer hears: features of a song, every frame of them in comparable numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.errors import CheckpointError, ParameterError
from deepphase.music.features import FPS, KINDS, SURE, SongFeatures, value_names

Array = np.ndarray

# A feature that hardly changes over all songs is no louder for that.
_LEAST_DEVIATION = 1e-3
# Blocks whose length says how sure a song's beats or bars are.
_CYCLES = {"beat_cycle": "beat_confidence", "bar_cycle": "bar_confidence"}


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
    """

    features: tuple[str, ...]
    values: tuple[str, ...]
    mean: Array
    scale: Array

    @classmethod
    def of_songs(cls, songs: Sequence[SongFeatures], features: Sequence[str]) -> MusicInput:
        """The normalisation that these songs set.

        Raises ParameterError for a name that is no feature.
        """
        means, scales = [], []
        for name in features:
            rows = np.concatenate([_heard(song, name) for song in songs]).astype(np.float64)
            mean = np.zeros(rows.shape[1]) if name in _CYCLES else rows.mean(axis=0)
            # One scale a feature: quiet bands stay quieter than loud ones.
            deviation = np.sqrt(np.square(rows - mean).mean())
            means.append(mean)
            scales.append(np.full(rows.shape[1], 1.0 / max(deviation, _LEAST_DEVIATION)))
        return cls(
            tuple(features),
            tuple(value_names(features)),
            np.concatenate(means).astype(np.float32),
            np.concatenate(scales).astype(np.float32),
        )

    @property
    def dims(self) -> int:
        """Numbers a frame."""
        return len(self.mean)

    def rows(self, song: SongFeatures) -> Array:
        """(frames, dims) float32: every frame of a song, 60 a second."""
        heard = np.concatenate([_heard(song, name) for name in self.features], axis=1)
        return ((heard - self.mean) * self.scale).astype(np.float32)

    def track(self, song: SongFeatures, frames: int, fps: float, start_s: float) -> Array:
        """(frames, dims) of a motion's frames, the first of which is at `start_s` of the song.

        Before the song and behind it its first and last frame go on.
        """
        rows = self.rows(song)
        moments = (np.arange(frames) / fps + start_s) * FPS
        return rows[np.clip(np.rint(moments), 0, len(rows) - 1).astype(np.intp)]

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        return {
            "features": list(self.features),
            "values": list(self.values),
            "mean": self.mean.astype(float).tolist(),
            "scale": self.scale.astype(float).tolist(),
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
            )
            dims = sum(len(KINDS[name].values) for name in features)
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


def sureness(confidence: float) -> float:
    """0 to 1: how far beats or bars of that confidence are to be relied on."""
    return min(confidence / SURE, 1.0)


def _heard(song: SongFeatures, name: str) -> Array:
    rows = song.array([name])
    if name in _CYCLES:
        rows = rows * np.float32(sureness(getattr(song, _CYCLES[name])))
    return rows
