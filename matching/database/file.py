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

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.config import checked_count, checked_labels, checked_mapping, checked_text
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.features.layout import FeatureLayout, Normalisation
from deepphase.formats.array_file import checked_rate, map_arrays, write_arrays
from deepphase.matching.database.frame_reader import KINDS_COLUMN, PHASE_COLUMNS, ROW_ARRAYS
from deepphase.phase.parameters import PhaseParameters

if TYPE_CHECKING:
    pass

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
    """The fields of a `MotionDatabase` from its file; parameters as of its `load`."""
    arrays, header = map_arrays(
        path, format=FORMAT, version=VERSION, verify=verify, types=ARRAY_TYPES
    )
    links = [StoreLink.from_mapping(link, path.absolute()) for link in header["stores"]]
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


@dataclass(eq=False)
class StoreLink:
    """A store that a database was built from, opened on first use."""

    path: str  # The store; empty for a store in memory
    group: str  # The skeleton group
    # Hash of the group's rotations, to detect a store that was prepared again under the same name;
    # empty for a store in memory.
    sha256: str = ""
    _store: ClipStore | None = field(default=None, repr=False)
    _places: dict[str, int] | None = field(default=None, repr=False)

    @classmethod
    def from_store(cls, store: ClipStore) -> StoreLink:
        """The link to an open store."""
        if store.path is None:
            return cls("", store.group, "", store)
        return cls(os.path.abspath(store.path), store.group, _rotations_sha256(store), store)

    def locate(self, name: str, frames: int, beside: Path | None) -> tuple[ClipStore, int]:
        """The store, and the index in it of the clip with a name and a number of frames."""
        store = self._opened(beside)
        if self._places is None:
            self._places = {each: index for index, each in enumerate(store.names)}
        index = self._places.get(name)
        if index is None:
            raise self._missing(
                f"no clip {name!r} in the skeleton group {self.group} of the store {self.path}; "
                "bodies of other rest frames are groups of their own"
            )
        stored = int(store.range_stops[index] - store.range_starts[index])
        if stored != frames:
            raise self._missing(
                f"clip {name!r} has {stored} frames in the store, {frames} in the database"
            )
        return store, index

    def as_mapping(self, beside: Path) -> dict[str, Any]:
        """Header entry of the store: its path, also relative to the database, group and hash."""
        relative = os.path.relpath(self.path, beside.parent) if self.path else ""
        own = {"path": self.path, "group": self.group, "sha256": self.sha256}
        return own | {"relative_path": relative}

    @classmethod
    def from_mapping(cls, content: dict[str, Any], beside: Path) -> StoreLink:
        """The link of a header entry."""
        texts = {
            name: checked_text(content[name], name)
            for name in ("path", "relative_path", "group", "sha256")
        }
        path = texts["path"]
        places = [Path(texts["relative_path"] or path), Path(path), Path(Path(path).name)]
        found = [os.path.abspath(beside.parent / place) for place in places if path]
        known = next((place for place in found if os.path.exists(place)), path)
        return cls(known, texts["group"], texts["sha256"])

    def _opened(self, beside: Path | None) -> ClipStore:
        if self._store is None:
            if not self.path or not os.path.exists(self.path):
                raise self._missing(
                    f"the store of the clips is missing: {self.path or 'it was never saved'}"
                )
            try:
                store = open_store(self.path, self.group)
            except ParameterError as error:
                raise self._missing(error.fact) from None
            except DeepPhaseError as error:
                raise self._missing(f"{error.fact}: {self.path}") from None
            if _rotations_sha256(store) != self.sha256:
                raise self._missing(
                    f"{self.path} is not the store that the database was built from"
                )
            self._store = store
        return self._store

    @staticmethod
    def _missing(fact: str) -> CheckpointError:
        return CheckpointError(
            fact,
            hint="put the store beside the database, or build the database again",
        )


def _rotations_sha256(store: ClipStore) -> str:
    return str(store.header.get("sha256", {}).get(f"{store.group}/rotations", ""))


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
