"""Work folder of a training command, and resuming an interrupted training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.terminal import warn
from deepphase.errors import ParameterError


def work_folder(output: Path, *, resume: bool, restart: bool) -> Path:
    """The folder of an unfinished training of `output`.

    Raises
    ------
    ParameterError
        If both --resume and --restart are given, or `output` is a folder.
    CheckpointError
        If neither is given and there is an unfinished training, or nothing can be written.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.phase.training.resume import refuse_unfinished

    if resume and restart:
        raise ParameterError(
            "--resume and --restart contradict each other", hint="give one of them, or neither"
        )
    work = output.with_name(f"{output.name}.unfinished")
    check_writable(output)
    if output.is_dir():
        raise ParameterError(
            f"{output} is a folder", hint=f"name the file to write: -o {output / 'model'}"
        )
    check_writable(work)
    if not resume and not restart:
        refuse_unfinished(work)
    return work


@contextmanager
def resumable(work: Path, *, restart: bool) -> Iterator[None]:
    """Context of a training: discards an unfinished one first if asked to, and explains resuming.

    The resume point is kept until the caller has written the result and discards it.
    """
    from deepphase.phase.training.resume import discard, unfinished

    if restart:
        discard(work)
    try:
        yield
    except KeyboardInterrupt:
        if unfinished(work):
            warn("the same command with --resume continues this training")
        raise


def finish(work: Path, output: Path) -> Path | None:
    """Move the metrics of a training beside its written model, and discard the resume point.

    Returns the CSV file; None where the training wrote none.
    """
    from deepphase.phase.training.metrics import move_metrics
    from deepphase.phase.training.resume import discard

    metrics = move_metrics(work, output)
    discard(work)
    return metrics
