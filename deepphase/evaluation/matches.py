"""Quality of features: alignment of the poses that they match, and prediction of future frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.parameters import PhaseParameters

_QUERIES_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Frames:
    """Clip and index of the frames of several clips.

    Parameters
    ----------
    clip
        (frames,) number of the clip of each frame.
    index
        (frames,) index of the frame in its clip, rising within a clip.
    """

    clip: Array
    index: Array

    def __len__(self) -> int:
        return len(self.clip)

    def near(self, queries: Array, distance: int) -> Array:
        """(queries, frames) bool: in the same clip and at most `distance` frames away."""
        same = self.clip[queries][:, None] == self.clip
        return same & (np.abs(self.index[queries][:, None] - self.index) <= distance)


def alignment_errors(
    features: Array,
    poses: Array,
    frames: Frames,
    *,
    queries: int = 10_000,
    matches: int = 10,
    exclude: int = 60,
    seed: int = 0,
) -> Array:
    """Pose distance between frames with similar features.

    Parameters
    ----------
    features
        (frames, dimensions); compared by Euclidean distance.
    poses
        (frames, joints, 3) metres, root space.
    queries
        Number of random query frames; all frames if there are fewer.
    matches
        Number of nearest frames for each query.
    exclude
        Frames of the same clip within this distance of the query are excluded.

    Returns
    -------
    (queries,) metres: the mean distance between corresponding joints of a query's pose and of its
    matches' poses.

    References
    ----------
    Starke et al. 2022, section 5.3, table 4.
    """
    chosen = query_frames(len(features), queries, seed)
    found = []
    for some in _query_batches(chosen):
        distance = _distances(features[some], features)
        distance[frames.near(some, exclude)] = np.inf
        nearest = np.argpartition(distance, matches, axis=1)[:, :matches]
        if not np.isfinite(np.take_along_axis(distance, nearest, 1)).all():
            raise ParameterError(
                f"fewer than {matches} frames outside the excluded range of a query",
                hint="add clips",
            )
        apart = np.linalg.norm(poses[nearest] - poses[some][:, None], axis=-1)
        found.append(apart.mean((1, 2)))
    return np.concatenate(found)


def alignment_by_chance(poses: Array, *, queries: int = 10_000, seed: int = 0) -> float:
    """Metres: the mean distance between corresponding joints of two random frames."""
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, len(poses), (2, queries))
    return float(np.linalg.norm(poses[one] - poses[other], axis=-1).mean())


def future_ranks(
    parameters: PhaseParameters,
    frames: Frames,
    fps: float,
    *,
    ahead: int = 15,
    queries: int = 10_000,
    seed: int = 0,
) -> Array:
    """Rank of the true frame `ahead` frames later among the neighbours of the advanced phase.

    The query's manifold, its phase advanced by frequency * ahead / fps, is compared with that of
    all frames but the query.

    Returns
    -------
    (queries,) ranks, 1 where the frame is the nearest of all.

    References
    ----------
    Starke et al. 2022, section 5.3, future frames.
    """
    later = np.arange(len(frames)) + ahead
    inside = later < len(frames)
    later = np.minimum(later, len(frames) - 1)
    inside &= (frames.clip[later] == frames.clip) & (frames.index[later] == frames.index + ahead)
    possible = np.flatnonzero(inside)
    if not possible.size:
        raise ParameterError(f"no clip goes on for {ahead} frames")
    chosen = possible[query_frames(possible.size, queries, seed)]
    manifold = parameters.manifold()
    advanced = parameters[chosen].advanced(ahead / fps).manifold()
    found = []
    for begin in range(0, len(chosen), _QUERIES_AT_ONCE):
        some = chosen[begin : begin + _QUERIES_AT_ONCE]
        distance = _distances(advanced[begin : begin + _QUERIES_AT_ONCE], manifold)
        distance[np.arange(len(some)), some] = np.inf
        wanted = distance[np.arange(len(some)), later[some]]
        found.append((distance < wanted[:, None]).sum(1) + 1)
    return np.concatenate(found)


def interval_95(values: Array, groups: Array, *, draws: int = 500, seed: int = 0) -> list[float]:
    """95 % interval of a mean by resampling whole groups (clips), not single frames."""
    rng = np.random.default_rng(seed)
    names, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, values, minlength=len(names))
    counts = np.bincount(place, minlength=len(names))
    drawn = rng.integers(0, len(names), (draws, len(names)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    return [float(value) for value in np.percentile(means, (2.5, 97.5))]


def query_frames(count: int, queries: int, seed: int) -> Array:
    """Sorted indices of random query frames out of `count`."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, min(queries, count), replace=False))


def _query_batches(chosen: Array) -> list[Array]:
    return [chosen[i : i + _QUERIES_AT_ONCE] for i in range(0, len(chosen), _QUERIES_AT_ONCE)]


def _distances(queries: Array, features: Array) -> Array:
    """(queries, features) squared Euclidean distances, in float64 to order small ones."""
    queries, features = queries.astype(np.float64), features.astype(np.float64)
    square = np.einsum("fd,fd->f", features, features)
    cross = queries @ features.T
    return np.einsum("qd,qd->q", queries, queries)[:, None] - 2.0 * cross + square
