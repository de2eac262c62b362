"""Cache files of search indices, valid only for the rows that they were built from.

Format "deepphase.motion_index", version 1: the index's arrays, and in the header ``index``,
``rows_sha256`` (of the database's features and offered rows), ``parameters`` and ``recall``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError
from deepphase.formats.array_file import map_arrays, write_arrays
from matching.database.database import MotionDatabase

FORMAT, VERSION = "deepphase.motion_index", 1
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
            arrays, header = map_arrays(path, format=FORMAT, version=VERSION)
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
