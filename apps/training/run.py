"""Control of trainings in other processes: starting, watching and cancelling them."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from deepphase.apps.training.folder import (
    FAILED,
    FINISHED,
    STOPPED,
    TrainingRequest,
    TrainingStatus,
)
from deepphase.apps.training.process import LATEST_FILE, LOG_FILE, MODEL_FILE
from deepphase.errors import CheckpointError, ParameterError

# Maximum number of trainings of all sessions at the same time, and maximum duration of one.
MAX_TRAININGS, MAX_MINUTES = 2, 60
# Seconds between two checks whether the owner of a training still exists.
_CHECK_EVERY_S = 2.0

_RUNS: weakref.WeakSet[TrainingRun] = weakref.WeakSet()
_LOCK = threading.Lock()


@dataclass(eq=False)
class TrainingRun:
    """A training that was started, with its process and its folder.

    When the object is garbage-collected, the process is ended and the folder removed.
    """

    name: str
    folder: Path
    request: TrainingRequest
    process: subprocess.Popen
    ended_for: str = ""
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
        """Start a training in a folder that does not exist yet.

        It is cancelled when `alive` returns False: when its owner does not exist any more.
        """
        with _LOCK:
            running = sum(run.running for run in _RUNS)
            if running >= MAX_TRAININGS:
                raise ParameterError(
                    f"{running} trainings are running on this machine",
                    hint="wait until one of them has ended, and start again",
                )
            try:
                folder.mkdir(parents=True)
                request.save(folder)
                process = _spawn(folder)
            except OSError as error:
                raise CheckpointError(
                    f"the training cannot be started: {error.strerror or error}", path=folder
                ) from None
            run = cls(name, folder, request, process)
            _RUNS.add(run)
        # The thread refers to the run weakly, so that an unreferenced run is finalized.
        reference = weakref.ref(run)
        threading.Thread(
            target=_guard_process, args=(process, reference, alive), daemon=True, name="training"
        ).start()
        weakref.finalize(run, _end, process, folder)
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
        hint = "the machine may have run out of memory: train with fewer clips"
        fact = f"its process ended unexpectedly (exit status {self.process.returncode})"
        if self.ended_for:
            fact, hint = self.ended_for, ""
        return replace(status, state=FAILED, fact=fact, hint=hint)

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
        latest = self.folder / LATEST_FILE
        status = TrainingStatus.load(self.folder)
        if not status.under_way:
            # It had just ended by itself.
            return
        if not latest.is_file():
            raise ParameterError("there is no model yet", hint="wait for the first measures")
        latest.replace(self.model_file)
        replace(status, state=STOPPED, what="stopped", words="").save(self.folder)

    def cancel(self) -> None:
        """End the process and remove the folder."""
        _end(self.process, self.folder)

    def log(self) -> str:
        """Last 4,000 characters of the output of the process."""
        try:
            return (self.folder / LOG_FILE).read_text(encoding="utf-8", errors="replace")[-4000:]
        except OSError:
            return ""


def _spawn(folder: Path) -> subprocess.Popen:
    environment = os.environ | {
        # The same packages as in this process, regardless of the working directory.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    with (folder / LOG_FILE).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "deepphase.apps.training.process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
        )


def _guard_process(
    process: subprocess.Popen,
    reference: Callable[[], TrainingRun | None],
    alive: Callable[[], bool],
) -> None:
    """End the training when its owner no longer exists, or when it takes too long."""
    deadline = time.monotonic() + 60 * MAX_MINUTES
    while True:
        try:
            process.wait(timeout=_CHECK_EVERY_S)
            return
        except subprocess.TimeoutExpired:
            run = reference()
        if run is None:
            return  # the finalizer has ended the process
        if time.monotonic() > deadline:
            run.ended_for = f"it took longer than {MAX_MINUTES} minutes"
            process.kill()
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


@atexit.register
def _end_all() -> None:
    for run in list(_RUNS):
        if run.running:
            run.cancel()
