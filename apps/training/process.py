"""The process of one training: reads what is asked for, and tells how far it is.

`python -m apps.training.process FOLDER` ends when its standard input does: nobody is left to
look at the training then.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from apps.training.request import TrainingRequest
from apps.training.status import (
    FAILED,
    FINISHED,
    RUNNING,
    Epoch,
    TrainingStatus,
    save_curve_points,
    save_view,
)
from deepphase.errors import DeepPhaseError

MODEL_FILE, LOG_FILE = "phases.model", "log.txt"
# Points of a view of the manifold, and held-out frames that each epoch is measured on.
_POINTS, _MEASURED = 800, 360
# Seconds between two words on how far it is.
_SAID_EVERY_S = 0.4
# Lower than that of whatever else this machine does.
_NICENESS = 3


@dataclass
class Reporter:
    """Writes the status of a training as it goes on."""

    folder: Path
    status: TrainingStatus = field(default_factory=TrainingStatus)
    began: float = field(default_factory=time.monotonic)
    _said: float = -math.inf

    def tell(self, **changes: object) -> None:
        """Change the status and write it."""
        seconds = time.monotonic() - self.began
        self.status = replace(self.status, seconds=seconds, **changes)  # type: ignore[arg-type]
        self.status.save(self.folder)

    def progress(self, what: str, done: int, of: int, words: str) -> None:
        """A `Progress`."""
        if what == self.status.what and time.monotonic() < self._said + _SAID_EVERY_S:
            return
        self._said = time.monotonic()
        self.tell(state=RUNNING, what=what, done=done, of=of, words=words)


def train(folder: Path) -> None:
    """Do what FOLDER/request.json asks for; status, views and the model appear beside it.

    Raises
    ------
    DeepPhaseError
        As `open_store` and `train_phase` do.
    """
    reporter = Reporter(folder)
    reporter.tell(state=RUNNING, what="getting ready")
    from deepphase.corpus.store import open_store
    from deepphase.phase.training.train import train_phase

    request = TrainingRequest.load(folder)
    store = open_store(request.store, request.group, verify=False)
    if request.clips:
        store = store.selected(request.clips)
    model = train_phase(
        store,
        request.config(),
        folder=folder / "work",
        progress=reporter.progress,
        watch=_Watch(folder, reporter),
        accelerator="auto",
        devices=1,
    )
    if model is not None:
        model.save(folder / MODEL_FILE)
        from deepphase.phase.training.resume import discard

        discard(folder / "work")
        reporter.tell(state=FINISHED, what="finished", words="")


@dataclass
class _Watch:
    """Measures what it is shown, and keeps a view of its manifold."""

    folder: Path
    reporter: Reporter

    def __call__(self, view: object) -> None:
        from deepphase.phase.manifold import ManifoldProjection
        from deepphase.phase.measuring import measured_health
        from deepphase.phase.model import encode_windows
        from deepphase.phase.training.watching import TrainingView

        assert isinstance(view, TrainingView)
        values, split, status = view.corpus.values, view.split, self.reporter.status
        centres = split.train
        chosen = centres[np.unique(np.linspace(0, len(centres) - 1, _POINTS).round().astype(int))]
        if not status.epochs:
            clips = np.searchsorted(view.corpus.stops, chosen, side="right")
            seconds = (chosen - view.corpus.starts[clips]) / view.model.fps
            save_curve_points(self.folder, clips, seconds)
        half = view.model.window // 2
        manifold = encode_windows(view.model.network, values, chosen - half).manifold()
        save_view(self.folder, len(status.epochs), ManifoldProjection.fit(manifold)(manifold))
        ranges = _some(split.held_out_ranges, view.model.window)
        epoch = Epoch(
            view.epoch,
            view.windows,
            view.loss,
            view.explained if math.isfinite(view.explained) else 0.0,
            measured_health(view.model, values, ranges),
        )
        self.reporter.tell(
            what="training",
            done=view.windows,
            of=view.of,
            epochs=(*status.epochs, epoch),
            training_windows=len(split.train),
        )


def _some(ranges: np.ndarray, window: int) -> np.ndarray:
    """Stretches of held-out frames, cut so that few frames are measured each time."""
    long = ranges[ranges[:, 1] - ranges[:, 0] >= window]
    each = max(_MEASURED // max(len(long), 1), 60) + window
    cut = np.stack([long[:, 0], np.minimum(long[:, 1], long[:, 0] + each)], 1)
    return cut[: max(_MEASURED // 60, 1)]


def main(folder: Path) -> int:
    """Train, and tell what went wrong where it did; the exit status."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    reporter = Reporter(folder)
    try:
        import torch

        # One processor at least is left to who looks on.
        torch.set_num_threads(max(1, min(torch.get_num_threads(), (os.cpu_count() or 2) - 1)))
        train(folder)
    except DeepPhaseError as error:
        _report_failure(reporter, error.fact, error.hint)
        return 2
    except Exception as error:
        import traceback

        traceback.print_exc()
        _report_failure(
            reporter,
            f"it broke off: {type(error).__name__}",
            "train again; if it happens twice, this is a fault of deepphase",
        )
        return 1
    return 0


def _report_failure(reporter: Reporter, fact: str, hint: str) -> None:
    reporter.status = TrainingStatus.load(reporter.folder)
    with suppress(DeepPhaseError):
        reporter.tell(state=FAILED, fact=fact, hint=hint)


def _end_with_input() -> None:
    # Not by sys.stdin, whose lock would be held when the process ends of itself.
    while os.read(0, 1):
        pass
    os._exit(3)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
