"""Files in the folder of a training in a process of its own: its request, status and views."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.config import require_in
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import Health

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
