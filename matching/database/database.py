"""Every frame of many clips as one row of features, and what a search or a player asks of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.features.layout import FeatureLayout, checked_block
from deepphase.features.normalisation import Moments, Normalisation
from deepphase.features.trajectory import facing_directions
from deepphase.motion.clip import Clip
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.short_repr import counted, short_repr
from matching.database.build import PHASE_COLUMNS, FrameReader, TrackReader, check_rate
from matching.database.file import database_fields, not_a_database, save_fields
from matching.database.store_link import StoreLink

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

END_MARGIN_S = 0.25
_ROWS_AT_ONCE = 1 << 16
# So many values of a label are named to a user.
_NAMED = 8


@dataclass(frozen=True, eq=False)
class MotionDatabase:
    """Feature rows of clips; row range_starts[i] + f is frame f of clip i.

    Every frame has its row, so that row + 1 is the next frame of the same clip up to the clip's
    end. Rows whose offsets reach past a clip's end, or that have next to nothing left to play,
    are there but not `offered`: a search never returns them.

    Parameters
    ----------
    layout
        What the values of a row are; joints by name.
    fps
        Frames a second.
    features
        (rows, dims) float32, normalised and weighted: Euclidean distance is the cost.
    normalisation
        How they were made of raw values.
    range_starts, range_stops
        (clips,) clip i is rows range_starts[i] to range_stops[i] - 1; contiguous, rising.
    clip_names, labels
        One a clip.
    root_positions
        (rows, 3) float32 metres: the root trajectory in the clip's world.
    root_angles
        (rows,) float32 radians: facing about Y from +Z, continuous within a clip.
    phases
        (rows, channels) each; None where no phase model was given.
    interior
        (rows,) bool: the phase window lies inside the clip; all where there are no phases.
    offered
        (rows,) bool: rows that a search may return.
    links
        The stores that the clips come from.
    clip_links
        (clips,) which of them each clip comes from.
    body
        Role -> joint name, as the facing was found with.
    made_with
        What built it: model hash, options.
    path
        The database's file, if there is one.
    """

    layout: FeatureLayout
    fps: float
    features: Array
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
    path: Path | None = None

    def __post_init__(self) -> None:
        rows, clips = len(self.features), len(self.clip_names)
        if self.features.ndim != 2 or self.features.shape[1] != self.layout.dims:
            raise ParameterError(
                f"feature rows {self.features.shape}, but the layout has {self.layout.dims} values",
                hint=f"the layout:\n    {self.layout}",
            )
        shapes = {
            "root_positions": (rows, 3),
            "root_angles": (rows,),
            "interior": (rows,),
            "offered": (rows,),
            "range_starts": (clips,),
            "range_stops": (clips,),
            "clip_links": (clips,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ParameterError(f"{name} {getattr(self, name).shape}, expected {shape}")
        starts, stops = self.range_starts, self.range_stops
        if not clips or starts[0] != 0 or stops[-1] != rows or (stops <= starts).any():
            raise ParameterError(f"clip ranges that do not cover the {rows} rows")
        if (starts[1:] != stops[:-1]).any() or len(self.labels) != clips:
            raise ParameterError("clip ranges or labels that do not follow each other")
        if self.phases is not None and len(self.phases.phase) != rows:
            raise ParameterError(f"phases of {len(self.phases.phase)} frames for {rows} rows")
        if len(self.normalisation.mean) != self.layout.dims:
            raise ParameterError("a normalisation of another layout")

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

    @property
    def root_directions(self) -> Array:
        """(rows, 3) float32 unit vectors on the ground: the facing."""
        return facing_directions(self.root_angles)

    @cached_property
    def offered_rows(self) -> Array:
        """(offered,) rows that a search may return, rising."""
        return np.flatnonzero(self.offered)

    @cached_property
    def rows_sha256(self) -> str:
        """Hash of the features and of which rows are offered: what an index was made of."""
        digest = hashlib.sha256(np.array(self.features.shape, np.int64).tobytes())
        for start in range(0, len(self), _ROWS_AT_ONCE):
            piece = np.ascontiguousarray(self.features[start : start + _ROWS_AT_ONCE])
            digest.update(piece.view(np.uint8).data)
        digest.update(np.packbits(self.offered).data)
        return digest.hexdigest()

    def clip_of(self, rows: Array | int) -> Array:
        """Clip index of each row."""
        return np.searchsorted(self.range_stops, np.asarray(rows), side="right")

    def frame_of(self, rows: Array | int) -> Array:
        """Frame of each row in its clip, from 0."""
        return np.asarray(rows) - self.range_starts[self.clip_of(rows)]

    def frames_left(self, rows: Array | int) -> Array:
        """Frames of the clip behind each row: 0 at its last frame."""
        return self.range_stops[self.clip_of(rows)] - 1 - np.asarray(rows)

    def ranges_of(self, rows: Array | int) -> tuple[Array, Array]:
        """First row, and last row + 1, of the clip that each row is in."""
        clips = self.clip_of(rows)
        return self.range_starts[clips], self.range_stops[clips]

    def row_of(self, clip: str, frame: int) -> int:
        """The row of a frame of a named clip; ParameterError where there is none."""
        if clip not in self.clip_names:
            raise ParameterError(
                f"no clip {clip!r} in this database", hint=f"it has {len(self.clip_names)} clips"
            )
        index = self.clip_names.index(clip)
        frames = int(self.range_stops[index] - self.range_starts[index])
        if not 0 <= frame < frames:
            raise ParameterError(f"no frame {frame} in {clip!r}: it has {frames}, from 0")
        return int(self.range_starts[index]) + frame

    def rows_with(self, labels: Mapping[str, str | Sequence[str]]) -> Array:
        """(rows,) bool: rows of clips with these labels, all of which must hold.

        Parameters
        ----------
        labels
            Label -> value, or values any of which will do.

        Raises
        ------
        ParameterError
            Where no clip has a label, or none all of them.
        """
        clips = np.ones(len(self.clip_names), bool)
        for name, values in labels.items():
            allowed = {values} if isinstance(values, str) else set(values)
            column = [each.get(name) for each in self.labels]
            if all(value is None for value in column):
                known = dict.fromkeys(key for each in self.labels for key in each)
                raise ParameterError(
                    f"no label {name!r} in this database",
                    hint=f"it has {', '.join(known) or 'none'}",
                )
            clips &= np.array([value in allowed for value in column])
        if not clips.any():
            raise ParameterError(
                f"no clip has the labels {dict(labels)}", hint=self._values_of(labels)
            )
        return np.repeat(clips, self.range_stops - self.range_starts)

    def _values_of(self, names: Iterable[str]) -> str:
        """In words, what values some labels have."""
        parts = []
        for name in names:
            values = sorted({each[name] for each in self.labels if name in each})
            more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
            parts.append(f"{name} is {', '.join(values[:_NAMED])}{more}")
        return "; ".join(parts)

    def neighbourhood(self, rows: Array | int, seconds: float) -> Array:
        """(rows, 2) first and last + 1 row of the same clip within seconds of each row.

        A search leaves these rows out, so that a moment does not find itself.
        """
        rows, reach = np.asarray(rows), round(seconds * self.fps)
        clips = self.clip_of(rows)
        return np.stack(
            [
                np.maximum(rows - reach, self.range_starts[clips]),
                np.minimum(rows + reach + 1, self.range_stops[clips]),
            ],
            -1,
        )

    def clip(self, index: int) -> Clip:
        """A clip with its rotations, from its store.

        Raises
        ------
        CheckpointError
            Where the store is gone or is another one by now.
        """
        store, place = self._in_store(index)
        return store.clip(place)

    def stored(self, index: int) -> tuple[ClipStore, int]:
        """The store that a clip is in, and the clip's first frame in it; errors as of `clip`."""
        store, place = self._in_store(index)
        return store, int(store.range_starts[place])

    def _in_store(self, index: int) -> tuple[ClipStore, int]:
        link = self.links[self.clip_links[index]]
        frames = int(self.range_stops[index] - self.range_starts[index])
        return link.found(self.clip_names[index], frames, beside=self.path)

    def normalised(self, raw: Array) -> Array:
        """(..., dims) raw features as the rows are: normalised and weighted.

        Raises ParameterError where the width is another or a value is not finite.
        """
        raw = np.asarray(raw, np.float32)
        if raw.shape[-1:] != (self.dims,) or not np.isfinite(raw).all():
            raise ParameterError(
                f"features {raw.shape}, expected (..., {self.dims}) finite values",
                hint=f"the database's layout:\n    {self.layout}",
            )
        return self.normalisation(raw)

    def query(
        self,
        rows: Array,
        replace: Mapping[str, Array] | None = None,
        advance_s: float | Array = 0.0,
    ) -> Array:
        """(q, dims) float32 what to search for when the body is in the state of some rows.

        Parameters
        ----------
        rows
            (q,) rows whose features are taken.
        replace
            Feature name -> (q, feature dims) raw values that stand in for the rows' own, as in
            a desired trajectory.
        advance_s
            Seconds, or (q,): the phases of so much later, each channel turned by its frequency;
            other features stay.

        Raises
        ------
        ParameterError
            Where a feature is unknown or its values do not fit it.
        """
        rows = np.asarray(rows)
        query = np.array(self.features[rows], np.float32)
        slices = self.layout.slices
        if np.any(advance_s):
            for feature in self.layout.of_kind("phase_manifold"):
                block = slices[feature.name]
                raw = self._advanced_manifold(rows, feature.offsets_s, np.asarray(advance_s))
                query[:, block] = self.normalisation.of_block(raw, block)
        for name, values in (replace or {}).items():
            raw, block = checked_block(self.layout[name], values), slices[name]
            query[:, block] = self.normalisation.of_block(raw, block)
        return query

    def _advanced_manifold(self, rows: Array, offsets_s: Sequence[float], seconds: Array) -> Array:
        if self.phases is None:
            raise ParameterError("this database has no phases to advance")
        steps = np.round(np.asarray(offsets_s) * self.fps).astype(np.int64)
        clips = self.clip_of(rows)[:, None]
        frames = np.clip(
            rows[:, None] + steps, self.range_starts[clips], self.range_stops[clips] - 1
        )
        later = self.phases[frames].advanced(seconds.reshape(-1, 1, 1))
        return later.manifold().reshape(len(rows), -1)

    @classmethod
    def build(
        cls,
        store: ClipStore,
        layout: FeatureLayout | str | Path,
        model: PhaseExtractor | None = None,
        *,
        tracks: TrackReader | None = None,
        end_margin_s: float = END_MARGIN_S,
        spool: Path | None = None,
        progress: Progress | None = None,
    ) -> MotionDatabase:
        """The features of every frame of a store.

        Parameters
        ----------
        store
            At the model's rate. `store.selected` takes those of chosen labels.
        layout
            A layout, a YAML file, or a shipped layout's name.
        model
            Reads the phases; needed only where the layout has them.
        tracks
            Gives the tracks of a clip, name -> (frames, values), where the layout names some.
        end_margin_s
            Frames with less than this left in their clip are not offered.
        spool
            Folder for the rows while they are made, where they may exceed memory.

        Raises
        ------
        ParameterError
            Where layout, model and store do not fit, or no frame can be offered.
        """
        if not np.isfinite(end_margin_s) or end_margin_s < 0:
            raise ParameterError(f"end_margin_s must not be negative, not {end_margin_s}")
        layout = layout if isinstance(layout, FeatureLayout) else FeatureLayout.load(layout)
        reader = FrameReader.for_store(store, layout, model, tracks, end_margin_s)
        columns = reader.columns(store.frames, spool)
        moments = Moments(reader.layout.dims)
        reader.fill(columns, store, progress=progress, moments=moments)
        normalisation = moments.normalisation(reader.layout)
        _normalise(columns["features"], normalisation)
        if not columns["offered"].any():
            longest = store.lengths.max() / store.fps
            past, future = reader.layout.reach_s
            raise ParameterError(
                f"no frame can be offered: the longest clip has {longest:.2f} s, but the features "
                f"look {past:g} s back and {future:g} s ahead, with {end_margin_s:g} s left to "
                "play",
                hint="take longer clips, or a layout with nearer offsets_s",
            )
        return cls(
            layout=reader.layout,
            fps=float(store.fps),
            normalisation=normalisation,
            range_starts=np.cumsum(store.lengths) - store.lengths,
            range_stops=np.cumsum(store.lengths),
            clip_names=store.names,
            labels=store.labels,
            links=(StoreLink.of_store(store),),
            clip_links=np.zeros(len(store), np.int64),
            body=reader.body,
            made_with={
                "model_sha256": None if model is None else model.sha256,
                "end_margin_s": end_margin_s,
            },
            **_fields_of(columns),
        )

    def extended(
        self,
        store: ClipStore,
        model: PhaseExtractor | None = None,
        *,
        tracks: TrackReader | None = None,
        spool: Path | None = None,
        progress: Progress | None = None,
    ) -> MotionDatabase:
        """This database with more clips behind its own; only the new ones are computed.

        The normalisation stays, so that old rows and queries keep their meaning. Parameters and
        errors as those of `build`; the model must be the one that it was built with.
        """
        twice = sorted(set(store.names) & set(self.clip_names))
        if twice:
            raise ParameterError(
                f"{len(twice)} clips are in the database already, as {twice[0]!r}",
                hint="take a store of new clips only",
            )
        reader = self.reader(model, tracks)
        check_rate(store, self.fps, "the database")
        old = len(self)
        columns = reader.columns(old + store.frames, spool)
        for name, column in columns.items():
            source = getattr(self.phases if name in PHASE_COLUMNS else self, name)
            for start in range(0, old, _ROWS_AT_ONCE):
                stop = min(start + _ROWS_AT_ONCE, old)
                column[start:stop] = source[start:stop]
        reader.fill(columns, store, first_row=old, progress=progress)
        _normalise(columns["features"][old:], self.normalisation)
        stops = np.concatenate([self.range_stops, old + np.cumsum(store.lengths)])
        return replace(
            self,
            range_starts=np.concatenate([[0], stops[:-1]]),
            range_stops=stops,
            clip_names=(*self.clip_names, *store.names),
            labels=(*self.labels, *store.labels),
            links=(*self.links, StoreLink.of_store(store)),
            clip_links=np.concatenate(
                [self.clip_links, np.full(len(store), len(self.links), np.int64)]
            ),
            path=None,
            **_fields_of(columns),
        )

    def reader(
        self, model: PhaseExtractor | None, tracks: TrackReader | None = None
    ) -> FrameReader:
        """What reads clips as this database's were read; `model` must be the one of then.

        Raises ParameterError where it is another one, or missing.
        """
        expected = self.made_with.get("model_sha256")
        if (None if model is None else model.sha256) != expected:
            raise ParameterError(
                "the database was built with another phase model"
                if model is not None
                else "the database was built with a phase model, and none is given",
                hint="give the model that it was built with, or build a new database",
            )
        margin = float(self.made_with["end_margin_s"])
        return FrameReader(self.layout, model, self.body, tracks, margin)

    def save(self, path: str | Path) -> Path:
        """Write the database as one file, whole or not at all."""
        path = Path(path)
        save_fields({item.name: getattr(self, item.name) for item in fields(self)}, path)
        return path

    @classmethod
    def load(
        cls, path: str | Path, *, store: ClipStore | None = None, verify: bool = True
    ) -> MotionDatabase:
        """Open a database file; its rows stay on disk until they are looked at.

        Parameters
        ----------
        store
            Stands in for the store that the clips came from, where that has moved.
        verify
            Compare hashes: reads the whole file once.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign or of a newer version.
        """
        content = database_fields(path, store=store, verify=verify)
        try:
            return cls(**content)
        except (TypeError, ValueError, AttributeError, DeepPhaseError) as error:
            raise not_a_database(error, path) from None


def _normalise(features: Array, normalisation: Normalisation) -> None:
    for start in range(0, len(features), _ROWS_AT_ONCE):
        rows = features[start : start + _ROWS_AT_ONCE]
        rows[:] = normalisation(rows)


def _fields_of(columns: Mapping[str, Array]) -> dict[str, Any]:
    phases = None
    if "phase" in columns:
        phases = PhaseParameters(*(columns[name] for name in PHASE_COLUMNS))
    return {
        **{name: column for name, column in columns.items() if name not in PHASE_COLUMNS},
        "phases": phases,
    }
