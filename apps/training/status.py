"""How far a training is: one small file that is replaced as it goes on."""

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
# What it may be: the first two are under way, the others have ended.
STARTING, RUNNING, FINISHED, FAILED = "starting", "running", "finished", "failed"


@dataclass(frozen=True)
class Epoch:
    """A training as it stood once.

    Parameters
    ----------
    epoch
        Passes over all training windows so far.
    windows
        Windows shown so far.
    loss
        Mean squared error, (m/s)^2, over the windows since the one before.
    explained
        Explained variance of held-out windows.
    health
        Measures of some held-out frames; None for a network that has none.
    """

    epoch: float
    windows: int
    loss: float
    explained: float
    health: Health | None = None


@dataclass(frozen=True)
class TrainingStatus:
    """What is known of a training.

    Parameters
    ----------
    state
        starting, running, finished or failed.
    what, done, of, words
        What is done now, how much of how much, and a word on how it goes.
    training_windows
        Windows of a whole pass; 0 before the clips were read.
    epochs
        In order.
    seconds
        Since the start.
    fact, hint
        Why it failed, and the way out.
    """

    state: str = STARTING
    what: str = "getting ready"
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
        """Whether it has neither finished nor failed."""
        return self.state in (STARTING, RUNNING)

    def save(self, folder: Path) -> None:
        """Write it into a training's folder, whole or not at all."""
        with atomic_write(folder / _FILE) as file:
            file.write(json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, folder: Path) -> TrainingStatus:
        """What was written last; the beginning where nothing was."""
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
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"unreadable: {error}", path=folder / _FILE) from None


def save_view(folder: Path, index: int, points: Array) -> None:
    """Keep the manifold (points, 3) of an epoch."""
    with atomic_write(_view_file(folder, index)) as file:
        np.save(file, points.astype(np.float32))


def load_views(folder: Path, count: int) -> list[Array]:
    """The manifolds of the first `count` epochs, each (points, 3)."""
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
    """Keep which clip (points,) and which second (points,) the points of all views are."""
    with atomic_write(folder / "points.npz") as file:
        np.savez(file, clips=clips.astype(np.int64), time=time.astype(np.float32))


def load_curve_points(folder: Path) -> tuple[Array, Array]:
    """Clip index and seconds of each point, as `save_curve_points` wrote them."""
    try:
        with np.load(folder / "points.npz", allow_pickle=False) as file:
            return file["clips"], file["time"]
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"unreadable: {error}", path=folder) from None


def _view_file(folder: Path, index: int) -> Path:
    return folder / f"view_{index:03d}.npy"
