"""Regularity of the curves that clips draw in a feature space.

Starke et al. 2022 show it in figs. 6, 7 and 18; here it is measured.
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.matches import Frames
from deepphase.phase.parameters import ManifoldProjection
from deepphase.phase.rings import evenness, winding

# Time before and after two similar frames whose directions are compared.
_DIRECTION_S = 1 / 12


def unevenness(features: Array, frames: Frames, fps: float) -> Array:
    """(clips,) `evenness` of the (frames, dimensions) features of each clip that has frames."""
    return np.array([evenness(features[part].astype(np.float64), fps) for part in _clips(frames)])


def windings(features: Array, frames: Frames) -> Array:
    """(clips,) `winding` of each clip in the plane of its two leading principal components."""
    parts = [features[part] for part in _clips(frames)]
    return np.array([winding(ManifoldProjection.fit(part)(part)[:, :2]) for part in parts])


def one_way_matches(
    features: Array, frames: Frames, fps: float, chosen: Array, nearest: Array
) -> Array:
    """Share of each query's matches that are similar in the same direction of time only.

    A similarity map has a ridge along its diagonal where the frames before and after two similar
    ones are similar in the same order, and one across it where they are in the reverse order. A
    match counts if the first is closer than the second.

    Parameters
    ----------
    features
        (frames, dimensions).
    chosen, nearest
        (queries,) and (queries, matches) indices, as of `nearest_frames`.

    Returns
    -------
    (queries,) 0 to 1; a feature without direction has about .5. NaN where no match has frames on
    both sides.
    """
    step = max(round(_DIRECTION_S * fps), 1)
    values = features.astype(np.float64)
    one = np.repeat(chosen, nearest.shape[1])
    other = nearest.reshape(-1)
    sides = [frames.reaches(each, way) for each in (one, other) for way in (step, -step)]
    inside = np.logical_and.reduce(sides)
    flat = np.full(one.size, np.nan)
    one, other = one[inside], other[inside]

    def apart(first: int, second: int) -> Array:
        return np.asarray(np.linalg.norm(values[one + first] - values[other + second], axis=1))

    along = apart(step, step) + apart(-step, -step)
    across = apart(step, -step) + apart(-step, step)
    # A feature that does not change has no direction.
    flat[inside] = np.where(along < across, 1.0, np.where(along > across, 0.0, 0.5))
    share = flat.reshape(nearest.shape)
    known = np.isfinite(share)
    counts = known.sum(1)
    return np.where(counts > 0, np.where(known, share, 0.0).sum(1) / np.maximum(counts, 1), np.nan)


def _clips(frames: Frames) -> list[slice]:
    """The frames of each clip; they are consecutive."""
    starts = np.flatnonzero(np.diff(frames.clip, prepend=frames.clip[:1] - 1))
    return [
        slice(int(start), int(stop))
        for start, stop in zip(starts, np.append(starts[1:], len(frames)), strict=True)
    ]
