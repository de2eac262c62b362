"""Building of the rows of a database from the clips of stores: what is read of each frame of a clip
is features, root trajectory, phases, and heights of the ground under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count

from deepphase.arrays import Array, ComputedRows, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.groups import check_one_body
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError, SkeletonError
from deepphase.features.feature import BodyFrames, path_of_clip
from deepphase.features.layout import FeatureLayout, Moments, frame_rows
from deepphase.features.moment_kinds import moment_kinds
from deepphase.files import mapped_array
from deepphase.matching.database.stored_rows import (
    GROUND_HEIGHTS,
    GROUND_KINDS,
    GROUND_LEVEL,
    KINDS_COLUMN,
    PHASE_COLUMNS,
    StoreLink,
    row_fields,
)
from deepphase.motion.clip import Clip
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.signals import JointVelocities
from deepphase.terrain.grounded_clip import ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import ground_level, trajectory_heights
from deepphase.work import Progress, map_in_order, report, reported

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor


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
_RELEASED_ROWS = 1 << 17
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
        if stop - self._released >= _RELEASED_ROWS or stop == len(column):
            for column in self.arrays.values():
                release_pages(column)
            self._released = stop


# Frames that a worker process reads at once: enough that its answer costs more than its question.
_PART_FRAMES = 1 << 14
# Parts that take longer than the start of processes.
_MANY_PARTS = 32


@dataclass(frozen=True, eq=False)
class ClipSequence:
    """Clips of one or more stores, one after the other."""

    stores: tuple[ClipStore, ...]  # Stores of one rate

    @classmethod
    def from_stores(cls, stores: ClipStore | Sequence[ClipStore]) -> ClipSequence:
        """All clips of stores."""
        every = (stores,) if isinstance(stores, ClipStore) else tuple(stores)
        if not every:
            raise ParameterError("no store is given", hint="give a store of clips, or several")
        first = every[0]
        for store in every[1:]:
            check_rate(store, first.fps, "the first store")
            if first.skeleton.same_hierarchy(store.skeleton):
                pair = first.clip(0), store.clip(0).in_order_of(first.skeleton)
                check_one_body(pair)
        names = [name for store in every for name in store.names]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ParameterError(
                f"two stores have a clip {twice!r}", hint="give each clip in one store only"
            )
        return cls(every)

    def __len__(self) -> int:
        return sum(len(store) for store in self.stores)

    @property
    def lengths(self) -> Array:
        """(clips,) frames of every clip."""
        return np.concatenate([store.lengths for store in self.stores])

    @property
    def names(self) -> tuple[str, ...]:
        """(clips,) names."""
        return tuple(name for store in self.stores for name in store.names)

    def read(
        self, reader: FrameReader, progress: Progress | None = None
    ) -> Iterator[dict[str, Array]]:
        """Results of `FrameReader.read` for every clip, in order; of many clips by processes."""
        parts = [(store, part) for store in self.stores for part in _parts(store.lengths)]
        saved = all(store.path is not None for store in self.stores) and reader.tracks is None
        workers = cpu_count() if saved and len(parts) >= _MANY_PARTS else 1
        results: Iterator[Iterable[dict[str, Array]]]
        if workers > 1:
            tasks = [
                (
                    reader,
                    Path(str(store.path)).absolute(),
                    store.group,
                    [store.names[clip] for clip in part],
                )
                for store, part in parts
            ]
            results = map_in_order(_read_task, tasks, workers)
        else:
            results = (_read_part(reader, *part) for part in parts)
        names = self.names
        for done, rows in enumerate(chain.from_iterable(results), start=1):
            yield rows
            report(progress, "reading features", done, len(self), names[done - 1])


def _parts(lengths: Array) -> list[Array]:
    """Clips of parts, each with about `_PART_FRAMES` frames."""
    of_clip = (np.cumsum(lengths) - lengths) // _PART_FRAMES
    return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(of_clip)) + 1)


def _read_part(
    reader: FrameReader, store: ClipStore, clips: Sequence[int] | Array
) -> Iterator[dict[str, Array]]:
    for clip in clips:
        yield reader.read(store.clip(int(clip)))
    # The pages of all clips would add up to the whole store.
    release_pages(store.rotations)
    release_pages(store.translations)


def _read_task(task: tuple[FrameReader, Path, str, list[str]]) -> list[dict[str, Array]]:
    """Rows of named clips of one store, in another process."""
    reader, path, group, names = task
    store, places = _store_of_worker(path, group)
    return list(_read_part(reader, store, [places[name] for name in names]))


@lru_cache(maxsize=4)
def _store_of_worker(path: Path, group: str) -> tuple[ClipStore, dict[str, int]]:
    # The parent has compared the hashes.
    store = open_store(path, group, verify=False)
    return store, {name: index for index, name in enumerate(store.names)}


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
    progress: Progress | None,
) -> dict[str, Any]:
    """The fields of a `MotionDatabase` of stores; arguments and errors as of its `build`."""
    clips = ClipSequence.from_stores(stores)
    reader = FrameReader.for_store(clips.stores[0], layout, model, tracks, end_margin_s)
    columns = reader.columns(int(clips.lengths.sum()), spool)
    moments = Moments()
    for rows in clips.read(reader, progress):
        columns.append(rows)
        moments.add(rows["features"])
    content = row_fields(columns.arrays)
    normalisation = moments.normalisation(reader.layout)
    features = content["features"]
    if spool is None:
        for start in range(0, len(features), _ROWS_AT_ONCE):
            some = features[start : start + _ROWS_AT_ONCE]
            some[:] = normalisation(some)
    else:
        # Normalised as they are read, in place of a second pass over the file.
        content["features"] = ComputedRows(features, normalisation)
    if not content["offered"].any():
        past, future = reader.layout.reach_s
        raise ParameterError(
            f"no frame can be offered: the longest clip has "
            f"{clips.lengths.max() / clips.stores[0].fps:.2f} s, but the features need {past:g} s "
            f"before and {future:g} s after a frame, and {end_margin_s:g} s must be left to play",
            hint="use longer clips, or a layout with smaller offsets_s",
        )
    model_sha256 = None if model is None else model.sha256
    return {
        **clip_fields(clips),
        **content,
        "layout": reader.layout,
        "body": reader.body,
        "made_with": {"model_sha256": model_sha256, "end_margin_s": end_margin_s},
        "normalisation": normalisation,
    }


def clip_fields(clips: ClipSequence) -> dict[str, Any]:
    """The fields of a `MotionDatabase` about its clips and their stores."""
    lengths, stores = clips.lengths, clips.stores
    of_store = np.repeat(np.arange(len(stores)), [len(store) for store in stores])
    return {
        "fps": float(stores[0].fps),
        "range_starts": np.cumsum(lengths) - lengths,
        "range_stops": np.cumsum(lengths),
        "clip_names": clips.names,
        "labels": tuple(labels for store in stores for labels in store.labels),
        "links": tuple(StoreLink.from_store(store) for store in stores),
        "clip_links": of_store.astype(np.int64),
    }
