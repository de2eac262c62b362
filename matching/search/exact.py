"""Exact nearest-neighbour search with a block tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from deepphase.arrays import Array, ComputedRows
from deepphase.compiled import compiled
from deepphase.features.layout import Normalisation
from deepphase.matching.search.block_tree import RELATIVE_SLACK, SIZE_SLACK, BlockTree
from deepphase.matching.search.request import Searcher, SearchRequest
from deepphase.progress import Progress

_FAST_MATH = {"reassoc", "contract", "nsz"}
# Size of the stack of postponed nodes: at most one per level, and no tree is as deep.
_MAX_DEPTH = 128


@compiled(fastmath=_FAST_MATH)
def _to_box(lowest, highest, node, query):
    """Squared distance from a query to a node's box."""
    total = np.float32(0)
    for axis in range(query.shape[0]):
        outside = max(lowest[node, axis] - query[axis], query[axis] - highest[node, axis])
        outside = max(outside, np.float32(0))
        total += outside * outside
    return total


@compiled(fastmath=_FAST_MATH)
def _to_block(block, query, totals):
    """Squared distances, along the axes, from a query to the rows of a block."""
    for row in range(totals.shape[0]):
        totals[row] = 0
    for axis in range(query.shape[0]):
        value = query[axis]
        for row in range(totals.shape[0]):
            difference = block[axis, row] - value
            totals[row] += difference * difference


@compiled(fastmath=_FAST_MATH)
def _project(query, mean, axes, along):
    """Fill `along` with the projection of a query; return the query's distance from the mean."""
    sums = np.zeros(axes.shape[1])
    square = 0.0
    for dimension in range(query.shape[0]):
        value = np.float64(query[dimension]) - mean[dimension]
        square += value * value
        for axis in range(axes.shape[1]):
            sums[axis] += value * axes[dimension, axis]
    for axis in range(axes.shape[1]):
        along[axis] = sums[axis]
    return np.sqrt(square)


@compiled()
def _limit(square, size):
    """Squared distance along the axes beyond which no exact one is below `square`."""
    if square == np.inf:
        return np.float32(np.inf)
    distance = np.sqrt(square) * (1.0 + RELATIVE_SLACK) + SIZE_SLACK * size
    return np.float32(distance * distance)


@compiled()
def walk(
    features,
    row_mean,
    row_scale,
    mean,
    axes,
    radius,
    blocks,
    rows,
    right,
    leaves,
    lowest,
    highest,
    queries,
    allowed,
    excluded,
    bounds,
    distances,
    found,
):
    """Fill `distances` (q, k) float32 and `found` (q, k) with the nearest rows of each query.

    `features` (rows, dims) float32; `row_mean, row_scale` (dims,) float32 normalisation of the
    features; None where they are normalised; `queries, allowed, excluded, bounds`: arrays of a
    `SearchRequest`; `allowed` is (0,) where all rows are.
    """
    k = distances.shape[1]
    near = np.empty(k)
    along = np.empty(axes.shape[1], np.float32)
    totals = np.empty(rows.shape[1], np.float32)
    waiting = np.empty(_MAX_DEPTH, np.int64)
    waiting_boxes = np.empty(_MAX_DEPTH, np.float32)
    masked = allowed.shape[0] > 0
    for index in range(queries.shape[0]):
        query, places = queries[index], found[index]
        size = radius + _project(query, mean, axes, along)
        first, stop = excluded[index, 0], excluded[index, 1]
        for rank in range(k):
            near[rank] = bounds[index]
            places[rank] = -1
        limit = _limit(near[k - 1], size)
        depth = 1
        waiting[0] = 0
        waiting_boxes[0] = 0
        while depth > 0:
            depth -= 1
            node = waiting[depth]
            box = waiting_boxes[depth]
            while box <= limit and leaves[node] < 0:
                nearer, farther = node + 1, right[node]
                box = _to_box(lowest, highest, nearer, along)
                other = _to_box(lowest, highest, farther, along)
                if other < box:
                    nearer, farther = farther, nearer
                    box, other = other, box
                if other <= limit:
                    waiting[depth] = farther
                    waiting_boxes[depth] = other
                    depth += 1
                node = nearer
            if box > limit:
                continue
            block = leaves[node]
            _to_block(blocks[block], along, totals)
            for member in range(totals.shape[0]):
                if totals[member] > limit:
                    continue
                row = rows[block, member]
                if row < 0 or (first <= row < stop) or (masked and not allowed[row]):
                    continue
                square = 0.0
                for dimension in range(query.shape[0]):
                    value = features[row, dimension]
                    if row_mean is not None:
                        value = (value - row_mean[dimension]) * row_scale[dimension]
                    difference = np.float64(value) - np.float64(query[dimension])
                    square += difference * difference
                rank = k - 1
                if not (square < near[rank] or (square == near[rank] and row < places[rank])):
                    continue
                while rank > 0 and (
                    near[rank - 1] > square or (near[rank - 1] == square and places[rank - 1] > row)
                ):
                    near[rank] = near[rank - 1]
                    places[rank] = places[rank - 1]
                    rank -= 1
                near[rank] = square
                places[rank] = row
                limit = _limit(near[k - 1], size)
        for rank in range(k):
            distances[index, rank] = np.sqrt(near[rank]) if places[rank] >= 0 else np.inf


