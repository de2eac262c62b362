"""Resume points of trainings, written atomically and checked against the training's fingerprint."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import platformdirs
import pytorch_lightning as pl
import torch

from deepphase.atomic_write import atomic_write
from deepphase.errors import CheckpointError
from deepphase.training.metrics_file import metrics_beside, metrics_file

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

_CHECKPOINT, _FINGERPRINT, _LOCK = _FILES = "resume.ckpt", "training.json", "lock"


# Folders whose resume points outlive their trainings.
_kept: set[Path] = set()


def cached_folder(fingerprint: Mapping[str, Any]) -> Path:
    """The folder of a training for which none is given, in the user's cache.

    Trainings with the same fingerprint have the same folder.
    """
    digest = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()
    cache = Path(platformdirs.user_cache_dir("deepphase", appauthor=False))
    return cache / "trainings" / digest[:16]


@contextmanager
def kept_until_saved(folder: Path) -> Iterator[None]:
    """Context in which the resume point in a folder stays after the end of its training.

    A program that writes the result keeps it until then, and calls :func:`finish`.
    """
    _kept.add(folder)
    try:
        yield
    finally:
        _kept.discard(folder)


def discard_trained(folder: Path) -> None:
    """Remove all but the metrics of a finished training, unless `kept_until_saved`."""
    if folder not in _kept:
        _discard(folder)


def resume_point(folder: Path, fingerprint: dict[str, Any], *, resume: bool) -> Path:
    """The file for a training's resume points, in a folder that records the training's options.

    Parameters
    ----------
    folder
        Folder of the resume point; it is created if it does not exist.
    fingerprint
        Values for JSON. Two trainings with the same fingerprint end in the same weights.
    resume
        Whether to continue from the resume point in the folder.

    Raises
    ------
    CheckpointError
        With `resume`, if there is no resume point, or it belongs to another training; without,
        if the folder holds an unfinished training.
    """
    point, given = folder / _CHECKPOINT, folder / _FINGERPRINT
    if resume:
        before = recorded(folder)
        now = json.loads(json.dumps(fingerprint))
        if before != now:
            raise CheckpointError(
                f"there is an unfinished training with other options: {_difference(before, now)}",
                hint="give the options that it was started with, or --restart to discard it",
                path=folder,
            )
        try:
            torch.load(point, map_location="cpu", weights_only=True)
        except Exception as error:
            raise CheckpointError(
                f"this is a damaged resume point: {str(error).splitlines()[0]}",
                hint="start again with --restart",
                path=point,
            ) from None
        return point
    refuse_unfinished(folder)
    with atomic_write(given) as file:
        file.write(json.dumps(fingerprint, indent=1).encode())
    return point


def recorded(folder: Path) -> dict[str, Any]:
    """The fingerprint of the unfinished training in a folder.

    Raises
    ------
    CheckpointError
        If there is no resume point, or the file is unreadable.
    """
    given = folder / _FINGERPRINT
    if not unfinished(folder):
        raise CheckpointError(
            "there is no resume point",
            hint="leave out --resume to start a training",
            path=folder,
        )
    try:
        content: dict[str, Any] = json.loads(given.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the file is unreadable: {error}", path=given) from None
    return content


def unfinished(folder: Path) -> bool:
    """Whether a folder holds a training that can be resumed."""
    return (folder / _CHECKPOINT).is_file()


def refuse_unfinished(folder: Path) -> None:
    """Raise CheckpointError if a folder holds an unfinished training."""
    if unfinished(folder):
        raise CheckpointError(
            "an unfinished training lies here",
            hint="continue it with --resume (in Python resume=True), or discard it with --restart",
            path=folder,
        )


@contextmanager
def sole_training(folder: Path) -> Iterator[None]:
    """Prevent a second training in the folder while one runs there.

    Raises
    ------
    CheckpointError
        If a training runs there already.
    """
    # Locks end with their process, however it ends; systems without fcntl go without.
    if fcntl is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    # A file of its own, that nothing replaces: a lock belongs to the file, not to its name.
    with (folder / _LOCK).open("a", encoding="utf-8") as file:
        _lock(file, folder)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {_now()}")
        file.flush()
        try:
            yield
        finally:
            if not (folder / _FINGERPRINT).exists():
                discard(folder)  # no training was started


def refuse_running(folder: Path) -> None:
    """Raise CheckpointError if a training is running in a folder."""
    if fcntl is not None and (folder / _LOCK).is_file():
        with (folder / _LOCK).open("a", encoding="utf-8") as file:
            _lock(file, folder)


def _lock(file: TextIO, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = (folder / _LOCK).read_text(encoding="utf-8", errors="replace")[:200]
        raise CheckpointError(
            f"another training is running here{f' ({owner})' if owner else ''}",
            hint="wait for it, or choose another output",
            path=folder,
        ) from None


def _now() -> str:
    return datetime.now().astimezone().isoformat(" ", "seconds")


def discard(folder: Path) -> None:
    """Remove a training's resume point and metrics, and its folder where nothing else is there."""
    metrics_file(folder).unlink(missing_ok=True)
    _discard(folder)


def finish(folder: Path, model: Path, part: str = "") -> None:
    """Move the metrics of a training beside its saved model, and remove all else of its folder.

    `part` names a network that the training added to the model; see `metrics_beside`.
    """
    if metrics_file(folder).is_file():
        with atomic_write(metrics_beside(model, part)) as file:
            file.write(metrics_file(folder).read_bytes())
    discard(folder)


def _discard(folder: Path) -> None:
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


class WholeCheckpoints(pl.Callback):
    """Writes a resume point after every segment of a training: temporary file, fsync, rename.

    Raises
    ------
    CheckpointError
        Where the disk is full or refuses; the resume point before it is kept.
    """

    def __init__(self, point: Path) -> None:
        self._point = point

    def on_train_epoch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.should_stop:
            # A callback stopped it, perhaps within a segment, which cannot be resumed.
            return
        written = self._point.with_suffix(".part")
        try:
            trainer.save_checkpoint(written, weights_only=False)
            if trainer.is_global_zero:
                with written.open("rb+") as file:
                    os.fsync(file.fileno())
                os.replace(written, self._point)
        except OSError as error:
            raise CheckpointError(
                f"no resume point can be written: {error.strerror or error}",
                hint="make room, then --resume continues from the resume point before it, if any",
                path=self._point.parent,
            ) from None
        finally:
            if trainer.is_global_zero:
                with suppress(OSError):
                    written.unlink(missing_ok=True)


def _difference(before: Any, now: Any, name: str = "") -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            if before.get(key) != now.get(key):
                return _difference(before.get(key), now.get(key), f"{name}.{key}".strip("."))
    return f"{name} was {str(before)[:60]}, now {str(now)[:60]}"
