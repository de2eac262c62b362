"""Motion databases: feature rows of the frames of many clips, with root trajectory and phases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array, ComputedRows, counted, short_repr
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout, Normalisation, checked_block
from deepphase.features.moment_kinds import IDLE, KINDS, clip_kinds, kind_numbers
from deepphase.formats.array_file import fitting_parts
from deepphase.matching.database.build import END_MARGIN_S, FrameReader, TrackReader, built_fields
from deepphase.matching.database.stored_rows import (
    PHASE_COLUMNS,
    ClipRows,
    StoreLink,
    database_fields,
    save_fields,
)
from deepphase.motion.clip import Clip
from deepphase.phase.parameters import PhaseParameters
from deepphase.work import Progress, reported

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

_ROWS_AT_ONCE = 1 << 16
# Way out where the arrays do not fit together, which those of `MotionDatabase.build` do.
_DAMAGED = "build the database again"


@dataclass(frozen=True, eq=False)
class MotionDatabase(ClipRows):
    """Feature rows of clips; row range_starts[i] + f is frame f of clip i.

    Every frame has a row, so row + 1 is the next frame up to the clip's end. Rows whose feature
    offsets reach past the clip, or that have too little left to play, are not `offered`: a search
    never returns them.

    Parameters
    ----------
    layout
        Features of a row; joints by name.
    fps
        Frames a second.
    features
        (rows, dims) float32, normalised and weighted: Euclidean distance is the cost.
    normalisation
        Maps raw values to feature rows.
    range_starts, range_stops
        (clips,) clip i is rows range_starts[i] to range_stops[i] - 1; contiguous, rising.
    clip_names, labels
        Name and labels of each clip.
    root_positions
        (rows, 3) float32 metres: the root trajectory in the clip's world.
    root_angles
        (rows,) float32 radians: facing about Y from +Z, continuous within a clip.
    phases
        (rows, channels) each; None without a phase model.
    interior
        (rows,) bool: the phase window lies inside the clip; all true without phases.
    offered
        (rows,) bool: rows that a search may return.
    kinds
        (rows,) uint8: kind of every moment, a number of `deepphase.features.moment_kinds.KINDS`;
        None where they are not known, see `with_kinds`.
    links
        The stores that the clips come from.
    clip_links
        (clips,) index of each clip's link.
    body
        Role -> joint name, as used for the facing.
    made_with
        Provenance: ``model_sha256`` and ``end_margin_s``.
    index
        Kind of search index that it was built with; see
        `deepphase.matching.search.searcher.open_searcher`.
    path
        The database's file; None in memory.
    hashes
        Arrays of its file, each with the hash in the header.
    """

    layout: FeatureLayout
    fps: float
    features: Array | ComputedRows
    normalisation: Normalisation
    range_starts: Array
    range_stops: Array
    clip_names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    root_positions: Array
    root_angles: Array
    phases: PhaseParameters | None
    interior: Array
    offered: Array
    links: tuple[StoreLink, ...]
    clip_links: Array
    body: Mapping[str, str]
    made_with: Mapping[str, Any] = field(default_factory=dict)
    index: str = "auto"
    path: Path | None = None
    hashes: tuple[tuple[Array | ComputedRows, str], ...] = field(default=(), repr=False)
    kinds: Array | None = None

    def __post_init__(self) -> None:
        rows, clips = len(self.features), len(self.clip_names)
        if self.features.ndim != 2 or self.features.shape[1] != self.layout.dims:
            raise ParameterError(
                f"feature rows {self.features.shape}, but the layout has {self.layout.dims} values",
                hint=f"the layout:\n    {self.layout}",
            )
        shapes = {
            "root_positions": (rows, 3),
            **dict.fromkeys(("root_angles", "interior", "offered"), (rows,)),
            **dict.fromkeys(("range_starts", "range_stops", "clip_links"), (clips,)),
        } | ({} if self.kinds is None else {"kinds": (rows,)})
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ParameterError(
                    f"{name} have the shape {getattr(self, name).shape}, not {shape}",
                    hint=_DAMAGED,
                )
        starts, stops = self.range_starts, self.range_stops
        wrong = ""
        if not clips or starts[0] != 0 or stops[-1] != rows or (stops <= starts).any():
            wrong = f"the clip ranges do not cover the {rows} rows"
        elif (starts[1:] != stops[:-1]).any() or len(self.labels) != clips:
            wrong = "the clip ranges are not contiguous, or clips have no labels"
        elif self.phases is not None and {
            getattr(self.phases, name).shape for name in PHASE_COLUMNS
        } != {(rows, self.phases.channels)}:
            wrong = f"phases have other shapes than the {rows} rows"
        elif len(self.normalisation.mean) != self.layout.dims:
            wrong = "the normalisation is of another layout"
        elif self.kinds is not None and len(self.kinds) and np.max(self.kinds) >= len(KINDS):
            wrong = f"{np.max(self.kinds)} is not a kind of moments"
        if wrong:
            raise ParameterError(wrong, hint=_DAMAGED)

    def __repr__(self) -> str:
        return short_repr(
            self,
            counted(len(self.clip_names), "clip"),
            f"{len(self):,} rows of {self.dims} values at {self.fps:g} Hz",
            f"{len(self.offered_rows):,} offered",
            "" if self.phases is None else counted(self.phases.channels, "phase channel"),
        )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def dims(self) -> int:
        """Values in a row."""
        return self.features.shape[1]

    @cached_property
    def offered_rows(self) -> Array:
        """(offered,) rows that a search may return, rising."""
        return np.flatnonzero(self.offered)

    @cached_property
    def arrays_sha256(self) -> str:
        """Hash of the features and offered rows, by which an index recognises its database.

        Made of the hashes in the database's file, so that a large one is not read.
        """
        digest = hashlib.sha256(repr(self.features.shape).encode())
        for array in (self.features, self.offered):
            digest.update(self._hash_of(array).encode())
        return digest.hexdigest()

    def _hash_of(self, array: Array | ComputedRows) -> str:
        """Hash of an array's bytes, which is in the header of its file."""
        for known, written in self.hashes:
            if known is array:
                return written
        digest = hashlib.sha256()
        if isinstance(array, ComputedRows) and array.transform is self.normalisation:
            digest.update(self._hash_of(array.source).encode())
            digest.update(self.normalisation.mean.tobytes() + self.normalisation.scale.tobytes())
            return digest.hexdigest()
        for start in range(0, len(array), _ROWS_AT_ONCE):
            block = np.ascontiguousarray(array[start : start + _ROWS_AT_ONCE])
            digest.update(block.reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def idle(self, rows: Array) -> Array:
        """(...) bool: rows whose moment is idle; none where the kinds are not known."""
        if self.kinds is None:
            return np.zeros(np.shape(rows), bool)
        return np.asarray(self.kinds[rows] == IDLE)

    def rows_of_kinds(self, names: Iterable[str]) -> Array:
        """(rows,) bool: rows whose moments are of some kinds.

        Raises ParameterError where a name is unknown, or the database has no kinds.
        """
        numbers = kind_numbers(names)
        if self.kinds is None:
            raise ParameterError(
                "this database has no kinds of moments",
                hint="MotionDatabase.with_kinds finds them in its clips",
            )
        return np.isin(self.kinds, numbers)

    def with_kinds(self, progress: Progress | None = None) -> MotionDatabase:
        """The database with the kinds of its moments, found in the clips where it has none.

        Raises CheckpointError where the store of the clips is missing or has been replaced.
        """
        if self.kinds is not None:
            return self
        count = len(self.clip_names)
        clips = reported(progress, "finding kinds of moments", map(self.clip, range(count)), count)
        return replace(self, kinds=np.concatenate([clip_kinds(clip, self.body) for clip in clips]))

    def clip(self, index: int) -> Clip:
        """A clip with its rotations, from its store.

        Raises CheckpointError where the store is missing or has been replaced.
        """
        store, place = self.in_store(index)
        return store.clip(place)

    def in_store(self, index: int) -> tuple[ClipStore, int]:
        """The store that a clip is in, and the clip's index there; errors as of `clip`."""
        link = self.links[self.clip_links[index]]
        frames = int(self.range_stops[index] - self.range_starts[index])
        return link.locate(self.clip_names[index], frames, beside=self.path)

    def normalised(self, raw: Array) -> Array:
        """(..., dims) raw features, normalised and weighted like the rows.

        Raises ParameterError where the width differs or a value is not finite.
        """
        raw = np.asarray(raw, np.float32)
        if raw.shape[-1:] != (self.dims,) or not np.isfinite(raw).all():
            raise ParameterError(
                f"features have the shape {raw.shape}, not (..., {self.dims}), or are not finite",
                hint=f"the database's layout:\n    {self.layout}",
            )
        return self.normalisation(raw)

    def query(self, rows: Array, replace: Mapping[str, Array] | None = None) -> Array:
        """(q, dims) float32 queries for a body in the state of some rows.

        Parameters
        ----------
        rows
            (q,) rows whose features are taken.
        replace
            Feature name -> (q, feature dims) raw values that replace the rows' own, such as a
            desired trajectory.
        Raises
        ------
        ParameterError
            Where a feature is unknown or its values do not fit it.
        """
        rows = np.asarray(rows)
        query = np.array(self.features[rows], np.float32)
        slices = self.layout.slices
        for name, values in (replace or {}).items():
            raw, block = checked_block(self.layout[name], values), slices[name]
            query[:, block] = self.normalisation.of_block(raw, block)
        return query

    def reweighted(self, factors: Mapping[str, float]) -> MotionDatabase:
        """These rows with weights multiplied by factors of features; itself if all factors are 1.

        The features are in memory, and the index is built again. Raises ParameterError if a feature
        is unknown, a factor is negative or not finite, or all weights are 0.
        """
        layout = self.layout
        for name, factor in factors.items():
            _ = layout[name]
            if not (np.isfinite(factor) and factor >= 0):
                raise ParameterError(
                    f"factor {factor} of the feature {name!r}: it must be 0 or more"
                )
        if all(factor == 1.0 for factor in factors.values()):
            return self
        weights = {block.name: block.weight * factors.get(block.name, 1.0) for block in layout}
        if not any(weights.values()):
            raise ParameterError("all features have weight 0", hint="leave one of them a weight")
        columns = np.ones(self.dims, np.float32)
        for name, factor in factors.items():
            columns[layout.slices[name]] = factor
        old = self.normalisation
        normalisation = Normalisation(old.mean, old.scale * columns)
        features: Array | ComputedRows
        if isinstance(self.features, ComputedRows) and self.features.transform is old:
            features = ComputedRows(self.features.source, normalisation)
        else:
            features = np.asarray(self.features) * columns
        return replace(
            self,
            layout=FeatureLayout(*(replace(block, weight=weights[block.name]) for block in layout)),
            features=features,
            normalisation=normalisation,
            index="auto",
            path=None,
            hashes=(),
        )

    @classmethod
    def build(
        cls,
        store: ClipStore | Sequence[ClipStore],
        layout: FeatureLayout | str | Path,
        model: PhaseExtractor | None = None,
        *,
        tracks: TrackReader | None = None,
        end_margin_s: float = END_MARGIN_S,
        spool: Path | None = None,
        progress: Progress | None = None,
    ) -> MotionDatabase:
        """A database of every frame of a store.

        Parameters
        ----------
        store
            Clips at the model's rate; `store.selected` restricts them by label. Clips of several
            stores are joined.
        layout
            A layout, a YAML file, or a shipped layout's name.
        model
            Computes the phases; needed only where the layout has them.
        tracks
            Function of a clip that returns its tracks, name -> (frames, values); needed where
            the layout has track features.
        end_margin_s
            Frames closer than this to the end of their clip are not offered.
        spool
            Folder for temporary files of the rows, where these may exceed memory.

        Raises
        ------
        ParameterError
            Where layout, model and store do not fit, or no frame can be offered.
        CheckpointError
            Where the disk of `spool` is full.
        """
        layout = layout if isinstance(layout, FeatureLayout) else FeatureLayout.load(layout)
        return cls(**built_fields(store, layout, model, tracks, end_margin_s, spool, progress))

    def reader(
        self, model: PhaseExtractor | None, tracks: TrackReader | None = None
    ) -> FrameReader:
        """The reader that this database's clips were read with.

        Raises ParameterError where `model` is not the one that the database was built with.
        """
        expected = self.made_with.get("model_sha256")
        if (None if model is None else model.sha256) != expected:
            raise ParameterError(
                "the database was built with another phase model"
                if model is not None
                else "the database was built with a phase model, but none is given",
                hint="give the model that it was built with, or build a new database",
            )
        margin = float(self.made_with["end_margin_s"])
        return FrameReader(
            self.layout, model, self.body, tracks, margin, kinds=self.kinds is not None
        )

    def save(self, path: str | Path) -> Path:
        """Write the database as one file, atomically."""
        path = Path(path)
        save_fields({item.name: getattr(self, item.name) for item in fields(self)}, path)
        return path

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        store: ClipStore | None = None,
        verify: bool = True,
    ) -> MotionDatabase:
        """Open a database file; rows are memory-mapped.

        Parameters
        ----------
        path
            A database file.
        store
            Replaces the store that the clips came from, where that has moved.
        verify
            Compare hashes, which reads the whole file once.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign or of a newer version.
        """
        path = Path(path)
        with fitting_parts("motion database", "build it again", path):
            return cls(**database_fields(path, store, verify=verify))
