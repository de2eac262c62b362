"""The checkpoint of an unfinished training, and the folder that it lies in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from deepphase.errors import CheckpointError
from deepphase.files import atomic_write, user_cache
from deepphase.training.metrics_file import metrics_beside, metrics_file

_CHECKPOINT, _PART, _FINGERPRINT = "resume.ckpt", "resume.part", "fingerprint"
# Folders whose checkpoints outlive their trainings.
_kept: set[Path] = set()


class SegmentCheckpoint(pl.Callback):
    """Writes Lightning's checkpoint after every segment, whole or not, with a fingerprint."""

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self._folder, self._fingerprint = folder, fingerprint

    def on_save_checkpoint(self, trainer: Any, module: Any, checkpoint: dict[str, Any]) -> None:
        checkpoint[_FINGERPRINT] = json.dumps(self._fingerprint)

    def on_train_epoch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.should_stop:
            # A callback stopped it, perhaps within a segment, which cannot be resumed.
            return
        part = self._folder / _PART
        try:
            trainer.save_checkpoint(part, weights_only=False)
            if trainer.is_global_zero:
                os.replace(part, self._folder / _CHECKPOINT)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise CheckpointError(
                f"no checkpoint can be written: {error.strerror or error}",
                hint="make room, then --resume continues from the checkpoint before it, if any",
                path=self._folder,
            ) from None


def checked_checkpoint(folder: Path, fingerprint: Mapping[str, Any]) -> Path:
    """The checkpoint from which this training continues; CheckpointError where there is none."""
    point = folder / _CHECKPOINT
    check_folder(folder, resume=True)
    try:
        content = torch.load(point, map_location="cpu", weights_only=True)
        before = json.loads(content[_FINGERPRINT])
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
    return point


def cached_folder(fingerprint: Mapping[str, Any]) -> Path:
    """The folder of a training for which none is given."""
    digest = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()
    return user_cache() / "trainings" / digest[:16]


def unfinished(folder: Path) -> bool:
    """Whether a folder holds a training that can be resumed."""
    return (folder / _CHECKPOINT).is_file()


def check_folder(folder: Path, *, resume: bool) -> None:
    """Raise CheckpointError if there is nothing to resume, or an unfinished training in the way."""
    if resume and not unfinished(folder):
        raise CheckpointError(
            "there is no checkpoint to resume",
            hint="leave out --resume to start a training",
            path=folder,
        )
    if unfinished(folder) and not resume:
        raise CheckpointError(
            "an unfinished training lies here",
            hint="continue it with --resume (in Python resume=True), or remove this folder",
            path=folder,
        )


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
        (folder / _CHECKPOINT).unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Remove a training's checkpoint and metrics, and its folder where nothing else is there."""
    for path in (metrics_file(folder), folder / _CHECKPOINT, folder / _PART):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def finish(folder: Path, model: Path, part: str = "") -> None:
    """Move a training's metrics beside its model, see `metrics_beside`, and remove all else."""
    if metrics_file(folder).is_file():
        with atomic_write(metrics_beside(model, part)) as file:
            file.write(metrics_file(folder).read_bytes())
    discard(folder)


def _difference(before: Any, now: Any, name: str = "") -> str:
    """The first option that differs, by its path in both."""
    if isinstance(before, dict) and isinstance(now, dict):
        key = next(key for key in {**before, **now} if before.get(key) != now.get(key))
        return _difference(before.get(key), now.get(key), f"{name}.{key}".strip("."))
    return f"{name} was {str(before)[:60]}, now {str(now)[:60]}"
