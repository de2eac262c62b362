"""The array type of annotations, rows of several arrays, runs in flags, and pages of files."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


class JoinedRows:
    """Rows of several arrays as one array, which are read where they are indexed.

    The arrays may be mapped files that together exceed the memory. `np.asarray` reads all rows.

    Parameters
    ----------
    parts
        Arrays (rows, ...) of one type and width.
    transform
        Function of rows (..., width) that is applied to all rows that are read, such as a
        normalisation.
    """

    def __init__(
        self, parts: Sequence[Array], transform: Callable[[Array], Array] | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.transform = transform
        self.stops = np.cumsum([len(part) for part in self.parts])
        self.dtype = self.parts[0].dtype
        self.shape: tuple[int, ...] = (int(self.stops[-1]), *self.parts[0].shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __getitem__(self, index: Any) -> Array:
        rows, rest = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            read = self._between(start, stop) if step == 1 else self[np.arange(start, stop, step)]
            return read[(slice(None), *rest)]
        read = self._at(np.asarray(rows))
        return read[rest] if rest else read

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype)

    def _between(self, start: int, stop: int) -> Array:
        found = []
        for part, end in zip(self.parts, self.stops, strict=True):
            begin = end - len(part)
            if start < end and stop > begin:
                found.append(part[max(start - begin, 0) : stop - begin])
        if not found:
            return self._transformed(self.parts[0][:0])
        return self._transformed(found[0] if len(found) == 1 else np.concatenate(found))

    def _at(self, rows: Array) -> Array:
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        if rows.size and not -len(self) <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"row {rows.min()} or {rows.max()} of {len(self)}")
        flat = np.where(rows < 0, rows + len(self), rows).reshape(-1)
        read = np.empty((len(flat), *self.shape[1:]), self.dtype)
        which = np.searchsorted(self.stops, flat, side="right")
        for number in np.unique(which):
            part, chosen = self.parts[number], which == number
            read[chosen] = part[flat[chosen] - (self.stops[number] - len(part))]
        return self._transformed(read.reshape(rows.shape + self.shape[1:]))

    def _transformed(self, rows: Array) -> Array:
        return rows if self.transform is None else self.transform(rows)


def true_runs(flags: Array) -> list[tuple[int, int]]:
    """First index, and last + 1, of every run of true values in (n,) flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def release_pages(array: Array | JoinedRows) -> None:
    """Give the memory of a mapped file back to the system; what was written stays in the file.

    The pages are read again where they are needed. Without this, a pass over a long file makes the
    process appear, and under a memory limit be, as large as the file. Arrays in memory stay.
    """
    if isinstance(array, JoinedRows):
        for part in array.parts:
            release_pages(part)
        return
    owner: Any = array
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    # Changes of a private map, "c", are nowhere else.
    if owner is None or owner.mode == "c" or not array.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    whole: mmap.mmap = owner._mmap  # type: ignore[attr-defined]
    first = array.__array_interface__["data"][0] - np.frombuffer(whole, np.uint8).ctypes.data
    begin = first // mmap.PAGESIZE * mmap.PAGESIZE
    length = min(first + array.nbytes, len(whole)) - begin
    if 0 <= begin < len(whole) and length > 0:
        whole.madvise(mmap.MADV_DONTNEED, begin, length)
