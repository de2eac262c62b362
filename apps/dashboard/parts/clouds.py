"""The frames of the open clips as points: on the phase manifold, and in the spaces beside it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from apps.dashboard.parts.collection import OpenClips, OpenModel
from apps.dashboard.parts.encodings import MOST_POINTS, Encodings, all_phases, encodings
from apps.reports.manifold_cloud import ModelCloud
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinned_words, thinning
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import ManifoldCloud, Marker, Take, point_colours
from deepphase.motion.clip import Clip
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.phase.parameters import PhaseParameters

# A gap between selected frames that is shorter belongs to the passage: points are every n-th frame.
_GAP_S = 0.15
# A single moment is played with what is around it.
_LEAST_S = 0.5
# What a page plays of a selection: more would not be ready when the hand leaves the mouse.
MOST_S, MOST_PASSAGES = 90.0, 40
# Seconds beside a passage that its contacts are told by.
_MARGIN_S = 0.5


class Passage(NamedTuple):
    """Frames `start` to `stop` - 1 of one clip, at the model's rate."""

    clip: int
    start: int
    stop: int


def selected_points(selection: Mapping[str, Any], colouring: Colouring) -> Array:
    """Indices of the cloud's points that plotly's event names, rising."""
    traces = drawn_points(colouring)
    found = []
    for point in selection.get("points", ()):
        trace, index = point.get("curve_number"), point.get("point_index")
        if isinstance(trace, int) and isinstance(index, int) and 0 <= trace < len(traces):
            found += [int(traces[trace][index])] if 0 <= index < len(traces[trace]) else []
    return np.unique(np.array(found, np.int64))


