"""Exact nearest-neighbour search with a block tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.features.normalisation import Normalisation
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.block_tree import RELATIVE_SLACK, SIZE_SLACK, BlockTree
from matching.search.distances import answer, best, squared_distances
from matching.search.request import SearchRequest

_FIRST_BLOCKS = 4


def scan_blocks(
    tree: BlockTree, features: Array | JoinedRows, request: SearchRequest, index: int
) -> tuple[Array, Array]:
    """Squared distances and rows of the k nearest to one query of a request."""
    query, k = request.queries[index], request.k
    projected = tree.projected(query[None])[0]
    size = float(tree.sizes(query[None])[0])
    is_leaf = tree.leaves >= 0
    outside = np.maximum(tree.lowest[is_leaf] - projected, projected - tree.highest[is_leaf])
    boxes = np.square(np.maximum(outside, 0)).sum(1)
    blocks = tree.leaves[is_leaf]
    order = np.argsort(boxes, kind="stable")
    nearest, nearest_rows = np.zeros(0), np.zeros(0, np.int64)
    place, count = 0, _FIRST_BLOCKS
    while place < len(order):
        worst = min(nearest[-1] if len(nearest) == k else np.inf, float(request.bounds[index]))
        limit = (np.sqrt(worst) * (1 + RELATIVE_SLACK) + SIZE_SLACK * size) ** 2
        some = order[place : place + count]
        some = some[boxes[some] <= limit]
        if not some.size:
            break
        chosen = blocks[some]
        axes = np.square(tree.blocks[chosen] - projected[:, None]).sum(1)
        rows = tree.rows[chosen][axes <= limit]
        rows = rows[rows >= 0]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(features[rows], query)
        within = squares < request.bounds[index]
        nearest, nearest_rows = best(
            np.concatenate([nearest, squares[within]]),
            np.concatenate([nearest_rows, rows[within]]),
            k,
        )
        place, count = place + count, 2 * count
    return nearest, nearest_rows


def _compiled_walk() -> Callable[..., None] | None:
    try:
        from matching.search.block_tree_kernel import walk
    except ImportError:
        return None
    return walk


def _readable(features: Array | JoinedRows) -> tuple[Array, Array | None, Array | None]:
    """Rows for compiled code, and the mean and scale that it normalises them by."""
    mean = scale = None
    if isinstance(features, JoinedRows):
        normalisation = features.transform
        if len(features.parts) == 1 and isinstance(normalisation, Normalisation):
            mean = np.require(normalisation.mean, np.float32, ("C", "W"))
            scale = np.require(normalisation.scale, np.float32, ("C", "W"))
            features = features.parts[0]
    rows = np.asarray(features).view()
    # Compiled code is specific to a kind of array: rows are always read-only, because mapped files
    # are. The other arrays are writable, which numba unpacks far faster.
    rows.flags.writeable = False
    return rows, mean, scale


class ExactSearcher:
    """Exact search of a database's nearest rows; of equal distances the lower row comes first.

    Parameters
    ----------
    database
        The database to search.
    tree
        Tree of its offered rows; built if not given.
    compiled
        Use code compiled by numba, where it is installed. The first use on a machine compiles it
        for some seconds; the constructor does this.
    """

    name = "exact"
    exact = True

    def __init__(
        self,
        database: MotionDatabase,
        tree: BlockTree | None = None,
        *,
        compiled: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self._features = database.features
        if tree is None:
            tree = BlockTree.build(database.features, database.offered_rows, progress=progress)
        tree.check(len(database), database.dims)
        self.tree = tree
        self._walk = _compiled_walk() if compiled else None
        if self._walk is not None:
            self._read = _readable(database.features)
        small = [np.array(tree.mean), np.array(tree.axes), float(tree.radius)]
        self._arrays = small + [
            np.require(getattr(tree, name), requirements=("C", "W"))
            for name in ("blocks", "rows", "right", "leaves", "lowest", "highest")
        ]
        self._no_mask = np.zeros(0, np.bool_)
        self.search(np.zeros((1, database.dims), np.float32))

    def search(
        self,
        queries: Array,
        k: int = 1,
        *,
        allowed: Array | None = None,
        excluded: Array | None = None,
        cost_bound: float | Array = np.inf,
    ) -> tuple[Array, Array]:
        """See `matching.search.searcher.Searcher.search`."""
        rows, dims = self._features.shape
        request = SearchRequest.checked(
            queries,
            k,
            rows=rows,
            dims=dims,
            allowed=allowed,
            excluded=excluded,
            cost_bound=cost_bound,
        )
        if self._walk is None:
            results = [
                scan_blocks(self.tree, self._features, request, index)
                for index in range(len(request))
            ]
            return answer(request, results)
        distances = np.empty((len(request), request.k), np.float32)
        nearest = np.empty((len(request), request.k), np.int64)
        self._walk(
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
