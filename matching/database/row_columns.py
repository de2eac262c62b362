"""Columns of database rows that are read clip by clip, in memory or in files without a name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.temporary_files import mapped_array

# Rows whose pages stay in memory while columns in files are filled.
_ROWS_AT_ONCE = 1 << 17


class RowColumns:
    """Arrays with one entry a row, filled from the first row on.

    Parameters
    ----------
    kinds
        Name -> shape of a row's entry, and type.
    rows
        Number of rows.
    folder
        Folder of temporary files without a name, for rows that may exceed the memory.

    Raises
    ------
    CheckpointError
        Where the disk has no room for the rows.
    """

    def __init__(
        self, kinds: Mapping[str, tuple[tuple[int, ...], type]], rows: int, folder: Path | None
    ) -> None:
        self.arrays: dict[str, Array] = {
            name: np.empty((rows, *shape), kind)
            if folder is None
            else mapped_array((rows, *shape), kind, folder)
            for name, (shape, kind) in kinds.items()
        }
        self._filled = self._released = 0

    def append(self, values: Mapping[str, Array]) -> None:
        """Add the rows of every column."""
        stop = self._filled
        for name, column in self.arrays.items():
            stop = self._filled + len(values[name])
            column[self._filled : stop] = values[name]
        self._filled = stop
        if stop - self._released >= _ROWS_AT_ONCE or stop == len(column):
            for column in self.arrays.values():
                release_pages(column)
            self._released = stop
