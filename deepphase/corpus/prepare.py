"""Preparation of a folder of captures as a store: reading, resampling, mirroring, labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepphase.arrays import counted, short_repr
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import agreed_point_sets
from deepphase.corpus.group_passes import (
    add_mirrored_clips,
    files_of_another_axis,
    files_of_another_floor,
    files_of_another_rate,
    files_of_another_unit,
    other_rest_frames,
    retarget_clips,
)
from deepphase.corpus.labels import LabelPattern, read_label_table
from deepphase.corpus.motion_files import (
    SONGS_FOLDER,
    MotionFile,
    existing,
    find_motion_files,
    is_store,
)
from deepphase.corpus.name_labels import NameLabels, read_name_labels
from deepphase.corpus.prepare_file import FileTask, PreparedFile, prepare_file
from deepphase.corpus.store import StoreGroup, open_store, store_groups
from deepphase.corpus.store_writer import StoreWriter
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.files import temporary_folder
from deepphase.formats.load import MOTION_FORMATS
from deepphase.formats.reading import checked_options, is_warning, with_notes
from deepphase.motion.glitches import Glitch
from deepphase.work import Progress, map_in_order, report, workers_for


@dataclass(frozen=True)
class LeftOut:
    """A file that could not be used: reason, line of the fault, and remedy."""

    file: str
    reason: str
    line: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.file if self.line is None else f'{self.file}:{self.line}'}: {self.reason}"


@dataclass(frozen=True)
class Preparation:
    """Result of a preparation."""

    path: Path  # The store
    files: int
    groups: tuple[StoreGroup, ...]
    left_out: tuple[LeftOut, ...]  # Files that could not be used
    notes: tuple[tuple[str, str], ...]  # File or group, and a sentence on an unusual step
    # File, and frames of its capture that look wrong; they are kept unchanged.
    glitches: tuple[tuple[str, Glitch], ...]
    name_labels: NameLabels | None = None  # None where names were not searched for labels

    def __repr__(self) -> str:
        return short_repr(
            self,
            repr(self.path.name),
            counted(self.files, "file"),
            counted(self.clips, "clip"),
            f"{self.minutes:.1f} min",
            f"{len(self.left_out)} left out",
        )

    @property
    def clips(self) -> int:
        """Number of clips of all groups."""
        return sum(group.clips for group in self.groups)

    @property
    def minutes(self) -> float:
        """Total duration of all groups."""
        return sum(group.minutes for group in self.groups)


# Values of `labels` that are not patterns.
NAMES, NO_LABELS = "names", "none"
_REASONS_SHOWN = 5
# Lower rates lose all movement; higher ones only take memory.
_MIN_FPS, _MAX_FPS = 1.0, 1000.0


def prepare(
    inputs: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    fps: float = 60.0,
    unit: str | float | None = None,
    up: str | None = None,
    file_fps: float | None = None,
    radians: bool = False,
    mirror: bool = False,
    retarget: str | None = None,
    labels: str | None = None,
    labels_csv: str | Path | None = None,
    description: Mapping[str, Any] | None = None,
    allow_truncated: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    root: Path | None = None,
) -> Preparation:
    """Make a store of the motion files among `inputs` and in the folders among them.

    Files that cannot be used are listed, and all others are prepared. The same input gives the
    same bytes for any number of workers.

    Parameters
    ----------
    inputs
        Folders, which are searched recursively, and files.
    output
        The store.
    fps
        Frames per second of the store.
    unit, up, file_fps, radians
        Properties of the files, inferred by default: see :func:`deepphase.formats.load.load`.
    mirror
        Add the mirror image of every clip, named "... mirrored" and labelled mirrored=yes.
    retarget
        Name of a skeleton group: the clips of all others are put on its body, see
        :func:`deepphase.motion.retarget.retarget`. Without it, people with the same
        joints and other rest frames are groups of their own.
    labels
        "names" finds labels in the names of files and folders, see :func:`read_name_labels`;
        labels inside the files override them. "none" reads none from names. Anything else is a
        :class:`LabelPattern`. The default is "names" without a table, and "none" with one.
    labels_csv
        A table of labels, see :func:`read_label_table`; its rows can cut clips into pieces.
    description
        A skeleton description, for point tracks and for mirroring skeletons whose sides are not
        found.
    allow_truncated
        Take the readable frames of files that end early.
    workers
        Number of processes; by default chosen by cores and amount of data.
    progress
        Called after every file; see :data:`deepphase.work.Progress`.
    root
        Folder above the files up to which settings (deepphase.yaml) are looked for; by default the
        one among `inputs`.

    Raises
    ------
    FormatError
        Where no file can be used, or the label table is wrong.
    ParameterError
        Where an option is impossible.
    SkeletonError
        Where `mirror` is given and no skeleton has two sides.
    CheckpointError
        Where the store cannot be written.
    """
    checked_options(unit, up, file_fps)
    if not _MIN_FPS <= fps <= _MAX_FPS:
        most = f"at most {_MAX_FPS:g} frames a second, not {fps:g}"
        raise ParameterError(f"fps must be at least {_MIN_FPS:g} and {most}", hint="60 is usual")
    files = find_motion_files(inputs, root)
    processes = workers_for([file.size for file in files], workers)
    output = Path(output)
    _check_output(output, files)
    # Only given options: not every format has all of them.
    reader = {"unit": unit, "up": up, "fps": file_fps, "radians": radians}
    reader |= {"allow_truncated": allow_truncated}
    reader = {name: value for name, value in reader.items() if value not in (None, False)}
    point_sets = agreed_point_sets(files, description, **reader)
    notes = list(point_sets.notes)
    by_name = labels == NAMES or (labels is None and labels_csv is None)
    settings = {file.file: file.settings.labels for file in files}
    name_labels = read_name_labels(settings, settings) if by_name else None
    pattern = LabelPattern(labels) if labels not in (None, NAMES, NO_LABELS) else None
    table = None if labels_csv is None else Path(labels_csv)
    common = FileTask(files[0], float(fps), point_sets=point_sets, table=table)
    labelled = _labelled(common, files, pattern, name_labels, notes)
    tasks = [replace(task, reader=task.file.reader(reader)) for task in labelled]
    with StoreWriter(output) as writer:
        run = _Run(writer, notes)
        results = map_in_order(prepare_file, tasks, processes, lost=lambda _, error: error)
        for done, (task, result) in enumerate(zip(tasks, results, strict=True), start=1):
            run.add(task, result)
            report(progress, "preparing", done, len(tasks), task.file.file)
        if not writer.records:
            raise _nothing_left(run.left_out, existing(inputs)[0])
        # Units first: floors are compared in metres.
        if unit is None:
            run.read_again("unit", files_of_another_unit(writer))
        if up is None:
            run.read_again("up", files_of_another_axis(writer))
        clips = [record.clip for record in writer.records]
        facts = ((c.source.path, c.skeleton.hierarchy, c.source.fps, c.source.notes) for c in clips)
        doubts = dict(files_of_another_rate(facts))
        notes.extend(doubts.items())
        for number, record in enumerate(writer.records):
            if doubt := doubts.get(record.clip.source.path):
                writer.records[number] = replace(record, clip=with_notes(record.clip, [doubt]))
        notes.extend(files_of_another_floor(writer))
        if retarget is not None:
            notes.extend(retarget_clips(writer, retarget, progress))
        notes.extend(other_rest_frames(writer))
        if mirror:
            notes.extend(add_mirrored_clips(writer, description))
        options = {
            "inputs": [path.absolute().name for path in existing(inputs)],
            "unit": unit,
            "up": up,
            "file_fps": file_fps,
            "mirror": mirror,
            "retarget": retarget,
            "labels": labels,
            "label_patterns": [] if name_labels is None else list(name_labels.patterns),
            "labels_csv": table and table.name,
            "allow_truncated": allow_truncated,
            "notes": [list(note) for note in notes],
            **({"description": dict(description)} if description else {}),
        }
        if any(record.clip.source.song for record in writer.records):
            folder = files[0].path.parents[files[0].file.count("/")]
            real = [os.path.realpath(path) for path in (folder, output.parent)]
            options[SONGS_FOLDER] = os.path.relpath(*real)
        writer.finish(options, [vars(file) for file in run.left_out])
    return Preparation(
        path=output,
        files=len(files),
        groups=tuple(store_groups(output)),
        left_out=tuple(run.left_out),
        notes=tuple(notes),
        glitches=tuple((file, glitch) for file, some in run.glitches.items() for glitch in some),
        name_labels=name_labels,
    )


def corpus_of(
    path: str | Path,
    *,
    skeleton: str | None = None,
    joints: Sequence[str] = (),
    fps: float = 60.0,
    **options: Any,
) -> ClipStore:
    """The clips at a path: a store is opened, a folder or motion file is prepared.

    `skeleton` and `joints` choose a group as in :func:`deepphase.corpus.store.open_store`. `fps`
    and `options` are arguments of :func:`prepare`, for folders and motion files; their store lies
    in the system's temporary folder and is removed when the program ends.

    Raises as both do; ParameterError too where a unit, up axis or rate is given for a store, whose
    own are fixed by its preparation.
    """
    if is_store(path):
        fixed = [name for name in ("unit", "up", "file_fps") if options.get(name) is not None]
        if fixed:
            raise ParameterError(
                f"a store is already in metres with Y up, and --{fixed[0]} applies to motion files",
                hint="prepare the store again from the motion files with this option",
                path=path,
            )
        return open_store(path, skeleton, joints=joints)
    with temporary_folder() as folder:
        store = folder / "prepared.store"
        prepare(path, store, fps=fps, **options)
        try:
            return open_store(store, skeleton, joints=joints, verify=False)
        except ParameterError as error:
            # The user knows the folder, not the temporary store.
            raise ParameterError(error.fact, hint=error.hint, path=path) from None


class _Run:
    """Results of the files that were prepared so far."""

    def __init__(self, writer: StoreWriter, notes: list[tuple[str, str]]) -> None:
        self.left_out: list[LeftOut] = []
        self.glitches: dict[str, list[Glitch]] = {}
        self._writer, self._notes = writer, notes
        # The task and the numbers of the clips of each file.
        self._stored: dict[str, tuple[FileTask, list[int]]] = {}
        self._contents: dict[str, str] = {}

    def add(self, task: FileTask, result: PreparedFile | DeepPhaseError) -> None:
        """Add the clips of a file to the store."""
        file = task.file.file
        if isinstance(result, DeepPhaseError):
            self.left_out.append(LeftOut(file, result.fact, result.line, result.hint))
            return
        same = self._contents.setdefault(result.sha256, file)
        if same != file:
            self._notes.append((file, f"the same content as {same}"))
        self._notes.extend((file, note) for note in result.notes)
        self.glitches[file] = result.glitches
        numbers = [self._writer.add(clip, provenance) for clip, provenance in result.clips]
        self._stored[file] = task, numbers

    def read_again(self, option: str, files: Iterable[tuple[str, Any, str]]) -> None:
        """Read files again with a unit or up axis; a value of None only adds the sentence."""
        for file, value, sentence in files:
            if value is not None:
                task, numbers = self._stored[file]
                task = replace(task, reader={**task.reader, option: value})
                again = prepare_file(task)
                if isinstance(again, DeepPhaseError):
                    sentence += f", but not read again: {again.fact}"
                    self._notes.append((file, sentence))
                    continue
                self._stored[file] = task, numbers
                self.glitches[file] = again.glitches
                # What was in doubt may no longer be.
                kept = [note for note in self._notes if note[0] != file or not is_warning(note[1])]
                self._notes[:] = kept + [(file, note) for note in again.notes if is_warning(note)]
                for number, (clip, provenance) in zip(numbers, again.clips, strict=True):
                    self._writer.replace(number, clip, provenance)
            self._notes.append((file, sentence))


def _labelled(
    common: FileTask,
    files: Sequence[MotionFile],
    pattern: LabelPattern | None,
    name_labels: NameLabels | None,
    notes: list[tuple[str, str]],
) -> Iterator[FileTask]:
    """A task for each file, with its labels; files without labels are noted."""
    table = common.table
    pieces = {} if table is None else read_label_table(table, [file.file for file in files])
    for motion_file in files:
        file = motion_file.file
        labels = {} if pattern is None else pattern.labels(file)
        if pattern is not None and labels is None:
            notes.append((file, f"no labels: its name is not like {pattern.pattern}"))
        by_name: Mapping[str, str] = {}
        if name_labels is not None:
            by_name = name_labels.labels[file]
            if file in name_labels.unlike:
                notes.append((file, f"no labels: its name is not like {name_labels.unlike[file]}"))
        if table is not None and file not in pieces:
            notes.append((file, f"no labels: it has no row in {table.name}"))
        own = tuple(pieces.get(file, ()))
        yield replace(
            common, file=motion_file, labels=labels or {}, name_labels=by_name, pieces=own
        )


def _check_output(output: Path, files: Sequence[MotionFile]) -> None:
    real = os.path.realpath(output)
    is_input = any(real == os.path.realpath(file.path) for file in files)
    if is_input or output.suffix.lower() in MOTION_FORMATS:
        raise ParameterError(
            f"the store would be written as {output.name}, a motion file",
            hint=f"choose another name, such as {output.with_suffix('.store').name}",
        )


def _nothing_left(left_out: list[LeftOut], path: Path) -> FormatError:
    if len(left_out) == 1:
        only = left_out[0]
        return FormatError(only.reason, hint=only.hint, path=only.file, line=only.line)
    more = len(left_out) - _REASONS_SHOWN
    reasons = "; ".join(map(str, left_out[:_REASONS_SHOWN]))
    return FormatError(
        f"none of {len(left_out)} files can be used",
        hint=f"{reasons}{f'; and {more} more' if more > 0 else ''}",
        path=path,
    )
