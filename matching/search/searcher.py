"""Searcher protocol, the choice of an index by name or database size, and its cache file.

Format of the cache "deepphase.motion_index", version 1: the index's arrays, and in the header
``index``, ``arrays_sha256`` (of the database's features and offered rows), ``parameters`` and
``recall``. It is valid only for the rows that it was built from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import map_arrays, write_arrays
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.exact import ExactSearcher
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.matching.search.approximate import FaissSearcher

FORMAT, VERSION = "deepphase.motion_index", 1
_TYPES = {
    **dict.fromkeys(("rows", "right", "leaves", "list_sizes"), "I64"),
    **dict.fromkeys(("mean", "axes", "radius"), "F64"),
    **dict.fromkeys(("blocks", "lowest", "highest"), "F32"),
    **dict.fromkeys(("faiss", "lists"), "U8"),
}
AnyIndex = TypeVar("AnyIndex")


@dataclass(frozen=True)
class IndexCache:
    """Cache file of the index of one database.

    Parameters
    ----------
    path
        The file; None for no cache.
    database
        The database of the index.
    name
        Kind of index.
    note
        Called with the reason why a file was not used or could not be written.
    """

    path: Path | None
    database: MotionDatabase
    name: str
    note: Callable[[str], None]

    def read(
        self, restore: Callable[[dict[str, Array], dict[str, Any]], AnyIndex]
    ) -> AnyIndex | None:
        """The index, which `restore` makes of arrays and header; None where it must be built."""
        if self.path is None or not self.path.exists():
            return None
        try:
            # Compiled searches take writable arrays, and copied others into memory.
            arrays, header = map_arrays(
                self.path, format=FORMAT, version=VERSION, types=_TYPES, writable=True
            )
            if header.get("index") != self.name:
                raise CheckpointError(
                    f"its index is of another kind, {header.get('index')!r}",
                    hint="build the index again",
                )
            if header.get("arrays_sha256") != self.database.arrays_sha256:
                raise CheckpointError("its index is of other rows", hint="build the index again")
            return restore(arrays, header)
        except (DeepPhaseError, KeyError, TypeError, ValueError, RuntimeError) as error:
            fact = error.fact if isinstance(error, DeepPhaseError) else str(error)
            self.note(f"{self.path} is not used and built again: {fact}")
            return None

    def write(self, arrays: Mapping[str, Array], entries: Mapping[str, Any]) -> bool:
        """Keep the arrays and header entries of an index; whether there is a file of them."""
        if self.path is None:
            return False
        header = {"index": self.name, "arrays_sha256": self.database.arrays_sha256, **entries}
        try:
            write_arrays(self.path, arrays, header, format=FORMAT, version=VERSION)
        except CheckpointError as error:
            # Searches work without the cache, so a read-only folder is not an error.
            self.note(f"the index is not cached: {error}")
            return False
        return True


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
        "exact" (a block tree), "flat", "ivf", "hnsw" or "ivfpq" (FAISS), or "auto": the one that
        the database was built with, otherwise exact up to 50 million rows, then ivfpq.
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
    name = index_name(database, index)
    report = note or (lambda text: None)
    path = _beside(database, name) if cache is None else Path(cache)
    return _opened(IndexCache(path, database, name, report), progress)


def index_name(database: MotionDatabase, index: str = "auto") -> str:
    """The kind of index that `open_searcher` uses; ParameterError where it is unknown."""
    if index not in INDEX_NAMES:
        raise ParameterError(
            f"there is no index {index!r}", hint=f"indices: {', '.join(INDEX_NAMES)}"
        )
    if index == "auto" and database.index in INDEX_NAMES:
        index = database.index
    if index == "auto":
        index = "exact" if len(database.offered_rows) <= _MAX_EXACT_ROWS else "ivfpq"
    return index


def _beside(database: MotionDatabase, name: str) -> Path | None:
    if database.path is None:
        return None
    return database.path.with_name(f"{database.path.name}.{name}.index")


def _opened(cache: IndexCache, progress: Progress | None) -> ExactSearcher | FaissSearcher:
    database, searcher = cache.database, None
    if cache.name == "exact":
        from deepphase.matching.search.block_tree import BlockTree

        def restored(arrays: dict[str, Array], _: dict[str, Any]) -> ExactSearcher:
            return ExactSearcher(database, BlockTree(**arrays))

        searcher = cache.read(restored)
        if searcher is None:
            built = ExactSearcher(database, progress=progress)
            # From here on it is in the file alone, as in the next program.
            kept = cache.write(built.tree.arrays(), {})
            searcher = (kept and cache.read(restored)) or built
        return searcher
    from deepphase.matching.search.approximate import FaissSearcher

    found = cache.read(partial(FaissSearcher.restored, database))
    if found is None:
        folder = None if cache.path is None else cache.path.absolute().parent
        found = FaissSearcher.build(database, cache.name, folder=folder, progress=progress)
        cache.write(*found.stored())
    return found
