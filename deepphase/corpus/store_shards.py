"""Shards of a preparation: the prepared files of one share, which a merge makes into a store.

Format "deepphase.store_shard", version 1. Its groups and arrays are those of a store. The header's
``shard`` holds ``share`` ("2/8"), ``options`` (what all shards must have in common) and ``files``:
for each file of the share ``file``, ``notes``, ``glitches``, ``sha256``, ``reason``, ``hint``,
``line`` and ``clips``, each with ``group`` and ``place`` in it, ``name`` and ``translated_joints``.
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
from deepphase.corpus.store_writer import SHARD_FORMAT, SHARD_VERSION, StoreWriter
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import map_arrays
from deepphase.motion.clip import Clip
from deepphase.motion.glitches import Glitch


def write_shard(
    writer: StoreWriter,
    shard: Shard,
    options: Mapping[str, Any],
    prepared: Sequence[tuple[str, PreparedFile, Sequence[int]]],
) -> None:
    """Write the clips that were added to a writer as a shard.

    Parameters
    ----------
    options
        JSON values that all shards of a preparation have in common.
    prepared
        File, result without its clips, and the numbers of its clips in the writer, of each file of
        the share.
    """
    places = {
        number: (group, place)
        for group, clips in enumerate(writer.groups())
        for place, (number, _) in enumerate(clips)
    }
    files = []
    for file, result, numbers in prepared:
        clips = []
        for number in numbers:
            record, (group, place) = writer.record(number), places[number]
            clips.append(
                {
                    "group": group,
                    "place": place,
                    "name": record.name,
                    "translated_joints": record.translated_joints.tolist(),
                }
            )
        files.append(
            {
                "file": file,
                "notes": list(result.notes),
                "glitches": [asdict(glitch) for glitch in result.glitches],
                "sha256": result.sha256,
                "reason": result.reason,
                "hint": result.hint,
                "line": result.line,
                "clips": clips,
            }
        )
    writer.finish(shard={"share": str(shard), "options": dict(options), "files": files})


class PreparedShards:
    """The prepared files of all shards of a preparation.

    Parameters
    ----------
    paths
        Files of :func:`write_shard`.
    files
        All files of the inputs, relative to them.
    options
        What the shards must have in common with the merge.

    Raises
    ------
    CheckpointError
        Where a file is not a shard, or damaged.
    ParameterError
        Where a shard is missing, given twice, or was prepared from other files or with other
        options.
    """

    def __init__(
        self, paths: Sequence[str | Path], files: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        self._stores: list[list[ClipStore]] = []
        self._entries: dict[str, tuple[int, Mapping[str, Any]]] = {}
        shares: dict[str, str | Path] = {}
        for number, path in enumerate(paths):
            arrays, header = map_arrays(
                path, format=SHARD_FORMAT, version=SHARD_VERSION, types=STORE_TYPES
            )
            try:
                content = header["shard"]
                share = str(content["share"])
                _check_options(path, dict(content["options"]), options)
                if share in shares:
                    raise ParameterError(
                        f"shard {share} is given twice",
                        hint=f"remove it, or {shares[share]}",
                        path=path,
                    )
                shares[share] = path
                self._stores.append(
                    [
                        store_of_group(path, group["name"], header, arrays)
                        for group in header["groups"]
                    ]
                )
                self._entries.update({each["file"]: (number, each) for each in content["files"]})
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise _inconsistent(path, error) from None
        _check_shares(shares, files, self._entries)
        self._files = files
        self._paths = list(paths)

    def results(self) -> Iterator[PreparedFile]:
        """The results in the order of the files, with their clips."""
        for file in self._files:
            number, entry = self._entries[file]
            try:
                yield PreparedFile(
                    clips=tuple(self._clip(number, clip) for clip in entry["clips"]),
                    notes=tuple(entry["notes"]),
                    glitches=tuple(Glitch(**glitch) for glitch in entry["glitches"]),
                    sha256=entry["sha256"],
                    reason=entry["reason"],
                    hint=entry["hint"],
                    line=entry["line"],
                )
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise _inconsistent(self._paths[number], error) from None

    def _clip(self, number: int, entry: Mapping[str, Any]) -> tuple[Clip, dict[str, Any]]:
        store = self._stores[number][entry["group"]]
        clip = store.clip(entry["place"])
        # The group's joints that this clip does not translate are at rest in it.
        own = np.array(entry["translated_joints"], np.int64)
        columns = np.searchsorted(store.translated_joints, own)
        clip = replace(
            clip,
            name=entry["name"],
            translations=clip.translations[:, columns],
            translated_joints=own,
        )
        return clip, dict(store.provenance[entry["place"]])


def _check_options(path: str | Path, options: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        if options.get(name) != value:
            raise ParameterError(
                f"this shard was prepared with another {name}: {options.get(name)!r}, not "
                f"{value!r}",
                hint="give --merge the same inputs and options as its shards",
                path=path,
            )


def _check_shares(
    shares: Mapping[str, str | Path], files: Sequence[str], entries: Mapping[str, object]
) -> None:
    counts = {share.partition("/")[2] for share in shares}
    if len(counts) != 1:
        raise ParameterError(
            "the shards must be of one preparation, but their counts are "
            f"{' and '.join(sorted(counts)) or 'missing'}",
            hint="give all shards of one preparation",
        )
    count = int(counts.pop())
    every = [Shard(number, count) for number in range(1, count + 1)]
    missing = {
        str(shard) for shard in every if str(shard) not in shares and any(map(shard.holds, files))
    }
    if missing:
        raise ParameterError(
            f"shard {', '.join(sorted(missing))} is missing",
            hint="prepare it with --shard, or add its file",
        )
    added = [file for file in files if file not in entries]
    if added:
        raise ParameterError(
            f"no shard holds {len(added)} of the files, such as {added[0]}",
            hint="the folder has changed: prepare the shards again",
        )
    if len(entries) > len(files):
        gone = next(file for file in entries if file not in set(files))
        raise ParameterError(
            f"{gone} is in a shard, but no longer among the files",
            hint="the folder has changed: prepare the shards again",
        )


def _inconsistent(path: str | Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"this is not a shard of this version of deepphase ({type(error).__name__}: {error})",
        hint="prepare the shard again",
        path=path,
    )
