"""Arrays in temporary files, for data that should not fill the memory."""

from __future__ import annotations

import tempfile

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError


class ScratchRows:
    """Rows of float32 values, appended to an unnamed file in the system's temporary folder.

    The file is removed with its last map, however the program ends.

    Parameters
    ----------
    width
        Number of values in a row.
    """

    def __init__(self, width: int) -> None:
        self._width, self._rows = width, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `mapped`)

    def append(self, rows: Array) -> None:
        """Append (rows, width) values.

        Raises
        ------
        CheckpointError
            Where the disk is full.
        """
        try:
            self._file.write(np.ascontiguousarray(rows, np.float32).data)
        except OSError as error:
            raise _full(error) from None
        self._rows += len(rows)

    def mapped(self) -> Array:
        """(rows, width) float32, mapped; nothing can be appended afterwards."""
        shape = (self._rows, self._width)
        try:
            self._file.flush()
            if not self._rows * self._width:
                return np.empty(shape, np.float32)
            return np.memmap(self._file, np.float32, "r+", shape=shape)
        except OSError as error:
            raise _full(error) from None
        finally:
            self._file.close()


def _full(error: OSError) -> CheckpointError:
    return CheckpointError(
        f"no temporary file can be written: {error.strerror or error}",
        hint="set TMPDIR to a folder on a disk with enough room",
        path=tempfile.gettempdir(),
    )
