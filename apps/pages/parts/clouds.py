"""The frames of the open clips as points: on the phase manifold, and in the spaces beside it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from apps.pages.parts.collection import OpenClips, OpenModel
from apps.pages.parts.encodings import MOST_POINTS, Encodings, all_phases, encodings
from apps.reports.manifold_cloud import ManifoldCloud
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinned_words, thinning
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.parameters import PhaseParameters

Array = np.ndarray

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

    cloud: ManifoldCloud
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
    cloud = ManifoldCloud(
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


def _colourings(read: Encodings, cloud: ManifoldCloud) -> dict[str, Colouring]:
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
