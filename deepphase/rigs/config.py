"""Config of inverse rig functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require
from deepphase.short_repr import brief_repr


@brief_repr
@dataclass(frozen=True)
class ProcessOptions:
    """Gaussian process; `examples` is the number of poses that it keeps, drawn by chance."""

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
    learning_rate
        Highest learning rate.
    seed
        Random seed for the split, the samples, the initial weights and the order.
    """

    frames: int = 20_000
    epochs: float = 12.0
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.frames >= 0, f"frames must not be negative, not {self.frames}")
        require(0 < self.epochs <= 10_000, f"epochs must be positive, not {self.epochs}")
        rate = self.learning_rate
        require(0 < rate < 1, f"learning_rate must lie between 0 and 1, not {rate}")
        require(0 <= self.seed < 2**31, f"seed must lie in 0 to 2147483647, not {self.seed}")


@dataclass(frozen=True, repr=False)
class RigConfig(SectionedConfig):
    """Config of `deepphase train rig`."""

    kind: ClassVar[str] = "rig"

    process: ProcessOptions = field(default_factory=ProcessOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    training: RigTraining = field(default_factory=RigTraining)
