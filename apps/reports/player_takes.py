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
    manifolds = [None] * len(clips) if model is None else _manifolds(model, phases)
    takes = []
    for index, clip in enumerate(clips):
        actor, curves, channels = Actor.of_clip(clip), [], None
        if actor.root_positions is not None and len(actor) > 1:
            speed = np.linalg.norm(velocities(actor.root_positions, actor.fps), axis=-1)
            curves.append(Curve("Speed", "m/s", speed, actor.fps))
        if model is not None:
            own = phases[index]
            channels = Channels(own.parameters, own.fps, own.interior)
        take = Take.of(
            actor,
            channels=channels,
            manifold=manifolds[index],
            curves=curves,
            song=song,
            note=", ".join(f"{name}: {value}" for name, value in clip.labels.items()),
        )
        takes.append(take)
    return takes


def takes_of_store(model: PhaseExtractor, store: ClipStore) -> list[Take]:
    """Takes of some clips, spread evenly over a store, within the limits of one page."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(_MAX_CLIPS, len(store))).round())
    clips: list[Clip] = []
    left = _MAX_FRAMES
    for index in chosen.astype(int).tolist():
        if left > 0:
            clips.append(store.clip(index).sliced(0, left))
            left -= len(clips[-1])
    return takes_of_clips(clips, [model.encode(clip) for clip in clips], model)


def _manifolds(model: PhaseExtractor, phases: Sequence[ClipPhases]) -> list[ManifoldCloud | None]:
    whole = [each for each in phases if len(each)]
    if not whole:
        return [None] * len(phases)
    points = np.concatenate([each.parameters.manifold() for each in whole])
    projection = model.projection or ManifoldProjection.fit(points)
    cloud = PhaseCloud.of(model, whole, projection)
    colours = point_colours(cloud.by_clip())
    made: list[ManifoldCloud | None] = []
    for each in phases:
        path = projection(each.parameters.manifold())
        about = (cloud.points, path, each.fps, projection.explained, colours, "clip")
        made.append(ManifoldCloud(*about) if len(each) else None)
    return made
