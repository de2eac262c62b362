"""Quality of features: alignment of the poses that they match, and prediction of future frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.parameters import PhaseParameters

# Distances are computed for so many queries and frames at a time.
_QUERIES_AT_ONCE = 256
_FRAMES_AT_ONCE = 16_384
# Resampled means of an interval.
_DRAWS = 500


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of several clips: the number of the clip of each, and its index there, rising."""

    clip: Array
    index: Array

    def __len__(self) -> int:
        return len(self.clip)

    def near(self, queries: Array, some: slice, distance: int) -> Array:
        """(queries, frames of `some`) bool: in the same clip, at most `distance` frames away."""
        same = self.clip[queries][:, None] == self.clip[some]
        return same & (np.abs(self.index[queries][:, None] - self.index[some]) <= distance)

    def followed(self, ahead: int, queries: int, seed: int) -> Array:
        """(queries,) random frames whose clip goes on for `ahead` frames, or all."""
        possible = np.flatnonzero(self.reaches(np.arange(len(self)), ahead))
        if not possible.size:
            raise ParameterError(
                f"no clip goes on for {ahead} frames",
                hint="give longer clips, or look ahead by less",
            )
        return possible[query_frames(possible.size, queries, seed)]

    def reaches(self, chosen: Array, ahead: int) -> Array:
        """Whether the frame `ahead` frames after (or before) each chosen one is of its clip."""
        other = chosen + ahead
        inside = (other >= 0) & (other < len(self))
        other = other.clip(0, len(self) - 1)
        same = self.clip[other] == self.clip[chosen]
        return inside & same & (self.index[other] == self.index[chosen] + ahead)


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

    `features` (frames, dimensions) compared by Euclidean distance. `poses` (frames, joints, 3)
    metres, root space. Returns (queries,) metres: the mean distance between corresponding joints of
    a query's pose and of its matches' poses. Starke et al. 2022, section 5.3, table 4.
    """
    chosen = query_frames(len(features), queries, seed)
    nearest = nearest_frames(features, frames, chosen, matches=matches, exclude=exclude)
    return match_distances_m(poses, chosen, nearest)


def nearest_frames(
    features: Array, frames: Frames, chosen: Array, *, matches: int = 10, exclude: int = 60
) -> Array:
    """(queries, matches) frames nearest to `chosen`, unsorted, not within `exclude` of them."""
    wanted = features[chosen].astype(np.float64)
    # The best so far of every query, over blocks of frames.
    best = np.full((len(chosen), matches), np.inf)
    nearest = np.zeros((len(chosen), matches), np.int64)
    for block in _parts(len(features), _FRAMES_AT_ONCE):
        candidates = _Candidates(features[block])
        for part in _parts(len(chosen), _QUERIES_AT_ONCE):
            distance = candidates.distances(wanted[part])
            distance[frames.near(chosen[part], block, exclude)] = np.inf
            own = np.argpartition(distance, min(matches, distance.shape[1]) - 1, axis=1)
            own = own[:, :matches]
            own_best = np.take_along_axis(distance, own, 1)
            together = np.concatenate([best[part], own_best], axis=1)
            order = np.argpartition(together, matches - 1, axis=1)[:, :matches]
            best[part] = np.take_along_axis(together, order, 1)
            together = np.concatenate([nearest[part], own + block.start], axis=1)
            nearest[part] = np.take_along_axis(together, order, 1)
    if not np.isfinite(best).all():
        raise ParameterError(
            f"fewer than {matches} frames lie outside the excluded range of a query",
            hint="add clips",
        )
    return nearest


def match_distances_m(poses: Array, chosen: Array, nearest: Array) -> Array:
    """(queries,) metres: mean distance of corresponding joints of queries and matches."""
    found = []
    for part in _parts(len(chosen), _QUERIES_AT_ONCE):
        apart = np.linalg.norm(poses[nearest[part]] - poses[chosen[part]][:, None], axis=-1)
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
    all frames but the query: see `ranks_of_later`. Starke et al. 2022, section 5.3, future frames.
    """
    chosen = frames.followed(ahead, queries, seed)
    advanced = parameters[chosen].advanced(ahead / fps).manifold()
    return ranks_of_later(advanced, parameters.manifold(), chosen, ahead)


def ranks_of_later(wanted: Array, features: Array, chosen: Array, ahead: int) -> Array:
    """Rank of the frame `ahead` frames after each query among the neighbours of its vector.

    `wanted` (queries, dimensions) what is searched for: the query's own features, or where they are
    expected `ahead` frames later. `features` (frames, dimensions) of all frames. `chosen`
    (queries,) of `Frames.followed`. Returns (queries,) ranks among all frames but the query, 1
    where the frame is the nearest.
    """
    true = chosen + ahead
    wanted = wanted.astype(np.float64)
    distance = np.square(wanted - features[true]).sum(axis=1)
    ranks = np.ones(len(chosen), np.int64)
    for block in _parts(len(features), _FRAMES_AT_ONCE):
        candidates = _Candidates(features[block])
        for part in _parts(len(chosen), _QUERIES_AT_ONCE):
            nearer = candidates.distances(wanted[part]) < distance[part, None]
            for left_out in (chosen[part], true[part]):
                here = np.flatnonzero((left_out >= block.start) & (left_out < block.stop))
                nearer[here, left_out[here] - block.start] = False
            ranks[part] += nearer.sum(axis=1)
    return ranks


def interval_95(values: Array, groups: Array) -> list[float]:
    """95 % interval of a mean by resampling whole groups (clips), not single frames."""
    rng = np.random.default_rng(0)
    names, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, values, minlength=len(names))
    counts = np.bincount(place, minlength=len(names))
    drawn = rng.integers(0, len(names), (_DRAWS, len(names)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    return [float(value) for value in np.percentile(means, (2.5, 97.5))]


def query_frames(count: int, queries: int, seed: int) -> Array:
    """Sorted indices of random query frames out of `count`."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, min(queries, count), replace=False))


def _parts(count: int, size: int) -> list[slice]:
    """Successive slices of `size` of so many items."""
    return [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]


class _Candidates:
    """Squared distances to (frames, dimensions) features, in float64 to order small ones."""

    def __init__(self, features: Array) -> None:
        self._features = features.astype(np.float64)
        self._squares = np.einsum("fd,fd->f", self._features, self._features)

    def distances(self, queries: Array) -> Array:
        """(queries, frames) of (queries, dimensions) features."""
        cross = queries @ self._features.T
        return np.einsum("qd,qd->q", queries, queries)[:, None] - 2.0 * cross + self._squares
