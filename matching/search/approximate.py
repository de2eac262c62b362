"""FAISS indices, with candidates ranked again by exact distances."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from deepphase.arrays import Array, JoinedRows, release_pages
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.distances import answer, best, scan, squared_distances
from deepphase.matching.search.inverted_lists import sorted_lists, with_lists
from deepphase.matching.search.recall import split_by_clips, tune
from deepphase.matching.search.request import SearchRequest
from deepphase.progress import Progress

_ROWS_AT_ONCE = 1 << 17
_HNSW_LINKS = 16
_HNSW_BUILD_EFFORT = 80
# Candidates beyond k that are ranked again by exact distance; a product quantiser needs many.
_EXTRA_CANDIDATES = {"flat": 8, "ivf": 8, "hnsw": 8, "ivfpq": 192}
# Bound on the rounding error of FAISS, which sums float32 squares, for many queries as
# |x|^2 - 2 x q + |q|^2: a share of the squared size of the numbers.
_FLAT_SLACK = 1e-5
_MAX_EFFORT = 4096
# Training rows per list of an inverted file, and the most lists: the time of training grows with
# their square.
_TRAINING_ROWS = 64
_MAX_LISTS = 4096


class FaissSearcher:
    """Search of a database's nearest rows with a FAISS index.

    "flat" is exact: it requests candidates until rounding cannot have hidden a nearer row.
    "ivf", "hnsw" and "ivfpq" are approximate; `recall` has the share of true neighbours found.

    Parameters
    ----------
    database
        The database to search.
    index
        FAISS index of its offered rows.
    name
        "flat", "ivf", "hnsw" or "ivfpq".
    rows
        (n,) row of each entry of the index.
    effort
        Number of lists probed by ivf and ivfpq; length of the candidate list of hnsw.
    recall
        Recall measured when the index was built, see `deepphase.matching.search.recall`.
    lists
        For "ivf": the trained index without rows, and sizes and data of the lists of `index`.
    """

    def __init__(
        self,
        database: MotionDatabase,
        index: Any,
        name: str,
        rows: Array,
        effort: int = 0,
        recall: Mapping[str, float] | None = None,
        lists: tuple[Any, Array, Array] | None = None,
    ) -> None:
        if index.ntotal != len(rows) or index.d != database.dims:
            raise ParameterError(
                f"the index has {index.ntotal} rows of {index.d} values, expected {len(rows)} of "
                f"{database.dims}"
            )
        self.name, self.exact = name, name == "flat"
        self.effort, self.recall = effort, dict(recall or {})
        self._index = index
        self._lists = lists
        self._features = database.features
        self._rows = rows
        self._size = _max_square(self._features, self._rows) if self.exact else 0.0

    @classmethod
    def build(
        cls,
        database: MotionDatabase,
        name: str,
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
    ) -> FaissSearcher:
        """An index of this kind; the effort of an approximate one is tuned to its recall.

        The recall is measured with clips that its training does not see, and with unusual queries,
        see `deepphase.matching.search.recall`.

        Parameters
        ----------
        folder
            Folder for a temporary file of the rows of "ivf", where these may exceed memory.

        Raises
        ------
        ParameterError
            Where no frame is offered.
        """
        if name == "flat":
            return cls.filled(database, name, trained(database, name), progress=progress)
        split = split_by_clips(database)
        empty = trained(database, name, split.searched)
        searcher = cls.filled(database, name, empty, folder=folder, progress=progress)
        tune(searcher, database, split, max_effort(empty), progress)
        return searcher

    @classmethod
    def filled(
        cls,
        database: MotionDatabase,
        name: str,
        empty: Any,
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
    ) -> FaissSearcher:
        """A copy of a trained, empty index with the offered rows of a database."""
        rows = database.offered_rows
        if name == "ivf":
            sizes, data = sorted_lists(empty, database.features, rows, folder, progress)
            index = with_lists(empty, sizes, data)
            return cls(database, index, name, rows, lists=(empty, sizes, data))
        index = faiss.clone_index(empty)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            index.add(np.ascontiguousarray(database.features[some]))
            release_pages(database.features)
            if progress is not None:
                progress(f"building {name}", start + len(some), len(rows), "")
        return cls(database, index, name, rows)

    def stored(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and header entries that `restored` reads."""
        index, arrays = self._index, {"rows": self._rows}
        if self._lists is not None:
            index = self._lists[0]
            arrays |= {"list_sizes": self._lists[1], "lists": self._lists[2]}
        arrays["faiss"] = np.array(faiss.serialize_index(index))
        return arrays, {
            "parameters": json.dumps({"effort": self.effort, "faiss": faiss.__version__}),
            "recall": self.recall,
        }

    @classmethod
    def restored(
        cls, database: MotionDatabase, arrays: Mapping[str, Array], header: Mapping[str, Any]
    ) -> FaissSearcher:
        """The index of a cache file."""
        index, lists = faiss.deserialize_index(np.array(arrays["faiss"])), None
        if "lists" in arrays:
            lists = index, np.array(arrays["list_sizes"]), arrays["lists"]
            index = with_lists(*lists)
        effort = int(json.loads(header["parameters"])["effort"])
        rows = np.array(arrays["rows"])
        if not np.array_equal(np.sort(rows), database.offered_rows):
            raise ParameterError("the index is of other rows", hint="build the index again")
        return cls(database, index, header["index"], rows, effort, header["recall"], lists)

    def search(
        self,
        queries: Array,
        k: int = 1,
        *,
        allowed: Array | None = None,
        excluded: Array | None = None,
        cost_bound: float | Array = np.inf,
        fallback: bool = True,
    ) -> tuple[Array, Array]:
        """See `deepphase.matching.search.searcher.Searcher.search`.

        Parameters
        ----------
        fallback
            Look at all rows where an approximate search finds fewer than k that are allowed.
        """
        request = SearchRequest.checked(
            queries,
            k,
            rows=len(self._features),
            dims=self._features.shape[1],
            allowed=allowed,
            excluded=excluded,
            cost_bound=cost_bound,
        )
        results: list[tuple[Array, Array] | None] = [None] * len(request)
        count = min(k + _EXTRA_CANDIDATES[self.name], len(self._rows))
        pending = np.arange(len(request))
        while pending.size:
            approximate, entries = self._index.search(
                request.queries[pending], count, params=self._parameters(request, count)
            )
            for index, squares, chosen in zip(pending, approximate, entries, strict=True):
                results[index] = self._ranked(request, int(index), squares, chosen, fallback)
            pending = np.array([i for i in pending if results[i] is None], np.int64)
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
        self,
        request: SearchRequest,
        index: int,
        approximate: Array,
        entries: Array,
        fallback: bool,
    ) -> tuple[Array, Array] | None:
        """Exact squared distances and rows, rising; None where more candidates are needed."""
        valid = entries >= 0
        rows = self._rows[entries[valid]]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(self._features[rows], request.queries[index])
        bound = request.bounds[index]
        squares, rows = best(squares[squares < bound], rows[squares < bound], request.k)
        complete = valid.all() and len(entries) == len(self._rows)
        worst = squares[-1] if len(squares) == request.k else bound
        if self.exact:
            size = self._size + float(np.square(request.queries[index]).sum())
            certain = complete or float(approximate[-1]) - _FLAT_SLACK * size > worst
            return (squares, rows) if certain else None
        # Masks may have removed all candidates although other rows are allowed.
        enough = len(squares) == request.k or (np.isfinite(bound) and valid.any()) or not fallback
        return (squares, rows) if enough or complete else None

    def _parameters(self, request: SearchRequest, count: int) -> Any:
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