def _readable(features: Array | ComputedRows) -> tuple[Array, Array | None, Array | None]:
    """Rows for compiled code, and the mean and scale that it normalises them by."""
    mean = scale = None
    if isinstance(features, ComputedRows) and isinstance(features.transform, Normalisation):
        mean, scale = (
            np.require(values, np.float32, ("C", "W"))
            for values in (features.transform.mean, features.transform.scale)
        )
        features = features.source
    rows = np.asarray(features).view()
    # Compiled code is specific to a kind of array: rows are always read-only, because mapped files
    # are. The other arrays are writable, which numba unpacks far faster.
    rows.flags.writeable = False
    return rows, mean, scale


class SearchedRows(Protocol):
    """Rows of features, as a `MotionDatabase` has them."""

    @property
    def features(self) -> Array | ComputedRows: ...

    @property
    def offered_rows(self) -> Array: ...

    @property
    def dims(self) -> int: ...

    def __len__(self) -> int: ...


class ExactSearcher(Searcher):
    """Exact search of a database's nearest rows; of equal distances the lower row comes first.

    The first search on a machine compiles its code for some seconds; the constructor does this.
    """

    name = "exact"
    exact = True

    def __init__(
        self,
        database: SearchedRows,
        tree: BlockTree | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        self.shape = len(database), database.dims
        if tree is None:
            tree = BlockTree.build(database.features, database.offered_rows, progress=progress)
        tree.check(*self.shape)
        self.tree = tree
        self._read = _readable(database.features)
        small = [np.array(tree.mean), np.array(tree.axes), float(tree.radius)]
        self._arrays = small + [
            np.require(getattr(tree, name), requirements=("C", "W"))
            for name in ("blocks", "rows", "right", "leaves", "lowest", "highest")
        ]
        self._no_mask = np.zeros(0, np.bool_)
        self.search(np.zeros((1, database.dims), np.float32))

    @classmethod
    def build(
        cls, database: SearchedRows, name: str = "exact", *, progress: Progress | None = None
    ) -> ExactSearcher:
        """The search of a database, whose tree is built."""
        return cls(database, progress=progress)

    def stored(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and header entries that `restored` reads."""
        return self.tree.arrays(), {}

    @classmethod
    def restored(
        cls, database: SearchedRows, arrays: Mapping[str, Array], header: Mapping[str, Any]
    ) -> ExactSearcher:
        """The searcher of a cache file."""
        return cls(database, BlockTree(**arrays))

    def answered(self, request: SearchRequest) -> tuple[Array, Array]:
        """As `Searcher.answered`."""
        distances = np.empty((len(request), request.k), np.float32)
        nearest = np.empty((len(request), request.k), np.int64)
        walk(
            *self._read,
            *self._arrays,
            request.queries,
            self._no_mask if request.allowed is None else request.allowed,
            request.excluded,
            request.bounds,
            distances,
            nearest,
        )
        return distances, nearest
