"""Solving of many point tracks into files of clips, in several processes, with shared bodies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clips import PointSets
from deepphase.corpus.motion_files import MotionFile, song_beside
from deepphase.errors import CheckpointError, DeepPhaseError
from deepphase.files import atomic_write
from deepphase.formats.load import holds_points, load, save
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.solving.fitting import solve_body
from deepphase.solving.pose_solver import BodyModel
from deepphase.solving.solve import solve_points, track_of
from deepphase.work import Progress, map_in_order, reported, within_memory, workers_for

# Number of files of the same points, evenly spread, whose sizes decide on their shared body.
_MAX_SAMPLES = 60
# Below this many bytes of tracks per process, starting one costs more than it saves.
_BYTES_PER_WORKER = 500_000


@dataclass(frozen=True, eq=False)
class SolvedFile:
    """Measures of a solved file without its frames; or the error for which it is left out.

    `points`, `carriers` (points,) names of the points, and of the joints that they are attached to.
    `residuals` (1 + points, 2) metres: mean and 95th percentile of all points and of each. `feet`:
    frames in contact, speed before and after in m/s, mean and 95th percentile of the correction.
    """

    name: str
    error: DeepPhaseError | None = None
    points: tuple[str, ...] = ()
    carriers: tuple[str, ...] = ()
    joints: int = 0
    frames: int = 0
    residuals: Array = field(default_factory=lambda: np.zeros((1, 2)))
    feet: Array = field(default_factory=lambda: np.zeros(5))
    scale: float = 1.0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def _spread(distances: Array, axis: int | None = None) -> Array:
    """(2, ...) mean and 95th percentile."""
    return np.stack([distances.mean(axis), np.percentile(distances, 95, axis)])


def solve_files(
    files: Sequence[MotionFile],
    targets: Sequence[Path],
    point_sets: PointSets,
    *,
    reader: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[SolvedFile]:
    """Solve point tracks, and write a clip of each; only a few files are in memory at a time.

    Files of the same points share one body, which is fitted to at most 60 of them, evenly spread.
    Each clip has the same bytes for any number of workers. A sound file beside a track is linked
    beside the clip.
    """
    options = dict(reader or {})
    processes = workers_for([file.size for file in files], workers, _BYTES_PER_WORKER)
    few = min(processes, workers_for([file.size for file in files]))
    names = map_in_order(partial(_names, options), files, few, lost=lambda _, error: error)
    kinds: list[Any] = list(reported(progress, "reading", names, len(files)))
    bodies: dict[tuple[str, ...] | DeepPhaseError, BodyModel | DeepPhaseError] = {}
    for kind in dict.fromkeys(kinds):
        same = [file for file, other in zip(files, kinds, strict=True) if other == kind]
        is_error = isinstance(kind, DeepPhaseError)
        bodies[kind] = kind if is_error else _body(kind, same, point_sets, options)
    absolute = (target.absolute() for target in targets)
    tasks = list(zip(files, absolute, (bodies[kind] for kind in kinds), strict=True))
    solve = partial(_solve_file, point_sets, options)
    lost = {"lost": lambda task, error: SolvedFile(task[0].name, error)}
    solved = map_in_order(solve, tasks, processes, **lost)
    yield from reported(progress, "solving", solved, len(tasks))


def _track(file: MotionFile, given: Mapping[str, Any]) -> PointTrack:
    reader = file.reader(given)
    if holds_points(file.path):
        from deepphase.formats.points import load_points

        return replace(without_balls(load_points(file.path, **reader)), name=file.name)
    # The reader of another format reports what is wrong with its file.
    return replace(track_of(load(file.path, **reader)), name=file.name)


def _names(reader: Mapping[str, Any], file: MotionFile) -> tuple[str, ...] | DeepPhaseError:
    """Names of a file's points, or why it cannot be read."""
    try:
        return within_memory(_track, file, reader, about=file.path).names
    except DeepPhaseError as error:
        return error


@dataclass(frozen=True)
class _Tracks(Sequence[PointTrack]):
    """Tracks of files, each read when it is asked for."""

    files: Sequence[MotionFile]
    reader: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: Any) -> Any:
        return within_memory(_track, self.files[index], self.reader, about=self.files[index].path)


def _body(
    names: tuple[str, ...],
    files: Sequence[MotionFile],
    point_sets: PointSets,
    reader: Mapping[str, Any],
) -> BodyModel | DeepPhaseError:
    """The body that files of these points share, or the error of its fit."""
    tracks = _Tracks(files[:: -(-len(files) // _MAX_SAMPLES)], reader)
    try:
        structure = point_sets.structures.get(names)
        return solve_body(tracks, point_sets.description, structure=structure)
    except DeepPhaseError as error:
        return error


def _solve_file(
    point_sets: PointSets,
    reader: Mapping[str, Any],
    task: tuple[MotionFile, Path, BodyModel | DeepPhaseError],
) -> SolvedFile:
    file, target, body = task

    def solved() -> SolvedFile:
        if isinstance(body, DeepPhaseError):
            raise body
        track = _track(file, reader)
        result = solve_points(track, body)
        save(result.clip, target)
        _link_song(file.path, target)
        names, feet = result.body.skeleton.names, result.feet
        speeds = feet.contacts.sum(), feet.sliding_before, feet.sliding_after
        return SolvedFile(
            name=track.name,
            points=result.points,
            carriers=tuple(names[joint] for joint in result.body.plan.carriers),
            joints=len(names),
            frames=len(result.clip),
            residuals=np.vstack([_spread(result.residuals), _spread(result.residuals, 0).T]),
            feet=np.array([*speeds, *_spread(feet.moved)]),
            scale=result.scale,
            seconds=result.clip.duration,
            notes=result.clip.source.notes,
        )

    try:
        return within_memory(solved, about=file.path)
    except CheckpointError:
        # Where one clip cannot be written, no other can.
        raise
    except DeepPhaseError as error:
        return SolvedFile(file.name, error)


def _link_song(track: Path, target: Path) -> None:
    """Link the song beside a track, or copy it where the disk has no links, beside the clip."""
    name = song_beside(track)
    if not name or song_beside(target):
        return
    song = track.with_name(name).resolve()
    beside = target.with_suffix(song.suffix)
    try:
        os.symlink(song, beside)
    except OSError:
        beside.unlink(missing_ok=True)
        with song.open("rb") as source, atomic_write(beside) as copy:
            shutil.copyfileobj(source, copy)
