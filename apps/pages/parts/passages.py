"""Frames that were selected in a picture, as passages of clips that a skeleton plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from apps.pages.parts.clouds import OpenCloud, drawn_points
from deepphase.corpus.clip_store import ClipStore
from deepphase.figures.colouring import Colouring
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import ManifoldCloud, Marker, Take, point_colours
from deepphase.motion.clip import Clip
from deepphase.phase.model import ClipPhases

Array = np.ndarray

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
