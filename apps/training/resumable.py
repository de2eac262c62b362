"""Work folders of training commands, from which interrupted trainings are resumed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from apps.terminal import warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.training.world import World


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
    from deepphase.atomic_write import check_writable
    from deepphase.training.metrics import metrics_file
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
    # First of all: --resume and --restart are no way out while it runs.
    refuse_running(work)
    if not resume and not restart and not restarted():
        refuse_unfinished(work)
    return work


@contextmanager
def resumable(world: World, work: Path, *, restart: bool) -> Iterator[None]:
    """Context of a training; when it is interrupted, a warning explains how to resume it.

    The resume point remains until the caller has written the result and calls :func:`finish`.

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


def finish(work: Path, output: Path, part: str = "") -> Path | None:
    """Move the metrics of a training beside its model file, and discard its resume point.

    `part` names the network that the training added to a model; see `metrics_beside`.

    Returns
    -------
    The CSV file of metrics; None if the training wrote none.
    """
    from deepphase.training.metrics import move_metrics
    from deepphase.training.resume import discard

    metrics = move_metrics(work, output, part)
    discard(work)
    return metrics
