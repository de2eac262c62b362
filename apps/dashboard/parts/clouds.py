"""Frames of the open clips as points of the phase manifold, and the passages selected there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from apps.dashboard.parts.collection import OpenClips, OpenModel
from apps.dashboard.parts.encodings import MAX_POINTS, Encodings, all_phases, encodings
from apps.reports.manifold_cloud import PhaseCloud
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinning, thinning_note
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import ManifoldCloud, Marker, Take, point_colours
from deepphase.motion.clip import Clip
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.phase.parameters import PhaseParameters

# Numbers of points to choose from, the default first.
POINTS = (5_000, 10_000, MAX_POINTS)
# Clouds in the cache of all sessions: some megabytes each.
_CACHED_CLOUDS = 12
# Values of a label that a legend can distinguish.
_MAX_VALUES = 60
# Shorter gaps between selected frames belong to the passage, as points are every n-th frame.
_MAX_GAP_S = 0.15
# A shorter selection is extended to this length.
_MIN_PASSAGE_S = 0.5
# Limits of the selection that plays, so that the player is ready at once.
MAX_PLAYED_S, MAX_PASSAGES = 90.0, 40
# Frames around a passage that contact detection reads too.
_MARGIN_S = 0.5


@dataclass(frozen=True, eq=False)
class OpenCloud:
    """Frames of the open clips with their positions on the manifold and their colours.

    Parameters
    ----------
    cloud
        The points of the phase manifold.
    projection
        Projection of the manifold to three dimensions.
    clip, frame
        (points,) index of the clip in the store, and of the frame at the model's rate.
    colourings
        Name -> colouring of the points.
    velocities
        (points, 3) principal components of the joint velocities of the same frames.
    velocities_explained
        (3,) share of the variance of each of these components.
    """

    cloud: PhaseCloud
    projection: ManifoldProjection
    clip: Array
    frame: Array
    colourings: dict[str, Colouring]
    velocities: Array
    velocities_explained: Array


def open_cloud(clips: OpenClips, model: OpenModel, max_points: int = POINTS[0]) -> OpenCloud:
    """The phase manifold of all clips as points, with progress on the page."""
    all_phases(clips, model)
    return _cached_cloud(clips.key, model.key, max_points, encodings(clips, model))


@st.cache_resource(max_entries=_CACHED_CLOUDS, show_spinner="Drawing the manifold")
def _cached_cloud(
    clips_key: Hashable, model_key: str, max_points: int, _read: Encodings
) -> OpenCloud:
    return make_cloud(_read, max_points)


def make_cloud(read: Encodings, max_points: int) -> OpenCloud:
    """Up to `max_points` of the encoded frames, spread evenly over all clips."""
    store = read.store
    phases = read.all()
    usable = [read.frames(index) for index in range(len(store))]
    step = thinning(sum(map(len, usable)), max_points)
    frames = tuple(each[::step] for each in usable)
    chosen = [each.parameters[f] for each, f in zip(phases, frames, strict=True)]
    parameters = PhaseParameters(
        *(
            np.concatenate([getattr(each, name) for each in chosen])
            for name in ("phase", "frequency", "amplitude", "offset")
        )
    )
    manifold = parameters.manifold()
    projection = read.extractor.projection or ManifoldProjection.fit(manifold)
    lengths = [len(f) for f in frames]
    cloud = PhaseCloud(
        parameters,
        projection(manifold),
        projection.explained,
        np.repeat(np.array(store.names), lengths),
        np.concatenate([each.time[f] for each, f in zip(phases, frames, strict=True)]),
        frames,
        read.padded,
        _note(read, sum(lengths)),
    )
    everything = np.concatenate([read.signals(index) for index in range(len(store))])
    view = ManifoldProjection.fit(everything)
    velocities = np.concatenate([read.signals(index)[::step] for index in range(len(store))])
    return OpenCloud(
        cloud,
        projection,
        np.repeat(np.arange(len(store)), lengths),
        np.concatenate(frames),
        _colourings(read, cloud),
        view(velocities),
        view.explained,
    )


def _note(read: Encodings, points: int) -> str:
    total = sum(int(each.interior.sum()) for each in read.all())
    return thinning_note(max(1, round(total / max(points, 1))), total)


def _colourings(read: Encodings, cloud: PhaseCloud) -> dict[str, Colouring]:
    """Name -> colouring, in the order of the chooser."""
    store = read.store
    colourings = {"Clip": cloud.by_clip()}
    for name in store.label_names:
        values = [labels.get(name, "") for labels in store.labels]
        if 2 <= len(set(values)) <= _MAX_VALUES:
            colourings[f"Label: {name}"] = cloud.by_label(name, values)
    colourings["Time"] = cloud.by_time()
    speeds = [read.speed(index) for index in range(len(store))]
    if all(each is not None for each in speeds):
        colourings["Speed"] = cloud.by_speed([each for each in speeds if each is not None])
    colourings["Frequency"] = cloud.by_frequency()
    colourings["Amplitude"] = cloud.by_amplitude()
    colourings["Phase"] = cloud.by_phase()
    return colourings


def trace_points(colouring: Colouring) -> list[Array]:
    """Indices of the points in each trace of a figure with this colouring."""
    if not colouring.categorical:
        return [np.arange(len(colouring.values))]
    return [chosen for chosen, _ in colouring.categories()]


class Passage(NamedTuple):
    """Frames `start` to `stop` - 1 of one clip, at the model's rate."""

    clip: int
    start: int
    stop: int


