"""Takes of the player, made from clips, their phases and songs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.reports.manifold_cloud import PhaseCloud
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import FormatError
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import velocities
from deepphase.music.cache import song_features
from deepphase.music.spectra import MEL_RANGE_HZ
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.viewer.actor import Actor
from deepphase.viewer.song import PlayerSong
from deepphase.viewer.take import Channels, Curve, ManifoldCloud, Take, point_colours

# Frames of the features (60 Hz) in one column of the spectrogram.
_FRAMES_PER_COLUMN = 2


def song_for_player(path: str | Path) -> PlayerSong:
    """The song of a file with its spectrogram, beats and downbeats.

    Beats and downbeats of low confidence are left out. A file that only browsers can decode has
    no spectrogram, beats or downbeats.

    Raises
    ------
    FormatError
        If the file cannot be read or browsers do not play its format.
    """
    song = PlayerSong.of_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    known = {}
    if features.has_beat:
        known["beats"] = features.beats_s
    if features.downbeats_s is not None:
        known["downbeats"] = features.downbeats_s
    return PlayerSong.of_file(
        path,
        duration_s=features.duration_s,
        spectrogram=features.blocks["mel"][::_FRAMES_PER_COLUMN].T,
        band_hz=MEL_RANGE_HZ,
        **known,
    )


# Limits of a report's player: clips, and frames of all clips.
_MAX_CLIPS, _MAX_FRAMES = 8, 30_000


def takes_of_clips(
    clips: Sequence[Clip],
    phases: Sequence[ClipPhases] = (),
    model: PhaseExtractor | None = None,
    song: PlayerSong | None = None,
) -> list[Take]:
    """One take per clip with its body and speed, and with a model its phases and manifold path.

    Parameters
    ----------
    clips
        The clips.
    phases
        The model's phases of each clip; empty without a model.
    model
        A phase model or baseline.
    song
        Song of every take, from its start.
    """
    channels: list[Channels | None] = [None] * len(clips)
    manifolds: list[ManifoldCloud | None] = [None] * len(clips)
    if model is not None:
        channels = [Channels(each.parameters, each.fps, each.interior) for each in phases]
        manifolds = _manifolds(model, phases)
    return [
        _take(clip, channel, manifold, song)
        for clip, channel, manifold in zip(clips, channels, manifolds, strict=True)
    ]


def takes_of_store(model: PhaseExtractor, store: ClipStore) -> list[Take]:
    """Takes of some clips, spread evenly over a store, within the limits of one page."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(_MAX_CLIPS, len(store))).round())
    clips: list[Clip] = []
    left = _MAX_FRAMES
    for index in chosen.astype(int).tolist():
        clip = store.clip(index)
        clips.append(clip.sliced(0, left))
        left -= len(clip)
        if left < 1:
            break
    return takes_of_clips(clips, [model.encode(clip) for clip in clips], model)


def _take(
    clip: Clip, channels: Channels | None, manifold: ManifoldCloud | None, song: PlayerSong | None
) -> Take:
    actor = Actor.of_clip(clip)
    curves = []
    if actor.root_positions is not None and len(actor) > 1:
        speed = np.linalg.norm(velocities(actor.root_positions, actor.fps), axis=-1)
        curves.append(Curve("Speed", "m/s", speed, actor.fps))
    labels = [f"{name}: {value}" for name, value in clip.labels.items()]
    return Take(
        name=clip.name,
        actors=[actor],
        channels=channels,
        manifold=manifold,
        curves=curves,
        song=song,
        note=", ".join(labels),
    )


def _manifolds(model: PhaseExtractor, phases: Sequence[ClipPhases]) -> list[ManifoldCloud | None]:
    if not any(len(each) for each in phases):
        return [None] * len(phases)
    points = np.concatenate([each.parameters.manifold() for each in phases])
    projection = model.projection or ManifoldProjection.fit(points)
    cloud = PhaseCloud.of(model, [each for each in phases if len(each)], projection)
    colours = point_colours(cloud.by_clip())
    return [
        ManifoldCloud(
            cloud.points,
            projection(each.parameters.manifold()),
            each.fps,
            projection.explained,
            colours,
            "clip",
        )
        if len(each)
        else None
        for each in phases
    ]
