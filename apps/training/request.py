"""Request of a small training, within bounds that suit a laptop."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from deepphase.atomic_write import atomic_write
from deepphase.config import require_in
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.config import PhaseConfig

# Name of a config -> its description.
OFFERED_CONFIGS = {
    "default": "deepphase's own network",
    "paper": "DeepPhase as its paper describes it",
    "released_v0": "DeepPhase, first released network",
    "released_v1": "DeepPhase, second released network",
    "released_v2": "DeepPhase, newest released network",
    "conv_embedding": "fully connected layers, no phases (for comparison)",
}
# Smallest and largest values.
CHANNELS, WINDOW_S = (1, 12), (0.5, 4.0)
WINDOWS, BATCH_SIZES = (256, 400_000), (16, 512)
_FILE = "request.json"


@dataclass(frozen=True)
class TrainingRequest:
    """Request to train a phase model on clips of a store.

    Parameters
    ----------
    store, group
        The store and the name of its skeleton group.
    clips
        Names of the clips to train on; empty for all.
    config_name
        Name of a config, one of `OFFERED_CONFIGS`.
    channels, window_s
        Number of phase channels, and length of a window in seconds.
    windows, batch_size, seed
        Total number of training windows, number of windows in a batch, and random seed.

    Raises
    ------
    ParameterError
        If a value is out of bounds.
    """

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
        with atomic_write(folder / _FILE) as file:
            file.write(json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, folder: Path) -> TrainingRequest:
        """Read a request that `save` wrote. CheckpointError if it is missing or damaged."""
        try:
            given = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            return cls(**{**given, "clips": tuple(given["clips"])})
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise CheckpointError(
                f"there is no readable request of a training: {error}", path=folder
            ) from None