def max_effort(index: Any) -> int:
    """The largest effort of an index."""
    return min(getattr(index, "nlist", _MAX_EFFORT), _MAX_EFFORT)


def trained(database: MotionDatabase, name: str, rows: Array | None = None) -> Any:
    """An empty index, trained on a sample of some rows where its kind needs training.

    Parameters
    ----------
    rows
        Row numbers, rising; all that are offered by default.

    Raises
    ------
    ParameterError
        Where no row is offered.
    """
    offered = database.offered_rows if rows is None else rows
    count, dims = len(offered), database.dims
    if not count:
        raise ParameterError("there are no rows to search in", hint="offer at least one row")
    index: Any
    if name == "flat":
        return faiss.IndexFlatL2(dims)
    if name == "hnsw":
        index = faiss.IndexHNSWFlat(dims, _HNSW_LINKS)
        index.hnsw.efConstruction = _HNSW_BUILD_EFFORT
        return index
    # 4 * sqrt(rows) lists, as FAISS advises, limited by the number of training rows.
    lists = min(round(4 * np.sqrt(count)), count // _TRAINING_ROWS, _MAX_LISTS)
    lists = max(lists, 1)
    step = max(count // (_TRAINING_ROWS * lists), 1)
    sample = np.ascontiguousarray(database.features[offered[::step]])
    release_pages(database.features)
    if name == "ivf":
        index = faiss.index_factory(dims, f"IVF{lists},Flat")
    else:
        # 2^bits codes per part of a row, which are learnt from the sample.
        bits = int(min(8, max(np.log2(max(len(sample), 2)), 1)))
        index = faiss.index_factory(dims, f"IVF{lists},PQ{_parts(dims)}x{bits}")
        sample = np.resize(sample, (max(len(sample), 2**bits), dims))
    index.cp.min_points_per_centroid = 1
    if name == "ivfpq":
        index.pq.cp.min_points_per_centroid = 1
        # Polysemous training serves comparisons of codes, which are not used, and takes longest.
        index.do_polysemous_training = False
    index.train(sample)
    return index


def _parts(dims: int) -> int:
    """Number of parts of a row in a product quantiser: the largest with two values or more each."""
    divisors = [parts for parts in range(1, dims // 2 + 1) if dims % parts == 0]
    return divisors[-1] if divisors and divisors[-1] >= dims / 4 else dims


def _max_square(features: Array | JoinedRows, rows: Array) -> float:
    """Largest squared norm of rows."""
    return max(
        float(np.square(features[rows[start : start + _ROWS_AT_ONCE]]).sum(1).max())
        for start in range(0, len(rows), _ROWS_AT_ONCE)
    )
