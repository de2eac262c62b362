"""FAISS indices: their candidates, ranked again by true distances."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import faiss
import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.distances import answer, best, scan, squared_distances
from matching.search.query import SearchQuery
from matching.search.recall import split_by_clips, tune

_ROWS_AT_ONCE = 1 << 17
_HNSW_LINKS = 16
_HNSW_BUILD_EFFORT = 80
# Candidates asked for beside the k wanted, to rank again; of a product quantiser many more.
_MORE = {"flat": 8, "ivf": 8, "hnsw": 8, "ivfpq": 192}
# FAISS sums float32 squares, for many queries as |x|^2 - 2 x q + |q|^2: so much of the squared
# size of the numbers may be rounding.
_FLAT_SLACK = 1e-5
_MOST_EFFORT = 4096
# Rows a list that training its centres looks at.
_TRAINING_ROWS = 64


class FaissSearcher:
    """Nearest rows through a FAISS index.

    "flat" is exact: it asks for more candidates until rounding cannot have hidden a nearer one.
    "ivf", "hnsw" and "ivfpq" are approximate; `recall` says how often they find the true rows.

    Parameters
    ----------
    database
        Where to search.
    index
        A FAISS index over its offered rows.
    name
        "flat", "ivf", "hnsw" or "ivfpq".
    rows
        (n,) which row each number of the index means.
    effort
        Lists that are looked at, of ivf and ivfpq; length of the candidate list, of hnsw.
    recall
        What was measured when it was built: see `matching.recall`.
    """

    def __init__(
        self,
        database: MotionDatabase,
        index: Any,
        name: str,
        rows: Array,
        effort: int = 0,
        recall: Mapping[str, float] | None = None,
    ) -> None:
        if index.ntotal != len(rows) or index.d != database.dims:
            raise ParameterError(f"an index of {index.ntotal} rows of {index.d} values")
        self.name, self.exact = name, name == "flat"
        self.effort, self.recall = effort, dict(recall or {})
        self._index = index
        self._features = np.asarray(database.features)
        self._rows = rows
        self._size = _largest(self._features, self._rows) if self.exact else 0.0

    @classmethod
    def build(
        cls, database: MotionDatabase, name: str, *, progress: Progress | None = None
    ) -> FaissSearcher:
        """An index of that name; an approximate one works as hard as a recall of 0.99 takes.

        The recall is measured before the clips of its queries are added.
        Raises ParameterError where no frame is offered.
        """
        rows = database.offered_rows
        if not len(rows):
            raise ParameterError("no rows to search in")
        if name == "flat":
            index = _trained(database, name, rows)
            _add(index, database, rows, name, progress)
            return cls(database, index, name, rows)
        first, kept_out = split_by_clips(database)
        index = _trained(database, name, first)
        _add(index, database, first, name, progress)
        searcher = cls(database, index, name, first)
        # Looking at all lists is the most that there is to do.
        most = getattr(index, "nlist", _MOST_EFFORT)
        tune(searcher, database, first, kept_out, min(most, _MOST_EFFORT), progress)
        _add(index, database, kept_out, name, None)
        order = np.concatenate([first, kept_out])
        return cls(database, index, name, order, searcher.effort, searcher.recall)

    def stored(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and header entries that `restored` reads."""
        arrays = {"faiss": np.array(faiss.serialize_index(self._index)), "rows": self._rows}
        return arrays, {
            "parameters": json.dumps({"effort": self.effort, "faiss": faiss.__version__}),
            "recall": self.recall,
        }

    @classmethod
    def restored(
        cls, database: MotionDatabase, arrays: Mapping[str, Array], header: Mapping[str, Any]
    ) -> FaissSearcher:
        """The index of a cache file."""
        index = faiss.deserialize_index(np.array(arrays["faiss"]))
        effort = int(json.loads(header["parameters"])["effort"])
        rows = np.array(arrays["rows"])
        if (np.sort(rows) != database.offered_rows).any():
            raise ParameterError("an index of other rows")
        return cls(database, index, header["index"], rows, effort, header["recall"])

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
        request = SearchQuery.checked(
            queries,
            k,
            rows=len(self._features),
            dims=self._features.shape[1],
            allowed=allowed,
            excluded=excluded,
            cost_bound=cost_bound,
        )
        results: list[tuple[Array, Array] | None] = [None] * len(request)
        count = min(k + _MORE[self.name], len(self._rows))
        open_ = np.arange(len(request))
        while open_.size:
            near, places = self._index.search(
                request.queries[open_], count, params=self._parameters(request, count)
            )
            for index, row_near, row_places in zip(open_, near, places, strict=True):
                results[index] = self._ranked(request, int(index), row_near, row_places)
            open_ = np.array([i for i in open_ if results[i] is None], np.int64)
            if count == len(self._rows) or not self.exact:
                break
            count = min(4 * count, len(self._rows))
        return answer(
            request,
            [
                scan(self._features, self._rows, request, index) if each is None else each
                for index, each in enumerate(results)
            ],
        )

    def _ranked(
        self, request: SearchQuery, index: int, near: Array, places: Array
    ) -> tuple[Array, Array] | None:
        """Squared distances and rows by true distance; None where more must be looked at."""
        known = places >= 0
        rows = self._rows[places[known]]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(self._features[rows], request.queries[index])
        bound = request.bounds[index]
        squares, rows = best(squares[squares < bound], rows[squares < bound], request.k)
        complete = known.all() and len(near) == len(self._rows)
        worst = squares[-1] if len(squares) == request.k else bound
        if self.exact:
            size = self._size + float(np.square(request.queries[index]).sum())
            hidden = complete or float(near[-1]) - _FLAT_SLACK * size > worst
            return (squares, rows) if hidden else None
        # Masks may have taken all that was found, and yet there may be rows that they leave.
        enough = len(squares) == request.k or (np.isfinite(bound) and known.any())
        return (squares, rows) if enough or complete else None

    def _parameters(self, request: SearchQuery, count: int) -> Any:
        selector = None
        if request.allowed is not None:
            bits = np.packbits(request.allowed[self._rows], bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)
        if self.name == "hnsw":
            return faiss.SearchParametersHNSW(sel=selector, efSearch=max(self.effort, count))
        if self.name == "ivf":
            return faiss.SearchParametersIVF(sel=selector, nprobe=max(self.effort, 1))
        if self.name == "ivfpq":
            return faiss.IVFPQSearchParameters(sel=selector, nprobe=max(self.effort, 1))
        return None if selector is None else faiss.SearchParameters(sel=selector)


