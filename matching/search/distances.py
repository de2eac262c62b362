"""Distances between feature rows to the last bit, and the search that looks at every row."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from matching.search.query import SearchQuery

_ROWS_AT_ONCE = 1 << 15


def squared_distances(rows: Array, query: Array) -> Array:
    """(n, dims) and (dims,) -> (n,) float64: squares summed in the order of the dimensions.

    One order everywhere, so that two ways to search agree in every bit and ties stay ties.
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


def scan(features: Array, offered: Array, request: SearchQuery, index: int) -> tuple[Array, Array]:
    """Squared distances and rows of the answer to one query of a request, of every row's look.

    Up to k of them: what is not allowed, excluded or not within the bound is left out.
    """
    query, k = request.queries[index], request.k
    found, places = np.zeros(0), np.zeros(0, np.int64)
    for start in range(0, len(offered), _ROWS_AT_ONCE):
        rows = offered[start : start + _ROWS_AT_ONCE]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(features[rows], query)
        within = squares < request.bounds[index]
        found, places = best(
            np.concatenate([found, squares[within]]), np.concatenate([places, rows[within]]), k
        )
    return found, places


def answer(request: SearchQuery, results: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Distances (q, k) float32 and rows (q, k) of squared distances and rows, filled up."""
    distances = np.full((len(request), request.k), np.inf, np.float32)
    rows = np.full((len(request), request.k), -1, np.int64)
    for index, (squares, places) in enumerate(results):
        distances[index, : len(squares)] = np.sqrt(squares)
        rows[index, : len(places)] = places
    return distances, rows
