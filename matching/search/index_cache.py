"""Indices kept beside their database: used only where they are of the very same rows.

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
IndexArrays = TypeVar("IndexArrays")


def cached_index(
    path: Path | None,
    database: MotionDatabase,
    name: str,
    *,
    build: Callable[[], IndexArrays],
    store: Callable[[IndexArrays], tuple[Mapping[str, Array], Mapping[str, Any]]],
    read: Callable[[dict[str, Array], dict[str, Any]], IndexArrays],
    note: Callable[[str], None] | None = None,
) -> IndexArrays:
    """The index of a file, or a new one, which is written there.

    Parameters
    ----------
    path
        The file; None for no cache.
    build
        Makes the index.
    store, read
        Its arrays and header entries, and the index of them again.
    note
        Is told why a file was not used, or could not be written.
    """
    say = note or (lambda text: None)
    if path is not None and path.exists():
        try:
            arrays, header = map_arrays(path, format=FORMAT, version=VERSION)
            if header.get("index") != name:
                raise CheckpointError(f"an index of another kind, {header.get('index')!r}")
            if header.get("rows_sha256") != database.rows_sha256:
                raise CheckpointError("an index of other rows")
            return read(arrays, header)
        except (DeepPhaseError, KeyError, TypeError, ValueError, RuntimeError) as error:
            fact = error.fact if isinstance(error, DeepPhaseError) else str(error)
            say(f"{path} is not used and built again: {fact}")
    index = build()
    if path is not None:
        made, entries = store(index)
        header = {"index": name, "rows_sha256": database.rows_sha256, **entries}
        try:
            write_arrays(path, made, header, format=FORMAT, version=VERSION)
        except CheckpointError as error:
            # A search does not need the cache: a read-only folder is no reason to fail.
            say(f"the index is not kept: {error}")
    return index