def _add(
    index: Any, database: MotionDatabase, rows: Array, name: str, progress: Progress | None
) -> None:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        index.add(np.ascontiguousarray(database.features[some]))
        if progress is not None:
            progress(f"building {name}", start + len(some), len(rows), "")


def _trained(database: MotionDatabase, name: str, offered: Array) -> Any:
    """An empty index, trained on some of the rows where it needs it."""
    rows, dims = len(offered), database.dims
    index: Any
    if name == "flat":
        return faiss.IndexFlatL2(dims)
    if name == "hnsw":
        index = faiss.IndexHNSWFlat(dims, _HNSW_LINKS)
        index.hnsw.efConstruction = _HNSW_BUILD_EFFORT
        return index
    # Four lists a square root of rows, as FAISS advises, but no more than training can fill.
    lists = max(min(round(4 * np.sqrt(rows)), rows // _TRAINING_ROWS), 1)
    step = max(rows // max(_TRAINING_ROWS * lists, 1), 1)
    sample = np.ascontiguousarray(database.features[offered[::step]])
    if name == "ivf":
        index = faiss.index_factory(dims, f"IVF{lists},Flat")
    else:
        # A code of 2^bits words a part of a row; the words are learnt of the sample.
        bits = int(min(8, max(np.log2(max(len(sample), 2)), 1)))
        index = faiss.index_factory(dims, f"IVF{lists},PQ{_parts(dims)}x{bits}")
        sample = np.resize(sample, (max(len(sample), 2**bits), dims))
    index.cp.min_points_per_centroid = 1
    if name == "ivfpq":
        index.pq.cp.min_points_per_centroid = 1
        # Orders the codes for comparisons by bits, which are not used: by far the longest part.
        index.do_polysemous_training = False
    index.train(sample)
    return index


def _parts(dims: int) -> int:
    """Into how many parts a product quantiser cuts a row: the most with two values or more."""
    divisors = [parts for parts in range(1, dims // 2 + 1) if dims % parts == 0]
    return divisors[-1] if divisors and divisors[-1] >= dims / 4 else dims


def _largest(features: Array, rows: Array) -> float:
    return max(
        float(np.square(features[rows[start : start + _ROWS_AT_ONCE]]).sum(1).max())
        for start in range(0, len(rows), _ROWS_AT_ONCE)
    )
