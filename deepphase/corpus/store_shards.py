"""Shards of a preparation: stores of the files of one share each, which a merge joins.

A shard is a store, see :mod:`deepphase.corpus.store`. Its header also has ``shard``: ``share``
("2/8"), ``options`` (what all shards have in common) and ``files``: for each file of the share
``notes``, ``glitches``, ``sha256``, ``reason``, ``hint``, ``line`` and ``clips``, each a list of
group, place in the group, name and translated joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepared_file import PreparedFile
from deepphase.corpus.shards import Shard
from deepphase.corpus.store import STORE_TYPES, store_of_group
from deepphase.corpus.store_writer import STORE_FORMAT, STORE_VERSION, StoreWriter
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import map_arrays
from deepphase.motion.clip import Clip
from deepphase.motion.glitches import Glitch


def shard_entry(
    shard: Shard,
    options: Mapping[str, Any],
    writer: StoreWriter,
    prepared: Sequence[tuple[str, PreparedFile, Sequence[int]]],
) -> dict[str, Any]:
    """Entry `shard` of the header of a shard.

    Parameters
    ----------
    options
        JSON values that all shards of a preparation have in common.
    writer
        The writer of the shard, which has all its clips.
    prepared
        File, result without its clips, and the numbers of its clips in the writer, of each file of
        the share.
    """
    places = {
        number: (group, place)
        for group, clips in enumerate(writer.groups())
        for place, (number, _) in enumerate(clips)
    }

    def clip_entry(number: int) -> list[Any]:
        record = writer.record(number)
        return [*places[number], record.name, record.translated_joints.tolist()]

    files = {
        file: asdict(result) | {"clips": [clip_entry(number) for number in numbers]}
        for file, result, numbers in prepared
    }
    return {"share": str(shard), "options": dict(options), "files": files}


def merged_shards(
    paths: Sequence[str | Path], files: Sequence[str], options: Mapping[str, Any]
) -> Iterator[PreparedFile]:
    """The results of all shards of a preparation, with their clips, in the order of the files.

    Parameters
    ----------
    paths
        The shards, in any order.
    files
        All files of the inputs, relative to them.
    options
        What the shards must have in common with the merge.

    Raises
    ------
    CheckpointError
        Where a file is not a shard, or damaged.
    ParameterError
        Where a file is in no shard or in two, or a shard was prepared from other files or with
        other options.
    """
    entries: dict[str, tuple[str | Path, list[ClipStore], Mapping[str, Any]]] = {}
    for path in paths:
        arrays, header = map_arrays(
            path, format=STORE_FORMAT, version=STORE_VERSION, types=STORE_TYPES
        )
        try:
            content = header["shard"]
            _check_options(path, dict(content["options"]), options)
            names = [group["name"] for group in header["groups"]]
            stores = [store_of_group(path, name, header, arrays) for name in names]
            for file, entry in content["files"].items():
                if file in entries:
                    raise ParameterError(
                        f"{file} is in two shards",
                        hint=f"give each shard once; see {entries[file][0]}",
                        path=path,
                    )
                entries[file] = path, stores, entry
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _inconsistent(path, error) from None
    _check_files(files, entries)
    for file in files:
        path, stores, entry = entries[file]
        try:
            glitches = tuple(Glitch(**glitch) for glitch in entry["glitches"])
            clips = tuple(_clip(stores, *clip) for clip in entry["clips"])
            known = {**entry, "notes": tuple(entry["notes"]), "glitches": glitches, "clips": clips}
            yield PreparedFile(**known)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise _inconsistent(path, error) from None


def _clip(
    stores: Sequence[ClipStore], group: int, place: int, name: str, translated_joints: list[int]
) -> tuple[Clip, dict[str, Any]]:
    store = stores[group]
    clip = store.clip(place)
    # The group's joints that this clip does not translate are at rest in it.
    own = np.array(translated_joints, np.int64)
    columns = np.searchsorted(store.translated_joints, own)
    translations = clip.translations[:, columns]
    clip = replace(clip, name=name, translations=translations, translated_joints=own)
    return clip, dict(store.provenance[place])


def _check_options(path: str | Path, options: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        if options.get(name) != value:
            raise ParameterError(
                f"this shard was prepared with another {name}: {options.get(name)!r}, not "
                f"{value!r}",
                hint="give --merge the same inputs and options as its shards",
                path=path,
            )


def _check_files(files: Sequence[str], entries: Mapping[str, object]) -> None:
    for some, what in (
        ([file for file in files if file not in entries], "in no shard"),
        (sorted(entries.keys() - set(files)), "in a shard, but no longer among the files"),
    ):
        if some:
            raise ParameterError(
                f"{len(some)} of {len(files)} files are {what}, such as {some[0]}",
                hint="give all shards of the inputs as they are; --shard prepares a missing one",
            )


def _inconsistent(path: str | Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"this is not a shard of this version of deepphase ({type(error).__name__}: {error})",
        hint="prepare it with --shard",
        path=path,
    )
