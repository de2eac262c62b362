"""Configuration of a phase training: the content of configs/phase/*.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from deepphase.arrays import brief_repr
from deepphase.config import SectionedConfig, require, require_in, require_one_of
from deepphase.errors import UnregisteredError
from deepphase.formats.array_file import read_header

SHIPPED = (
    "sine_fit",
    "sine_fit_no_fc",
    "paper",
    "released_v0",
    "released_v1",
    "released_v2",
    "conv_embedding",
    "any_skeleton",
)
Optimizer = Literal["adamw", "muon"]
Schedule = Literal["constant", "cosine"]
ANY_SKELETON = "any_skeleton"
"""Preset whose network reads body points of any skeleton instead of the joints of one."""
# Fraction of the windows that are played backwards, except for quadrupeds.
_REVERSAL = 0.3
SONG_KIND = "features of a song"
"""Kind of the signals of a model of songs, in the header of its file."""
registered: list[str] = []
"""Names that `register_autoencoder` adds, for programs that read configurations without torch."""
_OF_ANY_SKELETON = ("proportions", "joint_dropout")


@brief_repr
@dataclass(frozen=True)
class NetworkConfig:
    """Network of the phase model.

    Parameters
    ----------
    preset
        Architecture. "sine_fit" is DeepPhase with a least-squares FFT layer, "sine_fit_no_fc" the
        same without the fully connected phase layer; "paper" and "released_v0" to "released_v2"
        are DeepPhase's networks; "conv_embedding" is its baseline without sinusoids;
        "any_skeleton" is "sine_fit" for the joints of any skeleton.
        Other names are those that `register_autoencoder` was given.
    channels
        Number of phase channels; those that explain under 1 % of the motion are left out at the end
        of a training. The paper has 5 for a biped or a quadruped, 8 for dance, 10 for styles.
    window_s
        Length of a window in seconds.
    kernel_s
        Length of a convolution kernel in seconds; None is the whole window.
    hidden
        Number of channels between the two convolutions; None is one per joint.
    band_hz
        Cutoff frequency of the convolutions in Hz; None is not a cutoff.
    """

    preset: str = "sine_fit"
    channels: int = 5
    window_s: float = 2.0
    kernel_s: float | None = None
    hidden: int | None = None
    band_hz: float | None = None

    def __post_init__(self) -> None:
        presets = (*SHIPPED, *registered)
        if self.preset not in presets:
            raise UnregisteredError(
                f"the network {self.preset!r} is not registered",
                hint=f"presets: {', '.join(presets)}; register_autoencoder({self.preset!r}, ...) "
                "adds one of your own",
            )
        require_in(
            self,
            channels=(1, 128),
            window_s=(0.05, 60),
            kernel_s=(1e-3, self.window_s),
            hidden=(1, 4096),
            band_hz=(1, 1000),
        )

    def window(self, fps: float) -> int:
        """Frames of a window: odd, as many on either side of the frame that it describes."""
        return 2 * max(round(self.window_s * fps / 2), 1) + 1

    def kernel(self, fps: float) -> int:
        """Taps of a convolution's kernel, odd."""
        if self.kernel_s is None:
            return self.window(fps)
        return 2 * round(self.kernel_s * fps / 2) + 1


@brief_repr
@dataclass(frozen=True)
class TrainingConfig:
    """Training of the phase model.

    Parameters
    ----------
    windows
        Total number of windows to train on; 0 means `epochs` passes over the training clips, and
        None two passes, within 25,600 and 76,800 windows. A config that sets `epochs` alone has 0.
    epochs
        Number of passes over all windows, if `windows` is 0.
    batch_size
        Number of windows in a batch, on each device.
    optimizer
        Optimizer of the weights. "muon" makes the changes of each convolution's kernels orthogonal
        and leaves the other weights to "adamw"; it needs about a quarter of the windows.
    learning_rate
        Highest learning rate.
    weight_decay
        Decoupled weight decay, as a factor on the learning rate; with "muon" of the kernels alone.
    schedule
        Learning rate schedule. "cosine" rises linearly during `warmup`, then falls along a cosine
        to `final_rate`.
    warmup
        Length of the warm-up as a fraction of the training.
    final_rate
        Last learning rate as a fraction of the highest.
    mirror
        Fraction of the windows that are mirrored, if the skeleton has a left and a right side.
    held_out
        Fraction of the source files that are held out of training for measurement.
    seed
        Random seed for the split, the initial weights and the order of the windows.
    proportions
        Spread of the limbs' proportions in training (standard deviation of the logarithm of their
        lengths). It and the next apply to the preset "any_skeleton" only.
    joint_dropout
        Largest share of the joints that a training body lacks.
    tempo
        Largest change of the tempo in training, as a fraction. Songs keep theirs.
    heading_deg
        Standard deviation of the body's heading in training, in degrees.
    reversal
        Fraction of the windows that are played backwards; None chooses by the body: 0 for
        quadrupeds, 0.3 for others. Songs are not.
    """

    windows: int | None = 614_400
    epochs: float = 30.0
    batch_size: int = 256
    optimizer: Optimizer = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    warmup: float = 0.05
    final_rate: float = 0.01
    mirror: float = 0.5
    held_out: float = 0.1
    seed: int = 0
    proportions: float = 0.0
    joint_dropout: float = 0.0
    tempo: float = 0.0
    heading_deg: float = 0.0
    reversal: float | None = 0.0

    def __post_init__(self) -> None:
        share = (0, 1)
        require_in(
            self,
            windows=(0, 1e12),
            epochs=(0, 1e6),
            # Batch normalisation needs two.
            batch_size=(2, 1e6),
            learning_rate=(1e-9, 0.99),
            weight_decay=(0, 0.5 / max(self.learning_rate, 1e-9)),
            warmup=(0, 0.99),
            final_rate=share,
            mirror=share,
            held_out=(0.001, 0.89),
            seed=(0, 2**31 - 1),
            proportions=(0, 0.9),
            joint_dropout=(0, 0.9),
            tempo=(0, 0.9),
            heading_deg=(0, 180),
            reversal=share,
        )
        require(self.windows != 0 or self.epochs > 0, "either windows or epochs must be positive")
        require_one_of(self, optimizer=Optimizer, schedule=Schedule)


@dataclass(frozen=True, repr=False)
class PhaseConfig(SectionedConfig):
    """Config of `deepphase train phase`: the network and its training."""

    kind: ClassVar[str] = "phase"

    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if self.any_skeleton:
            return
        for name in _OF_ANY_SKELETON:
            require(
                not getattr(self.training, name),
                f"training.{name} applies to the preset {ANY_SKELETON!r} only",
            )

    @property
    def any_skeleton(self) -> bool:
        """Whether the model reads any skeleton, and is trained on several."""
        return self.network.preset == ANY_SKELETON

    def for_body(self, body: str | None) -> PhaseConfig:
        """The config with what the body chooses.

        Parameters
        ----------
        body
            Kind of the body, such as "biped" or "quadruped"; None for songs.
        """
        if self.training.reversal is not None:
            return self
        reversal = 0.0 if body == "quadruped" else _REVERSAL
        return replace(self, training=replace(self.training, reversal=reversal))


def reads_songs(path: str | Path) -> bool:
    """Whether a file is a phase model of songs; CheckpointError where it is none of ours."""
    signals = read_header(path).get("signals")
    return isinstance(signals, dict) and signals.get("kind") == SONG_KIND
