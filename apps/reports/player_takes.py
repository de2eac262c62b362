"""Takes of the player, made from clips, their phases and songs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.apps.reports.manifold_cloud import PhaseCloud
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import velocities
from deepphase.phase.clip_phases import ClipPhases
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Channels, Curve, ManifoldCloud, PlayerSong, Take, point_colours

# Limits of a report's player: clips, and frames of all clips.
_MAX_CLIPS, _MAX_FRAMES = 8, 30_000


def takes_of_clips(
    clips: Sequence[Clip],
    phases: Sequence[ClipPhases] = (),
    model: PhaseExtractor | None = None,
    song: PlayerSong | None = None,
) -> list[Take]:
    """One take per clip with its body and speed, and with a model its phases and manifold path."""
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
    return Take.of(
        actor,
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
