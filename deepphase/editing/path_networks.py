"""Networks from paths to motion: footsteps of a path, and hidden units of an editor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.editing.config import EditorNetwork
from deepphase.editing.motion_rows import ROOT_VALUES
from deepphase.formats.header_values import checked_mapping

# Filters of the layers and seconds of their kernels (Holden et al. 2016 give 65 and 45 frames of
# the footsteps' kernels at 60 Hz; the others are those of their program).
_STEP_FILTERS, _STEP_KERNELS_S = 64, (65 / 60, 45 / 60)
_FILTERS, _KERNELS_S = (64, 128), (45 / 60, 25 / 60, 15 / 60)
CONTROL_FEATURES = _FILTERS[-1]
"""Values of a frame before the last convolution of `control_network`."""


@dataclass(frozen=True)
class PathLimits:
    """What paths the training clips cover.

    Parameters
    ----------
    speed
        m/s: highest speed of the smoothed root, on the editor's body.
    usual
        m/s: the median over frames that travel.
    turn
        rad/s: highest turn of the smoothed root.
    labels
        Labels of the clips, as in ``{"style": ["normal"]}``; empty for all.
    clips
        Number of clips.
    """

    speed: float
    usual: float
    turn: float
    labels: dict[str, list[str]]
    clips: int

    @classmethod
    def from_mapping(cls, content: Any) -> PathLimits:
        """From the header of an editor's file. Raises KeyError, TypeError or ValueError."""
        values = checked_mapping(content, "path")
        labels = {str(name): [str(v) for v in each] for name, each in values["labels"].items()}
        speed, usual, turn = (float(values[name]) for name in ("speed", "usual", "turn"))
        return cls(speed, usual, turn, labels, int(values["clips"]))


class PathNetworks(nn.Module):
    """Footsteps from a path, and hidden units from path and contacts.

    Parameters
    ----------
    feet
        Number of feet.
    hidden
        Hidden units of the editor at each of its hidden frames.
    stride
        Frames of a hidden frame.
    config
        Network of the editor.
    limits
        Paths of the training clips.

    References
    ----------
    Holden 2017 (thesis), section 5.6, equations 5.4 to 5.9.
    """

    velocity_scale: Tensor
    step_mean: Tensor
    step_scale: Tensor

    def __init__(
        self, feet: int, hidden: int, stride: int, config: EditorNetwork, limits: PathLimits
    ) -> None:
        super().__init__()
        self.feet, self.stride, self.limits = feet, stride, limits
        self._architecture = config.architecture
        fps = config.fps
        steps = 1 + feet + 2 * (feet - 1)
        wide, narrow = (_odd(seconds * fps) for seconds in _STEP_KERNELS_S)
        self.steps = nn.Sequential(
            _layer(ROOT_VALUES, _STEP_FILTERS, wide),
            nn.ReLU(),
            _layer(_STEP_FILTERS, steps, narrow),
        )
        self.control = control_network(ROOT_VALUES + feet, hidden, stride, fps)
        self.register_buffer("velocity_scale", torch.ones(ROOT_VALUES))
        self.register_buffer("step_mean", torch.zeros(steps))
        self.register_buffer("step_scale", torch.ones(steps))

    def footsteps(self, velocities: Tensor) -> Tensor:
        """(batch, steps, frames) normalised: rate, duties, then cosines and sines of offsets.

        Parameters
        ----------
        velocities : (batch, 3, frames)
            Of the smoothed root, m/s and rad/s.
        """
        return self.steps(velocities / self.velocity_scale[:, None])

    def hidden(self, velocities: Tensor, contacts: Tensor) -> Tensor:
        """(batch, hidden, frames / stride) hidden units of the editor.

        Parameters
        ----------
        velocities : (batch, 3, frames)
        contacts : (batch, feet, frames)
            1 on the floor, -1 off it.
        """
        values = torch.cat([velocities / self.velocity_scale[:, None], contacts], 1)
        made = self.control(values)  # (batch, hidden, frames / stride)
        return in_hidden_range(made, self._architecture)


def control_network(inputs: int, hidden: int, stride: int, fps: float) -> nn.Sequential:
    """Layers from values (batch, inputs, frames) to hidden units, a hidden frame for `stride`.

    References
    ----------
    Holden 2017 (thesis), equation 5.4.
    """
    first, second, third = (_odd(seconds * fps) for seconds in _KERNELS_S)
    return nn.Sequential(
        _layer(inputs, _FILTERS[0], first),
        nn.ReLU(),
        _layer(_FILTERS[0], _FILTERS[1], second),
        nn.ReLU(),
        _layer(_FILTERS[1], hidden, third),
        nn.MaxPool1d(stride),
    )


def in_hidden_range(hidden: Tensor, architecture: str) -> Tensor:
    """Hidden units in the range of an editor's own."""
    if architecture == "synthesis":
        return functional.relu(hidden)
    return torch.tanh(hidden) if architecture == "manifold" else hidden


def _layer(inputs: int, outputs: int, kernel: int) -> nn.Module:
    return nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2, padding_mode="replicate")


def _odd(frames: float) -> int:
    return 2 * round((frames - 1) / 2) + 1