def passages_of(
    cloud: OpenCloud, points: Array, fps: float, lengths: Sequence[int]
) -> list[Passage]:
    """Runs of selected frames, clip after clip in order of time.

    Parameters
    ----------
    points
        Rising indices of the cloud's points.
    fps
        Of the frames.
    lengths
        Frames of each clip.
    """
    if not points.size:
        return []
    clip, frame = cloud.clip[points], cloud.frame[points]
    step = int(np.median(np.diff(cloud.frame)[np.diff(cloud.clip) == 0])) if len(clip) > 1 else 1
    gap = max(step, round(_GAP_S * fps))
    ends = np.flatnonzero((np.diff(clip) != 0) | (np.diff(frame) > gap))
    starts, stops = np.r_[0, ends + 1], np.r_[ends, len(points) - 1]
    least = round(_LEAST_S * fps)
    found = []
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        start, stop = int(frame[first]), int(frame[last]) + 1
        if len(starts) == 1 and stop - start < least:
            start = max(0, (start + stop - least) // 2)
            stop = min(start + least, lengths[int(clip[first])])
        found.append(Passage(int(clip[first]), start, stop))
    return found


def playable(passages: Sequence[Passage], fps: float) -> list[Passage]:
    """As many of the passages as a page plays at once."""
    kept, frames = [], round(MOST_S * fps)
    for passage in passages[:MOST_PASSAGES]:
        stop = min(passage.stop, passage.start + frames)
        if stop <= passage.start:
            break
        kept.append(passage._replace(stop=stop))
        frames -= stop - passage.start
    return kept


def on_manifold(
    cloud: OpenCloud, phases: ClipPhases, colouring: Colouring, frames: slice = slice(None)
) -> ManifoldCloud:
    """The cloud in its colours, and the path of some frames of a clip through it."""
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
    """All passages one after the other, each where it was captured, and the point that moves."""
    fps = phases[passages[0].clip].fps
    actors, paths, markers = [], [], []
    begun = 0
    for passage in passages:
        clip = store.clip(passage.clip)
        ratio = clip.fps / fps
        start = min(round(passage.start * ratio), len(clip) - 1)
        stop = max(start + 1, min(round(passage.stop * ratio), len(clip)))
        actors.append(_actor(clip, start, stop))
        frames = slice(passage.start, passage.stop)
        paths.append(cloud.projection(phases[passage.clip].parameters[frames].manifold()))
        count = passage.stop - passage.start
        markers.append(Marker(clip.name, begun / fps, (begun + count) / fps))
        begun += count
    view = on_manifold(cloud, phases[passages[0].clip], colouring, slice(0, 1))
    words = f"{len(passages)} passages" if len(passages) > 1 else store.names[passages[0].clip]
    return Take(
        name="Selected frames",
        actors=_joined(actors),
        manifold=replace(view, path=np.concatenate(paths)),
        markers=markers,
        note=f"{words}, {begun / fps:.1f} s",
    )


def _actor(clip: Clip, start: int, stop: int) -> Actor:
    """Some frames of a clip; its feet are seen to land a little before and behind them."""
    margin = round(_MARGIN_S * clip.fps)
    begin, end = max(0, start - margin), min(len(clip), stop + margin)
    whole = Actor.of_clip(clip.sliced(begin, end))
    cut = slice(start - begin, stop - begin)
    named = ("positions", "contacts", "root_positions", "root_directions")
    parts = {name: getattr(whole, name) for name in named}
    return replace(whole, **{name: v[cut] for name, v in parts.items() if v is not None})


def _joined(actors: Sequence[Actor]) -> list[Actor]:
    """One body that goes through all passages; those of other builds are left where they begin."""
    first = actors[0]
    same = [
        each
        for each in actors
        if each.positions.shape[1:] == first.positions.shape[1:] and each.feet == first.feet
    ]
    if len(same) < len(actors):
        start, placed = 0.0, []
        for each in actors:
            placed.append(replace(each, start_s=start))
            start += len(each) / each.fps
        return placed

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


# Points of a first picture, and what a reader may ask for.
POINTS = (5_000, 10_000, MOST_POINTS)
# Clouds that are kept for all sessions together: some megabytes each.
_KEPT = 12
# Values of a label that a legend can tell apart at all.
_VALUES = 60


@dataclass(frozen=True, eq=False)
class OpenCloud:
    """Frames of the open clips, and where they lie.

    Parameters
    ----------
    cloud
        The points of the phase manifold.
    projection
        How they are seen.
    clip, frame
        (points,) which clip of the store, and which of its frames at the model's rate.
    colourings
        What they can be coloured by, by name.
    velocities, velocities_explained
        (points, 3) and (3,): the same frames as joint velocities.
    """

    cloud: ModelCloud
    projection: ManifoldProjection
    clip: Array
    frame: Array
    colourings: dict[str, Colouring]
    velocities: Array
    velocities_explained: Array


def open_cloud(clips: OpenClips, model: OpenModel, most: int = POINTS[0]) -> OpenCloud:
    """The phase manifold of all clips, by `most` points; the page tells how far reading is."""
    all_phases(clips, model)
    return _kept(clips.key, model.key, most, encodings(clips, model))


@st.cache_resource(max_entries=_KEPT, show_spinner="Drawing the manifold")
def _kept(clips_key: Hashable, model_key: str, most: int, _read: Encodings) -> OpenCloud:
    return cloud_of(_read, most)


def cloud_of(read: Encodings, most: int) -> OpenCloud:
    """`most` points of what was read, spread evenly over all clips."""
    store = read.store
    phases = read.all()
    kept = [read.frames(index) for index in range(len(store))]
    step = thinning(sum(map(len, kept)), most)
    frames = tuple(each[::step] for each in kept)
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
    cloud = ModelCloud(
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
    return thinned_words(max(1, round(total / max(points, 1))), total)


def _colourings(read: Encodings, cloud: ModelCloud) -> dict[str, Colouring]:
    """By name, as a chooser lists them."""
    store = read.store
    known = {"Clip": cloud.by_clip()}
    for name in store.label_names:
        values = [labels.get(name, "") for labels in store.labels]
        if 2 <= len(set(values)) <= _VALUES:
            known[f"Label: {name}"] = cloud.by_label(name, values)
    known["Time"] = cloud.by_time()
    speeds = [read.speed(index) for index in range(len(store))]
    if all(each is not None for each in speeds):
        known["Speed"] = cloud.by_speed([each for each in speeds if each is not None])
    known["Frequency"] = cloud.by_frequency()
    known["Amplitude"] = cloud.by_amplitude()
    known["Phase"] = cloud.by_phase()
    return known


def drawn_points(colouring: Colouring) -> list[Array]:
    """Which points each trace of a picture by this colouring holds, as the figures draw them."""
    if not colouring.categorical:
        return [np.arange(len(colouring.values))]
    return [chosen for chosen, _ in colouring.categories()]
