"""Configuration of learned motion matching: the content of configs/learned/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require


@dataclass(frozen=True)
class LearnedNetwork:
    """Sizes of the networks.

    Parameters
    ----------
    latents
        Latent values of a frame, beside its features.
    width
        Hidden units of a layer of the decompressor and the stepper, which every frame needs.
    projector_width
        Hidden units of a layer of the projector and, in training, of the compressor.
    """

    latents: int = 32
    width: int = 256
    projector_width: int = 512

    def __post_init__(self) -> None:
        require(1 <= self.latents <= 1024, f"latents must lie in 1 to 1024, not {self.latents}")
        for name in ("width", "projector_width"):
            value = getattr(self, name)
            require(1 <= value <= 8192, f"{name} must lie in 1 to 8192, not {value}")


@dataclass(frozen=True)
class LearnedTraining:
    """Training of the networks, one after the other.

    Parameters
    ----------
    windows
        Total number of windows of motion to train on.
    decompressor
        Share of the windows that the decompressor is trained on.
    stepper
        Share for the stepper; the projector has the others.
    batch_size
        Windows in a batch, on each device.
    unroll_s
        Seconds for which the stepper is unrolled, and length of a window.
    learning_rate
        Highest learning rate of AdamW; it falls to a hundredth for each network.
    weight_decay
        Weight decay of AdamW.
    label
        Label whose values the projector keeps or changes to. Databases without it need none.
    pose_weight
        Weight of the current latents in the projector's choice of a row, beside the features. Of
        rows that fit alike, one in a similar pose is chosen.
    seed
        Random seed of the initial weights, the order of the windows and the noise of queries.
    """

    windows: int = 1_500_000
    decompressor: float = 0.35
    stepper: float = 0.25
    batch_size: int = 64
    unroll_s: float = 1.0 / 3.0
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    label: str = "style"
    pose_weight: float = 0.7
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.windows >= 1, f"windows must be positive, not {self.windows}")
        require(self.batch_size >= 1, f"batch_size must be positive, not {self.batch_size}")
        for name in ("decompressor", "stepper"):
            value = getattr(self, name)
            require(0 < value < 1, f"{name} must lie between 0 and 1, not {value}")
        require(
            self.decompressor + self.stepper < 1,
            "decompressor and stepper must leave a share of the windows to the projector",
        )
        require(0 < self.unroll_s <= 10, f"unroll_s must lie in 0 to 10 s, not {self.unroll_s}")
        require(
            0 < self.learning_rate < 1,
            f"learning_rate must lie between 0 and 1, not {self.learning_rate}",
        )
        require(
            0 <= self.weight_decay < 1,
            f"weight_decay must be at least 0 and below 1, not {self.weight_decay}",
        )
        require(self.pose_weight >= 0, f"pose_weight must not be negative, not {self.pose_weight}")
        require(0 <= self.seed < 2**31, f"seed must lie in 0 to 2147483647, not {self.seed}")


@dataclass(frozen=True)
class LearnedConfig(SectionedConfig):
    """Config of `deepphase train matching`: the networks and their training."""

    kind: ClassVar[str] = "learned"

    network: LearnedNetwork = field(default_factory=LearnedNetwork)
    training: LearnedTraining = field(default_factory=LearnedTraining)
