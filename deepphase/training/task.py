"""The task of a training, the one function that runs all of them, and Lightning's options."""

from __future__ import annotations

import csv
import difflib
import inspect
import io
import json
import logging
import math
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments import SLURMEnvironment, TorchElasticEnvironment
from pytorch_lightning.callbacks import Checkpoint, ProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.errors import CheckpointError, ParameterError
from deepphase.files import atomic_write
from deepphase.packages import version
from deepphase.training.folder import (
    CHECKPOINT,
    PART,
    STEP,
    cached_folder,
    check_folder,
    discard,
    discard_trained,
    metrics_file,
    metrics_rows,
    unfinished,
)
from deepphase.training.resumable import ResumableData, ResumableModule
from deepphase.training.steps import FastestThreads, threads_after, timed_counts
from deepphase.work import Progress

Data = TypeVar("Data", bound=ResumableData)
Module = TypeVar("Module", bound=ResumableModule)
Result = TypeVar("Result")

_FINGERPRINT = "fingerprint"
_VALIDATIONS = 20
# Approximate number of rows of metrics in a whole training.
_LOGGED = 100
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
    work = cached_folder(fingerprint) if folder is None else Path(folder)
    if folder is None:
        resume = resume or unfinished(work)
        if is_first_process():
            words = f"deepphase: if interrupted, the same call continues in {work}"
            print(words, file=sys.stderr)
    point, begin = checked_checkpoint(work, fingerprint) if resume else (None, -1)
    if not resume and is_first_process():
        check_folder(work, resume=False)
    work.mkdir(parents=True, exist_ok=True)
    data.in_segments, module.total_steps = True, data.steps(devices)
    segments = data.segments(devices)
    with quiet_lightning():
        runner = pl.Trainer(
            **trainer_options(
                trainer,
                loggers=[_MetricsCsv(metrics_file(work), begin)],
                callbacks=[
                    _SegmentCheckpoint(work, fingerprint),
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
                ckpt_path=point,
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


class _SegmentCheckpoint(pl.Callback):
    """Writes Lightning's checkpoint after every segment, whole or not, with a fingerprint."""

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self._folder, self._fingerprint = folder, fingerprint

    def on_save_checkpoint(self, trainer: Any, module: Any, checkpoint: dict[str, Any]) -> None:
        checkpoint[_FINGERPRINT] = json.dumps(self._fingerprint)

    def on_train_epoch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.should_stop:
            # A callback stopped it, perhaps within a segment, which cannot be resumed.
            return
        part = self._folder / PART
        try:
            trainer.save_checkpoint(part, weights_only=False)
            if trainer.is_global_zero:
                os.replace(part, self._folder / CHECKPOINT)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise CheckpointError(
                f"no checkpoint can be written: {error.strerror or error}",
                hint="make room, then --resume continues from the checkpoint before it, if any",
                path=self._folder,
            ) from None


def checked_checkpoint(folder: Path, fingerprint: Mapping[str, Any]) -> tuple[Path, int]:
    """The checkpoint from which this training continues, and its step.

    CheckpointError where there is none, or it is damaged or that of another training.
    """
    point = folder / CHECKPOINT
    check_folder(folder, resume=True)
    try:
        content = torch.load(point, map_location="cpu", weights_only=True)
        before, step = json.loads(content[_FINGERPRINT]), int(content["global_step"])
    except Exception as error:
        raise CheckpointError(
            f"this is a damaged checkpoint: {(str(error) or 'it is cut').splitlines()[0]}",
            hint="remove this folder to start again",
            path=point,
        ) from None
    now = json.loads(json.dumps(fingerprint))
    if before != now:
        raise CheckpointError(
            f"there is an unfinished training with other options: {_difference(before, now)}",
            hint="give the options that it was started with, or remove this folder",
            path=folder,
        )
    return point, step


def _difference(before: Any, now: Any, name: str = "") -> str:
    """The first option that differs, by its path in both."""
    if isinstance(before, dict) and isinstance(now, dict):
        key = next(key for key in {**before, **now} if before.get(key) != now.get(key))
        return _difference(before.get(key), now.get(key), f"{name}.{key}".strip("."))
    return f"{name} was {str(before)[:60]}, now {str(now)[:60]}"


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
    """A Lightning logger that writes one CSV file; it keeps the rows up to step `begin`."""

    name, version = "deepphase", ""

    def __init__(self, path: Path, begin: int) -> None:
        super().__init__()
        self._path = path
        # Steps after the checkpoint are repeated.
        self._rows = [row for row in metrics_rows(path) if int(row[STEP]) <= begin]

    @rank_zero_only
    def log_hyperparams(self, *_: Any, **__: Any) -> None:
        """The configuration is in the model file."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {STEP: step or 0, **metrics}
        shown = {key: f"{n:.6g}" if isinstance(n, float) else str(n) for key, n in row.items()}
        self._rows.append(shown)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(dict.fromkeys([*_FIRST, *chain(*self._rows)])))
        writer.writeheader()
        writer.writerows(self._rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())


_LOGGERS = ("pytorch_lightning", "lightning_fabric")
# Options that the config of a training sets, whose steps have each their place in the whole.
_OF_THE_CONFIG = (
    "max_epochs",
    "min_epochs",
    "max_steps",
    "min_steps",
    "limit_train_batches",
    "overfit_batches",
    "fast_dev_run",
    "accumulate_grad_batches",
)


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Keeps Lightning's banners out of the terminal; its warnings to the user and errors stay."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        with warnings.catch_warnings():
            # Lightning's own use of a torch name that is on its way out.
            warnings.filterwarnings("ignore", message=".*LeafSpec.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_trainer(options: Mapping[str, Any]) -> int:
    """The devices that options of a trainer train on; ParameterError where one is refused."""
    known = inspect.signature(pl.Trainer).parameters
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ParameterError(
                f"pytorch_lightning.Trainer has no option {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "its documentation lists them",
            )
        if name in _OF_THE_CONFIG and value not in (None, False, known[name].default):
            raise ParameterError(
                f"{name}={value!r}: the config sets the steps of a training",
                hint="leave it out: training.windows, training.samples or training.epochs set the "
                "length, training.batch_size the samples of a step",
            )
    try:
        with quiet_lightning():
            return pl.Trainer(**trainer_options(options, max_epochs=1)).world_size
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        named = ", ".join(f"{name}={value}" for name, value in options.items())
        raise ParameterError(
            f"Lightning refuses {named}: {' '.join(str(error).split())[:200]}",
            hint="`deepphase doctor` lists the devices",
        ) from None


def trainer_options(
    options: Mapping[str, Any],
    *,
    loggers: Sequence[Logger] = (),
    callbacks: Sequence[pl.Callback] = (),
    **defaults: Any,
) -> dict[str, Any]:
    """Options of a trainer: the user's, with ours where they say nothing.

    The user's callbacks and loggers join ours; `logger=False` leaves out all loggers.
    """
    # None means Lightning's default to Lightning; here it means ours.
    stated = {name: value for name, value in options.items() if value is not None}
    if stated.get("devices") == "auto":
        del stated["devices"]
    own = _listed(stated.pop("callbacks", []))
    logger = stated.pop("logger", True)
    # The user's first: a module's `self.logger` is the first one.
    all_loggers = [*([] if logger is True else _listed(logger)), *loggers]
    return {
        "enable_checkpointing": any(isinstance(callback, Checkpoint) for callback in own),
        "enable_progress_bar": any(isinstance(callback, ProgressBar) for callback in own),
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        **defaults,
        **_launched(),
        **stated,
        "callbacks": [*callbacks, *own],
        "logger": False if logger is False else all_loggers or False,
    }


def is_first_process() -> bool:
    """Whether this is the first process of a training on several devices, or the only one."""
    return bool(rank_zero_only.rank == 0)  # type: ignore[attr-defined]


def versions() -> dict[str, str]:
    """Of what a training ran on, for a model file's provenance."""
    return {
        "deepphase": version(),
        "python": platform.python_version(),
        **{module.__name__: module.__version__ for module in (torch, pl, np)},
    }


def _launched() -> dict[str, int]:
    """Devices and nodes of the processes that torchrun or SLURM has started; else nothing."""
    environ = os.environ
    if TorchElasticEnvironment.detect():
        processes = int(environ["WORLD_SIZE"])
        nodes = max(processes // int(environ.get("LOCAL_WORLD_SIZE", processes)), 1)
    elif SLURMEnvironment.detect():
        processes = int(environ["SLURM_NTASKS"])
        nodes = int(environ.get("SLURM_NNODES", environ.get("SLURM_JOB_NUM_NODES", "1")))
    else:
        return {}
    return {"devices": processes // nodes, "num_nodes": nodes}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) else [value]
