"""The frame of all `train` commands: work folder, resuming, output file and metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from deepphase.apps.options.groups import TrainingOptions
from deepphase.apps.terminal import next_step, note, progress, silence, warn
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.corpus.clip_store import ClipStore


class Saveable(Protocol):
    """What a training results in."""

    def save(self, path: Path, /) -> object:
        """Write the file."""


Result = TypeVar("Result", bound=Saveable)


@dataclass(frozen=True)
class TrainingInputs:
    """What a training command reads its clips with."""

    skeleton: str | None
    progress: Progress

    def clips(self, path: Path, joints: Sequence[str] = ()) -> ClipStore:
        """The clips at a path; see `corpus_of` for `joints`."""
        from deepphase.corpus.prepare import corpus_of

        return corpus_of(path, joints=joints, progress=self.progress, skeleton=self.skeleton)


def run_training(
    kind: str,
    output: Path,
    run: TrainingOptions,
    prepare: Callable[[TrainingInputs], Callable[..., Result | None]],
    *,
    lines: Callable[[Result], Iterable[str]],
    skeleton: str | None = None,
    pages: Callable[[Result], Iterable[Path]] | None = None,
    json_report: bool = False,
    part: str = "",
    then: Sequence[object] = (),
) -> None:
    """Train as a command asks, write the output file and its metrics, and report.

    Of a training on several devices every process runs the command: all but the first are silent
    and end without a result.
    """
    from deepphase.training.checkpoint import finish, kept_until_saved, unfinished
    from deepphase.training.trainer import check_trainer, is_first_process

    report = output.with_name(f"{output.name}.report.json")
    work = output.with_name(f"{output.name}.unfinished")
    trainer, first = run.trainer_options(output), is_first_process()
    if first:
        _check_work_folder(work, output, resume=run.resume)
        if json_report:
            check_writable(report)
    check_trainer(trainer)
    with silence(not first), progress() as on_progress:
        train = prepare(TrainingInputs(skeleton, on_progress))
        with kept_until_saved(work):
            try:
                result = train(folder=work, resume=run.resume, progress=on_progress, **trainer)
            except KeyboardInterrupt:
                if first and unfinished(work):
                    warn("the same command with --resume continues this training")
                raise
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


def _check_work_folder(work: Path, output: Path, *, resume: bool) -> None:
    """Refuse what cannot begin: a file that cannot be written, or an unfinished training."""
    from deepphase.training.checkpoint import check_folder
    from deepphase.training.metrics_file import metrics_file

    check_writable(output, example="model")
    # Inside the folder of an unfinished training, where a killed one leaves temporary files.
    check_writable(metrics_file(work) if os.path.isdir(work) else work)
    check_folder(work, resume=resume)
