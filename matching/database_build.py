"""Databases built of stores: phases and features clip by clip."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError, SkeletonError
from deepphase.features.frame_rows import frame_rows
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Moments, Normalisation
from deepphase.features.pose import BodyFrames
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from deepphase.progress import Progress
from matching.database import MotionDatabase, Tracks
from matching.store_link import StoreLink

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

Array = np.ndarray
_PHASE_FIELDS = ("phase", "frequency", "amplitude", "offset")
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class FrameReader:
    """How clips become rows: the same for a database and for what is added to it."""

    layout: FeatureLayout
    model: PhaseExtractor | None
    body: Mapping[str, str]
    tracks: Tracks | None
    end_margin_s: float

    def read(self, clip: Clip) -> dict[str, Array]:
        """Arrays (frames, ...) of one clip by name; features raw."""
        needed = [joint for feature in self.layout for joint in feature.joints]
        needed += [joint for role, joint in self.body.items() if role != "kind"]
        missing = [joint for joint in needed if joint not in clip.skeleton.names]
        if missing:
            raise SkeletonError(
                f"{clip.name}: another skeleton than the database's: no joint {missing[0]!r}",
                hint=f"it has {', '.join(clip.skeleton.names)}",
                path=clip.source.path or None,
            )
        phases = None if self.model is None else self.model.encode(clip)
        body = BodyFrames.of_clip(clip, self.body)
        tracks = {} if self.tracks is None else self.tracks(clip)
        features, inside = frame_rows(
            self.layout,
            body,
            manifold=None if phases is None else phases.parameters.manifold(),
            tracks=tracks,
        )
        frames = len(clip)
        margin = round(self.end_margin_s * clip.fps)
        read = {
            "features": features,
            "root_positions": body.root.positions,
            "root_angles": body.root.angles,
            "interior": np.ones(frames, bool) if phases is None else phases.interior,
            "offered": inside & (np.arange(frames) < max(frames - margin, 0)),
        }
        if phases is not None:
            read |= {name: getattr(phases.parameters, name) for name in _PHASE_FIELDS}
        return read


def built(
    store: ClipStore,
    layout: FeatureLayout,
    model: PhaseExtractor | None,
    *,
    tracks: Tracks | None,
    end_margin_s: float,
    spool: Path | None,
    progress: Progress | None,
) -> MotionDatabase:
    """As `MotionDatabase.build` says."""
    if not np.isfinite(end_margin_s) or end_margin_s < 0:
        raise ParameterError(f"end_margin_s must not be negative, not {end_margin_s}")
    reader = _reader(store, layout, model, tracks, end_margin_s)
    columns = _columns(reader, store.frames, spool)
    moments = Moments(reader.layout.dims)
    _fill(columns, 0, store, reader, progress, moments)
    normalisation = moments.normalisation(reader.layout)
    _normalise(columns["features"], normalisation)
    if not columns["offered"].any():
        longest = store.lengths.max() / store.fps
        past, future = reader.layout.reach_s
        raise ParameterError(
            f"no frame can be offered: the longest clip has {longest:.2f} s, but the features "
            f"look {past:g} s back and {future:g} s ahead, with {end_margin_s:g} s left to play",
            hint="take longer clips, or a layout with nearer offsets_s",
        )
    made_with: dict[str, Any] = {
        "model_sha256": None if model is None else model.sha256,
        "end_margin_s": end_margin_s,
    }
    return MotionDatabase(
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
        made_with=made_with,
        **_fields(columns),
    )


def extended(
    database: MotionDatabase,
    store: ClipStore,
    model: PhaseExtractor | None,
    *,
    tracks: Tracks | None,
    spool: Path | None,
    progress: Progress | None,
) -> MotionDatabase:
    """As `MotionDatabase.extended` says."""
    twice = sorted(set(store.names) & set(database.clip_names))
    if twice:
        raise ParameterError(
            f"{len(twice)} clips are in the database already, as {twice[0]!r}",
            hint="take a store of new clips only",
        )
    reader = reader_of(database, model, tracks)
    _check_rate(store, database.fps, "the database")
    old, new = len(database), store.frames
    columns = _columns(reader, old + new, spool)
    for name, column in columns.items():
        source = getattr(database.phases if name in _PHASE_FIELDS else database, name)
        for start in range(0, old, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, old)
            column[start:stop] = source[start:stop]
    _fill(columns, old, store, reader, progress, None)
    _normalise(columns["features"][old:], database.normalisation)
    stops = np.concatenate([database.range_stops, old + np.cumsum(store.lengths)])
    return replace(
        database,
        range_starts=np.concatenate([[0], stops[:-1]]),
        range_stops=stops,
        clip_names=(*database.clip_names, *store.names),
        labels=(*database.labels, *store.labels),
        links=(*database.links, StoreLink.of_store(store)),
        clip_links=np.concatenate(
            [database.clip_links, np.full(len(store), len(database.links), np.int64)]
        ),
        path=None,
        **_fields(columns),
    )


def reader_of(
    database: MotionDatabase, model: PhaseExtractor | None, tracks: Tracks | None = None
) -> FrameReader:
    """What reads clips as those of a database were; `model` must be the one of then.

    Raises ParameterError where it is another one, or missing.
    """
    expected = database.made_with.get("model_sha256")
    if (None if model is None else model.sha256) != expected:
        raise ParameterError(
            "the database was built with another phase model"
            if model is not None
            else "the database was built with a phase model, and none is given",
            hint="give the model that it was built with, or build a new database",
        )
    margin = float(database.made_with["end_margin_s"])
    return FrameReader(database.layout, model, database.body, tracks, margin)


def _reader(
    store: ClipStore,
    layout: FeatureLayout,
    model: PhaseExtractor | None,
    tracks: Tracks | None,
    end_margin_s: float,
) -> FrameReader:
    first = store.clip(0)
    if model is not None:
        _check_rate(store, model.fps, "the model")
        body = model.signals.body
    else:
        body = JointVelocities.of_clip(first).body
    roles = find_roles(first.skeleton, description=body, clip=first)
    layout = layout.resolved(first.skeleton, roles, 0 if model is None else model.channels)
    if layout.of_kind("track"):
        layout = layout.with_track_channels({} if tracks is None else tracks(first))
    return FrameReader(layout, model, dict(body), tracks, end_margin_s)


def _check_rate(store: ClipStore, fps: float, whose: str) -> None:
    if store.fps != fps:
        raise ParameterError(
            f"the store has {store.fps:g} frames a second, {whose} {fps:g}",
            hint=f"prepare the store with --fps {fps:g}",
        )


def _columns(reader: FrameReader, rows: int, spool: Path | None) -> dict[str, Array]:
    kinds: dict[str, tuple[tuple[int, ...], type]] = {
        "features": ((reader.layout.dims,), np.float32),
        "root_positions": ((3,), np.float32),
        "root_angles": ((), np.float32),
        "interior": ((), np.bool_),
        "offered": ((), np.bool_),
    }
    if reader.model is not None:
        channels = reader.model.channels
        kinds |= dict.fromkeys(_PHASE_FIELDS, ((channels,), np.float32))
    return {name: _room((rows, *shape), dtype, spool) for name, (shape, dtype) in kinds.items()}


def _room(shape: tuple[int, ...], dtype: type, spool: Path | None) -> Array:
    if spool is None:
        return np.empty(shape, dtype)
    # Without a name on disk: gone with the array, whatever ends the program.
    with tempfile.TemporaryFile(dir=spool) as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def _fill(
    columns: dict[str, Array],
    row: int,
    store: ClipStore,
    reader: FrameReader,
    progress: Progress | None,
    moments: Moments | None,
) -> None:
    for index, clip in enumerate(store):
        read = reader.read(clip)
        stop = row + len(clip)
        for name, column in columns.items():
            column[row:stop] = read[name]
        if moments is not None:
            moments.add(read["features"])
        row = stop
        if progress is not None:
            progress("reading features", index + 1, len(store), clip.name)


def _normalise(features: Array, normalisation: Normalisation) -> None:
    for start in range(0, len(features), _ROWS_AT_ONCE):
        piece = features[start : start + _ROWS_AT_ONCE]
        piece[:] = normalisation(piece)


def _fields(columns: dict[str, Array]) -> dict[str, Any]:
    phases = None
    if "phase" in columns:
        phases = PhaseParameters(*(columns[name] for name in _PHASE_FIELDS))
    return {
        **{name: column for name, column in columns.items() if name not in _PHASE_FIELDS},
        "phases": phases,
    }
