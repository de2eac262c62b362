"""The task of a training, the one function that runs all of them, progress and metrics."""

from __future__ import annotations

import csv
import io
import math
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from deepphase.atomic_write import atomic_write
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
# Steps that are timed with each number of threads, and the least steps for each of these.
_TIMED, _STEPS_EACH = 4, 10
# Columns that stand first, in this order; others follow as they are first logged.
_FIRST = (STEP, "loss", "explained_variance", "learning_rate", "samples_per_s")


@dataclass(frozen=True)
class TrainedTask(Generic[Data, Module, Result]):
    """What one kind of training does differently from the others.

    Parameters
    ----------
    fingerprint
        Values that two trainings must share for one to continue the other's checkpoint.
    """

    seed: int
    data: Callable[[], Data]
    module: Callable[[Data], Module]
    fingerprint: Callable[[Data], Mapping[str, Any]]
    result: Callable[[Data, Module, dict[str, Any]], Result]
    callbacks: Callable[[Data], Sequence[pl.Callback]] = lambda _: ()


@contextmanager
def _threads_after() -> Iterator[None]:
    """Context after which torch computes with as many threads as before."""
    count = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(count)


@_threads_after()
def run_task(
    task: TrainedTask[Data, Module, Result],
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    trainer: Mapping[str, Any],
) -> Result | None:
    """Run a training from its data to its result.

    Several devices are Lightning's: its strategy runs the program once more for each, or torchrun
    has started one process for each.

    Parameters
    ----------
    folder
        Folder of the checkpoint while the training runs, and of `metrics.csv`. If None, a folder in
        the user's cache that is printed at the start and removed at the end; there, the same
        training that was interrupted before is continued.

    Returns
    -------
    The result; None in all processes but the first of a training on several devices.
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
                    FastestThreads(torch.get_num_threads()),
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


class FastestThreads(pl.Callback):
    """Times the first steps on a processor with 1, 2, 4 ... threads, and takes the fastest number.

    Small products of several threads wait for each other: on a busy machine for many times as long
    as one thread computes. OMP_NUM_THREADS says how many there are, and nothing is timed.
    """

    def __init__(self, most: int) -> None:
        self._counts = sorted({*(1 << power for power in range(most.bit_length())), most})
        self._left: list[int] = []
        self._spent: dict[int, list[float]] = defaultdict(list)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        alone = trainer.strategy.root_device.type == "cpu" and trainer.world_size == 1
        steps = (pl_module.total_steps or 0) - trainer.global_step
        self._left = [count for count in self._counts for _ in range(_TIMED)]
        enough = len(self._counts) > 1 and steps >= _STEPS_EACH * len(self._left)
        if "OMP_NUM_THREADS" in os.environ or not (alone and enough):
            self._left = []

    def on_train_batch_start(self, *_: Any, **__: Any) -> None:
        if self._left:
            torch.set_num_threads(self._left[0])
            self._began = time.perf_counter()

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        if not self._left:
            return
        count, *self._left = self._left
        own = self._spent[count]
        own.append(time.perf_counter() - self._began)
        # The first step makes the threads.
        times = {each: statistics.median(spent[1:] or spent) for each, spent in self._spent.items()}
        best = min(times, key=times.__getitem__)
        if len(own) > 1 and times[count] > 2.0 * times[best]:
            # More threads are slower still.
            self._left = []
        if not self._left:
            torch.set_num_threads(best)
            words = f"deepphase: {best} of {self._counts[-1]} threads, with which steps are fastest"
            print(f"{words} now; OMP_NUM_THREADS overrules", file=sys.stderr)


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
        self._rows.append(
            {
                name: f"{value:.6g}" if isinstance(value, float) else str(value)
                for name, value in row.items()
            }
        )
        text = io.StringIO(newline="")
        columns = dict.fromkeys([*_FIRST, *(name for row in self._rows for name in row)])
        writer = csv.DictWriter(text, list(columns))
        writer.writeheader()
        writer.writerows(self._rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())
