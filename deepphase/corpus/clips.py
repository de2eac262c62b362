"""The clips that paths mean: motion files, folders of them, stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from deepphase.corpus.file_clips import ClipEntry, clip_entries
from deepphase.corpus.motion_files import check_told, find_motion_files
from deepphase.corpus.point_sets import agreed_point_sets
from deepphase.corpus.store import open_store
from deepphase.formats.array_file import is_array_file


def clips_in(
    paths: Sequence[str | Path],
    *,
    skeleton: str | None = None,
    description: Mapping[str, Any] | None = None,
    **reader: Any,
) -> list[ClipEntry]:
    """Every clip of stores, motion files and folders; of glTF every animation.

    Parameters
    ----------
    skeleton
        The skeleton group of stores that hold several.
    description
        A skeleton description, for point tracks.
    reader
        Options of :func:`deepphase.formats.load.load` for motion files; None means inferred.

    Raises
    ------
    FormatError
        Where a path does not exist or no motion file is found.
    ParameterError, CheckpointError
        As :func:`deepphase.corpus.store.open_store`; also where a unit or up axis is impossible.
    """
    check_told(reader.get("unit"), reader.get("up"), reader.get("fps"))
    entries = []
    stores = [path for path in paths if is_array_file(path)]
    for path in stores:
        store = open_store(path, skeleton)
        entries += [
            ClipEntry(name, partial(store.clip, index)) for index, name in enumerate(store.names)
        ]
    files = [path for path in paths if path not in stores]
    if files:
        told = {name: value for name, value in reader.items() if value not in (None, False)}
        found = find_motion_files(files)
        point_sets = agreed_point_sets(found, description, **told)
        for each in found:
            entries += clip_entries(each, point_sets, **told)
    return entries
