"""Searches and their checked arguments, and bit-exact distances between feature rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array, ComputedRows
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout

_ROWS_AT_ONCE = 1 << 15


def squared_distances(rows: Array, query: Array) -> Array:
    """(n, dims) and (dims,) -> (n,) float64: squares summed in the order of the dimensions.

    All searches sum in this order, so that they agree in every bit and ties stay ties.
    """
    total = np.zeros(len(rows))
    for dimension in range(rows.shape[1]):
        difference = rows[:, dimension].astype(np.float64) - np.float64(query[dimension])
        total += difference * difference
    return total


def best(squares: Array, rows: Array, k: int) -> tuple[Array, Array]:
    """The k nearest of (n,) squared distances with their rows; ties by row number."""
    if len(squares) > 8 * k:
        near = squares <= np.partition(squares, k - 1)[k - 1]
        squares, rows = squares[near], rows[near]
    order = np.lexsort((rows, squares))[:k]
    return squares[order], rows[order]


def scan(
    features: Array | ComputedRows, offered: Array, request: SearchRequest, index: int
) -> tuple[Array, Array]:
    """Squared distances and rows of the k nearest to one query of a request, by linear search.

    Fewer than k where not enough rows are allowed and within the bound.
    """
    query, k = request.queries[index], request.k
    nearest, nearest_rows = np.zeros(0), np.zeros(0, np.int64)
    for start in range(0, len(offered), _ROWS_AT_ONCE):
        rows = offered[start : start + _ROWS_AT_ONCE]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(features[rows], query)
        within = squares < request.bounds[index]
        nearest, nearest_rows = best(
            np.concatenate([nearest, squares[within]]),
            np.concatenate([nearest_rows, rows[within]]),
            k,
        )
    return nearest, nearest_rows


def answer(request: SearchRequest, results: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Distances (q, k) float32 and rows (q, k), padded with infinity and -1."""
    distances = np.full((len(request), request.k), np.inf, np.float32)
    rows = np.full((len(request), request.k), -1, np.int64)
    for index, (squares, nearest) in enumerate(results):
        distances[index, : len(squares)] = np.sqrt(squares)
        rows[index, : len(nearest)] = nearest
    return distances, rows


def cost_terms(layout: FeatureLayout, query: Array, rows: Array) -> Array:
    """(n, features) squared distances between a query (dims,) and rows (n, dims), by feature.

    Their sum is the square of the cost, the Euclidean distance by which searches rank rows.
    """
    squares = np.square(np.asarray(rows, np.float64) - np.asarray(query, np.float64))
    starts = [columns.start for columns in layout.slices.values()]
    return np.add.reduceat(squares, starts, axis=1)


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """Queries, and the rows that each may find."""

    queries: Array  # (q, dims) float32, finite
    k: int  # Number of nearest rows per query
    allowed: Array | None  # (rows,) bool, or None for all
    # (q, 2) int64 first row and last row + 1 that each query must not find; equal for none.
    excluded: Array
    bounds: Array  # (q,) float64 squared distances that results must be below

    def __len__(self) -> int:
        return len(self.queries)

    def permits(self, rows: Array, index: int) -> Array:
        """(rows,) bool: rows that are allowed and not excluded for one query."""
        first, stop = self.excluded[index]
        free = (rows < first) | (rows >= stop)
        return free if self.allowed is None else free & self.allowed[rows]


class Searcher(ABC):
    """Search of the rows of a database that are nearest to queries.

    Attributes
    ----------
    name
        Name of the index.
    exact
        Whether it always finds the true nearest rows.
    shape
        Number of rows of the database, and of values of a row.
    """

    name: str
    exact: bool
    shape: tuple[int, int]

    def words(self) -> str:
        """The index; of an approximate one also its recall."""
        recall = getattr(self, "recall", None)
        if recall is None:
            return ", ".join(dict.fromkeys((self.name, "exact")))
        return f"{self.name}, approximate: finds the nearest row of {recall:.1%} of unusual queries"

    def search(
        self,
        queries: Array,
        k: int = 1,
        *,
        allowed: Array | None = None,
        excluded: Array | None = None,
        cost_bound: float | Array = np.inf,
    ) -> tuple[Array, Array]:
        """The k nearest offered rows of each query.

        Parameters
        ----------
        queries : (q, dims) or (dims,) float32
            Normalised, as `MotionDatabase.query` makes them.
        k
            Number of rows per query, from 1; may exceed the rows of the database.
        allowed : (rows,) bool
            Rows that may be found, as `MotionDatabase.rows_with` returns them; all if not given.
        excluded : (q, 2)
            First row and last row + 1 of the range that a query must not find, as
            `MotionDatabase.neighbourhood` returns them.
        cost_bound
            Only rows strictly nearer are found; a number or (q,). Low bounds make a search faster.

        Returns
        -------
        distances : (q, k) float32
            Euclidean, rising; infinite where fewer than k rows may be found.
        rows : (q, k) int64
            -1 there. Rows at equal distance are in rising order.

        Raises
        ------
        ParameterError
            Where a shape does not fit, a value is not finite, or k or a bound is out of range.
        """
        rows, dims = self.shape
        queries = _writable(queries, np.float32)
        if queries.ndim == 1:
            queries = queries[None]
        if queries.ndim != 2 or queries.shape[1] != dims:
            raise ParameterError(
                f"queries {queries.shape}, but a row of the database has {dims} values",
                hint="queries are (q, dims), normalised as MotionDatabase.query makes them",
            )
        finite = np.isfinite(queries)
        if not finite.all():
            wrong = np.flatnonzero(~finite.all(1))
            raise ParameterError(
                f"query {wrong[0]} has values that are not finite",
                hint="leave this query out, or make it again",
            )
        if isinstance(k, bool) or int(k) != k or k < 1:
            raise ParameterError(f"k must be a whole number from 1, not {k}")
        if allowed is not None:
            allowed = np.asarray(allowed)
            if allowed.dtype != np.bool_ or allowed.shape != (rows,):
                raise ParameterError(
                    f"allowed must be ({rows},) booleans, not {allowed.shape} {allowed.dtype}"
                )
            allowed = _writable(allowed, np.bool_)
        if excluded is None:
            excluded = np.zeros((len(queries), 2), np.int64)
        else:
            excluded = _writable(excluded, np.int64).reshape(-1, 2)
            if len(excluded) != len(queries):
                raise ParameterError(
                    f"there are {len(excluded)} excluded ranges for {len(queries)} queries",
                    hint="give one range for each query",
                )
        bounds = np.full(len(queries), cost_bound, np.float64)
        # The negation also refuses NaN.
        if not (bounds >= 0).all():
            raise ParameterError("a cost bound must be a distance, 0 or more")
        return self.answered(SearchRequest(queries, int(k), allowed, excluded, np.square(bounds)))

    @abstractmethod
    def answered(self, request: SearchRequest) -> tuple[Array, Array]:
        """Distances and rows of a request, as `search` returns them."""


def _writable(array: Array, dtype: type) -> Array:
    """The array itself where it is contiguous and writable, else a copy."""
    return np.require(array, dtype, ("C", "W"))
