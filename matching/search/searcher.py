"""Searcher protocol, the choice of an index by name or database size, and its cache file.

Format of the cache "deepphase.motion_index", version 1: the index's arrays, and in the header
``index``, ``rows_sha256`` (of the database's features and offered rows), ``parameters`` and
``recall``. It is valid only for the rows that it was built from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import map_arrays, write_arrays
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.exact import ExactSearcher

FORMAT, VERSION = "deepphase.motion_index", 1
_TYPES = {
    **dict.fromkeys(("rows", "right", "leaves"), "I64"),
    **dict.fromkeys(("mean", "axes", "radius"), "F64"),
    **dict.fromkeys(("blocks", "lowest", "highest"), "F32"),
    "faiss": "U8",
}
AnyIndex = TypeVar("AnyIndex")


def cached_index(
    path: Path | None,
    database: MotionDatabase,
    name: str,
    *,
    build: Callable[[], AnyIndex],
    store: Callable[[AnyIndex], tuple[Mapping[str, Array], Mapping[str, Any]]],
    read: Callable[[dict[str, Array], dict[str, Any]], AnyIndex],
    note: Callable[[str], None] | None = None,
) -> AnyIndex:
    """The index from a cache file, or a new one, which is written there.

    Parameters
    ----------
    path
        The file; None for no cache.
    build
        Builds the index.
    store, read
        Convert the index to arrays and header entries, and back.
    note
        Called with the reason why a file was not used or could not be written.
    """
    report = note or (lambda text: None)
    if path is not None and path.exists():
        try:
            arrays, header = map_arrays(path, format=FORMAT, version=VERSION, types=_TYPES)
            if header.get("index") != name:
                raise CheckpointError(f"its index is of another kind, {header.get('index')!r}")
            if header.get("rows_sha256") != database.rows_sha256:
                raise CheckpointError("its index is of other rows")
            return read(arrays, header)
        except (DeepPhaseError, KeyError, TypeError, ValueError, RuntimeError) as error:
            fact = error.fact if isinstance(error, DeepPhaseError) else str(error)
            report(f"{path} is not used and built again: {fact}")
    index = build()
    if path is not None:
        arrays_of_index, entries = store(index)
        header = {"index": name, "rows_sha256": database.rows_sha256, **entries}
        try:
            write_arrays(path, arrays_of_index, header, format=FORMAT, version=VERSION)
        except CheckpointError as error:
            # Searches work without the cache, so a read-only folder is no error.
            report(f"the index is not cached: {error}")
    return index


IndexName = Literal["auto", "exact", "flat", "ivf", "hnsw", "ivfpq"]
INDEX_NAMES: tuple[str, ...] = get_args(IndexName)
# Beyond this many rows the copy of the exact search, 68 bytes per row, takes too much memory.
_MAX_EXACT_ROWS = 50_000_000


class Searcher(Protocol):
    """Search of the rows of a database that are nearest to queries.

    Attributes
    ----------
    name
        Name of the index.
    exact
        Whether it always finds the true nearest rows.
    """

    name: str
    exact: bool

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
            Where a shape does not fit or a value is not finite.
        """


def open_searcher(
    database: MotionDatabase,
    index: str = "auto",
    *,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> Searcher:
    """A searcher of a database; its index is read from a cache file, or built and written there.

    Parameters
    ----------
    index
        "exact" (a block tree), "flat", "ivf", "hnsw" or "ivfpq" (FAISS), or "auto": exact up to
        50 million rows, then ivfpq.
    cache
        The cache file; <database>.<index>.index beside the database if not given. A database in
        memory has none. A damaged file, or one of other rows, is built again.
    note
        Called with a sentence that says why a cache file was not used.

    Raises
    ------
    ParameterError
        Where the name of the index is unknown.
    """
    if index not in INDEX_NAMES:
        raise ParameterError(f"no index {index!r}", hint=f"indices: {', '.join(INDEX_NAMES)}")
    if index == "auto":
        index = "exact" if len(database.offered_rows) <= _MAX_EXACT_ROWS else "ivfpq"
    if cache is None and database.path is not None:
        cache = database.path.with_name(f"{database.path.name}.{index}.index")
    path = None if cache is None else Path(cache)
    if index == "exact":
        from matching.search.block_tree import BlockTree

        def built_tree() -> ExactSearcher:
            return ExactSearcher(database, progress=progress)

        return cached_index(
            path,
            database,
            index,
            build=built_tree,
            store=lambda searcher: (searcher.tree.arrays(), {}),
            read=lambda arrays, header: ExactSearcher(database, BlockTree(**arrays)),
            note=note,
        )
    from matching.search.approximate import FaissSearcher

    return cached_index(
        path,
        database,
        index,
        build=lambda: FaissSearcher.build(database, index, progress=progress),
        store=lambda searcher: searcher.stored(),
        read=lambda arrays, header: FaissSearcher.restored(database, arrays, header),
        note=note,
    )
