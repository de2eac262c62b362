"""The signals of a song that phases are learnt from: its features, each of the same weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deepphase.arrays import Array
from deepphase.config import checked_number, checked_texts
from deepphase.errors import ParameterError
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, SongFeatures, check_names, value_names
from deepphase.phase.config import SONG_KIND

SONG_FEATURES = ("mel", "chroma", "spectral_flux", "onset_strength", "beat")
"""Default features of a song: its spectrum, its onsets and its tracked beats."""

# A value that varies less than this share of the liveliest one of its feature counts as that much:
# a band that is all but empty is not blown up.
_LEAST = 0.05


@dataclass(frozen=True)
class SongSignals:
    """Features of a song, each divided by how much it varies.

    `scale` (signals,) what each value is divided by, > 0: its standard deviation over the songs
    that were learnt from, times the square root of its feature's number of values. So each feature
    has the same say, whatever its unit and however many values it has.
    """

    KIND: ClassVar[str] = SONG_KIND
    UNIT: ClassVar[str] = "1"
    NORMALISATION: ClassVar[str] = (
        "each signal is divided by its scale; the mean over a window is taken off each signal"
    )
    # Before its first frame and after its last one a song sounds on as in these.
    PADDING: ClassVar[str] = "edge"

    features: tuple[str, ...]
    scale: tuple[float, ...]

    def __post_init__(self) -> None:
        wanted, scale = len(value_names(self.features)), np.array(self.scale)
        if scale.shape != (wanted,) or not (np.isfinite(scale) & (scale > 0)).all():
            raise ParameterError(
                f"a scale has shape {scale.shape}, but songs have {wanted} values",
                hint="give each value a scale above 0, or use SongSignals.from_values",
            )

    @classmethod
    def from_values(
        cls, values: Array, starts: Array, features: Sequence[str] = SONG_FEATURES
    ) -> SongSignals:
        """With the scale that fits songs: (frames, signals) values, `starts` (songs,) of each."""
        check_names(features)
        summed = np.zeros(values.shape[1])
        for song in np.split(values, np.asarray(starts)[1:]):
            summed += np.square(song - song.mean(0, dtype=np.float64)).sum(0)
        deviation = np.sqrt(summed / len(values))
        counts = [len(SONG_FEATURE_KINDS[name].values) for name in features]
        scale = []
        for name, part in zip(features, np.split(deviation, np.cumsum(counts)[:-1]), strict=True):
            if not part.max() > 1e-6:
                raise ParameterError(
                    f"{name} is the same all through every song",
                    hint="leave it out of --features, or give songs that are not silent",
                )
            scale.append(np.maximum(part, _LEAST * part.max()) * np.sqrt(len(part)))
        return cls(tuple(features), tuple(np.concatenate(scale).tolist()))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> SongSignals:
        """From what `as_mapping` made, as model files hold it; KeyError where a part is missing."""
        if content["fps"] != FPS or content["values"] != value_names(content["features"]):
            raise ValueError("its features of songs are those of another version")
        features = checked_texts(content["features"], "features")
        return cls(
            features, tuple(checked_number(value, "scale", 0.0) for value in content["scale"])
        )

    def as_mapping(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        return {
            "features": list(self.features),
            "values": self.names,
            "fps": self.fps,
            "scale": list(self.scale),
        }

    @property
    def fps(self) -> float:
        """60, the rate of all features."""
        return FPS

    @property
    def names(self) -> list[str]:
        """(signals,) names of the signals, as in "chroma.C#"."""
        return value_names(self.features)

    @property
    def groups(self) -> list[str]:
        """(signals,) the feature that each signal is a value of."""
        return [name for name in self.features for _ in SONG_FEATURE_KINDS[name].values]

    def mirror(self) -> None:
        """A song has no mirror image."""

    def read(self, song: SongFeatures) -> Array:
        """(frames, signals) float32 without unit."""
        return self.scaled(song.array(self.features))

    def scaled(self, values: Array) -> Array:
        """(frames, signals) float32: the features' values over the scale."""
        return values / np.array(self.scale, np.float32)