def selected_points(selection: Mapping[str, Any], colouring: Colouring) -> Array:
    """Sorted indices of the cloud's points in plotly's selection event."""
    traces = trace_points(colouring)
    indices = []
    for point in selection.get("points", ()):
        trace, index = point.get("curve_number"), point.get("point_index")
        if isinstance(trace, int) and isinstance(index, int) and 0 <= trace < len(traces):
            indices += [int(traces[trace][index])] if 0 <= index < len(traces[trace]) else []
    return np.unique(np.array(indices, np.int64))


def passages_of(
    cloud: OpenCloud, points: Array, fps: float, lengths: Sequence[int]
) -> list[Passage]:
    """Contiguous runs of selected frames, clip by clip in order of time.

    Parameters
    ----------
    points
        Sorted indices of the cloud's points.
    fps
        Rate of the frames, Hz.
    lengths
        Number of frames of each clip.
    """
    if not points.size:
        return []
    clip, frame = cloud.clip[points], cloud.frame[points]
    step = int(np.median(np.diff(cloud.frame)[np.diff(cloud.clip) == 0])) if len(clip) > 1 else 1
    gap = max(step, round(_MAX_GAP_S * fps))
    ends = np.flatnonzero((np.diff(clip) != 0) | (np.diff(frame) > gap))
    starts, stops = np.r_[0, ends + 1], np.r_[ends, len(points) - 1]
    shortest = round(_MIN_PASSAGE_S * fps)
    passages = []
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        start, stop = int(frame[first]), int(frame[last]) + 1
        if len(starts) == 1 and stop - start < shortest:
            start = max(0, (start + stop - shortest) // 2)
            stop = min(start + shortest, lengths[int(clip[first])])
        passages.append(Passage(int(clip[first]), start, stop))
    return passages


def playable(passages: Sequence[Passage], fps: float) -> list[Passage]:
    """The first passages, within the limits of a player."""
    chosen, frames = [], round(MAX_PLAYED_S * fps)
    for passage in passages[:MAX_PASSAGES]:
        stop = min(passage.stop, passage.start + frames)
        if stop <= passage.start:
            break
        chosen.append(passage._replace(stop=stop))
        frames -= stop - passage.start
    return chosen


def manifold_view(
    cloud: OpenCloud, phases: ClipPhases, colouring: Colouring, frames: slice = slice(None)
) -> ManifoldCloud:
    """The coloured cloud with the path of some frames of a clip, for the player."""
    return ManifoldCloud(
        cloud.cloud.points,
        cloud.projection(phases.parameters[frames].manifold()),
        phases.fps,
        cloud.projection.explained,
        point_colours(colouring),
        colouring.title,
    )


def passages_take(
    passages: Sequence[Passage],
    store: ClipStore,
    phases: Sequence[ClipPhases],
    cloud: OpenCloud,
    colouring: Colouring,
) -> Take:
    """A take of all passages in sequence, each where it was captured, with their manifold path."""
    fps = phases[passages[0].clip].fps
    actors, paths, markers = [], [], []
    played = 0
    for passage in passages:
        clip = store.clip(passage.clip)
        ratio = clip.fps / fps
        start = min(round(passage.start * ratio), len(clip) - 1)
        stop = max(start + 1, min(round(passage.stop * ratio), len(clip)))
        actors.append(_actor(clip, start, stop))
        frames = slice(passage.start, passage.stop)
        paths.append(cloud.projection(phases[passage.clip].parameters[frames].manifold()))
        count = passage.stop - passage.start
        markers.append(Marker(clip.name, played / fps, (played + count) / fps))
        played += count
    view = manifold_view(cloud, phases[passages[0].clip], colouring, slice(0, 1))
    words = f"{len(passages)} passages" if len(passages) > 1 else store.names[passages[0].clip]
    return Take(
        name="Selected frames",
        actors=_joined(actors),
        manifold=replace(view, path=np.concatenate(paths)),
        markers=markers,
        note=f"{words}, {played / fps:.1f} s",
    )


def _actor(clip: Clip, start: int, stop: int) -> Actor:
    """Some frames of a clip; contacts are detected with a margin around them."""
    margin = round(_MARGIN_S * clip.fps)
    begin, end = max(0, start - margin), min(len(clip), stop + margin)
    whole = Actor.of_clip(clip.sliced(begin, end))
    cut = slice(start - begin, stop - begin)
    named = ("positions", "contacts", "root_positions", "root_directions")
    parts = {name: getattr(whole, name) for name in named}
    return replace(whole, **{name: v[cut] for name, v in parts.items() if v is not None})


def _joined(actors: Sequence[Actor]) -> list[Actor]:
    """One body for all passages, or one per passage if their skeletons differ."""
    first = actors[0]
    same = [
        each
        for each in actors
        if each.positions.shape[1:] == first.positions.shape[1:] and each.feet == first.feet
    ]
    if len(same) < len(actors):
        start, sequence = 0.0, []
        for each in actors:
            sequence.append(replace(each, start_s=start))
            start += len(each) / each.fps
        return sequence

    def together(name: str) -> Array | None:
        parts = [getattr(each, name) for each in actors]
        return None if any(part is None for part in parts) else np.concatenate(parts)

    return [
        replace(
            first,
            name="Selected frames",
            positions=np.concatenate([each.positions for each in actors]),
            contacts=together("contacts"),
            root_positions=together("root_positions"),
            root_directions=together("root_directions"),
            floor=min(each.floor for each in actors),
        )
    ]
