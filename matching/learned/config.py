"""Configuration of learned motion matching: the content of configs/learned/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require, require_in


@dataclass(frozen=True)
class LearnedNetwork:
    """Sizes of the networks."""

    latents: int = 32  # Latent values of a state, beside its features
    width: int = 256  # Hidden units of a layer of the decompressor, which every frame needs
    # Hidden units of a layer of the compressor, which only the training needs.
    compressor_width: int = 256

    def __post_init__(self) -> None:
        require_in(self, latents=(1, 1024), width=(1, 8192), compressor_width=(1, 8192))


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
        for name in ("spacing_s", "learning_rate"):
            require(getattr(self, name) > 0, f"{name} must be above 0, not {getattr(self, name)}")
        bounds = {"spacing_s": (0, 1), "learning_rate": (0, 1), "weight_decay": (0, 1)}
        require_in(self, **bounds, seed=(0, 2**31 - 1))


@dataclass(frozen=True)
class LearnedConfig(SectionedConfig):
    """Config of `deepphase train matching`: the networks and their training."""

    kind: ClassVar[str] = "learned"

    network: LearnedNetwork = field(default_factory=LearnedNetwork)
    training: LearnedTraining = field(default_factory=LearnedTraining)
