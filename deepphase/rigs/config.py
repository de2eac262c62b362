"""Config of inverse rig functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require
from deepphase.short_repr import brief_repr


@brief_repr
@dataclass(frozen=True)
class ProcessOptions:
    """Gaussian process.

    Parameters
    ----------
    examples
        Poses that it keeps, drawn by chance.
    """

    examples: int = 750

    def __post_init__(self) -> None:
        require(2 <= self.examples <= 5000, f"examples must lie in 2 to 5000, not {self.examples}")


@brief_repr
@dataclass(frozen=True)
class NetworkOptions:
    """Network of a body's rig, and the samples that it learns beside the poses.

    Parameters
    ----------
    hidden
        Units.
    samples
        Number of samples around poses, along their principal components.
    noise
        Deviation of samples from their pose, in deviations of the data.
    """

    hidden: int = 1024
    samples: int = 60_000
    noise: float = 0.5

    def __post_init__(self) -> None:
        require(1 <= self.hidden <= 16_384, f"hidden must lie in 1 to 16384, not {self.hidden}")
        require(
            0 <= self.samples <= 5_000_000, f"samples must lie in 0 to 5000000, not {self.samples}"
        )
        require(0 <= self.noise <= 10, f"noise must lie in 0 to 10, not {self.noise}")


@brief_repr
@dataclass(frozen=True)
class RigTraining:
    """Training.

    Parameters
    ----------
    frames
        Poses that are taken from the clips, evenly; 0 takes all.
    epochs
        Passes over poses and samples.
    batch_size
        Poses in a step.
    learning_rate
        Highest learning rate.
    final_rate
        Last learning rate as a share of the highest.
    sparsity
        Weight of the mean absolute weight in the loss.
    held_out
        Share of the clips that is measured and not learnt.
    seed
        Random seed for the split, the samples, the initial weights and the order.
    """

    frames: int = 20_000
    epochs: float = 12.0
    batch_size: int = 64
    learning_rate: float = 1e-3
    final_rate: float = 0.02
    sparsity: float = 0.01
    held_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.frames >= 0, f"frames must not be negative, not {self.frames}")
        require(0 < self.epochs <= 10_000, f"epochs must be positive, not {self.epochs}")
        require(self.batch_size >= 1, f"batch_size must be positive, not {self.batch_size}")
        require(
            0 < self.learning_rate < 1,
            f"learning_rate must lie between 0 and 1, not {self.learning_rate}",
        )
        for name in ("final_rate", "sparsity"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} must lie in 0 to 1, not {value}")
        require(0 < self.held_out < 0.9, f"held_out must lie in 0 to 0.9, not {self.held_out}")
        require(0 <= self.seed < 2**31, f"seed must lie in 0 to 2147483647, not {self.seed}")


@dataclass(frozen=True, repr=False)
class RigConfig(SectionedConfig):
    """Config of `deepphase train rig`."""

    kind: ClassVar[str] = "rig"

    process: ProcessOptions = field(default_factory=ProcessOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    training: RigTraining = field(default_factory=RigTraining)
