"""Status of a training: a small file that is replaced while the training runs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import CheckpointError
from deepphase.phase.health import Health

_FILE = "status.json"
# States of a training; in the first two it has not ended.
STARTING, RUNNING, FINISHED, FAILED = "starting", "running", "finished", "failed"
# Ended before its time, with the model of its last epoch.
STOPPED = "stopped"


@dataclass(frozen=True)
class Epoch:
    """Measurements of a training at the end of an epoch.

    Parameters
    ----------
    epoch
        Number of passes over all training windows so far.
    windows
        Number of windows trained on so far.
    loss
        Mean squared error in (m/s)^2 over the windows since the previous epoch.
    explained
        Explained variance of held-out windows.
    health
        Health measured on some held-out frames; None for a network without phases.
    """

    epoch: float
    windows: int
    loss: float
    explained: float
    health: Health | None = None


@dataclass(frozen=True)
class TrainingStatus:
    """Status of a training.

    Parameters
    ----------
    state
        starting, running, finished, stopped or failed.
    what, done, of, words
        Name of the current task, completed and total amount of it, and a remark.
    training_windows
        Number of windows in one pass; 0 until the clips have been read.
    seconds
        Time since the start.
    epochs
        Measurements of the epochs so far, in order.
    fact, hint
        Reason of a failure, and what to do about it.
    """

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
        with atomic_write(folder / _FILE) as file:
            file.write(json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, folder: Path) -> TrainingStatus:
        """Read the last status; the initial status if none was written."""
        try:
            given = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            epochs = []
            for each in given.pop("epochs"):
                health = each["health"]
                measured = None if health is None else Health.from_mapping(health)
                epochs.append(Epoch(**{**each, "health": measured}))
            return cls(**given, epochs=tuple(epochs))
        except FileNotFoundError:
            return cls()
        except (
            OSError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
        ) as error:
            raise CheckpointError(f"the file is unreadable: {error}", path=folder / _FILE) from None


def save_view(folder: Path, index: int, points: Array) -> None:
    """Save the projected manifold (points, 3) of an epoch."""
    with atomic_write(_view_file(folder, index)) as file:
        np.save(file, points.astype(np.float32))


def load_views(folder: Path, count: int) -> list[Array]:
    """Projected manifolds of the first `count` epochs, each (points, 3)."""
    views = []
    for index in range(count):
        try:
            views.append(np.load(_view_file(folder, index), allow_pickle=False))
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"a manifold of this training cannot be read: {error}", path=folder
            ) from None
    return views


def save_curve_points(folder: Path, clips: Array, time: Array) -> None:
    """Save clip index (points,) and time in seconds (points,) of the points of all views."""
    with atomic_write(folder / "points.npz") as file:
        np.savez(file, clips=clips.astype(np.int64), time=time.astype(np.float32))


def load_curve_points(folder: Path) -> tuple[Array, Array]:
    """Clip index and time in seconds of each point, as `save_curve_points` wrote them."""
    try:
        with np.load(folder / "points.npz", allow_pickle=False) as file:
            return file["clips"], file["time"]
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"the file is unreadable: {error}", path=folder) from None


def _view_file(folder: Path, index: int) -> Path:
    return folder / f"view_{index:03d}.npy"
