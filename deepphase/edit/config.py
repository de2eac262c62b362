"""Configuration of an editor's training: the content of configs/editor/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.config import SectionedConfig, require
from deepphase.short_repr import brief_repr


@brief_repr
@dataclass(frozen=True)
class EditorNetwork:
    """Network of the editor.

    Parameters
    ----------
    fps
        Frames per second of the motion that it reads.
    window_s
        Length of a training window in seconds. Networks are applied to whole clips.
    width
        Number of filters of the outer layers.
    hidden
        Number of hidden units at each hidden frame, which spans four frames.
    kernel
        Frames of a convolution's kernel; odd.
    """

    fps: float = 30.0
    window_s: float = 2.4
    width: int = 128
    hidden: int = 192
    kernel: int = 5

    def __post_init__(self) -> None:
        require(5 <= self.fps <= 240, f"fps must lie in 5 to 240, not {self.fps}")
        require(
            0.2 <= self.window_s <= 30, f"window_s must lie in 0.2 to 30 s, not {self.window_s}"
        )
        for name, highest in (("width", 4096), ("hidden", 4096), ("kernel", 255)):
            value = getattr(self, name)
            require(1 <= value <= highest, f"{name} must lie in 1 to {highest}, not {value}")
        require(self.kernel % 2 == 1, f"kernel must be odd, not {self.kernel}")

    @property
    def window(self) -> int:
        """Frames of a training window: a multiple of 8."""
        return max(8 * round(self.window_s * self.fps / 8), 8)


@brief_repr
@dataclass(frozen=True)
class EditorTraining:
    """Training of the editor.

    Parameters
    ----------
    windows
        Total number of windows to train on; 0 means `epochs` passes over the training clips.
    epochs
        Number of passes over all windows, if `windows` is 0. Windows overlap by half.
    batch_size
        Number of windows in a batch, on each device.
    learning_rate
        Highest learning rate of AdamW.
    weight_decay
        Weight decay of AdamW.
    known_weight
        Weight in the loss of values that the input has, relative to those that it lacks.
    mirror
        Fraction of the windows that are mirrored, if the skeleton has a left and a right side.
    targets
        Fraction of the batches whose windows end with a target pose after a gap, as in-betweens do.
        Above a half, their loss is the length of errors in place of its square.
    held_out
        Fraction of the source files that are held out of training for measurement.
    seed
        Random seed for the split, the initial weights, the order of the windows and their damage.
    """

    windows: int = 80_000
    epochs: float = 25.0
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    known_weight: float = 0.25
    mirror: float = 0.5
    targets: float = 0.25
    held_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.windows >= 0, f"windows must not be negative, not {self.windows}")
        require(self.windows > 0 or self.epochs > 0, "either windows or epochs must be positive")
        require(self.batch_size >= 1, f"batch_size must be positive, not {self.batch_size}")
        require(
            0 < self.learning_rate < 1,
            f"learning_rate must lie between 0 and 1, not {self.learning_rate}",
        )
        require(
            0 <= self.weight_decay < 1,
            f"weight_decay must be at least 0 and below 1, not {self.weight_decay}",
        )
        for name in ("known_weight", "mirror", "targets"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} must lie in 0 to 1, not {value}")
        require(0 < self.held_out < 0.9, f"held_out must lie in 0 to 0.9, not {self.held_out}")
        require(0 <= self.seed < 2**31, f"seed must lie in 0 to 2147483647, not {self.seed}")


@dataclass(frozen=True, repr=False)
class EditorConfig(SectionedConfig):
    """Config of `deepphase train editor`: the network and its training."""

    kind: ClassVar[str] = "editor"

    network: EditorNetwork = field(default_factory=EditorNetwork)
    training: EditorTraining = field(default_factory=EditorTraining)
