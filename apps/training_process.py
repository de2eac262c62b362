"""Process of one training: reads its request and writes its status.

`python -m deepphase.apps.training_process FOLDER` ends as soon as its standard input is closed,
which means that the process that started it has ended.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import deepphase as dp
from deepphase.apps import training_run
from deepphase.errors import DeepPhaseError
from deepphase.files import atomic_write

if TYPE_CHECKING:
    from deepphase.phase.training.train import TrainingView

# Number of points of a manifold view, and of held-out frames that are measured after each epoch.
_VIEW_POINTS, _MEASURED_FRAMES = 800, 360


class _Reporter:
    """Writer of the status of a training, and of the model and a view after each epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.status = folder, training_run.TrainingStatus()
        self._started, self._updated = time.monotonic(), -math.inf

    def update(self, **changes: object) -> None:
        """Change fields of the status and write it."""
        seconds = time.monotonic() - self._started
        self.status = replace(self.status, seconds=seconds, **changes)  # type: ignore[arg-type]
        self.status.save(self.folder)

    def progress(self, what: str, done: int, of: int, words: str) -> None:
        """Update the status; passed to functions as their `progress`."""
        if what != self.status.what or time.monotonic() >= self._updated + 0.4:
            self._updated = time.monotonic()
            self.update(state=training_run.RUNNING, what=what, done=done, of=of, words=words)

    def epoch(self, view: TrainingView) -> None:
        """Measure and save the model of an epoch and a view of its manifold."""
        from deepphase.phase.encoding import encode_windows
        from deepphase.phase.health import measured_health

        model, values, split = view.model, view.corpus.values, view.split
        epochs, window = self.status.epochs, model.window
        spread = np.linspace(0, len(split.train_windows) - 1, _VIEW_POINTS)
        chosen = split.train_windows[np.unique(spread.round().astype(int))]
        if not epochs:
            clips = np.searchsorted(view.corpus.stops, chosen, side="right")
            seconds = (chosen - view.corpus.starts[clips]) / model.fps
            with atomic_write(self.folder / training_run.POINTS_FILE) as file:
                np.savez(file, clips=clips.astype(np.int64), time=seconds.astype(np.float32))
        manifold = encode_windows(model.network, values, chosen - window // 2).manifold()
        projection = dp.phase.ManifoldProjection.fit(manifold)
        with atomic_write(training_run.view_file(self.folder, len(epochs))) as file:
            np.save(file, projection(manifold).astype(np.float32))
        # Held-out ranges are shortened, so that few frames are measured after each epoch.
        long = split.held_out_ranges[np.diff(split.held_out_ranges).ravel() >= window]
        most = max(_MEASURED_FRAMES // max(len(long), 1), 60) + window
        long[:, 1] = np.minimum(long[:, 1], long[:, 0] + most)
        health = measured_health(model, values, long[: max(_MEASURED_FRAMES // 60, 1)])
        replace(model, health=health, projection=projection).save(
            self.folder / training_run.LATEST_FILE
        )
        explained = view.explained if math.isfinite(view.explained) else 0.0
        self.update(
            what="training",
            done=view.windows,
            of=view.of,
            epochs=(
                *epochs,
                training_run.Epoch(view.epoch, view.windows, view.loss, explained, health),
            ),
            training_windows=len(split.train_windows),
        )


def _train(folder: Path, reporter: _Reporter) -> None:
    """Train as FOLDER/request.json states; status, views and the model are written beside it."""
    import torch

    from deepphase.training.folder import finish

    # At least one core is left for the dashboard.
    torch.set_num_threads(max(1, min(torch.get_num_threads(), (os.cpu_count() or 2) - 1)))
    request = training_run.TrainingRequest.load(folder)
    store = dp.corpus.open_store(request.store, request.group, verify=False)
    model = dp.train_phase(
        store.selected(request.clips) if request.clips else store,
        request.config(),
        folder=folder / "work",
        progress=reporter.progress,
        watch=reporter.epoch,
        accelerator="auto",
        devices=1,
    )
    assert model is not None, "one process trains"
    model.save(folder / training_run.MODEL_FILE)
    (folder / training_run.LATEST_FILE).unlink(missing_ok=True)
    finish(folder / "work", folder / training_run.MODEL_FILE)
    reporter.update(state=training_run.FINISHED, what="finished", words="")


def _main(folder: Path) -> int:
    """Train, and write the reason of a failure to the status; returns the exit status."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(3)
    reporter = _Reporter(folder)
    try:
        reporter.update(state=training_run.RUNNING, what="preparing")
        _train(folder, reporter)
    except DeepPhaseError as error:
        status, fact, hint = 2, error.fact, error.hint
    except Exception as error:
        import traceback

        traceback.print_exc()
        status, fact = 1, f"the training failed: {type(error).__name__}"
        hint = "train again; if it happens twice, it is a bug in deepphase"
    else:
        return 0
    with suppress(DeepPhaseError):
        reporter.update(state=training_run.FAILED, fact=fact, hint=hint)
    return status


def _end_with_input() -> None:
    # os.read, since a thread that waits in sys.stdin holds its lock when the process exits.
    while os.read(0, 1):
        pass
    os._exit(3)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
