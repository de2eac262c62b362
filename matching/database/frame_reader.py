"""Rows of a database: clips and frames of rows, and what is read of each frame of a clip: features,
root trajectory, phases, and heights of the ground under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError, SkeletonError
from deepphase.features.feature import BodyFrames, path_of_clip
from deepphase.features.layout import FeatureLayout, frame_rows
from deepphase.features.moment_kinds import moment_kinds
from deepphase.files import mapped_array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.hinges import NO_HINGES, Hinges
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.signals import JointVelocities
from deepphase.terrain.grounded_clip import ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import ground_level, trajectory_heights
from deepphase.work import Progress, reported

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

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


def floor_tracks(layout: FeatureLayout) -> Callable[[Clip], Mapping[str, Array]]:
    """Tracks of clips on a flat floor, for a layout with heights of the ground."""
    columns = sum(block.dims for block in layout.of_kind("track") if block.track == GROUND_HEIGHTS)

    def tracks(clip: Clip) -> Mapping[str, Array]:
        return {GROUND_HEIGHTS: np.zeros((len(clip), columns), np.float32)}

    return tracks


class ClipsOnGround:
    """The clips of a store, each on its floor and on its grounds.

    It is a `TrackReader` of the clips in `store`.

    `offsets_s` (offsets,) seconds from now of the heights ahead; `body`: a skeleton description;
    found from the first clip by default.
    """

    def __init__(
        self,
        store: ClipStore,
        grounds: ClipGrounds,
        offsets_s: Array,
        body: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        if not set(grounds.names) & set(store.names):
            raise ParameterError(
                "no clip of the store has a ground",
                hint="make it with `deepphase fit ground` on the same store",
            )
        first = store.clip(0)
        roles = find_roles(first.skeleton, description=body, clip=first)
        self._tracks: dict[str, dict[str, Array]] = {}
        clips: list[Clip] = []
        for clip in reported(progress, "laying clips", store, len(store)):
            # Feet that step up and down would be taken for those of an action.
            kinds = moment_kinds(clip, BodyFrames.from_clip(clip, body), body)[:, None]
            for number, grounded in enumerate(grounds.on_ground(clip, roles)):
                name = f"{clip.name}.ground-{number}" if number else clip.name
                clips.append(replace(grounded.clip, name=name))
                self._tracks[name] = _tracks(grounded, roles, offsets_s) | {GROUND_KINDS: kinds}
        self.store = ClipStore.from_clips(clips)

    def __call__(self, clip: Clip) -> Mapping[str, Array]:
        """Name -> (frames, values): the tracks of a clip of `store`."""
        return self._tracks[clip.name]


def _tracks(grounded: GroundedClip, roles: Roles, offsets_s: Array) -> dict[str, Array]:
    clip, ground = grounded.clip, grounded.ground
    root = root_trajectory(clip, roles)
    level = ground_level(ground, root.positions[:, ::2], root.directions[:, ::2])
    path, _ = path_of_clip(root, offsets_s, clip.fps)
    around = trajectory_heights(ground, path.positions[..., ::2], path.directions[..., ::2], level)
    return {
        GROUND_HEIGHTS: around.reshape(len(clip), -1).astype(np.float32),
        GROUND_LEVEL: level[:, None].astype(np.float32),
    }


# Rows whose pages stay in memory while columns in files are filled.
_ROWS_AT_ONCE = 1 << 17
# Arrays of a database with one entry a row, beside the phases.
ROW_ARRAYS = ("features", "root_positions", "root_angles", "interior", "offered")
KINDS_COLUMN = "kinds"
PHASE_COLUMNS = ("phase", "frequency", "amplitude", "offset")
TrackReader = Callable[[Clip], Mapping[str, Array]]
"""Function of a clip that returns its tracks: name -> (frames, values)."""


@dataclass(frozen=True, eq=False)
class FrameReader:
    """Reader of clips as rows, of a database and its extensions; without `kinds` it reads none."""

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
        """A reader for the clips of a store, with the layout's joints and channels resolved."""
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
        """Arrays (frames, ...) of one clip by name; features are raw."""
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
        body = BodyFrames.from_clip(clip, self.body)
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
    """Raise ParameterError unless the store has the rate of a model or database."""
    if store.fps != fps:
        raise ParameterError(
            f"the store has {store.fps:g} frames a second, {whose} {fps:g}",
            hint=f"prepare the store with --fps {fps:g}",
        )


class RowColumns:
    """Arrays with one entry a row, filled from the first row on."""

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
