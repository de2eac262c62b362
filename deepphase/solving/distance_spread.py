"""Spread of distances: mean and percentiles of more values than memory holds."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array

_BIN_M = 1e-4
_LARGEST_M = 2.0
_BINS = round(_LARGEST_M / _BIN_M)


class DistanceSpread:
    """Mean and percentiles of distances, counted in bins of 0.1 mm up to 2 m.

    Parameters
    ----------
    columns
        Number of quantities, each with a spread of its own.
    """

    def __init__(self, columns: int = 1) -> None:
        self._counts = np.zeros((columns, _BINS + 1), np.int64)
        self._sums = np.zeros(columns)

    def add(self, values: Array) -> None:
        """Add (values, columns) distances in metres."""
        bins = np.minimum(values / _BIN_M, _BINS).astype(np.int64)
        for column, own in enumerate(bins.T):
            self._counts[column] += np.bincount(own, minlength=_BINS + 1)
        self._sums += values.sum(axis=0, dtype=np.float64)

    def mean(self, column: int = 0) -> float:
        """Metres."""
        return float(self._sums[column] / self._counts[column].sum())

    def percentile(self, percent: float, column: int = 0) -> float:
        """Metres, to 0.1 mm; values of more than 2 m count as 2 m."""
        counted = np.cumsum(self._counts[column])
        at = int(np.searchsorted(counted, percent / 100.0 * counted[-1]))
        return min((at + 0.5) * _BIN_M, _LARGEST_M)
