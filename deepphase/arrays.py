"""The array type of annotations; computed rows, runs in flags, weights, cycles, pages of files, and
compiled functions."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


class ComputedRows:
    """Rows of an array that are computed from those of another one where they are indexed.

    The other may be a mapped file that exceeds the memory. `np.asarray` computes all rows.

    Parameters
    ----------
    source
        Array (rows, ...).
    transform
        Function of rows (..., width) that is applied to all rows that are read, such as a
        normalisation.
    """

    def __init__(self, source: Array, transform: Callable[[Array], Array]) -> None:
        self.source, self.transform = source, transform
        self.dtype, self.shape = source.dtype, source.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the source."""
        return self.source.nbytes

    def __getitem__(self, index: Any) -> Array:
        rows, rest = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
        read = self._read(rows)
        return read[(*(slice(None),) * (1 + read.ndim - self.ndim), *rest)] if rest else read

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype)

    def _read(self, rows: Any) -> Array:
        return self.transform(self.source[rows])


def true_runs(flags: Array) -> list[tuple[int, int]]:
    """First index, and last + 1, of every run of true values in (n,) flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def smoothstep(share: Array) -> Array:
    """Weights from 0 at share 0 to 1 at share 1, with slope 0 at both, elementwise."""
    return share * share * (3.0 - 2.0 * share)


def release_pages(array: Array | ComputedRows) -> None:
    """Give the memory of a mapped file back to the system; what was written stays in the file.

    The pages are read again where they are needed. Without this, a pass over a long file makes the
    process appear, and under a memory limit be, as large as the file. Arrays in memory stay.
    """
    array = array.source if isinstance(array, ComputedRows) else array
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


def wrapped(cycles: Array) -> Array:
    """Cycles brought into [-0.5, 0.5), elementwise."""
    turned = cycles - np.floor(cycles + 0.5)
    # Rounding can carry a value just below -0.5 onto +0.5, which the interval leaves out.
    return np.where(turned >= 0.5, turned - 1.0, turned).astype(np.asarray(cycles).dtype)


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function when it is defined, or called if it has no signature.

    With one signature, processes that compile at the same time store the same code under the same
    name; each file is renamed into its place when it is whole.
    """

    from numba import njit

    def compile_(function: Callable[..., Any]) -> Any:
        # Its type has no overload for options that are passed on.
        compile_with: Any = njit
        try:
            return compile_with(signature, cache=True, nogil=True, **options)(function)
        except Exception:
            # No folder for a cache, or a file in it that is damaged, which numba reports by many
            # errors: this process compiles for itself.
            return compile_with(signature, nogil=True, **options)(function)

    return compile_
