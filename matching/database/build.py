"""Building of database rows from the clips of a store: features, root trajectory and phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array
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
from deepphase.temporary_files import mapped_array
from matching.database.store_link import StoreLink

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

# Arrays of a database with one entry a row, beside the phases.
ROW_ARRAYS = ("features", "root_positions", "root_angles", "interior", "offered")
PHASE_COLUMNS = tuple(item.name for item in fields(PhaseParameters))
_ROWS_AT_ONCE = 1 << 16
TrackReader = Callable[[Clip], Mapping[str, Array]]
"""Function of a clip that returns its tracks: name -> (frames, values)."""


@dataclass(frozen=True, eq=False)
class FrameReader:
    """Reader of clips as rows, the same for a database and for its later extensions."""

    layout: FeatureLayout
    model: PhaseExtractor | None
    body: Mapping[str, str]
    tracks: TrackReader | None
    end_margin_s: float

    @classmethod
    def for_store(
        cls,
        store: ClipStore,
        layout: FeatureLayout,
        model: PhaseExtractor | None,
        tracks: TrackReader | None,
        end_margin_s: float,
    ) -> FrameReader:
        """A reader for the clips of a store, with the layout's joints and channels resolved.

        Raises ParameterError where layout, model and store do not fit.
        """
        first = store.clip(0)
        if model is not None:
            check_rate(store, model.fps, "the model")
            body = model.signals.body
        else:
            body = JointVelocities.of_clip(first).body
        roles = find_roles(first.skeleton, description=body, clip=first)
        layout = layout.resolved(first.skeleton, roles, 0 if model is None else model.channels)
        if layout.of_kind("track"):
            layout = layout.with_track_channels({} if tracks is None else tracks(first))
        return cls(layout, model, dict(body), tracks, end_margin_s)

    def read(self, clip: Clip) -> dict[str, Array]:
        """Arrays (frames, ...) of one clip by name; features are raw.

        Raises SkeletonError where the clip lacks a joint.
        """
        needed = [joint for feature in self.layout for joint in feature.joints]
        needed += [joint for role, joint in self.body.items() if role != "kind"]
        missing = [joint for joint in needed if joint not in clip.skeleton.names]
        if missing:
            raise SkeletonError(
                f"{clip.name}: no joint {missing[0]!r}, which the database's features need",
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
            read |= {name: getattr(phases.parameters, name) for name in PHASE_COLUMNS}
        return read

    def columns(self, rows: int, spool: Path | None) -> dict[str, Array]:
        """Uninitialised arrays (rows, ...) for results of `read`, in files of `spool` if given."""
        kinds: dict[str, tuple[tuple[int, ...], type]] = {
            "features": ((self.layout.dims,), np.float32),
            "root_positions": ((3,), np.float32),
            "root_angles": ((), np.float32),
            "interior": ((), np.bool_),
            "offered": ((), np.bool_),
        }
        if self.model is not None:
            kinds |= dict.fromkeys(PHASE_COLUMNS, ((self.model.channels,), np.float32))
        return {
            name: _allocated((rows, *shape), dtype, spool) for name, (shape, dtype) in kinds.items()
        }

    def fill(
        self,
        columns: Mapping[str, Array],
        store: ClipStore,
        *,
        first_row: int = 0,
        progress: Progress | None = None,
        moments: Moments | None = None,
    ) -> None:
        """Read the clips of a store into columns, from row `first_row` on; features are raw.

        Parameters
        ----------
        moments
            Accumulates the features of every clip.
        """
        row = first_row
        for index, clip in enumerate(store):
            read = self.read(clip)
            stop = row + len(clip)
            for name, column in columns.items():
                column[row:stop] = read[name]
            if moments is not None:
                moments.add(read["features"])
            row = stop
            if progress is not None:
                progress("reading features", index + 1, len(store), clip.name)


def built_fields(
    store: ClipStore,
    layout: FeatureLayout,
    model: PhaseExtractor | None,
    tracks: TrackReader | None,
    end_margin_s: float,
    spool: Path | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` of a store; arguments and errors as of its `build`."""
    if not np.isfinite(end_margin_s) or end_margin_s < 0:
        raise ParameterError(f"end_margin_s must not be negative, not {end_margin_s}")
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
            f"need {past:g} s before and {future:g} s after a frame, and {end_margin_s:g} s must "
            "be left to play",
            hint="use longer clips, or a layout with smaller offsets_s",
        )
    return {
        "layout": reader.layout,
        "fps": float(store.fps),
        "normalisation": normalisation,
        "range_starts": np.cumsum(store.lengths) - store.lengths,
        "range_stops": np.cumsum(store.lengths),
        "clip_names": store.names,
        "labels": store.labels,
        "links": (StoreLink.of_store(store),),
        "clip_links": np.zeros(len(store), np.int64),
        "body": reader.body,
        "made_with": {
            "model_sha256": None if model is None else model.sha256,
            "end_margin_s": end_margin_s,
        },
        **_row_fields(columns),
    }


def extended_rows(
    old: Mapping[str, Array],
    reader: FrameReader,
    store: ClipStore,
    normalisation: Normalisation,
    spool: Path | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` with one entry a row, with the clips of a store appended.

    Parameters
    ----------
    old
        Name -> (rows, ...) arrays of the database, those of its phases among them.
    """
    rows = len(old["features"])
    columns = reader.columns(rows + store.frames, spool)
    for name, column in columns.items():
        for start in range(0, rows, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, rows)
            column[start:stop] = old[name][start:stop]
    reader.fill(columns, store, first_row=rows, progress=progress)
    _normalise(columns["features"][rows:], normalisation)
    return _row_fields(columns)


def _normalise(features: Array, normalisation: Normalisation) -> None:
    for start in range(0, len(features), _ROWS_AT_ONCE):
        rows = features[start : start + _ROWS_AT_ONCE]
        rows[:] = normalisation(rows)


def _row_fields(columns: Mapping[str, Array]) -> dict[str, Any]:
    phases = None
    if "phase" in columns:
        phases = PhaseParameters(*(columns[name] for name in PHASE_COLUMNS))
    return {**{name: columns[name] for name in ROW_ARRAYS}, "phases": phases}


def check_rate(store: ClipStore, fps: float, whose: str) -> None:
    """Raise ParameterError unless the store has the rate of a model or database.

    `whose` names that in the message.
    """
    if store.fps != fps:
        raise ParameterError(
            f"the store has {store.fps:g} frames a second, {whose} {fps:g}",
            hint=f"prepare the store with --fps {fps:g}",
        )


def _allocated(shape: tuple[int, ...], dtype: type, spool: Path | None) -> Array:
    if spool is None:
        return np.empty(shape, dtype)
    return mapped_array(shape, dtype, spool)
