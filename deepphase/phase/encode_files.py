"""Encoding of many clips or songs into phase files, in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from deepphase.corpus.clips import ClipEntry, check_workers, map_in_order, workers_for
from deepphase.corpus.motion_files import unique_stems
from deepphase.errors import DeepPhaseError, within_memory
from deepphase.formats.frame_rates import warnings_of
from deepphase.motion.clip import Clip
from deepphase.phase.clip_phases import ClipPhases, save_csv, save_phases
from deepphase.phase.extractor import PhaseExtractor, load_model, reads_songs
from deepphase.phase.model import PhaseModel
from deepphase.progress import Progress
from deepphase.training.threads import threads_after

# Below this many bytes of data per process, starting one costs more than it saves.
_BYTES_PER_WORKER = 50_000_000


@dataclass(frozen=True)
class EncodedFile:
    """Result of encoding one clip: its number of frames, or why it is left out.

    Notes are about values of the file that were put right.
    """

    frames: int = 0
    error: DeepPhaseError | None = None
    notes: tuple[str, ...] = ()


def encode_files(
    model: str | Path,
    entries: Sequence[ClipEntry],
    folder: str | Path,
    *,
    csv: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[EncodedFile]:
    """Write the phases of every frame of clips or songs, as NAME.phases.npz each.

    The files have the same names and bytes for any number of workers: every process computes with
    one thread. Results are in the order of the entries; a clip that is left out has an error.
    """
    check_workers(workers)
    trained = Path(model).absolute()
    # Damaged models are refused before processes are started.
    opened_model(trained)
    stems = unique_stems(entry.name for entry in entries)
    tasks = list(zip(entries, stems, strict=True))
    sizes = (entry.size for entry in entries)
    encode = partial(_encode_file, trained, Path(folder).absolute(), csv)
    results = map_in_order(
        encode,
        tasks,
        workers_for(sizes, len(tasks), _BYTES_PER_WORKER, workers),
        lost=lambda task, error: EncodedFile(
            error=type(error)(f"{task[0].name}: {error.fact}", hint=error.hint)
        ),
    )
    done = []
    for number, result in enumerate(results, start=1):
        done.append(result)
        if progress is not None:
            progress("encoding", number, len(tasks), "")
    return done


def _encode_file(model: Path, folder: Path, csv: bool, task: tuple[ClipEntry, str]) -> EncodedFile:
    entry, stem = task

    def encoded() -> tuple[ClipPhases, tuple[str, ...]]:
        source: Any = entry.load()
        notes = warnings_of(source) if isinstance(source, Clip) else ()
        with threads_after():
            # Sums differ in the last bits between numbers of threads.
            torch.set_num_threads(1)
            phases = opened_model(model).encode(source)
        return phases, tuple(f"{entry.name}: {note}" for note in notes)

    try:
        phases, notes = within_memory(encoded, about=entry.name)
    except DeepPhaseError as error:
        return EncodedFile(error=error)
    trained, sha256 = _read_once(model, _state(model))
    path = folder / f"{stem}.phases.npz"
    save_phases(phases, path, window_s=trained.window / trained.fps, model_sha256=sha256)
    if csv:
        save_csv(phases, path.with_suffix(".csv"))
    return EncodedFile(len(phases), notes=notes)


def opened_model(path: str | Path) -> PhaseExtractor:
    """A phase model of motion or songs, or a baseline, read once per process while it is unchanged.

    Raises CheckpointError where the file is none of them.
    """
    path = Path(path).absolute()
    return _read_once(path, _state(path))[0]


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        # The reader says what is wrong.
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=1)
def _read_once(path: Path, state: tuple[int, int]) -> tuple[PhaseExtractor, str]:
    """The model, read once per process, and its hash."""
    model = PhaseModel.load(path) if reads_songs(path) else load_model(path)
    return model, model.sha256
