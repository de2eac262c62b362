"""Exact nearest-neighbour search with a block tree: bounding boxes around blocks of similar rows.

Rows are projected onto their leading principal axes, which hold most of a distance in few numbers.
The tree splits them at the median of the axis of largest variance, down to blocks of 64 rows.
Distances along the leading axes, and distances to boxes, are lower bounds of the true ones, so rows
whose bound exceeds the best distance so far are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from deepphase.arrays import Array, ComputedRows, compiled, release_pages
from deepphase.errors import ParameterError
from deepphase.features.layout import Normalisation
from deepphase.matching.search.request import Searcher, SearchRequest
from deepphase.work import Progress, report

# Rows of a block and leading axes: the fastest of 16 to 64 rows and 8 to 34 axes on 215,000 rows of
# phases and trajectories.
BLOCK_ROWS = 64
LEADING_AXES = 16
# Padding of a block: farther than any row, with a square that a float32 can hold.
_PADDING = np.float32(1e18)
# Bounds on the rounding error of distances along the axes: relative, and as a share of the size of
# the numbers that are subtracted (float32 rounds at 6e-8).
_RELATIVE_SLACK = 2e-5
_SIZE_SLACK = 2e-6
_ROWS_AT_ONCE = 1 << 17
_SAMPLE = 200_000
_SPREAD_SAMPLE = 2048
_FAST_MATH = {"reassoc", "contract", "nsz"}
# Size of the stack of postponed nodes: at most one per level, and no tree is as deep.
_MAX_DEPTH = 128


@dataclass(frozen=True, eq=False)
class BlockTree:
    """Arrays of a block tree; nodes in depth-first order, left child first."""

    mean: Array  # (dims,) float64
    axes: Array  # (dims, axes) float64 orthonormal columns
    blocks: Array  # (blocks, axes, 64) float32: the rows of a block along the axes
    rows: Array  # (blocks, 64) int64 row numbers, rising; -1 for padding
    right: Array  # (nodes,) int64 right child; the left one is the next node. -1 at a leaf
    leaves: Array  # (nodes,) int64 the block of a leaf; -1 elsewhere
    # lowest, highest: (nodes, axes) float32: the box around a node's rows.
    lowest: Array
    highest: Array
    # () float64 largest distance of a row from the mean, which bounds rounding errors.
    radius: Array

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, for `BlockTree(**arrays)`."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def check(self, rows: int, dims: int) -> None:
        """Raise ParameterError unless the arrays form a tree of rows below `rows`."""
        blocks, nodes = len(self.blocks), len(self.right)
        axes, again = self.axes.shape[-1], "build the index again"
        shapes: dict[str, tuple[int, ...]] = {
            "mean": (dims,),
            "axes": (dims, axes),
            "blocks": (blocks, axes, BLOCK_ROWS),
            "rows": (blocks, BLOCK_ROWS),
            "leaves": (nodes,),
            "lowest": (nodes, axes),
            "highest": (nodes, axes),
            "radius": (),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ParameterError(
                    f"the array {name!r} has shape {getattr(self, name).shape}, expected {shape}"
                )
        inner = self.leaves < 0
        forward = (self.right > np.arange(nodes) + 1) & (self.right < nodes)
        if not blocks or nodes != 2 * blocks - 1 or (inner & ~forward).any():
            raise ParameterError("the nodes of the index do not form a tree", hint=again)
        if not np.array_equal(np.sort(self.leaves[~inner]), np.arange(blocks)):
            raise ParameterError("the leaves of the index are not its blocks", hint=again)
        if self.rows.min() < -1 or self.rows.max() >= rows:
            raise ParameterError("the index has rows that do not exist", hint=again)

    @classmethod
    def build(
        cls, features: Array | ComputedRows, offered: Array, *, progress: Progress | None = None
    ) -> BlockTree:
        """The tree of the offered rows.

        `features` (rows, dims) float32, in memory or mapped; `offered` (n,) row numbers, rising.
        Raises ParameterError where no row is offered.
        """
        if not len(offered):
            raise ParameterError("there are no rows to search in", hint="offer at least one row")
        mean, axes = _principal_axes(features, offered)
        count = len(offered)
        projected = np.empty((count, axes.shape[1]), np.float32)
        radius = 0.0
        for start in range(0, count, _ROWS_AT_ONCE):
            centred = features[offered[start : start + _ROWS_AT_ONCE]] - mean
            radius = max(radius, float(np.sqrt(np.square(centred).sum(1).max())))
            projected[start : start + _ROWS_AT_ONCE] = centred @ axes
            release_pages(features)
        order, starts, right, leaves = _split(projected, progress)
        blocks = np.full((len(starts), axes.shape[1], BLOCK_ROWS), _PADDING, np.float32)
        rows = np.full((len(starts), BLOCK_ROWS), -1, np.int64)
        lowest = np.empty((len(right), axes.shape[1]), np.float32)
        highest = np.empty_like(lowest)
        for node in range(len(right) - 1, -1, -1):
            block = leaves[node]
            if block >= 0:
                stop = starts[block + 1] if block + 1 < len(starts) else count
                members = np.sort(order[starts[block] : stop])
                rows[block, : len(members)] = offered[members]
                values = projected[members]
                blocks[block, :, : len(members)] = values.T
                lowest[node], highest[node] = values.min(0), values.max(0)
            else:
                pair = [node + 1, right[node]]
                lowest[node], highest[node] = lowest[pair].min(0), highest[pair].max(0)
        return cls(mean, axes, blocks, rows, right, leaves, lowest, highest, np.array(radius))


def _principal_axes(features: Array | ComputedRows, offered: Array) -> tuple[Array, Array]:
    chosen = offered[:: max(len(offered) // _SAMPLE, 1)]
    sample = features[chosen].astype(np.float64)
    mean = sample.mean(0)
    sample -= mean
    _, vectors = np.linalg.eigh(sample.T @ sample)
    return mean, np.ascontiguousarray(vectors[:, ::-1][:, :LEADING_AXES])


def _split(projected: Array, progress: Progress | None) -> tuple[Array, list[int], Array, Array]:
    """Order of the rows, start of each block in it, right children and leaves of the nodes."""
    order = np.arange(len(projected))
    starts: list[int] = []
    right: list[int] = []
    leaves: list[int] = []
    # Depth first, left first; a node's index is known when it is popped.
    waiting: list[tuple[int, int, Any]] = [(0, len(projected), None)]
    while waiting:
        start, stop, parent = waiting.pop()
        node = len(right)
        if parent is not None:
            right[parent] = node
        right.append(-1)
        blocks = -(-(stop - start) // BLOCK_ROWS)
        if blocks == 1:
            leaves.append(len(starts))
            starts.append(start)
            if len(starts) % 256 == 0:
                report(progress, "building the search tree", stop, len(projected))
            continue
        leaves.append(-1)
        members = order[start:stop]
        some = projected[members[:: max(len(members) // _SPREAD_SAMPLE, 1)]]
        values = projected[members, some.var(0).argmax()]
        half = (blocks // 2) * BLOCK_ROWS
        order[start:stop] = members[np.argpartition(values, half)]
        waiting.append((start + half, stop, node))
        waiting.append((start, start + half, None))
    report(progress, "building the search tree", len(projected), len(projected))
    return order, starts, np.array(right), np.array(leaves)


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
    distance = np.sqrt(square) * (1.0 + _RELATIVE_SLACK) + _SIZE_SLACK * size
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
