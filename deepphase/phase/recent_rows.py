"""The last rows of a series that grows, in one piece of memory."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array


class RecentRows:
    """The last rows of a series; those before its first are 0.

    Parameters
    ----------
    count
        Rows that are kept.
    shape
        Of a row.
    dtype
        Type of the values.
    """

    def __init__(self, count: int, shape: tuple[int, ...], dtype: type = np.float64) -> None:
        self._count = count
        self._rows: Array = np.zeros((2 * count, *shape), dtype)
        self._stop = count

    def clear(self) -> None:
        """Forget all rows."""
        self._rows[: self._count] = 0
        self._stop = self._count

    def append(self, row: Array | float) -> None:
        """Add a row; the oldest is forgotten."""
        if self._stop == len(self._rows):
            self._rows[: self._count] = self._rows[-self._count :]
            self._stop = self._count
        self._rows[self._stop] = row
        self._stop += 1

    def last(self, count: int) -> Array:
        """(count, ...) the newest rows, the newest last; valid until a row is added."""
        return self._rows[self._stop - count : self._stop]
