"""The clips that paths mean: motion files, folders of them, stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from deepphase.corpus.motion_files import check_told, find_motion_files
from deepphase.corpus.store import open_store
from deepphase.formats.array_file import is_array_file
from deepphase.formats.load import load
from deepphase.motion.clip import Clip


@dataclass(frozen=True)
class ClipEntry:
    """A clip that has not been read yet.

    Parameters
    ----------
    name
        What it will be called.
    load
        Reads it; raises DeepPhaseError where it cannot be read.
    """

    name: str
    load: Callable[[], Clip]


def clips_in(
    paths: Sequence[str | Path], *, skeleton: str | None = None, **reader: Any
) -> list[ClipEntry]:
    """Every clip of stores, motion files and folders.

    Parameters
    ----------
    skeleton
        The skeleton group of stores that hold several.
    reader
        Options of :func:`deepphase.formats.load.load` for motion files; None means inferred.

    Raises
    ------
    FormatError
        Where a path does not exist or no motion file is found.
    ParameterError, CheckpointError
        As :func:`deepphase.corpus.store.open_store`; also where a unit or up axis is impossible.
    """
    check_told(reader.get("unit"), reader.get("up"))
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
        entries += [
            ClipEntry(each.name, partial(_named, each.path, each.name, told))
            for each in find_motion_files(files)
        ]
    return entries


def _named(path: Path, name: str, reader: dict[str, Any]) -> Clip:
    return replace(load(path, **reader), name=name)
