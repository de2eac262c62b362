"""Shards of a database: parts that are built apart, and opened or merged as one.

A shard is an array file of format "deepphase.motion_database_shard", version 1, with the arrays
and the header of a database file (see `matching.database.file`) for some of its clips. Its features
are raw, because the normalisation is known when all shards are there. It also has

=====================  =======================  ==================================================
moments                (clips, 1 + 2 * dims)    float64: frames, mean and sum of squares about it
=====================  =======================  ==================================================

and in the header ``shard``: ``number``, ``of``, ``first_clip``, ``clips`` (of all shards) and
``clips_sha256`` (of their names and lengths).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.shards import Shard
from deepphase.errors import CheckpointError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Moments
from deepphase.formats.array_file import is_array_file, map_arrays, read_header, write_arrays
from deepphase.progress import Progress
from matching.database.build import (
    END_MARGIN_S,
    check_offered,
    clip_fields,
    made_with,
    row_fields,
)
from matching.database.clip_sequence import ClipSequence
from matching.database.file import ARRAY_TYPES, header_fields, header_of, not_a_database
from matching.database.frame_reader import KINDS_COLUMN, PHASE_COLUMNS, ROW_ARRAYS, FrameReader

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

SHARD_FORMAT, SHARD_VERSION = "deepphase.motion_database_shard", 1
# Entries of the header that all shards of a database share, and what differs where one does not.
_SHARED = {
    "layout": "other features",
    "made_with": "another phase model or another end margin",
    "fps": "another frame rate",
    "body": "another body",
    "index": "another kind of index",
}


def build_shard(
    path: str | Path,
    stores: ClipStore | Sequence[ClipStore],
    layout: FeatureLayout | str | Path,
    model: PhaseExtractor | None,
    shard: Shard,
    *,
    end_margin_s: float = END_MARGIN_S,
    index: str = "auto",
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Build one shard of the database of stores, and write it as a file.

    The shards are successive clips with about equal numbers of frames. They may be built at the
    same time on different machines, from the same stores with the same settings.

    Parameters
    ----------
    shard
        The share to build: successive clips, not those that a hash chooses, so that the rows of all
        shards are numbered as those of the whole.
    layout, model, end_margin_s, workers, cluster
        As of `MotionDatabase.build`; a layout without tracks.
    index
        Kind of search index to remember for the database.

    Returns
    -------
    Number of rows.

    Raises
    ------
    ParameterError
        Where layout, model and stores do not fit, or there is no such shard.
    CheckpointError
        Where the file cannot be written.
    """
    path = Path(path)
    layout = layout if isinstance(layout, FeatureLayout) else FeatureLayout.load(layout)
    every = ClipSequence.of(stores)
    clips = every.shard(shard)
    reader = FrameReader.for_store(every.stores[0], layout, model, None, end_margin_s)
    columns = reader.columns(int(clips.lengths.sum()), path.absolute().parent)
    moments = Moments(reader.layout.dims)
    for rows in clips.read(reader, workers=workers, cluster=cluster, progress=progress):
        columns.append(rows)
        moments.add(rows["features"])
    content = clip_fields(clips)
    arrays = columns.arrays
    names = json.dumps([every.names, every.lengths.tolist()])
    header = {
        **header_of(
            {
                **content,
                "layout": reader.layout,
                "body": reader.body,
                "made_with": made_with(model, end_margin_s),
                "index": index,
            },
            path,
        ),
        "shard": {
            "number": shard.number,
            "of": shard.count,
            "first_clip": clips.first,
            "clips": len(every),
            "clips_sha256": hashlib.sha256(names.encode()).hexdigest(),
        },
    }
    ranges = {name: content[name] for name in ("range_starts", "range_stops")}
    write_arrays(
        path,
        {**arrays, **ranges, "moments": moments.arrays()},
        header,
        format=SHARD_FORMAT,
        version=SHARD_VERSION,
    )
    return int(clips.lengths.sum())


def is_shard(path: Path) -> bool:
    """Whether a file begins as a shard of a database."""
    if not path.is_file() or not is_array_file(path):
        return False
    try:
        return bool(read_header(path)["format"] == SHARD_FORMAT)
    except CheckpointError:
        return False


def shards_in(folder: Path) -> list[Path]:
    """The shards in a folder; CheckpointError where there is none."""
    found = sorted(path for path in folder.iterdir() if is_shard(path))
    if not found:
        raise CheckpointError(
            "no shard of a motion database is in this folder",
            hint="give a database file, or the folder of `deepphase match build --shard`",
            path=folder,
        )
    return found


