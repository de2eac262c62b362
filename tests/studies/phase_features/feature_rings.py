"""Regularity of the curves that clips draw in a feature space.

Starke et al. 2022 show it in figs. 6, 7 and 18; here it is measured.
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.matches import Frames

# Time before and after two similar frames whose directions are compared.
_DIRECTION_S = 1 / 12
# Length of the stretches in which steps should be even.
_STRETCH_S = 1.0


def unevenness(features: Array, frames: Frames, fps: float) -> Array:
    """Coefficient of variation of the steps between neighbouring frames, of each clip.

    The median over stretches of a second; 0 is a feature that changes by even steps. NaN for a
    clip without such a stretch, or in which nothing moves.

    Parameters
    ----------
    features
        (frames, dimensions), clip by clip.

    Returns
    -------
    (clips,) one for each clip that has frames, in their order.
    """
    length = max(round(_STRETCH_S * fps), 2)
    found = []
    for part in _clips(frames):
        steps = np.linalg.norm(np.diff(features[part].astype(np.float64), axis=0), axis=1)
        stretches = steps[: len(steps) // length * length].reshape(-1, length)
        stretches = stretches[stretches.mean(1) > 0]
        ratios = stretches.std(1) / stretches.mean(1)
        found.append(float(np.median(ratios)) if ratios.size else np.nan)
    return np.array(found)


def winding(features: Array, frames: Frames) -> Array:
    """Share of each clip's turning about its middle that goes one way, 0 to 1.

    In the plane of the clip's two leading principal components: 1 is a ring that is only ever
    followed in one direction, 0 a curve that turns back as often. NaN for a clip that stands still.

    Returns
    -------
    (clips,) one for each clip that has frames, in their order.
    """
    found = []
    for part in _clips(frames):
        plane = ManifoldProjection.fit(features[part])(features[part])[:, :2].astype(np.float64)
        turns = np.diff(np.unwrap(np.arctan2(plane[:, 1], plane[:, 0])))
        total = np.abs(turns).sum()
        found.append(float(abs(turns.sum()) / total) if total > 0 else np.nan)
    return np.array(found)


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
