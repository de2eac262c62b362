"""Bit-exact distances between feature rows, and the linear search."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.matching.search.request import SearchRequest

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
    features: Array | JoinedRows, offered: Array, request: SearchRequest, index: int
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
    """Distances (q, k) float32 and rows (q, k), padded with infinity and -1.

    `results` has the squared distances and rows of each query.
    """
    distances = np.full((len(request), request.k), np.inf, np.float32)
    rows = np.full((len(request), request.k), -1, np.int64)
    for index, (squares, nearest) in enumerate(results):
        distances[index, : len(squares)] = np.sqrt(squares)
        rows[index, : len(nearest)] = nearest
    return distances, rows
