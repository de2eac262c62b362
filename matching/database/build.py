"""Building of the rows of a database from the clips of stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout, Moments
from deepphase.matching.database.file import StoreLink, row_fields
from deepphase.matching.database.frame_reader import FrameReader, TrackReader, check_rate
from deepphase.work import Progress, map_in_order, report

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor


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
