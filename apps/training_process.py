"""Trainings in processes of their own: started, watched, stopped, and the files between them.

`python -m deepphase.apps.training_process FOLDER` trains as the files of the folder say. It ends as
soon as its standard input is closed, which means that the process that started it has ended.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.config import require_in
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import Health

if TYPE_CHECKING:
    from deepphase.phase.training.train import TrainingView


# Name of a config -> its description.
OFFERED_CONFIGS = {
    "default": "deepphase's own network",
    "paper": "DeepPhase as its paper describes it",
    "released_v0": "DeepPhase, first released network",
    "released_v1": "DeepPhase, second released network",
    "released_v2": "DeepPhase, newest released network",
    "conv_embedding": "fully connected layers, no phases (for comparison)",
}
# Smallest and largest values, which suit a laptop.
CHANNELS, WINDOW_S = (1, 12), (0.5, 4.0)
WINDOWS, BATCH_SIZES = (256, 400_000), (16, 512)
# States of a training; in the first two it has not ended. A stopped one has the model of its last
# epoch.
STARTING, RUNNING, FINISHED, FAILED = "starting", "running", "finished", "failed"
STOPPED = "stopped"
_REQUEST, _STATUS, _POINTS = "request.json", "status.json", "points.npz"
# What damaged files raise where they are read.
_DAMAGE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True)
class TrainingRequest:
    """Request to train a phase model on clips of a store; ParameterError beyond the bounds."""

    store: str
    group: str
    clips: tuple[str, ...] = ()
    config_name: str = "default"
    channels: int = 5
    window_s: float = 2.0
    windows: int = 20_000
    batch_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.config_name not in OFFERED_CONFIGS:
            raise ParameterError(
                f"there is no config {self.config_name!r}",
                hint=f"one of {', '.join(OFFERED_CONFIGS)}",
            )
        require_in(
            self, channels=CHANNELS, window_s=WINDOW_S, windows=WINDOWS, batch_size=BATCH_SIZES
        )

    def config(self) -> PhaseConfig:
        """The config with the values of the request."""
        kernel = PhaseConfig.load(self.config_name).network.kernel_s
        return PhaseConfig.load(
            self.config_name,
            **{
                "network.channels": self.channels,
                "network.window_s": self.window_s,
                "network.kernel_s": None if kernel is None else min(kernel, self.window_s),
                "training.windows": self.windows,
                "training.batch_size": self.batch_size,
                "training.seed": self.seed,
            },
        )

    def save(self, folder: Path) -> None:
        """Write the request into the folder of a training."""
        _write_json(folder / _REQUEST, self)

    @classmethod
    def load(cls, folder: Path) -> TrainingRequest:
        """Read a request that `save` wrote. CheckpointError if it is missing or damaged."""
        try:
            content = json.loads((folder / _REQUEST).read_text(encoding="utf-8"))
            return cls(**{**content, "clips": tuple(content["clips"])})
        except _DAMAGE as error:
            raise _unreadable(folder / _REQUEST, error) from None


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
        _write_json(folder / _STATUS, self)

    @classmethod
    def load(cls, folder: Path) -> TrainingStatus:
        """Read the last status; the initial status if none was written."""
        try:
            content = json.loads((folder / _STATUS).read_text(encoding="utf-8"))
            epochs = []
            for epoch in content.pop("epochs"):
                health = epoch["health"]
                measured = None if health is None else Health.from_mapping(health)
                epochs.append(Epoch(**{**epoch, "health": measured}))
            return cls(**content, epochs=tuple(epochs))
        except FileNotFoundError:
            return cls()
        except _DAMAGE as error:
            raise _unreadable(folder / _STATUS, error) from None


def save_view(folder: Path, index: int, points: Array) -> None:
    """Save the projected manifold (points, 3) of an epoch."""
    with atomic_write(_view_file(folder, index)) as file:
        np.save(file, points.astype(np.float32))


def load_views(folder: Path, count: int) -> list[Array]:
    """Projected manifolds of the first `count` epochs, each (points, 3)."""
    try:
        return [np.load(_view_file(folder, index), allow_pickle=False) for index in range(count)]
    except _DAMAGE as error:
        raise _unreadable(folder, error) from None


def save_curve_points(folder: Path, clips: Array, time: Array) -> None:
    """Save clip index (points,) and time in seconds (points,) of the points of all views."""
    with atomic_write(folder / _POINTS) as file:
        np.savez(file, clips=clips.astype(np.int64), time=time.astype(np.float32))


def load_curve_points(folder: Path) -> tuple[Array, Array]:
    """Clip index and time in seconds of each point, as `save_curve_points` wrote them."""
    try:
        with np.load(folder / _POINTS, allow_pickle=False) as file:
            return file["clips"], file["time"]
    except _DAMAGE as error:
        raise _unreadable(folder / _POINTS, error) from None


def _view_file(folder: Path, index: int) -> Path:
    return folder / f"view_{index:03d}.npy"


def _write_json(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(asdict(content)).encode())


def _unreadable(path: Path, error: BaseException) -> CheckpointError:
    return CheckpointError(f"a file of this training cannot be read: {error}", path=path)


MODEL_FILE, LOG_FILE = "phases.model", "log.txt"
# The model of the last epoch, while the training runs.
LATEST_FILE = "latest.model"
# Number of points of a manifold view, and of held-out frames that are measured after each epoch.
_VIEW_POINTS, _MEASURED_FRAMES = 800, 360
# Minimum time between two updates of the status, in seconds.
_UPDATE_EVERY_S = 0.4
# Added to the niceness, so that the training yields to other processes.
_NICENESS = 3


class Reporter:
    """Writer of the status of a training, and of the model and a view after each epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.status = folder, TrainingStatus()
        self._started, self._updated = time.monotonic(), -math.inf

    def update(self, **changes: object) -> None:
        """Change fields of the status and write it."""
        seconds = time.monotonic() - self._started
        self.status = replace(self.status, seconds=seconds, **changes)  # type: ignore[arg-type]
        self.status.save(self.folder)

    def progress(self, what: str, done: int, of: int, words: str) -> None:
        """Update the status; passed to functions as their `progress`."""
        if what != self.status.what or time.monotonic() >= self._updated + _UPDATE_EVERY_S:
            self._updated = time.monotonic()
            self.update(state=RUNNING, what=what, done=done, of=of, words=words)

    def fail(self, fact: str, hint: str) -> None:
        """Write why the training has failed."""
        with suppress(DeepPhaseError):
            self.status = TrainingStatus.load(self.folder)
            self.update(state=FAILED, fact=fact, hint=hint)

    def epoch(self, view: TrainingView) -> None:
        """Measure and save the model of an epoch and a view of its manifold."""
        from deepphase.phase.encode import encode_windows
        from deepphase.phase.health import measured_health
        from deepphase.phase.manifold import ManifoldProjection

        values, split, epochs = view.corpus.values, view.split, self.status.epochs
        spread = np.linspace(0, len(split.train_windows) - 1, _VIEW_POINTS)
        chosen = split.train_windows[np.unique(spread.round().astype(int))]
        if not epochs:
            clips = np.searchsorted(view.corpus.stops, chosen, side="right")
            seconds = (chosen - view.corpus.starts[clips]) / view.model.fps
            save_curve_points(self.folder, clips, seconds)
        half = view.model.window // 2
        manifold = encode_windows(view.model.network, values, chosen - half).manifold()
        projection = ManifoldProjection.fit(manifold)
        save_view(self.folder, len(epochs), projection(manifold))
        ranges = _short_ranges(split.held_out_ranges, view.model.window)
        health = measured_health(view.model, values, ranges)
        explained = view.explained if math.isfinite(view.explained) else 0.0
        epoch = Epoch(view.epoch, view.windows, view.loss, explained, health)
        replace(view.model, health=health, projection=projection).save(self.folder / LATEST_FILE)
        self.update(
            what="training",
            done=view.windows,
            of=view.of,
            epochs=(*epochs, epoch),
            training_windows=len(split.train_windows),
        )


