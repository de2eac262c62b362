"""Trained dancer: a controller conditioned on music, with measures of its training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import convolve1d

from deepphase.arrays import Array, counted, short_repr
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.runtime.controller import Controller
from deepphase.errors import CheckpointError
from deepphase.evaluation.dance import DanceReference
from deepphase.formats.array_file import fitting_parts
from deepphase.music.features import (
    BEAT_CYCLES,
    FPS,
    SONG_FEATURE_KINDS,
    SongFeatures,
    feature_values,
    sample_at,
    value_names,
)

# Key of the dancer's part of a controller file.
_HEADER = "dance"
# Lower bound of a standard deviation: a feature that hardly changes is not scaled up.
_MIN_DEVIATION = 1e-3
# Features that are not smoothed: they are smooth already, or jump where they are wrapped.
_SMOOTH_ALREADY = (*BEAT_CYCLES, "beat_phase", "bar_phase", "tempo_bpm")


@dataclass(frozen=True, eq=False)
class MusicInput:
    """Audio features with the normalisation of a training."""

    features: tuple[str, ...]
    values: tuple[str, ...]  # (dims,) names of the columns, as in "chroma.C#"
    # mean, scale: (dims,) each, subtracted and then multiplied: each feature has mean 0 and
    # standard deviation 1 over the training songs. Sine and cosine of beat and bar keep mean 0, and
    # are 0 in songs without reliable beats.
    mean: Array
    scale: Array
    # Seconds between the samples of the network's audio window. An onset lasts one frame; sampled
    # every `step_s` it is usually missed, and when hit it makes the motion jerk. Features are
    # therefore smoothed with a Hann window of twice that length, so that every onset reaches one or
    # two samples of every window.
    step_s: float

    @classmethod
    def from_songs(
        cls, songs: Sequence[SongFeatures], features: Sequence[str], step_s: float
    ) -> MusicInput:
        """Fit the normalisation to songs; raises ParameterError for an unknown feature."""
        means, scales = [], []
        for name in features:
            smoothed = [_smoothed(song, name, step_s) for song in songs]
            rows = np.concatenate(smoothed).astype(np.float64)
            mean = np.zeros(rows.shape[1]) if name in BEAT_CYCLES else rows.mean(axis=0)
            # One scale per feature keeps quiet bands quieter than loud ones.
            deviation = np.sqrt(np.square(rows - mean).mean())
            means.append(mean)
            scales.append(np.full(rows.shape[1], 1.0 / max(deviation, _MIN_DEVIATION)))
        mean, scale = (np.concatenate(parts).astype(np.float32) for parts in (means, scales))
        return cls(tuple(features), tuple(value_names(features)), mean, scale, step_s)

    def rows(self, song: SongFeatures) -> Array:
        """(frames, dims) float32 normalised features of a song, 60 frames a second."""
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
        }

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> MusicInput:
        """What `as_mapping` wrote; raises CheckpointError if it is invalid."""
        with fitting_parts("dancer's music input", "train it again"):
            features, values = tuple(content["features"]), tuple(content["values"])
            mean, scale = (np.array(content[name], np.float32) for name in ("mean", "scale"))
            step_s = float(content["step_s"])
            if not 0 < step_s < np.inf:
                raise ValueError(f"step_s is {step_s}")
            dims = sum(len(SONG_FEATURE_KINDS[name].values) for name in features)
            if mean.shape != (dims,) or scale.shape != (dims,):
                raise ValueError(f"mean of shape {mean.shape}, expected ({dims},)")
            if list(values) != value_names(features):
                raise ValueError("other names of values")
        return cls(features, values, mean, scale, step_s)


def _smoothed(song: SongFeatures, name: str, step_s: float) -> Array:
    """(frames, values) of a feature, smoothed for sampling every `step_s` seconds."""
    values = feature_values(song, name)
    window = np.hanning(2 * round(step_s * FPS) + 1)
    # Steps of one frame need no smoothing.
    if name in _SMOOTH_ALREADY or len(window) < 5:
        return values
    return convolve1d(values, window / window.sum(), axis=0, mode="nearest")


@dataclass(frozen=True, eq=False)
class Dancer:
    """Controller conditioned on music, with what it takes to generate a dance to a song.

    A dancer is stored as one controller file.

    Parameters
    ----------
    controller
        Its schema has the track "music".
    music
        Normalised audio features for that track.
    reference
        Measures of the dances of the training data.
    path_share
        Share of the network's path over the ground that its dances keep, see
        `deepphase.controllers.dance.training.path_share`.
    """

    controller: Controller
    music: MusicInput
    reference: DanceReference
    path_share: float = 1.0

    def __repr__(self) -> str:
        joints = counted(len(self.controller.skeleton), "joint")
        return short_repr(self, self.controller.name, joints, f"{self.controller.fps:g} Hz")

    def save(self, path: str | Path) -> None:
        """Write the dancer's file atomically."""
        header = {
            "music": self.music.as_mapping(),
            "reference": self.reference.as_mapping(),
            "path_share": self.path_share,
        }
        data = {**self.controller.data, _HEADER: header}
        replace(self.controller, data=data).save(path)

    @classmethod
    def load(cls, path: str | Path) -> Dancer:
        """Read a dancer's file.

        Raises
        ------
        CheckpointError
            If the file is damaged, of another format, or a controller without music input.
        """
        controller = Controller.load(path)
        header = controller.data.get(_HEADER)
        if MUSIC not in controller.schema.inputs or not isinstance(header, Mapping):
            raise CheckpointError(
                f"this is a controller ({controller.name}) without music input, not a dancer",
                hint="give a file that `deepphase train dance` wrote",
                path=path,
            )
        with fitting_parts("dancer", "train it again", path):
            return cls(controller, *_of_header(header, controller))


def _of_header(
    header: Mapping[str, Any], controller: Controller
) -> tuple[MusicInput, DanceReference, float]:
    again = "train the dancer again"
    missing = [name for name in ("music", "reference") if name not in header]
    if missing:
        raise CheckpointError(f"this is a dancer without {missing[0]} data", hint=again)
    if others := set(controller.schema.config.tracks) - {MUSIC}:
        raise CheckpointError(
            f"this dancer reads {min(others)}, which dances no longer have", hint=again
        )
    music = MusicInput.from_mapping(header["music"])
    width = controller.schema.inputs[MUSIC].channels
    if len(music.mean) != width:
        raise CheckpointError(
            f"{len(music.mean)} music values a frame, but the network has {width} music inputs",
            hint="the file was changed after it was written: train again or use a backup",
        )
    share = header.get("path_share", 1.0)
    if not (isinstance(share, int | float) and 0.0 < share <= 10.0):
        raise CheckpointError("the share of the path is invalid", hint=again)
    return music, DanceReference.from_mapping(header["reference"]), float(share)
