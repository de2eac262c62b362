"""Block tree for nearest-neighbour search: bounding boxes around blocks of similar feature rows.

Rows are projected onto their leading principal axes, which hold most of a distance in few numbers.
The tree splits them at the median of the axis of largest variance, down to blocks of 64 rows.
Distances along the leading axes, and distances to boxes, are lower bounds of the true ones, so rows
whose bound exceeds the best distance so far are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from deepphase.arrays import Array, ComputedRows, release_pages
from deepphase.errors import ParameterError
from deepphase.progress import Progress

# Rows of a block and leading axes: the fastest of 16 to 64 rows and 8 to 34 axes on 215,000 rows of
# phases and trajectories.
BLOCK_ROWS = 64
LEADING_AXES = 16
# Padding of a block: farther than any row, with a square that a float32 can hold.
_PADDING = np.float32(1e18)
# Bounds on the rounding error of distances along the axes: relative, and as a share of the size of
# the numbers that are subtracted (float32 rounds at 6e-8).
RELATIVE_SLACK = 2e-5
SIZE_SLACK = 2e-6
_ROWS_AT_ONCE = 1 << 17
_SAMPLE = 200_000
_SPREAD_SAMPLE = 2048


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
            if progress is not None and len(starts) % 256 == 0:
                progress("building the search tree", stop, len(projected), "")
            continue
        leaves.append(-1)
        members = order[start:stop]
        some = projected[members[:: max(len(members) // _SPREAD_SAMPLE, 1)]]
        values = projected[members, some.var(0).argmax()]
        half = (blocks // 2) * BLOCK_ROWS
        order[start:stop] = members[np.argpartition(values, half)]
        waiting.append((start + half, stop, node))
        waiting.append((start, start + half, None))
    if progress is not None:
        progress("building the search tree", len(projected), len(projected), "")
    return order, starts, np.array(right), np.array(leaves)
