"""One way to ask any index, and the index that a name or a size means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.exact import ExactSearcher
from matching.search.index_cache import cached_index

IndexName = Literal["auto", "exact", "flat", "ivf", "hnsw", "ivfpq"]
INDEX_NAMES: tuple[str, ...] = get_args(IndexName)
# Beyond this many rows the exact search's own copy of them, 68 bytes a row, is worth saving.
_MOST_EXACT_ROWS = 50_000_000


class Searcher(Protocol):
    """Finds the rows of a database that are nearest to queries.

    Attributes
    ----------
    name
        Of the index.
    exact
        Whether it claims to find the true nearest rows.
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
            From 1; may be more than there are rows.
        allowed : (rows,) bool
            Rows that may be found, as `MotionDatabase.rows_with` gives them; all if left out.
        excluded : (q, 2)
            Rows from, up to which a query must not find, as `MotionDatabase.neighbourhood` gives
            them.
        cost_bound
            Only rows strictly nearer; a number or (q,). A search that cannot win ends early.

        Returns
        -------
        distances : (q, k) float32
            Euclidean, rising; infinite where fewer than k rows may be found.
        rows : (q, k) int64
            -1 there. Ties by row number.

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
    """A searcher over a database; its index is read from a cache, or built and kept there.

    Parameters
    ----------
    index
        "exact" (a block tree), "flat", "ivf", "hnsw" or "ivfpq" (FAISS), or "auto": exact up to
        50 million rows, then ivfpq.
    cache
        The index file; <database>.<index>.index beside the database if not given, and nowhere
        for a database in memory. One that is damaged or of other rows is built anew.
    note
        Is told, in a sentence, why a cache was not used.

    Raises
    ------
    ParameterError
        Where there is no such index.
    """
    if index not in INDEX_NAMES:
        raise ParameterError(f"no index {index!r}", hint=f"indices: {', '.join(INDEX_NAMES)}")
    if index == "auto":
        index = "exact" if len(database.offered_rows) <= _MOST_EXACT_ROWS else "ivfpq"
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
