"""The frame of all `train` commands: processes, work folder, resuming, output file and metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from deepphase.apps.options.groups import StoreOptions, TrainingOptions
from deepphase.apps.terminal import next_step, note, progress, silence, warn
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of, prepare
from deepphase.corpus.store import is_store, open_store
from deepphase.errors import ParameterError
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder

if TYPE_CHECKING:
    from deepphase.training.world import World


class Saveable(Protocol):
    """What a training results in."""

    def save(self, path: Path, /) -> object:
        """Write the file."""


Result = TypeVar("Result", bound=Saveable)


@dataclass(frozen=True)
class TrainingInputs:
    """What a training command reads its clips and models with.

    Parameters
    ----------
    world
        The processes of the training.
    options
        Keyword arguments of `corpus_of`.
    progress
        Progress on the terminal.
    """

    world: World
    options: dict[str, Any]
    progress: Progress

    @property
    def description(self) -> dict[str, Any] | None:
        """The skeleton description."""
        return self.options["description"]

    def clips(self, path: Path, joints: Sequence[str] = ()) -> ClipStore:
        """The clips at a path, which all processes share; see `corpus_of` for `joints`."""
        return shared_corpus(
            self.world, path, joints=joints, progress=self.progress, **self.options
        )


def run_training(
    kind: str,
    output: Path,
    run: TrainingOptions,
    reading: StoreOptions,
    prepare: Callable[[TrainingInputs], Callable[..., Result | None]],
    *,
    lines: Callable[[Result], Iterable[str]],
    pages: Callable[[Result], Iterable[Path]] | None = None,
    writes: Sequence[Path] = (),
    json_report: bool = False,
    part: str = "",
    then: Sequence[object] = (),
) -> None:
    """Train as a command asks, write the output file and its metrics, and report.

    Parameters
    ----------
    kind
        What the output file holds, such as "model".
    output
        File to write.
    run, reading
        Options of the command.
    prepare
        Reads what the training needs, and returns the function that trains: it takes `folder`,
        `resume`, `progress` and the options of Lightning's Trainer.
    lines
        Gives the sentences that are printed on a result.
    pages
        Writes reports of a result, and returns their pages.
    writes
        Further files that the command will write, which must be writable before it begins.
    json_report
        Whether to write the result's `report` to OUTPUT.report.json.
    part
        Name of the network that the training adds to a model; see `metrics_beside`.
    then
        The command to type next; none if empty.
    """
    from deepphase.training.resume import finish, kept_until_saved
    from deepphase.training.world import joined

    report = output.with_name(f"{output.name}.report.json")
    options, trainer = reading.corpus, run.trainer(output)

    def checked_work_folder() -> Path:
        work = work_folder(output, resume=run.resume, restart=run.restart)
        for path in [*writes, *([report] if json_report else [])]:
            check_writable(path)
        return work

    # Only the first process prints its progress.
    with joined(trainer) as world, silence(world.rank != 0), progress() as on_progress:
        work = world.first(checked_work_folder)
        train = prepare(TrainingInputs(world, options, on_progress))
        with resumable(world, work, restart=run.restart), kept_until_saved(work):
            result = train(folder=work, resume=run.resume, progress=on_progress, **trainer)
    # In a training on several devices, only the first process has the result.
    if result is None:
        return
    result.save(output)
    finish(work, output, part)
    if json_report:
        with atomic_write(report) as file:
            file.write(json.dumps(result.report, indent=1).encode())  # type: ignore[attr-defined]
    for line in lines(result):
        note(line)
    note(f"{kind}: {output}")
    if json_report:
        note(f"report: {report}")
    for page in () if pages is None else pages(result):
        note(f"report: {page}")
    if then:
        next_step(*then)


def work_folder(output: Path, *, resume: bool, restart: bool) -> Path:
    """Folder in which the unfinished training of an output file is kept.

    Raises
    ------
    ParameterError
        If both --resume and --restart are given.
    CheckpointError
        If a training is running there, or neither is given and there is an unfinished training, or
        the file cannot be written.
    """
    from deepphase.training.metrics_file import metrics_file
    from deepphase.training.resume import refuse_running, refuse_unfinished
    from deepphase.training.trainer import restarted

    if resume and restart:
        raise ParameterError(
            "--resume and --restart cannot be used together", hint="give one of them, or neither"
        )
    work = output.with_name(f"{output.name}.unfinished")
    check_writable(output, example="model")
    # Inside the folder of an unfinished training, where a killed one leaves temporary files.
    check_writable(metrics_file(work) if os.path.isdir(work) else work)
    # First of all: neither --resume nor --restart helps while it runs.
    refuse_running(work)
    if not resume and not restart and not restarted():
        refuse_unfinished(work)
    return work


@contextmanager
def resumable(world: World, work: Path, *, restart: bool) -> Iterator[None]:
    """Context of a training; when it is interrupted, a warning explains how to resume it.

    The resume point remains until the caller has written the result and calls `finish`.

    Parameters
    ----------
    world
        The processes of the training.
    work
        Folder of :func:`work_folder`.
    restart
        Whether to discard an unfinished training first, unless torchrun has started again.

    Raises
    ------
    CheckpointError
        With `restart`, if a training is running there by now.
    """
    from deepphase.training.resume import discard, refuse_running, unfinished
    from deepphase.training.trainer import restarted

    if restart and not restarted():
        # Reading the clips took a while, in which another training may have been started.
        world.first(lambda: refuse_running(work))
        world.first(lambda: discard(work))
    try:
        yield
    except KeyboardInterrupt:
        if world.rank == 0 and unfinished(work):
            warn("the same command with --resume continues this training")
        raise


def shared_corpus(world: World, path: Path, **options: Any) -> ClipStore:
    """The clips at a path, as `corpus_of` reads them; a folder is prepared once on each node.

    The first process of a node prepares it in the system's temporary folder.

    Parameters
    ----------
    path
        A store, a folder or a motion file.
    options
        Arguments of `corpus_of`.
    """
    if world.size == 1 or is_store(path):
        return world.together(lambda: corpus_of(path, **options))
    skeleton, joints = options.pop("skeleton", None), options.pop("joints", ())
    with temporary_folder() as folder:
        own = folder / "prepared.store"
        world.together(lambda: None if world.local_rank else prepare(path, own, **options))
        stores = dict(reversed(world.gather((world.node, own))))
        corpus = world.together(
            lambda: open_store(stores[world.node], skeleton, joints=joints, verify=False)
        )
        # Open files remain readable.
        world.gather(None)
    return corpus
