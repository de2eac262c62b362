"""The choice of a search index, and its cache file.

Format of the cache "deepphase.motion_index", version 1: the index's arrays, and in the header
``index`` and ``arrays_sha256`` (of the database's features and offered rows); ``recall`` of a FAISS
index. It is valid only for the rows that it was built from.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError
from deepphase.formats.array_file import map_arrays, write_arrays
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.exact import ExactSearcher
from deepphase.matching.search.request import Searcher
from deepphase.work import Progress

if TYPE_CHECKING:
    from deepphase.matching.search.faiss_search import FaissSearcher

FORMAT, VERSION = "deepphase.motion_index", 1
_TYPES = {
    **dict.fromkeys(("rows", "right", "leaves"), "I64"),
    **dict.fromkeys(("mean", "axes", "radius"), "F64"),
    **dict.fromkeys(("blocks", "lowest", "highest"), "F32"),
    "faiss": "U8",
}
# Kinds of indices in databases of earlier versions; they are searched exactly.
_EARLIER = ("auto", "flat", "ivf", "hnsw", "ivfpq")
AnyIndex = TypeVar("AnyIndex")


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
        "exact" (a block tree); a string of FAISS's `index_factory`, such as "IVF1024,Flat" or
        "HNSW16", for an approximate search; or "auto": the one that the database was built with,
        otherwise exact.
    cache
        The cache file; <database>.<index>.index beside the database if not given. A database in
        memory has none. A damaged file, or one of other rows, is built again.
    note
        Called with a sentence that says why a cache file was not used.

    Raises
    ------
    ParameterError
        Where FAISS cannot build the index, or no row is offered.
    """
    report = note or (lambda text: None)
    if index == "auto":
        index = "exact" if database.index in _EARLIER else database.index
    path = _beside(database, index) if cache is None else Path(cache)
    kind: type[ExactSearcher] | type[FaissSearcher] = ExactSearcher
    if index != "exact":
        from deepphase.matching.search.faiss_search import FaissSearcher

        kind = FaissSearcher
    searcher: Any = _read(path, database, index, kind.restored, report)
    if searcher is None:
        searcher = kind.build(database, index, progress=progress)
        arrays, entries = searcher.stored()
        if _write(path, database, index, arrays, entries, report) and index == "exact":
            # From here on it is in the file alone, as in the next program.
            searcher = _read(path, database, index, kind.restored, report) or searcher
    return searcher


def _beside(database: MotionDatabase, index: str) -> Path | None:
    if database.path is None:
        return None
    kind = "".join(letter if letter.isalnum() else "_" for letter in index)
    return database.path.with_name(f"{database.path.name}.{kind}.index")


def _read(
    path: Path | None,
    database: MotionDatabase,
    index: str,
    restore: Callable[[MotionDatabase, dict[str, Array], dict[str, Any]], AnyIndex],
    note: Callable[[str], None],
) -> AnyIndex | None:
    """The index of a cache file; None where it must be built."""
    if path is None or not path.exists():
        return None
    try:
        # Compiled searches take writable arrays, and copied others into memory.
        arrays, header = map_arrays(
            path, format=FORMAT, version=VERSION, types=_TYPES, writable=True
        )
        for name, value in (("index", index), ("arrays_sha256", database.arrays_sha256)):
            if header.get(name) != value:
                what = "of another kind" if name == "index" else "of other rows"
                raise CheckpointError(f"its index is {what}", hint="build the index again")
        return restore(database, arrays, header)
    except (DeepPhaseError, KeyError, TypeError, ValueError, RuntimeError) as error:
        fact = error.fact if isinstance(error, DeepPhaseError) else str(error)
        note(f"{path} is not used and built again: {fact}")
        return None


def _write(
    path: Path | None,
    database: MotionDatabase,
    index: str,
    arrays: dict[str, Array],
    entries: dict[str, Any],
    note: Callable[[str], None],
) -> bool:
    """Write the cache file; whether there is one."""
    if path is None:
        return False
    header = {"index": index, "arrays_sha256": database.arrays_sha256, **entries}
    try:
        write_arrays(path, arrays, header, format=FORMAT, version=VERSION)
    except CheckpointError as error:
        # Searches work without the cache, so a read-only folder is not an error.
        note(f"the index is not cached: {error}")
        return False
    return True
