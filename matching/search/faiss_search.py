"""Approximate search with an index of FAISS, which its `index_factory` string describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import faiss
import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.request import (
    Searcher,
    SearchRequest,
    answer,
    best,
    scan,
    squared_distances,
)
from deepphase.work import Progress, report

# Candidates beyond k that are ranked again by exact distance; codes of quantisers need many.
_EXTRA_CANDIDATES = 192
_ROWS_AT_ONCE, _TRAINING_ROWS = 1 << 17, 1 << 18
# Queries that the recall is measured with, and the recall at which the effort is enough.
_QUERIES, _ENOUGH = 500, 0.99
# Half of the unusual queries are farther from the mean than the data, by this factor.
_STRETCH = 1.5
_EFFORTS = (8, 16, 32, 64, 128, 256, 512, 1024)


class FaissSearcher(Searcher):
    """Search of a database's nearest rows with a FAISS index, ranked again by exact distance."""

    exact = False

    def __init__(self, database: MotionDatabase, name: str, index: Any, recall: float) -> None:
        self._features, self._rows = database.features, database.offered_rows
        if index.ntotal != len(self._rows) or index.d != database.dims:
            raise ParameterError("the index is of other rows", hint="build the index again")
        self.name, self.recall, self._index = name, recall, index
        self.shape = len(database), database.dims

    @classmethod
    def build(
        cls, database: MotionDatabase, name: str, *, progress: Progress | None = None
    ) -> FaissSearcher:
        """Train and fill an index, and raise its effort until its recall is 0.99."""
        rows, features = database.offered_rows, database.features
        if not len(rows):
            raise ParameterError("there are no rows to search in", hint="offer at least one row")
        try:
            index = faiss.index_factory(database.dims, name)
            step = -(-len(rows) // _TRAINING_ROWS)
            index.train(np.ascontiguousarray(features[rows[::step]]))
        except RuntimeError as error:
            raise ParameterError(
                f"FAISS cannot build the index {name!r} of {len(rows):,} rows: "
                f"{str(error).rpartition(': ')[2]}",
                hint="give exact, or a string of faiss.index_factory, such as IVF1024,Flat",
            ) from None
        queries = unusual_queries(database)
        nearest = np.full(len(queries), np.inf, np.float32)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            block = np.ascontiguousarray(features[rows[start : start + _ROWS_AT_ONCE]])
            index.add(block)
            # FAISS rounds distances, so that the nearest of its nearest is taken.
            _, near = faiss.knn(queries, block, min(8, len(block)))
            for query, places in enumerate(near):
                square = squared_distances(block[places], queries[query]).min()
                nearest[query] = min(nearest[query], np.float32(np.sqrt(square)))
            release_pages(features)
            report(progress, f"building {name}", start + len(block), len(rows))
        searcher = cls(database, name, index, 0.0)
        for effort in _EFFORTS:
            has_effort = _set_effort(index, effort)
            searcher.recall = float((searcher.search(queries)[0][:, 0] <= nearest).mean())
            if searcher.recall >= _ENOUGH or not has_effort:
                break
        return searcher

    def stored(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and header entries that `restored` reads."""
        return {"faiss": np.array(faiss.serialize_index(self._index))}, {"recall": self.recall}

    @classmethod
    def restored(
        cls, database: MotionDatabase, arrays: Mapping[str, Array], header: Mapping[str, Any]
    ) -> FaissSearcher:
        """The searcher of a cache file."""
        index = faiss.deserialize_index(np.array(arrays["faiss"]))
        return cls(database, header["index"], index, float(header["recall"]))

    def answered(self, request: SearchRequest) -> tuple[Array, Array]:
        """As `Searcher.answered`."""
        k = request.k
        selector = None
        if request.allowed is not None:
            bits = np.packbits(request.allowed[self._rows], bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)
        count = min(k + _EXTRA_CANDIDATES, len(self._rows))
        _, entries = self._index.search(
            request.queries, count, params=_search_parameters(self._index, selector)
        )
        results = []
        for index, found in enumerate(entries):
            rows = self._rows[found[found >= 0]]
            rows = rows[request.permits(rows, index)]
            squares = squared_distances(self._features[rows], request.queries[index])
            within = squares < request.bounds[index]
            # Masks may have removed all candidates although other rows are allowed.
            if within.sum() < k and not np.isfinite(request.bounds[index]):
                results.append(scan(self._features, self._rows, request, index))
            else:
                results.append(best(squares[within], rows[within], k))
        return answer(request, results)


def unusual_queries(database: MotionDatabase, seed: int = 1) -> Array:
    """Queries (q, dims) unlike any row, as abruptly changed goals make them.

    Each feature comes from one of two random rows, and every other query is scaled to 1.5 times its
    distance from the mean.
    """
    rng, rows = np.random.default_rng(seed), database.offered_rows
    pairs = rng.choice(rows, (2, min(_QUERIES, len(rows))))
    one, other = np.array(database.features[pairs], np.float32)
    for block in database.layout.slices.values():
        taken = rng.random(len(one)) < 0.5
        one[taken, block] = other[taken, block]
    one[::2] *= _STRETCH
    return one


def _set_effort(index: Any, effort: int) -> bool:
    """Set the lists that are probed, or the candidates of a graph; whether the index has either."""
    for name in ("nprobe", "efSearch"):
        try:
            faiss.ParameterSpace().set_index_parameter(index, name, effort)
        except RuntimeError:
            continue
        return True
    return False


def _search_parameters(index: Any, selector: Any) -> Any:
    if isinstance(index, faiss.IndexPreTransform):
        inner = _search_parameters(faiss.downcast_index(index.index), selector)
        return faiss.SearchParametersPreTransform(index_params=inner)
    if isinstance(index, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=selector, nprobe=index.nprobe)
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=selector, efSearch=index.hnsw.efSearch)
    return faiss.SearchParameters(sel=selector)
