"""Distances between points of a body over time, their spread, and the tree of steady ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array

# Numbers of evenly spread frames and of distances that are enough for the statistics.
_MAX_FRAMES = 600
_MAX_DISTANCES = 4_000_000
# A distance that changes by this share of itself counts as twice as long in the tree: within one
# limb distances change by less than a tenth even in noisy captures, between two knees by more
# than a fifth.
_FREE_SHARE = 0.2
# Standard deviations from the 10th to the 90th percentile of a normal distribution.
_DEVIATIONS_10_TO_90 = 2.563
_BIN_M = 1e-4
_LARGEST_M = 2.0
_BINS = round(_LARGEST_M / _BIN_M)


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between all points over a motion, metres; each (points, points).

    Parameters
    ----------
    changes
        Robust standard deviation over time as a share of the median; 0 for a point and itself.
    """

    medians: Array
    reaches: Array
    changes: Array


def distance_frames(positions: Array) -> Array:
    """(frames, points, 3) evenly spread frames, enough for statistics of distances."""
    count = max(2, min(_MAX_FRAMES, _MAX_DISTANCES // positions.shape[1] ** 2))
    return positions[:: max(1, -(-len(positions) // count))].astype(np.float64)


def point_distances(positions: Array) -> PointDistances:
    """The distances between the points of (frames, points, 3) positions, metres."""
    frames = distance_frames(positions)
    distances = np.linalg.norm(frames[:, :, None] - frames[:, None], axis=-1)
    low, median, high = np.percentile(distances, [10, 50, 90], axis=0)
    return PointDistances(median, high, change(low, median, high))


def change(low: Array, median: Array, high: Array) -> Array:
    """Robust standard deviation as a share of the median, of 10th, 50th and 90th percentiles."""
    return (high - low) / _DEVIATIONS_10_TO_90 / np.maximum(median, 1e-9)


def spanning_tree(distances: PointDistances, edges: Array) -> list[list[int]]:
    """Neighbours of every point in the tree that joins close points of constant distance.

    Parameters
    ----------
    edges
        (edges, 2) pairs that are known to be connected: the tree contains them first.
    """
    points = len(distances.medians)
    weights = distances.medians * (1.0 + (distances.changes / _FREE_SHARE) ** 2)
    weights[edges[:, 0], edges[:, 1]] = weights[edges[:, 1], edges[:, 0]] = -1.0
    # Only their order counts; a weight of 0, of coincident points, would be no edge at all.
    ranks = 1.0 + np.unique(weights, return_inverse=True)[1].reshape(weights.shape)
    np.fill_diagonal(ranks, 0.0)
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = minimum_spanning_tree(ranks).tocoo()
    neighbours: list[list[int]] = [[] for _ in range(points)]
    for first, second in zip(tree.row.tolist(), tree.col.tolist(), strict=True):
        neighbours[first].append(second)
        neighbours[second].append(first)
    return [sorted(points) for points in neighbours]


def spanning_tree_within(distances: PointDistances, points: set[int]) -> list[list[int]]:
    """Neighbours of every point in a tree of some points alone; the others have none."""
    index = np.array(sorted(points))
    square = np.ix_(index, index)
    part = PointDistances(
        distances.medians[square], distances.reaches[square], distances.changes[square]
    )
    neighbours: list[list[int]] = [[] for _ in range(len(distances.medians))]
    for point, near in zip(index, spanning_tree(part, np.zeros((0, 2), np.int64)), strict=True):
        neighbours[point] = index[near].tolist()
    return neighbours


def tree_path(neighbours: list[list[int]], first: int, last: int) -> list[int]:
    """The points of a tree from one to another, both included."""
    above = tree_parents(neighbours, [first])
    path = [last]
    while path[-1] != first:
        path.append(above[path[-1]])
    return path[::-1]


def tree_parents(
    neighbours: list[list[int]], sources: list[int], within: set[int] | None = None
) -> dict[int, int]:
    """Point -> parent of all points reachable from the sources, breadth first; -1 for sources."""
    parents = dict.fromkeys(sources, -1)
    queue = list(sources)
    for point in queue:
        for other in neighbours[point]:
            if other not in parents and (within is None or other in within):
                parents[other] = point
                queue.append(other)
    return parents


class DistanceSpread:
    """Mean and percentiles of distances, counted in bins of 0.1 mm up to 2 m."""

    def __init__(self, columns: int = 1) -> None:
        self._counts = np.zeros((columns, _BINS + 1), np.int64)
        self._sums = np.zeros(columns)

    def add(self, values: Array) -> None:
        """Add (values, columns) distances in metres."""
        bins = np.minimum(values / _BIN_M, _BINS).astype(np.int64)
        for column, own in enumerate(bins.T):
            self._counts[column] += np.bincount(own, minlength=_BINS + 1)
        self._sums += values.sum(axis=0, dtype=np.float64)

    def mean(self, column: int = 0) -> float:
        """Metres."""
        return float(self._sums[column] / self._counts[column].sum())

    def percentile(self, percent: float, column: int = 0) -> float:
        """Metres, to 0.1 mm; values of more than 2 m count as 2 m."""
        counted = np.cumsum(self._counts[column])
        at = int(np.searchsorted(counted, percent / 100.0 * counted[-1]))
        return min((at + 0.5) * _BIN_M, _LARGEST_M)
