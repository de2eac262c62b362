"""The frame of all `train` commands: processes, work folder, resuming, output file and metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import next_step, note, progress
from apps.training.processes import processes, shared_corpus
from apps.training.resumable import finish, resumable, work_folder
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.corpus.clip_store import ClipStore
from deepphase.progress import Progress

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
    work
        Folder of the resume point.
    options
        Keyword arguments of `corpus_of`.
    progress
        Progress on the terminal.
    """

    world: World
    work: Path
    options: dict[str, Any]
    progress: Progress

    @property
    def description(self) -> dict[str, Any] | None:
        """The skeleton description."""
        return self.options["description"]

    def clips(self, path: Path) -> ClipStore:
        """The clips at a path, which all processes share."""
        return shared_corpus(self.world, path, self.work, progress=self.progress, **self.options)


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
    report = output.with_name(f"{output.name}.report.json")
    options, trainer = reading.corpus, run.trainer(output)

    def checked_work_folder() -> Path:
        work = work_folder(output, resume=run.resume, restart=run.restart)
        for path in [*writes, *([report] if json_report else [])]:
            check_writable(path)
        return work

    with processes(trainer) as world, progress() as on_progress:
        work = world.first(checked_work_folder)
        train = prepare(TrainingInputs(world, work, options, on_progress))
        with resumable(world, work, restart=run.restart):
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
