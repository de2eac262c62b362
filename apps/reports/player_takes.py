"""Clips with their phases as the player shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.reports.manifold_cloud import ModelCloud as ClipsOnManifold
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import FormatError
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.song import PlayerSong
from deepphase.figures.player.take import Channels, Curve, ManifoldCloud, Take, point_colours
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import velocities
from deepphase.music.cache import song_features
from deepphase.music.features import MIN_CONFIDENCE
from deepphase.music.spectra import MEL_RANGE_HZ
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases

# Frames of a column: 30 columns a second are as fine as a lane shows them.
_FRAMES_A_COLUMN = 2


def song_for_player(path: str | Path) -> PlayerSong:
    """The song of a file; a file that only browsers can decode has no spectrogram and no beats.

    Beats and bars are there where they can be heard with some confidence.

    Raises
    ------
    FormatError
        Where the file cannot be read or browsers do not play its format.
    """
    song = PlayerSong.of_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    given = {}
    if features.beat_confidence >= MIN_CONFIDENCE:
        given["beats"] = features.beats_s
    if features.downbeats_s is not None:
        given["downbeats"] = features.downbeats_s
    return PlayerSong.of_file(
        path,
        duration_s=features.duration_s,
        spectrogram=features.blocks["mel"][::_FRAMES_A_COLUMN].T,
        band_hz=MEL_RANGE_HZ,
        **given,
    )


# Of a report's player: clips, and frames of all of them.
_CLIPS, _FRAMES = 8, 30_000


def takes_of_clips(
    clips: Sequence[Clip],
    phases: Sequence[ClipPhases] = (),
    model: PhaseExtractor | None = None,
    song: PlayerSong | None = None,
) -> list[Take]:
    """A take a clip: its body, its speed and, with a model, its phases and place on the manifold.

    Parameters
    ----------
    phases
        Of each clip, by the model; empty without one.
    song
        Played to every take from its start.
    """
    channels: list[Channels | None] = [None] * len(clips)
    places: list[ManifoldCloud | None] = [None] * len(clips)
    if model is not None:
        channels = [Channels(each.parameters, each.fps, each.interior) for each in phases]
        places = list(_places(model, phases))
    return [
        _take(clip, channel, place, song)
        for clip, channel, place in zip(clips, channels, places, strict=True)
    ]


def takes_of_store(model: PhaseExtractor, store: ClipStore) -> list[Take]:
    """Some clips of a store, spread evenly over it, as long as a page opens at once."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(_CLIPS, len(store))).round())
    clips: list[Clip] = []
    left = _FRAMES
    for index in chosen.astype(int).tolist():
        clip = store.clip(index)
        clips.append(clip.sliced(0, left))
        left -= len(clip)
        if left < 1:
            break
    return takes_of_clips(clips, [model.encode(clip) for clip in clips], model)


def _take(
    clip: Clip, channels: Channels | None, place: ManifoldCloud | None, song: PlayerSong | None
) -> Take:
    actor = Actor.of_clip(clip)
    curves = []
    if actor.root_positions is not None and len(actor) > 1:
        speed = np.linalg.norm(velocities(actor.root_positions, actor.fps), axis=-1)
        curves.append(Curve("Speed", "m/s", speed, actor.fps))
    given = [f"{name}: {value}" for name, value in clip.labels.items()]
    return Take(
        name=clip.name,
        actors=[actor],
        channels=channels,
        manifold=place,
        curves=curves,
        song=song,
        note=", ".join(given),
    )


def _places(model: PhaseExtractor, phases: Sequence[ClipPhases]) -> list[ManifoldCloud | None]:
    if not any(len(each) for each in phases):
        return [None] * len(phases)
    manifold = np.concatenate([each.parameters.manifold() for each in phases])
    projection = model.projection or ManifoldProjection.fit(manifold)
    cloud = ClipsOnManifold.of(model, [each for each in phases if len(each)], projection)
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
