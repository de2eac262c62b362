"""The task of a training, the one function that runs all of them, progress and metrics."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from deepphase.files import atomic_write
from deepphase.progress import Progress
from deepphase.training.checkpoint import (
    SegmentCheckpoint,
    cached_folder,
    check_folder,
    checked_checkpoint,
    discard,
    discard_trained,
    unfinished,
)
from deepphase.training.metrics_file import STEP, metrics_file, metrics_rows
from deepphase.training.resumable import ResumableData, ResumableModule
from deepphase.training.threads import FastestThreads, threads_after, timed_counts
from deepphase.training.trainer import (
    check_trainer,
    is_first_process,
    quiet_lightning,
    trainer_options,
)

Data = TypeVar("Data", bound=ResumableData)
Module = TypeVar("Module", bound=ResumableModule)
Result = TypeVar("Result")

_VALIDATIONS = 20
# Approximate number of rows of metrics in a whole training.
_LOGGED = 200
# Steps between two progress reports.
_REPORTED = 20
# The least steps of a training for each that is timed with a number of threads.
_STEPS_EACH = 10
# Columns that stand first, in this order; others follow as they are first logged.
_FIRST = (STEP, "loss", "explained_variance", "learning_rate", "samples_per_s")


@dataclass(frozen=True)
class TrainedTask(Generic[Data, Module, Result]):
    """What one kind of training does differently from the others."""

    seed: int
    data: Callable[[], Data]
    module: Callable[[Data], Module]
    # Values that two trainings must share for one to continue the other's checkpoint.
    fingerprint: Callable[[Data], Mapping[str, Any]]
    result: Callable[[Data, Module, dict[str, Any]], Result]
    callbacks: Callable[[Data], Sequence[pl.Callback]] = lambda _: ()


@threads_after()
def run_task(
    task: TrainedTask[Data, Module, Result],
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    trainer: Mapping[str, Any],
) -> Result | None:
    """Run a training from its data to its result.

    `folder` is that of the checkpoint while the training runs, and of `metrics.csv`. If None, it is
    in the user's cache, printed at the start and removed at the end; there, the same training that
    was interrupted before is continued. Several devices are Lightning's: its strategy runs the
    program once more for each, or torchrun has started one process for each, and the result is None
    in all but the first.
    """
    devices = check_trainer(trainer)
    data = task.data()
    torch.manual_seed(task.seed)
    module = task.module(data)
    fingerprint = dict(task.fingerprint(data))
    if folder is None:
        work = cached_folder(fingerprint)
        resume = resume or unfinished(work)
        if is_first_process():
            words = f"deepphase: if interrupted, the same call continues in {work}"
            print(words, file=sys.stderr)
    else:
        work = Path(folder)
    if resume:
        point = str(checked_checkpoint(work, fingerprint))
    elif is_first_process():
        check_folder(work, resume=False)
    work.mkdir(parents=True, exist_ok=True)
    data.in_segments, module.total_steps = True, data.steps(devices)
    segments = data.segments(devices)
    with quiet_lightning():
        runner = pl.Trainer(
            **trainer_options(
                trainer,
                loggers=[_MetricsCsv(metrics_file(work), resume=resume)],
                callbacks=[
                    SegmentCheckpoint(work, fingerprint),
                    _Threads(torch.get_num_threads()),
                    *([] if progress is None else [_Report(progress, data.total_samples)]),
                    *task.callbacks(data),
                ],
                max_epochs=segments,
                check_val_every_n_epoch=max(segments // _VALIDATIONS, 1),
                log_every_n_steps=max(data.steps(devices) // _LOGGED, 1),
                use_distributed_sampler=False,
            )
        )
        try:
            runner.fit(
                module,
                datamodule=data,  # type: ignore[arg-type]  # a mixin of data modules
                ckpt_path=point if resume else None,
                weights_only=True,
            )
        except (SystemExit, KeyboardInterrupt) as ended:
            # Lightning turns an interruption into an exit of the whole program.
            interrupted = KeyboardInterrupt()
            if unfinished(work):
                way = "the same call" if folder is None else "resume=True"
                interrupted.add_note(f"{way} continues this training, which is kept in {work}")
            raise interrupted from ended
    if not runner.is_global_zero:
        return None
    run = {"steps": runner.global_step, "precision": str(runner.precision)}
    result = task.result(data, module, run)
    (discard if folder is None else discard_trained)(work)
    return result


class _Threads(pl.Callback):
    """Gives the steps of a long training on one processor the fastest number of threads."""

    def __init__(self, most: int) -> None:
        self._most, self._threads = most, FastestThreads("the training")
        self._step, self._chooses = ExitStack(), False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        alone = trainer.strategy.root_device.type == "cpu" and trainer.world_size == 1
        steps = (pl_module.total_steps or 0) - trainer.global_step
        self._chooses = alone and steps >= _STEPS_EACH * len(timed_counts(self._most))

    def on_train_batch_start(self, *_: Any, **__: Any) -> None:
        if self._chooses:
            self._step.enter_context(self._threads.step(self._most))

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        self._step.close()


class _Report(pl.Callback):
    """Reports the progress of a training."""

    def __init__(self, progress: Progress, samples: int) -> None:
        self._progress, self._samples = progress, samples

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        module: ResumableModule = pl_module
        step, total = trainer.global_step, module.total_steps or 1
        if trainer.is_global_zero and (step % _REPORTED == 0 or step == total):
            words = f"loss {float(module.last_loss):.4f}"
            if math.isfinite(module.explained):
                words += f", explained {module.explained:.3f}"
            self._progress("training", round(self._samples * step / total), self._samples, words)


class _MetricsCsv(Logger):
    """A Lightning logger that writes one CSV file, a row each time that metrics are logged.

    The first column is `step`: optimizer steps so far. Values that a row does not have are empty. A
    training that is resumed keeps the rows up to its checkpoint.
    """

    name, version = "deepphase", ""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        super().__init__()
        self._path, self._resumed = path, resume
        self._rows: list[dict[str, Any]] = []

    @rank_zero_only
    def log_hyperparams(self, *_: Any, **__: Any) -> None:
        """The configuration is in the model file."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {STEP: step or 0, **metrics}
        if self._resumed:
            # Steps after the checkpoint are repeated.
            before = metrics_rows(self._path)
            self._rows = [old for old in before if int(old[STEP]) < int(row[STEP])]
            self._resumed = False
        shown = {key: f"{n:.6g}" if isinstance(n, float) else str(n) for key, n in row.items()}
        self._rows.append(shown)
        text = io.StringIO(newline="")
        columns = dict.fromkeys([*_FIRST, *(name for row in self._rows for name in row)])
        writer = csv.DictWriter(text, list(columns))
        writer.writeheader()
        writer.writerows(self._rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())
