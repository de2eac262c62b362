"""Configuration of learned motion matching: the content of configs/learned/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require


@dataclass(frozen=True)
class LearnedNetwork:
    """Sizes of the networks."""

    latents: int = 32  # Latent values of a state, beside its features
    width: int = 256  # Hidden units of a layer of the decompressor, which every frame needs
    # Hidden units of a layer of the compressor, which only the training needs.
    compressor_width: int = 256

    def __post_init__(self) -> None:
        require(1 <= self.latents <= 1024, f"latents must lie in 1 to 1024, not {self.latents}")
        for name in ("width", "compressor_width"):
            value = getattr(self, name)
            require(1 <= value <= 8192, f"{name} must lie in 1 to 8192, not {value}")


@dataclass(frozen=True)
class LearnedTraining:
    """Training of compressor and decompressor."""

    # Total number of windows of motion to train on: the frames from one kept state to the next.
    windows: int = 600_000
    batch_size: int = 32  # Windows in a batch, on each device
    # Seconds from one kept state to the next. The file grows as this shrinks.
    spacing_s: float = 0.1
    learning_rate: float = 1e-3  # Highest learning rate of AdamW; it falls to a hundredth
    weight_decay: float = 1e-3  # Weight decay of AdamW
    seed: int = 0  # Random seed of the initial weights and the order of the windows

    def __post_init__(self) -> None:
        require(self.windows >= 1, f"windows must be positive, not {self.windows}")
        require(self.batch_size >= 1, f"batch_size must be positive, not {self.batch_size}")
        require(0 < self.spacing_s <= 1, f"spacing_s must lie in 0 to 1 s, not {self.spacing_s}")
        require(
            0 < self.learning_rate < 1,
            f"learning_rate must lie between 0 and 1, not {self.learning_rate}",
        )
        require(
            0 <= self.weight_decay < 1,
            f"weight_decay must be at least 0 and below 1, not {self.weight_decay}",
        )
        require(0 <= self.seed < 2**31, f"seed must lie in 0 to 2147483647, not {self.seed}")


@dataclass(frozen=True)
class LearnedConfig(SectionedConfig):
    """Config of `deepphase train matching`: the networks and their training."""

    kind: ClassVar[str] = "learned"

    network: LearnedNetwork = field(default_factory=LearnedNetwork)
    training: LearnedTraining = field(default_factory=LearnedTraining)
