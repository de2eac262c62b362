"""Trainings in other processes: started, watched and stopped, with the files of their folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from deepphase.arrays import Array
from deepphase.config import checked_record
from deepphase.errors import CheckpointError, ParameterError
from deepphase.files import atomic_write, parsed_json
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import Health

Content = TypeVar("Content")

# Name of a config -> its description.
OFFERED_CONFIGS = {
    "default": "deepphase's own network",
    "paper": "DeepPhase as its paper describes it",
    "released_v0": "DeepPhase, first released network",
    "released_v1": "DeepPhase, second released network",
    "released_v2": "DeepPhase, newest released network",
}
# Smallest and largest values, which suit a laptop.
CHANNELS, WINDOW_S = (1, 12), (0.5, 4.0)
_TRAINING_KEYS = ("windows", "batch_size", "seed")
# States of a training; in the first two it has not ended. A stopped one has the model of its last
# epoch.
STARTING, RUNNING, FINISHED, FAILED = "starting", "running", "finished", "failed"
STOPPED = "stopped"
# The model of a training that has ended, and that of the last epoch while it runs.
MODEL_FILE, LATEST_FILE, POINTS_FILE = "phases.model", "latest.model", "points.npz"
_REQUEST, _STATUS, _LOG = "request.json", "status.json", "log.txt"
# Maximum number of trainings of all sessions at the same time, and maximum duration of one.
MAX_TRAININGS, _MAX_MINUTES = 2, 60

_RUNS: weakref.WeakSet[TrainingRun] = weakref.WeakSet()
_LOCK = threading.Lock()


@dataclass(frozen=True)
class TrainingRequest:
    """Request to train a phase model on clips of a store."""

    store: str
    group: str
    clips: tuple[str, ...] = ()
    config_name: str = "default"
    channels: int = 5
    window_s: float = 2.0
    windows: int = 20_000
    batch_size: int = 64
    seed: int = 0

    def config(self) -> PhaseConfig:
        """The config with the values of the request."""
        kernel = PhaseConfig.load(self.config_name).network.kernel_s
        kernel = None if kernel is None else min(kernel, self.window_s)
        own = {f"network.{name}": getattr(self, name) for name in ("channels", "window_s")}
        own |= {f"training.{name}": getattr(self, name) for name in _TRAINING_KEYS}
        return PhaseConfig.load(self.config_name, **own, **{"network.kernel_s": kernel})

    def save(self, folder: Path) -> None:
        """Write the request into the folder of a training."""
        _write(folder / _REQUEST, self)

    @classmethod
    def load(cls, folder: Path) -> TrainingRequest:
        """Read a request that `save` wrote. CheckpointError if it is missing or damaged."""

        def read(path: Path) -> TrainingRequest:
            content = parsed_json(path.read_text(encoding="utf-8"))
            return cls(**{**content, "clips": tuple(content["clips"])})

        return _read(folder / _REQUEST, read)


@dataclass(frozen=True)
class Epoch:
    """Measurements at the end of an epoch; the loss, (m/s)^2, is a mean since the one before."""

    epoch: float
    windows: int
    loss: float
    explained: float
    health: Health | None = None


@dataclass(frozen=True)
class TrainingStatus:
    """Status of a training, in a small file that is replaced while the training runs."""

    state: str = STARTING
    what: str = "preparing"
    done: int = 0
    of: int = 0
    words: str = ""
    training_windows: int = 0
    seconds: float = 0.0
    epochs: tuple[Epoch, ...] = ()
    fact: str = ""
    hint: str = ""

    @property
    def under_way(self) -> bool:
        """Whether the training has neither finished nor failed."""
        return self.state in (STARTING, RUNNING)

    def save(self, folder: Path) -> None:
        """Write the status into the folder of a training, atomically."""
        _write(folder / _STATUS, self)

    @classmethod
    def load(cls, folder: Path) -> TrainingStatus:
        """Read the last status; the initial status if none was written."""

        def read(path: Path) -> TrainingStatus:
            content, epochs = parsed_json(path.read_text(encoding="utf-8")), []
            for epoch in content.pop("epochs"):
                health = epoch["health"]
                measured = None if health is None else checked_record(Health, health, "health")
                epochs.append(Epoch(**{**epoch, "health": measured}))
            return cls(**content, epochs=tuple(epochs))

        path = folder / _STATUS
        return _read(path, read) if path.exists() else cls()


def load_views(folder: Path, count: int) -> list[Array]:
    """Projected manifolds of the first `count` epochs, each (points, 3)."""
    read = partial(np.load, allow_pickle=False)
    return [_read(view_file(folder, index), read) for index in range(count)]


def load_curve_points(folder: Path) -> tuple[Array, Array]:
    """Clip index (points,) and time in seconds (points,) of the points of all views."""

    def read(path: Path) -> tuple[Array, Array]:
        with np.load(path, allow_pickle=False) as file:
            return file["clips"], file["time"]

    return _read(folder / POINTS_FILE, read)


def view_file(folder: Path, index: int) -> Path:
    """The file of the projected manifold of an epoch."""
    return folder / f"view_{index:03d}.npy"


def _write(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(asdict(content)).encode())


def _read(path: Path, read: Callable[[Path], Content]) -> Content:
    """What is read from a file; CheckpointError where it is missing or damaged."""
    try:
        return read(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fact = f"a file of this training cannot be read: {error}"
        raise CheckpointError(fact, path=path) from None


@dataclass(eq=False)
class TrainingRun:
    """A training with its process and its folder, which both end with the object."""

    name: str
    folder: Path
    request: TrainingRequest
    process: subprocess.Popen
    _started: float = field(default_factory=time.monotonic, repr=False)

    @classmethod
    def start(
        cls,
        name: str,
        request: TrainingRequest,
        folder: Path,
        *,
        alive: Callable[[], bool] = lambda: True,
    ) -> TrainingRun:
        """Start a training in a new folder; it is cancelled when `alive` returns False."""
        with _LOCK:
            running = sum(run.running for run in _RUNS)
            if running >= MAX_TRAININGS:
                hint = "wait until one of them has ended, and start again"
                raise ParameterError(f"{running} trainings are running on this machine", hint=hint)
            try:
                folder.mkdir(parents=True)
                request.save(folder)
                process = _spawn(folder)
            except OSError as error:
                fact = f"the training cannot be started: {error.strerror or error}"
                raise CheckpointError(fact, path=folder) from None
            run = cls(name, folder, request, process)
            _RUNS.add(run)
        weakref.finalize(run, _end, process, folder)
        # The thread refers to the run weakly, so that an unreferenced run is finalized.
        guarded = (process, weakref.ref(run), alive)
        threading.Thread(target=_guard, args=guarded, daemon=True, name="training").start()
        return run

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    @property
    def model_file(self) -> Path:
        """Path of the model, which exists when the training has finished."""
        return self.folder / MODEL_FILE

    def status(self) -> TrainingStatus:
        """Current status; failed if the process ended without writing another."""
        running = self.running
        status = TrainingStatus.load(self.folder)
        if running:
            return replace(status, seconds=time.monotonic() - self._started)
        if not status.under_way:
            return status
        return replace(
            status,
            state=FAILED,
            fact=f"its process ended unexpectedly (exit status {self.process.returncode})",
            hint="the machine may have run out of memory: train with fewer clips",
        )

    @property
    def finished(self) -> bool:
        """Whether the training has ended with a model."""
        return not self.running and self.status().state in (FINISHED, STOPPED)

    @property
    def can_stop(self) -> bool:
        """Whether the training runs and has a model of an epoch, which `stop` keeps."""
        # The model of an epoch is saved before the status that has the epoch.
        return self.running and bool(self.status().epochs)

    def stop(self) -> None:
        """End the process and keep the model of the last epoch."""
        _kill(self.process)
        status = TrainingStatus.load(self.folder)
        if not status.under_way:
            # It had just ended by itself.
            return
        latest = self.folder / LATEST_FILE
        if not latest.is_file():
            raise ParameterError("there is no model yet", hint="wait for the first measures")
        latest.replace(self.model_file)
        replace(status, state=STOPPED, what="stopped", words="").save(self.folder)

    def cancel(self) -> None:
        """End the process and remove the folder."""
        _end(self.process, self.folder)


def _spawn(folder: Path) -> subprocess.Popen:
    environment = os.environ | {
        # The same packages as in this process, regardless of the working directory.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    with (folder / _LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "deepphase.apps.training_process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
        )


def _guard(
    process: subprocess.Popen,
    reference: Callable[[], TrainingRun | None],
    alive: Callable[[], bool],
) -> None:
    """End the training when its owner no longer exists, or when it takes too long."""
    deadline = time.monotonic() + 60 * _MAX_MINUTES
    while True:
        try:
            process.wait(timeout=2.0)
            return
        except subprocess.TimeoutExpired:
            run = reference()
        if run is None:
            return  # the finalizer has ended the process
        if time.monotonic() > deadline:
            _kill(process)
            fact = f"it took longer than {_MAX_MINUTES} minutes"
            replace(TrainingStatus.load(run.folder), state=FAILED, fact=fact).save(run.folder)
            return
        elif not alive():
            run.cancel()
            return
        del run


def _kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


def _end(process: subprocess.Popen, folder: Path) -> None:
    """End the process of a training and remove its folder."""
    _kill(process)
    if process.stdin is not None:
        process.stdin.close()
    shutil.rmtree(folder, ignore_errors=True)
