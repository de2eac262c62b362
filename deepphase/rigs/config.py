"""Config of inverse rig functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.arrays import brief_repr
from deepphase.config import SectionedConfig, require_in


@brief_repr
@dataclass(frozen=True)
class RigTraining:
    """Gaussian process and network of a body's rig."""

    frames: int = 20_000  # poses that are taken from the clips, evenly; 0 takes all
    examples: int = 750  # poses that the process keeps, drawn by chance
    hidden: int = 1024  # units of the network
    # Samples around poses, along their principal components, that the network learns beside them
    samples: int = 60_000
    epochs: float = 12.0  # passes over poses and samples
    learning_rate: float = 1e-3  # the highest one
    seed: int = 0  # of the split, the samples, the initial weights and the order

    def __post_init__(self) -> None:
        require_in(
            self, frames=(0, 10**9), examples=(2, 5000), hidden=(1, 16_384), samples=(0, 5_000_000),
            epochs=(1e-3, 10_000), learning_rate=(1e-9, 1), seed=(0, 2**31 - 1),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class RigConfig(SectionedConfig):
    """Config of `deepphase train rig`."""

    kind: ClassVar[str] = "rig"

    training: RigTraining = field(default_factory=RigTraining)
