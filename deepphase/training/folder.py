"""The folder of a training: its checkpoint until it is finished, and the CSV of its metrics."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError
from deepphase.files import atomic_write, user_cache

STEP = "step"
CHECKPOINT, PART, _METRICS = "resume.ckpt", "resume.part", "metrics.csv"
# Folders whose checkpoints outlive their trainings.
_kept: set[Path] = set()


def cached_folder(fingerprint: Mapping[str, Any]) -> Path:
    """The folder of a training for which none is given."""
    digest = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()
    return user_cache() / "trainings" / digest[:16]


def unfinished(folder: Path) -> bool:
    """Whether a folder holds a training that can be resumed."""
    return (folder / CHECKPOINT).is_file()


def check_folder(folder: Path, *, resume: bool) -> None:
    """Raise CheckpointError if there is nothing to resume, or an unfinished training in the way."""
    if resume == unfinished(folder):
        return
    fact, hint = "there is no checkpoint to resume", "leave out --resume to start a training"
    if not resume:
        fact = "an unfinished training lies here"
        hint = "continue it with --resume (in Python resume=True), or remove this folder"
    raise CheckpointError(fact, hint=hint, path=folder)


@contextmanager
def kept_until_saved(folder: Path) -> Iterator[None]:
    """Context in which a checkpoint stays after its training, until `finish` is called."""
    _kept.add(folder)
    try:
        yield
    finally:
        _kept.discard(folder)


def discard_trained(folder: Path) -> None:
    """Remove all but the metrics of a finished training, unless `kept_until_saved`."""
    if folder not in _kept:
        (folder / CHECKPOINT).unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Remove a training's checkpoint and metrics, and its folder where nothing else is there."""
    for name in (_METRICS, CHECKPOINT, PART):
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def finish(folder: Path, model: Path, part: str = "") -> None:
    """Move a training's metrics beside its model, see `metrics_beside`, and remove all else."""
    if metrics_file(folder).is_file():
        with atomic_write(metrics_beside(model, part)) as file:
            file.write(metrics_file(folder).read_bytes())
    discard(folder)


def metrics_file(folder: Path) -> Path:
    """The CSV of the training whose checkpoint lies in `folder`."""
    return folder / _METRICS


def metrics_beside(model: Path, part: str = "") -> Path:
    """MODEL.metrics.csv, or MODEL.PART.metrics.csv of a network that a model was given."""
    return model.with_name(".".join(name for name in (model.name, part, _METRICS) if name))


def read_metrics(path: str | Path) -> dict[str, Array]:
    """The columns of a file that a training wrote.

    Returns column -> (rows,) float64, NaN where a row has no value. Empty where there is no such
    file.
    """
    rows = metrics_rows(Path(path))
    return {
        name: np.array([float(row[name]) if row[name] else math.nan for row in rows])
        for name in (rows[0] if rows else ())
    }


def metrics_rows(path: Path) -> list[dict[str, str]]:
    """The rows of such a file, by column."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values() and row.get(STEP)]