def joined_fields(
    paths: Iterable[str | Path], *, store: ClipStore | None, verify: bool
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` whose rows stay in the files of all its shards.

    Parameters
    ----------
    paths
        The shards, in any order.
    store, verify
        As of `MotionDatabase.load`.

    Raises
    ------
    CheckpointError
        Where a file is damaged or no shard, a shard is missing or given twice, or they are not of
        one database.
    """
    opened = []
    for path in map(Path, paths):
        arrays, header = map_arrays(
            path, format=SHARD_FORMAT, version=SHARD_VERSION, verify=verify, types=ARRAY_TYPES
        )
        opened.append((path, arrays, header))
    try:
        opened.sort(key=lambda each: int(each[2]["shard"]["number"]))
        _check_complete(opened)
        return _fields(opened, store)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_database(error, opened[0][0]) from None


def _check_complete(opened: Sequence[tuple[Path, Mapping[str, Array], Mapping[str, Any]]]) -> None:
    """Raise CheckpointError unless these are all shards of one database."""
    first_path, _, first = opened[0]
    numbers: dict[int, Path] = {}
    for path, _, header in opened:
        shard, expected = header["shard"], first["shard"]
        other = None
        if _stores(header) != _stores(first):
            other = "is of another store"
        elif shard["of"] != expected["of"]:
            other = f"is one of {shard['of']} shards, not of {expected['of']}"
        elif shard["clips_sha256"] != expected["clips_sha256"]:
            other = "is of other clips of the store"
        for name, what in _SHARED.items():
            if other is None and header[name] != first[name]:
                other = f"was built with {what}"
        if other is not None:
            raise CheckpointError(
                f"this shard {other} than {first_path}"
                if other.startswith(("is of", "was"))
                else f"this shard {other}, as {first_path} is",
                hint="give the shards of one database, built from one store with one command",
                path=path,
            )
        if shard["number"] in numbers:
            raise CheckpointError(
                f"shard {shard['number']} of {shard['of']} is there twice: also as "
                f"{numbers[shard['number']]}",
                hint="remove one of the two files",
                path=path,
            )
        numbers[int(shard["number"])] = path
    of = int(first["shard"]["of"])
    missing = [str(number) for number in range(1, of + 1) if number not in numbers]
    if missing:
        what = "shard" if len(missing) == 1 else "shards"
        raise CheckpointError(
            f"{what} {', '.join(missing)} of {of} missing",
            hint=f"build with --shard {missing[0]}/{of}, or give the folder of all shards",
            path=first_path,
        )


def _stores(header: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(each["group"], each["sha256"]) for each in header["stores"]]


def _fields(
    opened: Sequence[tuple[Path, Mapping[str, Array], Mapping[str, Any]]], store: ClipStore | None
) -> dict[str, Any]:
    first_path, _, header = opened[0]
    clips = [clip for _, _, each in opened for clip in each["clips"]]
    content = header_fields(header, clips, first_path, store)
    layout = content["layout"]
    parts = [arrays for _, arrays, _ in opened]
    moments = Moments.joined([np.array(each["moments"]) for each in parts], layout.dims)
    normalisation = moments.normalisation(layout)
    names = [*ROW_ARRAYS, *(PHASE_COLUMNS if "phase" in parts[0] else ())]
    columns: dict[str, Any] = {
        name: JoinedRows([arrays[name] for arrays in parts]) for name in names
    }
    columns["features"] = JoinedRows(columns["features"].parts, normalisation)
    if all(KINDS_COLUMN in arrays for arrays in parts):
        columns[KINDS_COLUMN] = JoinedRows([arrays[KINDS_COLUMN] for arrays in parts])
    for name in ("interior", "offered", *({KINDS_COLUMN} & columns.keys())):
        columns[name] = np.concatenate(columns[name].parts)
    lengths = np.concatenate([each["range_stops"] - each["range_starts"] for each in parts])
    margin = float(content["made_with"]["end_margin_s"])
    check_offered(columns["offered"], lengths, layout, content["fps"], margin)
    return {
        **content,
        "normalisation": normalisation,
        "range_starts": np.cumsum(lengths) - lengths,
        "range_stops": np.cumsum(lengths),
        "shard_paths": tuple(path for path, _, _ in opened),
        "hashes": tuple(
            (arrays["features"], str(of["sha256"]["features"])) for _, arrays, of in opened
        ),
        **row_fields(columns),
    }