def _short_ranges(ranges: np.ndarray, window: int) -> np.ndarray:
    """Ranges of held-out frames, shortened so that few frames are measured after each epoch."""
    long = ranges[ranges[:, 1] - ranges[:, 0] >= window]
    each = max(_MEASURED_FRAMES // max(len(long), 1), 60) + window
    cut = np.stack([long[:, 0], np.minimum(long[:, 1], long[:, 0] + each)], 1)
    return cut[: max(_MEASURED_FRAMES // 60, 1)]


def train(folder: Path, reporter: Reporter) -> None:
    """Train as FOLDER/request.json states; status, views and the model are written beside it."""
    from deepphase.corpus.store import open_store
    from deepphase.phase.training.train import train_phase
    from deepphase.training.checkpoint import finish

    request = TrainingRequest.load(folder)
    store = open_store(request.store, request.group, verify=False)
    model = train_phase(
        store.selected(request.clips) if request.clips else store,
        request.config(),
        folder=folder / "work",
        progress=reporter.progress,
        watch=reporter.epoch,
        accelerator="auto",
        devices=1,
    )
    assert model is not None, "one process trains"
    model.save(folder / MODEL_FILE)
    (folder / LATEST_FILE).unlink(missing_ok=True)
    finish(folder / "work", folder / MODEL_FILE)
    reporter.update(state=FINISHED, what="finished", words="")


def main(folder: Path) -> int:
    """Train, and write the reason of a failure to the status; returns the exit status."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    reporter = Reporter(folder)
    try:
        reporter.update(state=RUNNING, what="preparing")
        import torch

        # At least one core is left for the dashboard.
        torch.set_num_threads(max(1, min(torch.get_num_threads(), (os.cpu_count() or 2) - 1)))
        train(folder, reporter)
    except DeepPhaseError as error:
        reporter.fail(error.fact, error.hint)
        return 2
    except Exception as error:
        import traceback

        traceback.print_exc()
        hint = "train again; if it happens twice, it is a bug in deepphase"
        reporter.fail(f"the training failed: {type(error).__name__}", hint)
        return 1
    return 0


def _end_with_input() -> None:
    # os.read, since a thread that waits in sys.stdin holds its lock when the process exits.
    while os.read(0, 1):
        pass
    os._exit(3)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))


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
            [sys.executable, "-P", "-m", "deepphase.apps.training_process", str(folder)],
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
