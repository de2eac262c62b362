"""Preparation of one motion file: reading, checks, resampling, cutting into labelled pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from deepphase.corpus.clips import ANIMATION_LABEL, load_clips
from deepphase.corpus.labels import LabelledPiece
from deepphase.corpus.motion_files import song_beside
from deepphase.corpus.point_sets import PointSets
from deepphase.errors import DeepPhaseError, FormatError, OutOfMemoryError
from deepphase.formats.frame_rates import corrections
from deepphase.memory import within_memory
from deepphase.motion.cleaning import Cleaning, clean
from deepphase.motion.clip import Clip
from deepphase.motion.glitches import Glitch, find_glitches
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import DEFAULT_LIMIT, ResampleLimit, resample

# Share of the frames in which a clip's lowest joint is at its lowest, or lower.
_LOWEST = 0.05


@dataclass(frozen=True)
class FileTask:
    """A file, and the options of its preparation.

    Parameters
    ----------
    path, file, name
        As in :class:`deepphase.corpus.motion_files.MotionFile`.
    labels
        Labels of the whole clip, which override those in the file.
    pieces
        Rows of a label table; the whole clip if empty.
    table
        The label table, for errors.
    fps
        Frames per second of the result.
    reader
        Options of :func:`deepphase.formats.load.load`.
    min_seconds
        Shorter clips are left out.
    point_sets
        The hierarchies that point tracks share.
    limit
        What resampling may produce of all clips of the file.
    name_labels
        Labels that were found in the file's name, which those in the file override.
    clean
        Whether flips and noise are removed, by :func:`deepphase.motion.cleaning.clean`.
    clean_hz
        Frequency of the low-pass; by default found in each clip.
    """

    path: Path
    file: str
    name: str
    labels: dict[str, str]
    pieces: tuple[LabelledPiece, ...]
    table: Path | None
    fps: float
    reader: dict[str, Any]
    min_seconds: float
    point_sets: PointSets
    limit: ResampleLimit = DEFAULT_LIMIT
    name_labels: Mapping[str, str] = field(default_factory=dict)
    clean: bool = False
    clean_hz: float | None = None


@dataclass(frozen=True)
class PreparedFile:
    """Result of preparing a file.

    Parameters
    ----------
    clips
        Clips, float32, each with its provenance; none where the file is left out.
    notes
        Sentences on unusual steps.
    glitches
        Frames of the capture that look wrong.
    sha256
        Hash of the file.
    reason, hint, line
        Why the file is left out, the remedy, and the line; no reason for a usable file.
    """

    clips: tuple[tuple[Clip, dict[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()
    glitches: tuple[Glitch, ...] = ()
    sha256: str = ""
    reason: str | None = None
    hint: str = ""
    line: int | None = None


def prepare_file(task: FileTask) -> PreparedFile:
    """Read and prepare one file.

    For a file that cannot be used the result has the reason.

    Raises
    ------
    FormatError
        Where a row of the label table lies outside its clip.
    """
    try:
        return within_memory(_prepared_file, task)
    except OutOfMemoryError as error:
        return left_out_file(error)


def _prepared_file(task: FileTask) -> PreparedFile:
    try:
        read = load_clips(task.path, task.name, task.point_sets, **task.reader)
        with task.path.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        return PreparedFile(reason=f"cannot be read: {error.strerror or error}")
    except DeepPhaseError as error:
        return left_out_file(error)
    _check_pieces(task, len(read))
    clips: list[tuple[Clip, dict[str, Any]]] = []
    notes: list[str] = []
    glitches: list[Glitch] = []
    refused: list[DeepPhaseError] = []
    limit = task.limit
    for captured in read:
        several = len(read) > 1
        about = f"animation {captured.labels[ANIMATION_LABEL]!r}: " if several else ""
        try:
            prepared = _prepared_clip(_with_song(captured, task), task, limit)
        except DeepPhaseError as error:
            refused.append(error)
            notes.append(f"{about}left out: {error.fact}")
            continue
        limit = limit.without(prepared.clip)
        provenance = {
            "sha256": sha256,
            "captured_frames": len(captured),
            "glitches": [asdict(glitch) for glitch in prepared.glitches],
            "lowest_m": prepared.lowest_m,
        }
        if prepared.cleaning is not None:
            provenance["cleaning"] = asdict(prepared.cleaning)
        if several:
            provenance["animation"] = captured.labels[ANIMATION_LABEL]
        clips += [
            _piece(task, prepared, piece, captured, provenance)
            # Pieces are cut after resampling, which needs the frames beyond their borders.
            for piece in task.pieces or (LabelledPiece({}, None, None, 0),)
        ]
        notes += [f"{about}{note}" for note in prepared.notes]
        glitches += [
            replace(glitch, sentence=f"{about}{glitch.sentence}") for glitch in prepared.glitches
        ]
    if not clips:
        return left_out_file(refused[0])
    return PreparedFile(tuple(clips), tuple(notes), tuple(glitches), sha256)


def left_out_file(error: DeepPhaseError) -> PreparedFile:
    """The result for a file that cannot be used."""
    return PreparedFile(reason=error.fact, hint=error.hint, line=error.line)


def _check_pieces(task: FileTask, clips: int) -> None:
    cut = next((piece for piece in task.pieces if not piece.whole), None)
    if clips > 1 and cut is not None:
        raise FormatError(
            f"the table cuts a piece from {task.file!r}, which holds {clips} animations",
            hint="leave start_s and stop_s empty, or put every animation into a file of its own",
            path=task.table,
            line=cut.line,
        )


@dataclass(frozen=True)
class _PreparedClip:
    """A clip at the store's rate, the captured frame that is its first, and what was found.

    `lowest_m` is the height of the lowest joint in its lowest twentieth of frames.
    """

    clip: Clip
    kept_from: int
    lowest_m: float
    notes: tuple[str, ...]
    glitches: tuple[Glitch, ...]
    cleaning: Cleaning | None


def _prepared_clip(captured: Clip, task: FileTask, limit: ResampleLimit) -> _PreparedClip:
    _check_length(captured, task.min_seconds)
    positions = joint_positions(captured)
    glitches = find_glitches(captured, positions)
    lowest_m = float(np.quantile(positions[..., 1].min(axis=1), _LOWEST))
    kept, kept_from, notes = _without_stray_ends(captured, glitches)
    cleaning = None
    if task.clean:
        kept, cleaning = clean(kept, task.clean_hz)
    if cleaning:
        glitches = find_glitches(_with_part(captured, kept, kept_from))
        cleaning = cleaning.later(kept_from)
    source = replace(kept.source, path=task.file, notes=(*kept.source.notes, *notes))
    notes = (*corrections(captured), *notes)
    labels = {**task.name_labels, **kept.labels, **task.labels}
    kept = replace(kept, labels=labels, source=source)
    clip = _in_float32(resample(kept, task.fps, limit))
    return _PreparedClip(clip, kept_from, lowest_m, notes, tuple(glitches), cleaning)


def _with_part(clip: Clip, part: Clip, first: int) -> Clip:
    """The clip with its frames from `first` on replaced by those of a part."""
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[first : first + len(part)] = part.rotations
    translations[first : first + len(part)] = part.translations
    return replace(clip, rotations=rotations, translations=translations)


def _with_song(clip: Clip, task: FileTask) -> Clip:
    name = song_beside(task.path)
    if not name:
        return clip
    song = PurePosixPath(task.file).with_name(name).as_posix()
    return replace(clip, source=replace(clip.source, song=song))


def _in_float32(clip: Clip) -> Clip:
    # Values beyond float32 become infinite, which Clip refuses.
    with np.errstate(over="ignore"):
        rotations = clip.rotations.astype(np.float32)
        translations = clip.translations.astype(np.float32)
    return replace(clip, rotations=rotations, translations=translations)


def _without_stray_ends(clip: Clip, glitches: list[Glitch]) -> tuple[Clip, int, tuple[str, ...]]:
    """The clip without rest poses at its ends, its first frame, and notes."""
    start, stop = 0, len(clip)
    notes = []
    for glitch in glitches:
        if glitch.what == "start of the clip":
            start = glitch.last + 1
        elif glitch.what == "end of the clip":
            stop = glitch.first
        else:
            continue
        notes.append(f"left out: {glitch.sentence}")
    return clip.sliced(start, stop), start, tuple(notes)


def _check_length(clip: Clip, min_seconds: float) -> None:
    if len(clip) < 2:
        raise FormatError(
            "a single frame is a pose, not a motion",
            hint="leave out files that hold a single pose",
        )
    if clip.duration < min_seconds:
        raise FormatError(
            f"the clip lasts {clip.duration:.2f} s, and the minimum is {min_seconds:g} s",
            hint="give a lower --min-seconds to keep it",
        )


def _piece(
    task: FileTask,
    prepared: _PreparedClip,
    piece: LabelledPiece,
    captured: Clip,
    provenance: dict[str, Any],
) -> tuple[Clip, dict[str, Any]]:
    clip = prepared.clip
    if not piece.whole:
        first_s = prepared.kept_from / captured.fps
        start_s = 0.0 if piece.start_s is None else piece.start_s
        stop_s = captured.duration if piece.stop_s is None else piece.stop_s
        start = max(0, round((start_s - first_s) * clip.fps))
        stop = min(len(clip), round((stop_s - first_s) * clip.fps) + 1)
        # Times that include the duration of the last frame are valid, too.
        beyond = stop_s > captured.duration + 1.0 / captured.fps + 1e-6
        if beyond or stop - start < 2:
            raise FormatError(
                f"the piece from {start_s:g} to {stop_s:g} s is not inside {task.file!r}, "
                f"which lasts {captured.duration:.2f} s",
                hint="give a piece that lies inside its clip and has at least two frames",
                path=task.table,
                line=piece.line,
            )
        name = f"{clip.name} {start_s:.2f}-{stop_s:.2f}s"
        clip = replace(clip.sliced(start, stop), name=name)
        provenance = {**provenance, "start_s": start_s, "stop_s": stop_s}
    return replace(clip, labels={**clip.labels, **piece.labels}), provenance
