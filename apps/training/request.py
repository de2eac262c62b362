"""What a small training is asked to do, within bounds that a laptop bears."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from deepphase.atomic_write import atomic_write
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.config import PhaseConfig

# Recipe -> what it is, in words.
OFFERED_CONFIGS = {
    "default": "our own network",
    "paper": "DeepPhase as its paper describes it",
    "released_v0": "DeepPhase, first released network",
    "released_v1": "DeepPhase, second released network",
    "released_v2": "DeepPhase, newest released network",
    "conv_embedding": "fully connected layers, no phases (for comparison)",
}
# From, up to.
CHANNELS, WINDOW_S = (1, 12), (0.5, 4.0)
WINDOWS, BATCH_SIZES = (256, 400_000), (16, 512)
_FILE = "request.json"


@dataclass(frozen=True)
class TrainingRequest:
    """A training of a phase model on clips of a store file.

    Parameters
    ----------
    store, group
        The store file and its skeleton group.
    clips
        Names of those that are taken; empty for all.
    recipe
        One of `OFFERED_CONFIGS`.
    channels, window_s
        Of the network.
    windows, batch_size, seed
        Of the training: windows shown in all, and of a step.

    Raises
    ------
    ParameterError
        Where a value is out of bounds.
    """

    store: str
    group: str
    clips: tuple[str, ...] = ()
    recipe: str = "default"
    channels: int = 5
    window_s: float = 2.0
    windows: int = 20_000
    batch_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.recipe not in OFFERED_CONFIGS:
            raise ParameterError(
                f"no recipe {self.recipe!r}", hint=f"one of {', '.join(OFFERED_CONFIGS)}"
            )
        for name, value, (low, high) in (
            ("channels", self.channels, CHANNELS),
            ("seconds of a window", self.window_s, WINDOW_S),
            ("windows", self.windows, WINDOWS),
            ("windows of a step", self.batch_size, BATCH_SIZES),
        ):
            if not low <= value <= high:
                raise ParameterError(f"{name} must lie in {low:g} to {high:g}, not {value:g}")

    def config(self) -> PhaseConfig:
        """The recipe with what was asked for."""
        recipe = PhaseConfig.load(self.recipe)
        kernel = recipe.network.kernel_s
        return PhaseConfig.load(
            self.recipe,
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
        """Write it into a training's folder."""
        with atomic_write(folder / _FILE) as file:
            file.write(json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, folder: Path) -> TrainingRequest:
        """What `save` wrote. CheckpointError where it is not there or damaged."""
        try:
            given = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            return cls(**{**given, "clips": tuple(given["clips"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"no training is asked for here: {error}", path=folder) from None
