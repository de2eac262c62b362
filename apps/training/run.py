"""A training as its owner sees it: started, looked at, cancelled."""

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

from apps.training.process import LOG_FILE, MODEL_FILE
from apps.training.request import TrainingRequest
from apps.training.status import FAILED, FINISHED, TrainingStatus
from deepphase.errors import CheckpointError, ParameterError

# Trainings of all sessions together, and minutes that one may take.
MOST_AT_ONCE, MOST_MINUTES = 2, 60
# Seconds between two looks whether the owner is still there.
_LOOK_EVERY_S = 2.0

_UNDER_WAY: weakref.WeakSet[TrainingRun] = weakref.WeakSet()
_GUARD = threading.Lock()


@dataclass(eq=False)
class TrainingRun:
    """One training, its process and its folder.

    Parameters
    ----------
    name
        As its owner calls it.
    folder
        Its own: request, status, views of the manifold, and at the end the model.
    request
        What was asked for.
    process
        Of the training.
    """

    name: str
    folder: Path
    request: TrainingRequest
    process: subprocess.Popen
    ended_for: str = ""
    _began: float = field(default_factory=time.monotonic, repr=False)

    @classmethod
    def start(
        cls,
        name: str,
        request: TrainingRequest,
        folder: Path,
        *,
        alive: Callable[[], bool] = lambda: True,
    ) -> TrainingRun:
        """Begin a training in a folder that does not exist yet.

        Parameters
        ----------
        alive
            Whether whoever wants it is still there; when it is not, the training is cancelled.

        Raises
        ------
        ParameterError
            Where as many as may run are running.
        CheckpointError
            Where the folder cannot be made.
        """
        with _GUARD:
            running = sum(each.running for each in _UNDER_WAY)
            if running >= MOST_AT_ONCE:
                raise ParameterError(
                    f"{running} trainings are running on this machine",
                    hint="wait until one of them has ended, and start again",
                )
            try:
                folder.mkdir(parents=True)
                request.save(folder)
                process = _spawned(folder)
            except OSError as error:
                raise CheckpointError(
                    f"no training can be started: {error.strerror or error}", path=folder
                ) from None
            run = cls(name, folder, request, process)
            _UNDER_WAY.add(run)
        # The thread holds the process and not the run: a run that nobody holds is over.
        gone = weakref.ref(run)
        threading.Thread(
            target=_guard_process, args=(process, gone, alive), daemon=True, name="training"
        ).start()
        weakref.finalize(run, _end, process, folder)
        return run

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        return self.process.poll() is None

    @property
    def model_file(self) -> Path:
        """Where the model is, once it has finished."""
        return self.folder / MODEL_FILE

    def status(self) -> TrainingStatus:
        """How far it is; of a process that ended without a word, that it failed."""
        running = self.running
        status = TrainingStatus.load(self.folder)
        if running:
            return replace(status, seconds=time.monotonic() - self._began)
        if not status.under_way:
            return status
        code = self.process.returncode
        fact = self.ended_for or f"its process ended without a word (status {code})"
        hint = "" if self.ended_for else "the memory may not have sufficed: train with fewer clips"
        return replace(status, state=FAILED, fact=fact, hint=hint)

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return not self.running and self.status().state == FINISHED

    def cancel(self) -> None:
        """End it, and leave nothing behind."""
        _end(self.process, self.folder)

    def log(self) -> str:
        """What its process said, its last part."""
        try:
            return (self.folder / LOG_FILE).read_text(encoding="utf-8", errors="replace")[-4000:]
        except OSError:
            return ""


def _spawned(folder: Path) -> subprocess.Popen:
    environment = os.environ | {
        # The same packages as here, whatever the working directory holds.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    with (folder / LOG_FILE).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "apps.training.process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
        )


def _guard_process(
    process: subprocess.Popen, gone: Callable[[], TrainingRun | None], alive: Callable[[], bool]
) -> None:
    """Ends a training whose owner is gone, or that takes too long."""
    last = time.monotonic() + 60 * MOST_MINUTES
    while True:
        try:
            process.wait(timeout=_LOOK_EVERY_S)
            return
        except subprocess.TimeoutExpired:
            pass
        if gone() is None:
            return  # its finalizer has ended it
        if time.monotonic() > last:
            run = gone()
            if run is not None:
                run.ended_for = f"it took longer than {MOST_MINUTES} minutes"
            process.kill()
        elif not alive():
            run = gone()
            if run is not None:
                run.cancel()
            return


def _end(process: subprocess.Popen, folder: Path) -> None:
    """All that a training writes lies in its folder, which goes with it."""
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
    shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def _end_all() -> None:
    for run in list(_UNDER_WAY):
        if run.running:
            run.cancel()
