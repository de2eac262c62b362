"""Reading of clips as database rows: features, root trajectory and phases of every frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError, SkeletonError
from deepphase.features.frame_rows import BodyFrames, frame_rows
from deepphase.features.layout import FeatureLayout
from deepphase.features.moment_kinds import moment_kinds
from deepphase.files import mapped_array
from deepphase.matching.database.on_ground import GROUND_KINDS, GROUND_LEVEL
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

# Rows whose pages stay in memory while columns in files are filled.
_ROWS_AT_ONCE = 1 << 17
# Arrays of a database with one entry a row, beside the phases.
ROW_ARRAYS = ("features", "root_positions", "root_angles", "interior", "offered")
KINDS_COLUMN = "kinds"
PHASE_COLUMNS = tuple(item.name for item in fields(PhaseParameters))
TrackReader = Callable[[Clip], Mapping[str, Array]]
"""Function of a clip that returns its tracks: name -> (frames, values)."""


@dataclass(frozen=True, eq=False)
class FrameReader:
    """Reader of clips as rows, the same for a database and for its later extensions.

    Without `kinds` the kinds of moments are not read.
    """

    layout: FeatureLayout
    model: PhaseExtractor | None
    body: Mapping[str, str]
    tracks: TrackReader | None
    end_margin_s: float
    kinds: bool = True

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
        if not np.isfinite(end_margin_s) or end_margin_s < 0:
            raise ParameterError(f"end_margin_s must not be negative, not {end_margin_s}")
        first = store.clip(0)
        if model is not None:
            check_rate(store, model.fps, "the model")
            body = model.signals.body
        else:
            body = JointVelocities.from_clip(first).body
        roles = find_roles(first.skeleton, description=body, clip=first)
        channels = 0 if model is None else model.channels
        found = tracks(first) if tracks is not None and layout.of_kind("track") else {}
        layout = layout.resolved(first.skeleton, roles, channels, found)
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
                f"{clip.name}: it has no joint {missing[0]!r}, which the features need",
                hint=f"it has {', '.join(clip.skeleton.names)}",
                path=clip.source.path or None,
            )
        phases = None if self.model is None else self.model.encode(clip)
        body = BodyFrames.of_clip(clip, self.body)
        tracks = {} if self.tracks is None else self.tracks(clip)
        if GROUND_LEVEL in tracks:
            body = _over_level(body, tracks[GROUND_LEVEL])
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
        if self.kinds:
            given = tracks.get(GROUND_KINDS)
            kinds = moment_kinds(clip, body, self.body) if given is None else given[:, 0]
            read[KINDS_COLUMN] = kinds
        if phases is not None:
            read |= {name: getattr(phases.parameters, name) for name in PHASE_COLUMNS}
        return read

    def columns(self, rows: int, spool: Path | None) -> RowColumns:
        """Empty columns for results of `read`, in files of `spool` if given."""
        kinds: dict[str, tuple[tuple[int, ...], type]] = {
            "features": ((self.layout.dims,), np.float32),
            "root_positions": ((3,), np.float32),
            "root_angles": ((), np.float32),
            "interior": ((), np.bool_),
            "offered": ((), np.bool_),
        }
        if self.kinds:
            kinds[KINDS_COLUMN] = ((), np.uint8)
        if self.model is not None:
            kinds |= dict.fromkeys(PHASE_COLUMNS, ((self.model.channels,), np.float32))
        return RowColumns(kinds, rows, spool)


def _over_level(body: BodyFrames, level: Array) -> BodyFrames:
    """The frames with heights (frames, 1) of the ground as those of the root."""
    positions, places = body.positions.copy(), body.root.positions.copy()
    positions[..., 1] -= level
    places[:, 1] += level[:, 0]
    return replace(body, positions=positions, root=replace(body.root, positions=places))


def check_rate(store: ClipStore, fps: float, whose: str) -> None:
    """Raise ParameterError unless the store has the rate of a model or database.

    `whose` names that in the message.
    """
    if store.fps != fps:
        raise ParameterError(
            f"the store has {store.fps:g} frames a second, {whose} {fps:g}",
            hint=f"prepare the store with --fps {fps:g}",
        )


class RowColumns:
    """Arrays with one entry a row, filled from the first row on.

    Raises CheckpointError where the disk has no room for the rows.
    """

    def __init__(
        self, kinds: Mapping[str, tuple[tuple[int, ...], type]], rows: int, folder: Path | None
    ) -> None:
        self.arrays: dict[str, Array] = {
            name: np.empty((rows, *shape), kind)
            if folder is None
            else mapped_array((rows, *shape), kind, folder)
            for name, (shape, kind) in kinds.items()
        }
        self._filled = self._released = 0

    def append(self, values: Mapping[str, Array]) -> None:
        """Add the rows of every column."""
        stop = self._filled
        for name, column in self.arrays.items():
            stop = self._filled + len(values[name])
            column[self._filled : stop] = values[name]
        self._filled = stop
        if stop - self._released >= _ROWS_AT_ONCE or stop == len(column):
            for column in self.arrays.values():
                release_pages(column)
            self._released = stop
