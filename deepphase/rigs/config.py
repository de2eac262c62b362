"""Config of inverse rig functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require
from deepphase.short_repr import brief_repr

_LIMITS = {
    "frames": (0, 10**9),
    "examples": (2, 5000),
    "hidden": (1, 16_384),
    "samples": (0, 5_000_000),
    "epochs": (1e-3, 10_000),
    "learning_rate": (1e-9, 1),
    "seed": (0, 2**31 - 1),
}


@brief_repr
@dataclass(frozen=True)
class RigTraining:
    """Gaussian process and network of a body's rig.

    Parameters
    ----------
    frames
        Poses that are taken from the clips, evenly; 0 takes all.
    examples
        Poses that the process keeps, drawn by chance.
    hidden
        Units of the network.
    samples
        Number of samples around poses, along their principal components, that the network learns
        beside them.
    epochs
        Passes over poses and samples.
    learning_rate
        Highest learning rate.
    seed
        Random seed for the split, the samples, the initial weights and the order.
    """

    frames: int = 20_000
    examples: int = 750
    hidden: int = 1024
    samples: int = 60_000
    epochs: float = 12.0
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            require(low <= value <= high, f"{name} must lie in {low} to {high}, not {value}")


@dataclass(frozen=True, repr=False)
class RigConfig(SectionedConfig):
    """Config of `deepphase train rig`."""

    kind: ClassVar[str] = "rig"

    training: RigTraining = field(default_factory=RigTraining)
