"""Configuration of an editor's training: the content of configs/editor/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from deepphase.arrays import brief_repr
from deepphase.config import ABOVE_0, BELOW_1, BELOW_90, SectionedConfig, require, require_in
from deepphase.errors import ParameterError

_EFFECTORS = ("networks for hands and feet", " --effectors")


def no_networks(part: str) -> ParameterError:
    """What is raised where an editor lacks the networks of "path" or of "effectors"."""
    what, option = {"path": ("path networks", ""), "effectors": _EFFECTORS}[part]
    return ParameterError(
        f"the editor has no {what}",
        hint=f"train them: `deepphase train path STORE{option} --editor EDITOR -o EDITOR`",
    )


@brief_repr
@dataclass(frozen=True)
class EditorNetwork:
    """Network of the editor."""

    fps: float = 30.0  # frames per second of the motion that it reads
    window_s: float = 2.4  # seconds of a training window; networks are applied to whole clips
    width: int = 128  # filters of the outer layers
    hidden: int = 192  # hidden units at each hidden frame, which spans four frames
    kernel: int = 5  # frames of a convolution's kernel; odd

    def __post_init__(self) -> None:
        require_in(
            self, fps=(5, 240), window_s=(0.2, 30), width=(1, 4096), hidden=(1, 4096),
            kernel=(1, 255),
        )  # fmt: skip
        require(self.kernel % 2 == 1, f"kernel must be odd, not {self.kernel}")

    @property
    def window(self) -> int:
        """Frames of a training window: a multiple of 8."""
        return max(8 * round(self.window_s * self.fps / 8), 8)


@brief_repr
@dataclass(frozen=True)
class EditorTraining:
    """Training of the editor."""

    # Windows to train on; 0 takes `epochs` passes over all windows, which overlap by half
    windows: int = 80_000
    epochs: float = 25.0
    batch_size: int = 32  # windows in a batch, on each device
    # Of AdamW, the highest one
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    # Weight in the loss of values that the input has, relative to those that it lacks
    known_weight: float = 0.25
    # Fraction of the windows that are mirrored, if the skeleton has a left and a right side
    mirror: float = 0.5
    # Fraction of the batches whose windows end with a target pose after a gap, as in-betweens do;
    # above a half, their loss is the length of errors in place of its square
    targets: float = 0.25
    # Fraction of the source files that are held out of training for measurement
    held_out: float = 0.1
    seed: int = 0  # of the split, the initial weights, the order of the windows and their damage

    def __post_init__(self) -> None:
        require(self.windows > 0 or self.epochs > 0, "either windows or epochs must be positive")
        require_in(
            self, windows=(0, 10**12), epochs=(0, 10**6), batch_size=(1, 10**6),
            learning_rate=(ABOVE_0, BELOW_1), weight_decay=(0, 1), known_weight=(0, 1),
            mirror=(0, 1), targets=(0, 1), held_out=(ABOVE_0, BELOW_90), seed=(0, 2**31 - 1),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class EditorConfig(SectionedConfig):
    """Config of `deepphase train editor`: the network and its training."""

    kind: ClassVar[str] = "editor"

    network: EditorNetwork = field(default_factory=EditorNetwork)
    training: EditorTraining = field(default_factory=EditorTraining)
