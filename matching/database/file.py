"""Database files: one array file with rows, clips and provenance.

Format "deepphase.motion_database", version 1. The header has ``fps``, ``layout``, ``clips``
(``name``, ``labels``, ``store``), ``stores`` (``path``, ``relative_path``, ``group``,
``sha256``), ``body``, ``made_with`` and ``index`` (the kind of search index that queries and runs
use). The arrays:

=====================  =======================  ==================================================
features               (rows, dims) float32     (raw - mean) * scale
mean, scale            (dims,) float32          the weight is in the scale
range_starts, _stops   (clips,) int64           clip i: rows start to stop - 1
root_positions         (rows, 3) float32        metres, y = 0; of clips on ground, the level of
                                                the ground under the root
root_angles            (rows,) float32          radians about Y from +Z, continuous in a clip
interior, offered      (rows,) bool
kinds                  (rows,) uint8            numbers of `deepphase.features.moment_kinds.KINDS`
phase, frequency,      (rows, channels) float32 where there are phases: cycles, Hz, -, -
amplitude, offset
=====================  =======================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import FeatureLayout, Normalisation
from deepphase.formats.array_file import map_arrays, write_arrays
from deepphase.formats.header_values import (
    checked_count,
    checked_labels,
    checked_mapping,
    checked_rate,
    checked_text,
)
from deepphase.matching.database.build import StoreLink, row_fields
from deepphase.matching.database.frame_reader import KINDS_COLUMN, PHASE_COLUMNS, ROW_ARRAYS

FORMAT, VERSION = "deepphase.motion_database", 1
# Arrays whose hashes tell whether an index belongs to a database.
HASHED = ("features", "offered")
_RANGES = ("range_starts", "range_stops")
_ARRAYS = (*ROW_ARRAYS, *_RANGES)
ARRAY_TYPES = {
    **dict.fromkeys(("interior", "offered"), "BOOL"),
    **dict.fromkeys(_RANGES, "I64"),
    KINDS_COLUMN: "U8",
    "*": "F32",
}


def save_fields(content: Mapping[str, Any], path: Path) -> None:
    """Write the fields of a `MotionDatabase` as one file; CheckpointError where it cannot be."""
    arrays = {name: content[name] for name in _ARRAYS}
    arrays |= {"mean": content["normalisation"].mean, "scale": content["normalisation"].scale}
    if content[KINDS_COLUMN] is not None:
        arrays[KINDS_COLUMN] = content[KINDS_COLUMN]
    if content["phases"] is not None:
        arrays |= {name: getattr(content["phases"], name) for name in PHASE_COLUMNS}
    header = {
        "fps": content["fps"],
        "layout": content["layout"].as_mapping(),
        "body": dict(content["body"]),
        "made_with": dict(content["made_with"]),
        "index": content["index"],
        "stores": [link.as_mapping(path.absolute()) for link in content["links"]],
        "clips": [
            {"name": name, "labels": dict(labels), "store": int(store)}
            for name, labels, store in zip(
                content["clip_names"], content["labels"], content["clip_links"], strict=True
            )
        ],
    }
    write_arrays(path, arrays, header, format=FORMAT, version=VERSION)


def database_fields(path: Path, store: ClipStore | None, *, verify: bool) -> dict[str, Any]:
    """The fields of a `MotionDatabase` from its file; parameters as of its `load`.

    Raises KeyError, TypeError, ValueError or AttributeError where they do not fit together.
    """
    arrays, header = map_arrays(
        path, format=FORMAT, version=VERSION, verify=verify, types=ARRAY_TYPES
    )
    links = [StoreLink.from_mapping(each, path.absolute()) for each in header["stores"]]
    if store is not None:
        links = [replace(link, _store=store) for link in links]
    clips, last = header["clips"], len(links) - 1
    clip_links = [checked_count(clip["store"], "store", 0, last) for clip in clips]
    return {
        "layout": FeatureLayout.from_mapping(header["layout"]),
        "fps": checked_rate(header["fps"]),
        "clip_names": tuple(checked_text(clip["name"], "name") for clip in clips),
        "labels": tuple(checked_labels(clip["labels"]) for clip in clips),
        "links": tuple(links),
        "clip_links": np.array(clip_links, np.int64),
        "body": checked_labels(header["body"], "body"),
        "made_with": checked_mapping(header["made_with"], "made_with"),
        "index": checked_text(header["index"], "index"),
        "normalisation": Normalisation(np.array(arrays["mean"]), np.array(arrays["scale"])),
        "path": path,
        "hashes": tuple((arrays[name], header["sha256"][name]) for name in HASHED),
        **{name: np.array(arrays[name]) for name in _RANGES},
        **row_fields(arrays),
    }
