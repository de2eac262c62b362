"""Building of the rows of a database from the clips of stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Moments, Normalisation
from deepphase.matching.database.clip_sequence import ClipSequence
from deepphase.matching.database.frame_reader import (
    KINDS_COLUMN,
    PHASE_COLUMNS,
    ROW_ARRAYS,
    FrameReader,
    TrackReader,
)
from deepphase.matching.database.store_link import StoreLink
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

# Frames that are closer than this to the end of their clip are excluded from searches, seconds.
END_MARGIN_S = 0.25
_ROWS_AT_ONCE = 1 << 16


def built_fields(
    stores: ClipStore | Sequence[ClipStore],
    layout: FeatureLayout,
    model: PhaseExtractor | None,
    tracks: TrackReader | None,
    end_margin_s: float,
    spool: Path | None,
    workers: int | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` of stores; arguments and errors as of its `build`."""
    clips = ClipSequence.of(stores)
    content, moments = read_fields(
        clips, layout, model, tracks, end_margin_s, spool, workers, progress
    )
    layout = content["layout"]
    normalisation = moments.normalisation(layout)
    if spool is None:
        _normalise(content["features"], normalisation)
    else:
        # Normalised as they are read, in place of a second pass over the file.
        content["features"] = JoinedRows([content["features"]], normalisation)
    check_offered(content["offered"], clips.lengths, layout, content["fps"], end_margin_s)
    return {**content, "normalisation": normalisation}


def read_fields(
    clips: ClipSequence,
    layout: FeatureLayout,
    model: PhaseExtractor | None,
    tracks: TrackReader | None,
    end_margin_s: float,
    spool: Path | None,
    workers: int | None,
    progress: Progress | None,
) -> tuple[dict[str, Any], Moments]:
    """The fields of a `MotionDatabase` of clips with raw features, and the moments of these."""
    reader = FrameReader.for_store(clips.stores[0], layout, model, tracks, end_margin_s)
    columns = reader.columns(int(clips.lengths.sum()), spool)
    moments = Moments(reader.layout.dims)
    for rows in clips.read(reader, workers=workers, progress=progress):
        columns.append(rows)
        moments.add(rows["features"])
    content = {
        **clip_fields(clips),
        "layout": reader.layout,
        "body": reader.body,
        "made_with": {
            "model_sha256": None if model is None else model.sha256,
            "end_margin_s": end_margin_s,
        },
        **row_fields(columns.arrays),
    }
    return content, moments


def clip_fields(clips: ClipSequence) -> dict[str, Any]:
    """The fields of a `MotionDatabase` about its clips and their stores."""
    lengths, stores = clips.lengths, clips.stores
    of_store = np.repeat(np.arange(len(stores)), [len(store) for store in stores])
    labels = [each for store in stores for each in store.labels]
    return {
        "fps": float(stores[0].fps),
        "range_starts": np.cumsum(lengths) - lengths,
        "range_stops": np.cumsum(lengths),
        "clip_names": clips.names,
        "labels": tuple(labels),
        "links": tuple(StoreLink.of_store(store) for store in stores),
        "clip_links": of_store.astype(np.int64),
    }


def check_offered(
    offered: Array, lengths: Array, layout: FeatureLayout, fps: float, end_margin_s: float
) -> None:
    """Raise ParameterError unless a search may return a row."""
    if offered.any():
        return
    past, future = layout.reach_s
    raise ParameterError(
        f"no frame can be offered: the longest clip has {lengths.max() / fps:.2f} s, but the "
        f"features need {past:g} s before and {future:g} s after a frame, and {end_margin_s:g} s "
        "must be left to play",
        hint="use longer clips, or a layout with smaller offsets_s",
    )


def extended_rows(
    old: Mapping[str, Array],
    reader: FrameReader,
    store: ClipStore | Sequence[ClipStore],
    normalisation: Normalisation,
    spool: Path | None,
    workers: int | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` with one entry a row, with the clips of a store appended.

    `old`: name -> (rows, ...) arrays of the database, those of its phases among them.
    """
    rows = len(old["features"])
    clips = ClipSequence.of(store)
    columns = reader.columns(rows + int(clips.lengths.sum()), spool)
    for start in range(0, rows, _ROWS_AT_ONCE):
        columns.append({name: each[start : start + _ROWS_AT_ONCE] for name, each in old.items()})
    for read in clips.read(reader, workers=workers, progress=progress):
        columns.append({**read, "features": normalisation(read["features"])})
    return row_fields(columns.arrays)


def _normalise(features: Array, normalisation: Normalisation) -> None:
    for start in range(0, len(features), _ROWS_AT_ONCE):
        rows = features[start : start + _ROWS_AT_ONCE]
        rows[:] = normalisation(rows)


def row_fields(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `MotionDatabase` with one entry a row."""
    phases = None
    if "phase" in columns:
        phases = PhaseParameters.trusted(*(columns[name] for name in PHASE_COLUMNS))
    return {
        **{name: columns[name] for name in ROW_ARRAYS},
        KINDS_COLUMN: columns.get(KINDS_COLUMN),
        "phases": phases,
    }
