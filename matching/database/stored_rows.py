"""Rows of clips, their rotations in stores, and database files: rows, clips and provenance.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.config import checked_count, checked_labels, checked_mapping, checked_text
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.features.layout import FeatureLayout, Normalisation
from deepphase.formats.array_file import checked_rate, map_arrays, write_arrays
from deepphase.motion import quaternions
from deepphase.motion.hinges import NO_HINGES, Hinges
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.parameters import PhaseParameters

# Arrays of a database with one entry a row, beside the phases.
ROW_ARRAYS = ("features", "root_positions", "root_angles", "interior", "offered")
KINDS_COLUMN = "kinds"
PHASE_COLUMNS = ("phase", "frequency", "amplitude", "offset")

# Clips, or values of a label, that an error lists.
_LISTED = 8


class ClipRows:
    """Rows of clips, one after the other: row range_starts[i] + f is frame f of clip i."""

    fps: float
    range_starts: Array
    range_stops: Array
    clip_names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]

    def clip_of(self, rows: Array | int) -> Array:
        """Clip index of each row."""
        return np.searchsorted(self.range_stops, np.asarray(rows), side="right")

    def labels_of(self, rows: Array) -> list[Mapping[str, str]]:
        """Labels of the clip of each row."""
        return [self.labels[clip] for clip in self.clip_of(rows).tolist()]

    def ranges_of(self, rows: Array | int) -> tuple[Array, Array]:
        """First row and last row + 1 of the clip of each row."""
        clips = self.clip_of(rows)
        return self.range_starts[clips], self.range_stops[clips]

    def frame_of(self, rows: Array | int) -> Array:
        """Frame of each row in its clip, from 0."""
        return np.asarray(rows) - self.ranges_of(rows)[0]

    def frames_left(self, rows: Array | int) -> Array:
        """Frames of the clip after each row: 0 at its last frame."""
        return self.ranges_of(rows)[1] - 1 - np.asarray(rows)

    def neighbourhood(self, rows: Array | int, seconds: float) -> Array:
        """(rows, 2) first row and last row + 1 of the same clip within seconds of each row."""
        rows, radius = np.asarray(rows), round(seconds * self.fps)
        first, stop = self.ranges_of(rows)
        near = np.maximum(rows - radius, first), np.minimum(rows + radius + 1, stop)
        return np.stack(near, -1)

    def row_of(self, clip: str, frame: int) -> int:
        """Row of a frame of a named clip; ParameterError where there is none."""
        if clip not in self.clip_names:
            raise ParameterError(
                f"there is no clip {clip!r} in this database",
                hint=f"clips: {', '.join(self.clip_names[:_LISTED])}"
                + (" ..." if len(self.clip_names) > _LISTED else ""),
            )
        index = self.clip_names.index(clip)
        frames = int(self.range_stops[index] - self.range_starts[index])
        if not 0 <= frame < frames:
            raise ParameterError(f"no frame {frame} in {clip!r}: it has {frames}, from 0")
        return int(self.range_starts[index]) + frame

    def rows_with(self, labels: Mapping[str, str | Sequence[str]]) -> Array:
        """(rows,) bool: rows of clips with these labels, all of which must hold."""
        clips, listed = np.ones(len(self.labels), bool), []
        for name, values in labels.items():
            column = [own.get(name) for own in self.labels]
            known = sorted({value for value in column if value is not None})
            if not known:
                names = dict.fromkeys(key for own in self.labels for key in own)
                raise ParameterError(
                    f"there is no label {name!r} in this database",
                    hint=f"it has {', '.join(names) or 'none'}",
                )
            more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
            listed.append(f"{name} is {', '.join(known[:_LISTED])}{more}")
            allowed = {values} if isinstance(values, str) else set(values)
            clips &= np.array([value in allowed for value in column])
        if not clips.any():
            raise ParameterError(f"no clip has the labels {dict(labels)}", hint="; ".join(listed))
        return np.repeat(clips, self.range_stops - self.range_starts)


GROUND_HEIGHTS = "ground_heights"
"""Track of a layout: heights left of, below and right of the trajectory ahead, over the level."""
GROUND_LEVEL = "ground_level"
"""Track of clips on ground: height that poses are over, (frames, 1) metres."""
GROUND_KINDS = "moment_kinds"
"""Track of clips on ground: kinds of moments on the flat floor, (frames, 1)."""


def has_ground_heights(layout: FeatureLayout) -> bool:
    """Whether heights of the ground are among the features."""
    return any(feature.track == GROUND_HEIGHTS for feature in layout.of_kind("track"))


class StoredRotations:
    """Local rotations of rows. Those of the carrier are in root space, of joints above identity.

    Only the carrier's rotations are in memory. All others are read from the stores, which lie on
    disk where they are files, when rows are indexed; so databases may exceed memory.

    `clips`: the store of each clip of `rows`, and the clip's index there; `carriers` (rows, 4)
    float32 rotations of the joint that carries the body, in root space. Limbs that are rolled half
    round are rolled back by `hinges`.
    """

    hinges: Hinges = NO_HINGES

    def __init__(
        self,
        rows: ClipRows,
        clips: Iterable[tuple[ClipStore, int]],
        skeleton: Skeleton,
        carriers: Array,
        above: list[int],
    ) -> None:
        self._carriers = carriers
        self._carrier, self._above = above[0], above[1:]
        starts, self._stops = rows.range_starts, rows.range_stops
        sources: dict[int, int] = {}
        self._rotations: list[Array] = []
        self._orders: list[Array | None] = []
        self._shifts = np.zeros(len(self._stops), np.int64)
        self._source_of = np.zeros(len(self._stops), np.int64)
        for clip, (store, place) in enumerate(clips):
            if id(store) not in sources:
                sources[id(store)] = len(sources)
                # A plain array is faster to index than a memory map.
                self._rotations.append(np.asarray(store.rotations))
                order = skeleton.order_of(store.skeleton)
                same_order = (order == np.arange(len(order))).all()
                self._orders.append(None if same_order else order)
            self._source_of[clip] = sources[id(store)]
            self._shifts[clip] = store.range_starts[place] - starts[clip]
        self._single_source = len(sources) == 1 and not self._shifts.any()

    def __len__(self) -> int:
        return len(self._carriers)

    def __getitem__(self, rows: Array) -> Array:
        """(..., joints, 4) float32 of rows (...); neighbours in time may differ in sign."""
        rows = np.asarray(rows)
        if self._single_source:
            rotations = self._read(0, rows)
        else:
            clips = np.searchsorted(self._stops, rows, side="right")
            frames, sources = rows + self._shifts[clips], self._source_of[clips]
            joints = self._rotations[0].shape[1]
            rotations = np.empty((*rows.shape, joints, 4), np.float32)
            for source in np.unique(sources).tolist():
                here = sources == source
                rotations[here] = self._read(source, frames[here])
        rotations[..., self._carrier, :] = self._carriers[rows]
        if self._above:
            rotations[..., self._above, :] = quaternions.IDENTITY
        poses = rotations.reshape(-1, *rotations.shape[-2:])
        self.hinges.unroll(poses)
        return poses.reshape(rotations.shape)

    def _read(self, source: int, frames: Array) -> Array:
        rotations = self._rotations[source].take(frames, axis=0)
        order = self._orders[source]
        return rotations if order is None else rotations[..., order, :]


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
