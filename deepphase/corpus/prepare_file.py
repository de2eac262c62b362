"""Preparation of one motion file: reading, checks, resampling, cutting into labelled pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from deepphase.corpus.clips import ANIMATION_LABEL, PointSets, load_clips
from deepphase.corpus.labels import LabelledPiece
from deepphase.corpus.motion_files import MotionFile, song_beside
from deepphase.errors import DeepPhaseError, FormatError, OutOfMemoryError
from deepphase.formats.reading import warnings_of
from deepphase.motion.clip import Clip, in_float32, joint_positions
from deepphase.motion.glitches import Glitch, find_glitches, without_stray_ends
from deepphase.motion.resample import DEFAULT_LIMIT, ResampleLimit, resample
from deepphase.work import within_memory

# Share of the frames in which a clip's lowest joint is at its lowest, or lower.
_LOWEST = 0.05


@dataclass(frozen=True)
class FileTask:
    """A file, and the options of its preparation: `fps` is the rate of the result."""

    file: MotionFile
    fps: float
    reader: Mapping[str, Any] = field(default_factory=dict)
    point_sets: PointSets = field(default_factory=PointSets)
    labels: Mapping[str, str] = field(default_factory=dict)
    name_labels: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[LabelledPiece, ...] = ()
    table: Path | None = None
    limit: ResampleLimit = DEFAULT_LIMIT


@dataclass(frozen=True)
class PreparedFile:
    """Clips of a file, float32, each with its provenance, and what was found in it."""

    sha256: str
    clips: list[tuple[Clip, dict[str, Any]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    glitches: list[Glitch] = field(default_factory=list)


def prepare_file(task: FileTask) -> PreparedFile | DeepPhaseError:
    """Read and prepare one file; the error where it is left out.

    Raises FormatError where a labelled piece lies outside its clip.
    """
    try:
        return within_memory(_prepared_file, task)
    except OutOfMemoryError as error:
        return error


def _prepared_file(task: FileTask) -> PreparedFile | DeepPhaseError:
    path, limit = task.file.path, task.limit
    try:
        captured_clips = load_clips(path, task.file.name, task.point_sets, **task.reader)
        with path.open("rb") as opened:
            prepared = PreparedFile(hashlib.file_digest(opened, "sha256").hexdigest())
    except OSError as error:
        return FormatError(f"cannot be read: {error.strerror or error}")
    except DeepPhaseError as error:
        return error
    several = len(captured_clips) > 1
    cut = next((piece for piece in task.pieces if not piece.whole), None)
    if several and cut is not None:
        raise FormatError(
            f"the table cuts a piece from {task.file.file!r}, which holds {len(captured_clips)} "
            "animations",
            hint="leave start_s and stop_s empty, or put every animation into a file of its own",
            path=task.table,
            line=cut.line,
        )
    refused: list[DeepPhaseError] = []
    for captured in captured_clips:
        animation = captured.labels[ANIMATION_LABEL] if several else ""
        about = f"animation {animation!r}: " if several else ""
        try:
            clip, first, notes, glitches, lowest_m = _at_rate(captured, task, limit)
        except DeepPhaseError as error:
            refused.append(error)
            prepared.notes.append(f"{about}left out: {error.fact}")
            continue
        limit = limit.without(clip)
        prepared.notes.extend(about + note for note in notes)
        prepared.glitches.extend(replace(g, sentence=about + g.sentence) for g in glitches)
        provenance: dict[str, Any] = {
            "sha256": prepared.sha256,
            "captured_frames": len(captured),
            "glitches": [asdict(glitch) for glitch in glitches],
            "lowest_m": lowest_m,
            **({"animation": animation} if several else {}),
        }
        # Pieces are cut after resampling, which needs the frames beyond their borders.
        pieces = [_piece(task, clip, first, piece, captured, provenance) for piece in task.pieces]
        prepared.clips.extend(pieces or [(clip, provenance)])
    return prepared if prepared.clips else refused[0]


def _at_rate(
    captured: Clip, task: FileTask, limit: ResampleLimit
) -> tuple[Clip, int, list[str], list[Glitch], float]:
    """The clip at the store's rate, the captured frame that is its first, notes, glitches, and
    the height of its lowest joint in metres."""
    if len(captured) < 2:
        hint = "leave out files that hold a single pose"
        raise FormatError("a single frame is a pose, not a motion", hint=hint)
    if name := song_beside(task.file.path):
        song = PurePosixPath(task.file.file).with_name(name).as_posix()
        captured = replace(captured, source=replace(captured.source, song=song))
    positions = joint_positions(captured)
    glitches = find_glitches(captured, positions)
    lowest_m = float(np.quantile(positions[..., 1].min(axis=1), _LOWEST))
    clip, first, notes = without_stray_ends(captured, glitches)
    source = replace(clip.source, path=task.file.file, notes=(*clip.source.notes, *notes))
    labels = {**task.name_labels, **clip.labels, **task.labels}
    clip = in_float32(resample(replace(clip, labels=labels, source=source), task.fps, limit))
    return clip, first, [*warnings_of(captured), *notes], glitches, lowest_m


def _piece(
    task: FileTask,
    clip: Clip,
    first: int,
    piece: LabelledPiece,
    captured: Clip,
    provenance: dict[str, Any],
) -> tuple[Clip, dict[str, Any]]:
    clip = replace(clip, labels={**clip.labels, **piece.labels})
    if piece.whole:
        return clip, provenance
    first_s = first / captured.fps
    start_s = 0.0 if piece.start_s is None else piece.start_s
    stop_s = captured.duration if piece.stop_s is None else piece.stop_s
    start = max(0, round((start_s - first_s) * clip.fps))
    stop = min(len(clip), round((stop_s - first_s) * clip.fps) + 1)
    # Times that include the duration of the last frame are valid, too.
    beyond = stop_s > captured.duration + 1.0 / captured.fps + 1e-6
    if beyond or stop - start < 2:
        raise FormatError(
            f"the piece from {start_s:g} to {stop_s:g} s is not inside {task.file.file!r}, "
            f"which lasts {captured.duration:.2f} s",
            hint="give a piece that lies inside its clip and has at least two frames",
            path=task.table,
            line=piece.line,
        )
    clip = replace(clip.sliced(start, stop), name=f"{clip.name} {start_s:.2f}-{stop_s:.2f}s")
    return clip, {**provenance, "start_s": start_s, "stop_s": stop_s}
