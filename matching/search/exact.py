"""Exact nearest-neighbour search with a block tree."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.features.normalisation import Normalisation
from deepphase.matching.search.block_tree import BlockTree
from deepphase.matching.search.block_tree_kernel import walk
from deepphase.matching.search.request import SearchRequest
from deepphase.progress import Progress


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


class SearchedRows(Protocol):
    """Rows of features, as a `MotionDatabase` has them."""

    @property
    def features(self) -> Array | JoinedRows: ...

    @property
    def offered_rows(self) -> Array: ...

    @property
    def dims(self) -> int: ...

    def __len__(self) -> int: ...


class ExactSearcher:
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
        self._features = database.features
        if tree is None:
            tree = BlockTree.build(database.features, database.offered_rows, progress=progress)
        tree.check(len(database), database.dims)
        self.tree = tree
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
        """See `deepphase.matching.search.searcher.Searcher.search`."""
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
