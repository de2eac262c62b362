"""Inverted lists of a FAISS index in a mapped file, written and searched in bounded memory.

FAISS keeps the rows of an inverted file in memory, and twice while it writes them. Here they are
sorted by list and written in blocks, and searches read them where the file is mapped.

A list is its rows, float32, and behind them their entries, int64: the layout of FAISS's
`OnDiskInvertedLists`, lists one after the other.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from deepphase.arrays import Array, JoinedRows, release_pages
from deepphase.errors import ParameterError
from deepphase.progress import Progress
from deepphase.temporary_files import mapped_array

_ROWS_AT_ONCE = 1 << 16
_BLOCK_ROWS = 1 << 18
_ENTRY_BYTES = 8


def sorted_lists(
    index: Any,
    features: Array | JoinedRows,
    rows: Array,
    folder: Path | None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """The rows of each list of a trained index of kind IVF,Flat.

    Parameters
    ----------
    features
        (all rows, dims) float32.
    rows
        (n,) row of each entry.
    folder
        Folder of a temporary file without a name; None to stay in memory.

    Returns
    -------
    sizes : (lists,) int64
    data : (bytes,) uint8
        Mapped where there is a folder.

    Raises
    ------
    CheckpointError
        Where the disk has no room for the lists.
    """
    lists = np.empty(len(rows), np.int32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        block = np.ascontiguousarray(features[some], np.float32)
        lists[start : start + len(some)] = index.quantizer.search(block, 1)[1][:, 0]
        release_pages(features)
        if progress is not None:
            progress("assigning rows to lists", start + len(some), len(rows), "")
    sizes = np.bincount(lists, minlength=index.nlist)
    entries = np.argsort(lists, kind="stable")
    row_bytes = 4 * index.d + _ENTRY_BYTES
    shape = (len(rows) * row_bytes,)
    data = np.empty(shape, np.uint8) if folder is None else mapped_array(shape, np.uint8, folder)
    # Lists in blocks of about equal size, so that rows are read and written a few at a time.
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(0, len(rows), _BLOCK_ROWS), side="right")
    for first, last in pairwise([*np.unique(cuts).tolist(), len(sizes)]):
        start, stop = int(ends[first] - sizes[first]), int(ends[last - 1])
        block = data[start * row_bytes : stop * row_bytes]
        _fill(block, features, rows, entries[start:stop], sizes[first:last])
        release_pages(features)
        release_pages(data)
        if progress is not None:
            progress("writing lists", stop, len(rows), "")
    return sizes, data


def with_lists(index: Any, sizes: Array, data: Array) -> Any:
    """An index that searches these lists; `index` has the same quantiser and no rows.

    The caller keeps `data` alive. Raises ParameterError where the sizes do not fit the data.
    """
    row_bytes = 4 * index.d + _ENTRY_BYTES
    sizes = np.asarray(sizes, np.int64)
    if len(sizes) != index.nlist or (sizes < 0).any() or sizes.sum() * row_bytes != len(data):
        raise ParameterError(
            "the lists of the index do not fit its rows", hint="build the index again"
        )
    lists = faiss.OnDiskInvertedLists()
    lists.nlist, lists.code_size, lists.read_only = index.nlist, 4 * index.d, True
    # The data is mapped or in memory already, and threads that read it ahead cost more.
    lists.prefetch_nthread = 0
    lists.ptr = faiss.swig_ptr(data)
    lists.totsize = len(data)
    ends = np.cumsum(sizes * row_bytes)
    for size, end in zip(sizes.tolist(), ends.tolist(), strict=True):
        one = faiss.OnDiskOneList()
        one.size = one.capacity = size
        one.offset = end - size * row_bytes
        lists.lists.push_back(one)
    # Its destructor would unmap the data, which NumPy owns.
    lists.this.disown()
    filled = faiss.clone_index(index)
    filled.replace_invlists(lists, False)
    filled.ntotal = int(sizes.sum())
    return filled


def _fill(
    data: Array,
    features: Array | JoinedRows,
    rows: Array,
    entries: Array,
    sizes: Array,
) -> None:
    values = np.ascontiguousarray(features[rows[entries]], np.float32)
    row_bytes = 4 * values.shape[1] + _ENTRY_BYTES
    at = 0
    for size in sizes.tolist():
        block = data[at * row_bytes : (at + size) * row_bytes]
        split = size * (row_bytes - _ENTRY_BYTES)
        block[:split] = values[at : at + size].reshape(-1).view(np.uint8)
        block[split:] = entries[at : at + size].astype(np.int64).view(np.uint8)
        at += size
