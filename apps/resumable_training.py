"""What every training command does around its training: where it works, and how it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apps.terminal import warn
from deepphase.errors import ParameterError


def work_folder(output: Path, *, resume: bool, restart: bool) -> Path:
    """The folder that an unfinished training of `output` lies in.

    Raises
    ------
    ParameterError
        Where --resume and --restart are both told, or `output` is a folder.
    CheckpointError
        Where neither is told and an unfinished training lies there, or nothing can be written.
    """
    from deepphase.phase.resume import refuse_unfinished
    from deepphase.replacing import check_writable

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
    """Around a training: begins anew where that is wished, and says how an interrupted one goes on.

    The resume point stays until the caller discards it, when the result is written.
    """
    from deepphase.phase.resume import discard, unfinished

    if restart:
        discard(work)
    try:
        yield
    except KeyboardInterrupt:
        if unfinished(work):
            warn("the same command with --resume goes on where this training stopped")
        raise


def finish(work: Path, output: Path) -> Path | None:
    """Move the metrics of a training beside its written model, and discard the resume point.

    Returns the CSV file; None where the training wrote none.
    """
    from deepphase.phase.metrics import move_metrics
    from deepphase.phase.resume import discard

    metrics = move_metrics(work, output)
    discard(work)
    return metrics


def hardware(accelerator: str, devices: str, precision: str, strategy: str) -> dict[str, Any]:
    """Lightning's options of these names: a number of devices is a number."""
    return {
        "accelerator": accelerator,
        "devices": int(devices) if devices.lstrip("-").isdigit() else devices,
        "precision": precision,
        "strategy": strategy,
    }
