"""Shards of a database: databases of successive clips, opened or merged as one.

A shard is a database file (see `deepphase.matching.database.file`) whose features are raw, with
mean 0 and scale 1, because the normalisation is known when all shards are there. It also has

=====================  =======================  ==================================================
moments                (clips, 1 + 2 * dims)    float64: frames, mean and sum of squares about it
=====================  =======================  ==================================================

and in the header ``shard``: ``number``, ``of`` and ``clips_sha256`` (of the names and lengths of
the clips of all shards).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.shards import Shard
from deepphase.errors import CheckpointError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Moments, Normalisation
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.matching.database.build import END_MARGIN_S, check_offered, read_fields
from deepphase.matching.database.clip_sequence import ClipSequence
from deepphase.matching.database.file import FORMAT, not_a_database, save_fields
from deepphase.matching.database.frame_reader import PHASE_COLUMNS
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

# A shard's file, its arrays and its header.
OpenShard = tuple[Path, dict[str, Array], dict[str, Any]]
# What all shards of a database have in common, and what differs where one does not.
_SHARED = {
    "layout": "other features",
    "made_with": "another phase model or another end margin",
    "fps": "another frame rate",
    "body": "another body",
    "index": "another kind of index",
    "stores": "another store",
    "clips": "other clips of the store",
    "of": "another number of shards",
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
    content, moments = read_fields(
        every.shard(shard),
        layout,
        model,
        None,
        end_margin_s,
        path.absolute().parent,
        workers,
        cluster,
        progress,
    )
    dims = content["layout"].dims
    raw = Normalisation(np.zeros(dims, np.float32), np.ones(dims, np.float32))
    names = json.dumps([every.names, every.lengths.tolist()])
    entry = {
        "number": shard.number,
        "of": shard.count,
        "clips_sha256": hashlib.sha256(names.encode()).hexdigest(),
    }
    content |= {"index": index, "normalisation": raw}
    save_fields(content, path, shard=entry, moments=moments.arrays())
    return len(content["features"])


def shards_in(folder: Path) -> list[Path]:
    """The shards in a folder; CheckpointError where there is none."""
    found = sorted(path for path in folder.iterdir() if path.is_file() and _is_shard(path))
    if not found:
        raise CheckpointError(
            "no shard of a motion database is in this folder",
            hint="give a database file, or the folder of `deepphase match build --shard`",
            path=folder,
        )
    return found


def complete_shards(opened: Sequence[OpenShard]) -> list[OpenShard]:
    """The shards in the order of their rows; CheckpointError unless they are all of a database."""
    for path, _, header in opened:
        if "shard" not in header:
            raise CheckpointError(
                "this motion database is not a shard",
                hint="give one database, or the shards of one",
                path=path,
            )
    try:
        shared = [_shared(header) for _, _, header in opened]
        order = sorted(opened, key=lambda each: int(each[2]["shard"]["number"]))
        numbers = [int(header["shard"]["number"]) for _, _, header in order]
        every = list(range(1, int(shared[0]["of"]) + 1))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_database(error, opened[0][0]) from None
    for name, what in _SHARED.items():
        other = next((each for each, of in enumerate(shared) if of[name] != shared[0][name]), None)
        if other is not None:
            raise CheckpointError(
                f"this shard was built with {what} than {opened[0][0]}",
                hint="give the shards of one database, built from one store with one command",
                path=opened[other][0],
            )
    if numbers != every:
        raise CheckpointError(
            f"shards {', '.join(map(str, numbers))} of {len(every)} are given",
            hint=f"give each of 1 to {len(every)} once; `deepphase match build --shard` builds one",
            path=order[0][0],
        )
    return order


def join_shards(shards: Sequence[Any], moments: Sequence[Array]) -> Any:
    """The database of all shards in their order, whose rows stay in their files.

    Parameters
    ----------
    shards
        The `MotionDatabase` of each shard's file.
    moments
        Those of each shard's file.

    Raises
    ------
    ParameterError
        Where no row of the database can be offered.
    """
    first, layout = shards[0], shards[0].layout
    normalisation = Moments.joined([np.array(each) for each in moments], layout.dims).normalisation(
        layout
    )
    raw = [each.features for each in shards]
    normalised = tuple(
        replace(each, features=JoinedRows([rows], normalisation), normalisation=normalisation)
        for each, rows in zip(shards, raw, strict=True)
    )
    lengths = np.concatenate([each.range_stops - each.range_starts for each in shards])
    stops = np.cumsum(lengths)
    offered = np.concatenate([each.offered for each in shards])
    check_offered(offered, lengths, layout, first.fps, float(first.made_with["end_margin_s"]))
    kinds = [each.kinds for each in shards if each.kinds is not None]
    phases = [each.phases for each in shards if each.phases is not None]
    columns: Any = (JoinedRows([getattr(each, name) for each in phases]) for name in PHASE_COLUMNS)
    return replace(
        first,
        features=JoinedRows(raw, normalisation),
        normalisation=normalisation,
        range_starts=stops - lengths,
        range_stops=stops,
        clip_names=sum((each.clip_names for each in shards), ()),
        labels=sum((each.labels for each in shards), ()),
        clip_links=np.concatenate([each.clip_links for each in shards]),
        root_positions=JoinedRows([each.root_positions for each in shards]),
        root_angles=JoinedRows([each.root_angles for each in shards]),
        interior=np.concatenate([each.interior for each in shards]),
        offered=offered,
        kinds=np.concatenate(kinds) if len(kinds) == len(shards) else None,
        phases=PhaseParameters.trusted(*columns) if phases else None,
        path=None,
        shards=normalised,
        hashes=sum((each.hashes for each in shards), ()),
    )


def _is_shard(path: Path) -> bool:
    if not is_array_file(path):
        return False
    try:
        header = read_header(path)
    except CheckpointError:
        return False
    return header["format"] == FORMAT and "shard" in header


def _shared(header: Mapping[str, Any]) -> dict[str, Any]:
    shard = header["shard"]
    stores = [(each["group"], each["sha256"]) for each in header["stores"]]
    values = {**header, "stores": stores, "clips": shard["clips_sha256"], "of": shard["of"]}
    return {name: values[name] for name in _SHARED}
