"""Clips of one or more stores as one sequence: the reading of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from joblib import cpu_count

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.parallel import map_in_order
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError
from deepphase.matching.database.frame_reader import FrameReader, check_rate
from deepphase.progress import Progress

# Frames that a worker process reads at once: enough that its answer costs more than its question.
_TASK_FRAMES = 1 << 14
# Tasks that take longer than the start of processes.
_MANY_TASKS = 32


@dataclass(frozen=True, eq=False)
class ClipSequence:
    """Clips of one or more stores, one after the other."""

    stores: tuple[ClipStore, ...]  # Stores of one rate

    @classmethod
    def of(cls, stores: ClipStore | Sequence[ClipStore]) -> ClipSequence:
        """All clips of stores; ParameterError where rates differ or two clips have one name."""
        every = (stores,) if isinstance(stores, ClipStore) else tuple(stores)
        if not every:
            raise ParameterError("no store is given", hint="give a store of clips, or several")
        for store in every[1:]:
            check_rate(store, every[0].fps, "the first store")
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
        self,
        reader: FrameReader,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[dict[str, Array]]:
        """Results of `FrameReader.read` for every clip, in order."""
        done = 0
        saved = all(store.path is not None for store in self.stores) and reader.tracks is None
        tasks = self._tasks(reader)
        results: Iterator[list[dict[str, Array]]]
        if workers is None:
            workers = cpu_count() if len(tasks) >= _MANY_TASKS else 1
        if saved and workers > 1 and len(tasks) > 1:
            results = map_in_order(_read_task, tasks, workers)
        else:
            results = ([each] for task in tasks for each in self._read_here(reader, task))
        names = self.names
        for some in results:
            for rows in some:
                yield rows
                done += 1
                if progress is not None:
                    progress("reading features", done, len(self), names[done - 1])

    def _tasks(self, reader: FrameReader) -> list[_ReadTask]:
        tasks = []
        for index, store in enumerate(self.stores):
            clips: list[int] = []
            frames = 0
            for clip, length in enumerate(store.lengths.tolist()):
                clips.append(clip)
                frames += length
                if frames >= _TASK_FRAMES or clip + 1 == len(store):
                    chosen = tuple(store.names[each] for each in clips)
                    path = None if store.path is None else Path(store.path).absolute()
                    tasks.append(_ReadTask(reader, index, path, store.group, chosen, tuple(clips)))
                    clips, frames = [], 0
        return tasks

    def _read_here(self, reader: FrameReader, task: _ReadTask) -> Iterator[dict[str, Array]]:
        store = self.stores[task.store]
        for clip in task.clips:
            yield reader.read(store.clip(clip))
        # The pages of all clips would add up to the whole store.
        release_pages(store.rotations)
        release_pages(store.translations)


@dataclass(frozen=True, eq=False)
class _ReadTask:
    """Clips of one store for one process."""

    reader: FrameReader
    store: int
    path: Path | None
    group: str
    names: tuple[str, ...]
    clips: tuple[int, ...]


def _read_task(task: _ReadTask) -> list[dict[str, Array]]:
    store, places = _store_of_worker(task.path, task.group)
    rows = [task.reader.read(store.clip(places[name])) for name in task.names]
    release_pages(store.rotations)
    release_pages(store.translations)
    return rows


@lru_cache(maxsize=4)
def _store_of_worker(path: Path, group: str) -> tuple[ClipStore, dict[str, int]]:
    # The parent has compared the hashes.
    store = open_store(path, group, verify=False)
    return store, {name: index for index, name in enumerate(store.names)}
