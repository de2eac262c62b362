"""The exact search: through a block tree, equal to looking at every row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deepphase.arrays import Array
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.block_tree import RELATIVE_SLACK, SIZE_SLACK, BlockTree
from matching.search.distances import answer, best, squared_distances
from matching.search.query import SearchQuery

_FIRST_BLOCKS = 4


def scan_blocks(
    tree: BlockTree, features: Array, request: SearchQuery, index: int
) -> tuple[Array, Array]:
    """Squared distances and rows, up to k, of the answer to one query of a request."""
    query, k = request.queries[index], request.k
    seen = tree.projected(query[None])[0]
    size = float(tree.sizes(query[None])[0])
    is_leaf = tree.leaves >= 0
    outside = np.maximum(tree.lowest[is_leaf] - seen, seen - tree.highest[is_leaf])
    boxes = np.square(np.maximum(outside, 0)).sum(1)
    blocks = tree.leaves[is_leaf]
    order = np.argsort(boxes, kind="stable")
    found, places = np.zeros(0), np.zeros(0, np.int64)
    place, count = 0, _FIRST_BLOCKS
    while place < len(order):
        worst = min(found[-1] if len(found) == k else np.inf, float(request.bounds[index]))
        limit = (np.sqrt(worst) * (1 + RELATIVE_SLACK) + SIZE_SLACK * size) ** 2
        some = order[place : place + count]
        some = some[boxes[some] <= limit]
        if not some.size:
            break
        chosen = blocks[some]
        axes = np.square(tree.blocks[chosen] - seen[:, None]).sum(1)
        rows = tree.rows[chosen][axes <= limit]
        rows = rows[rows >= 0]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(features[rows], query)
        within = squares < request.bounds[index]
        found, places = best(
            np.concatenate([found, squares[within]]), np.concatenate([places, rows[within]]), k
        )
        place, count = place + count, 2 * count
    return found, places


def _compiled_walk() -> Callable[..., None] | None:
    try:
        from matching.search.block_tree_kernel import walk
    except ImportError:
        return None
    return walk


class ExactSearcher:
    """Nearest rows of a database, the true ones; ties go to the lower row.

    Parameters
    ----------
    database
        Where to search.
    tree
        A tree over its offered rows; built if not given.
    compiled
        Walk the tree with compiled code, where numba is there. The first search of the first
        program compiles it, for some seconds; this is done here.
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
        features = np.asarray(database.features).view()
        # Mapped files are read-only, so all are: compiled code is made for one kind of array.
        # The others are writable, which a call of it takes in far faster.
        features.flags.writeable = False
        self._features = features
        if tree is None:
            tree = BlockTree.build(self._features, database.offered_rows, progress=progress)
        tree.check(*self._features.shape)
        self.tree = tree
        self._walk = _compiled_walk() if compiled else None
        small = [np.array(tree.mean), np.array(tree.axes), float(tree.radius)]
        self._arrays = small + [
            np.require(getattr(tree, name), requirements=("C", "W"))
            for name in ("blocks", "rows", "right", "leaves", "lowest", "highest")
        ]
        self._everything = np.zeros(0, np.bool_)
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
        """As `matching.search.Searcher.search`."""
        rows, dims = self._features.shape
        request = SearchQuery.checked(
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
        found = np.empty((len(request), request.k), np.int64)
        self._walk(
            self._features,
            *self._arrays,
            request.queries,
            self._everything if request.allowed is None else request.allowed,
            request.excluded,
            request.bounds,
            distances,
            found,
        )
        return distances, found
