"""The task of a training, and the one function that runs all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytorch_lightning as pl
import torch

from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData, ResumableModule, fit
from deepphase.training.resume import cached_folder, discard, discard_trained, unfinished
from deepphase.training.trainer import check_trainer
from deepphase.training.world import joined

Data = TypeVar("Data", bound=ResumableData)
Module = TypeVar("Module", bound=ResumableModule)
Result = TypeVar("Result")


@dataclass(frozen=True)
class TrainedTask(Generic[Data, Module, Result]):
    """What one kind of training does differently from the others.

    Parameters
    ----------
    seed
        Random seed of the initial weights.
    data
        Reads the training data. On several devices every process calls it, and all end with the
        first error.
    module
        Makes the module from the data; torch's random numbers are seeded before.
    fingerprint
        Values that two trainings must share for one to continue the other's resume point.
    result
        Makes the result from the data, the trained module and the `steps` and `precision` of the
        training. Only the first process calls it.
    callbacks
        Makes further callbacks of the trainer.
    """

    seed: int
    data: Callable[[], Data]
    module: Callable[[Data], Module]
    fingerprint: Callable[[Data], Mapping[str, Any]]
    result: Callable[[Data, Module, dict[str, Any]], Result]
    callbacks: Callable[[Data], Sequence[pl.Callback]] = lambda _: ()


def run_task(
    task: TrainedTask[Data, Module, Result],
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    trainer: Mapping[str, Any],
) -> Result | None:
    """Run a training from its data to its result.

    Parameters
    ----------
    folder
        Folder of the resume point while the training runs, and of `metrics.csv`. If None, a folder
        in the user's cache that is printed at the start and removed at the end; there, the same
        training that was interrupted before is continued.
    resume
        Continue from the resume point in `folder`. On a CPU the final weights equal those of an
        uninterrupted training bit for bit.
    progress
        Called regularly; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy, logger,
        callbacks, gradient_clip_val ... Loggers and callbacks join those of the training, which
        writes its metrics to `folder`/metrics.csv; `logger=False` leaves these out. Functions that
        train take these options as further keyword arguments.

    Returns
    -------
    The result; None in all processes but the first of a training on several devices.

    Raises
    ------
    ParameterError
        If Lightning refuses an option, or the option would make resuming inexact.
    KeyboardInterrupt
        If the training is interrupted; the resume point is kept, and a note names its folder.
    CheckpointError
        If `resume` finds no resume point, or that of another training.
    """
    check_trainer(trainer)
    with joined(trainer) as world:
        data = world.together(task.data)
        torch.manual_seed(task.seed)
        module = world.together(lambda: task.module(data))
        fingerprint = dict(task.fingerprint(data))
        if folder is None:
            work = cached_folder(fingerprint)
            if world.rank == 0:
                sentence = f"deepphase: if interrupted, the same call continues in {work}"
                print(sentence, file=sys.stderr)
        else:
            work = Path(folder)
        try:
            runner = fit(
                module,
                work,
                fingerprint,
                data=data,
                resume=resume or (folder is None and world.first(lambda: unfinished(work))),
                progress=progress,
                callbacks=task.callbacks(data),
                trainer=trainer,
            )
        except KeyboardInterrupt as interrupted:
            if unfinished(work):
                way = "the same call" if folder is None else "resume=True"
                interrupted.add_note(f"{way} continues this training, which is kept in {work}")
            raise
    if runner is None:
        return None
    run = {"steps": runner.global_step, "precision": str(runner.precision)}
    result = task.result(data, module, run)
    if folder is None:
        discard(work)
    else:
        discard_trained(work)
    return result
