"""Network that reads the last velocities of the joints and gives the current phases.

A periodic autoencoder describes the middle of a window, so its current phases need the second to
come. Here a perceptron is trained to predict the phases that the autoencoder will
compute for this moment and a few before it, once their windows are complete.

The past is read through a few averages that grow longer with the time that has gone by: what
happened a moment ago is read finely, and what happened two seconds ago coarsely.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError
from deepphase.formats.header_values import checked_count

LAGS_S = (0.0, 0.1, 0.25, 0.5)
"""Seconds before now whose phases a network gives."""
FACING_S = 1 / 3
"""Seconds up to now over which the facing is averaged; a stream needs at least these."""
_WINDOW_S = 2.0
# The finest average is about as long as this.
_FINEST_S = 0.1
# Added to the root mean square of the velocities, in m/s: a body that stands has no direction.
STILL = 0.05
# Lower frequencies, those of silent channels, count as this one: they have no logarithm.
_LEAST_HZ = 0.2
# Values of a channel at a moment: A sin, A cos and offset over the channel's mean amplitude, and
# the logarithm of the frequency.
VALUES = 4


@dataclass(frozen=True)
class CausalForm:
    """Sizes of a causal network.

    Parameters
    ----------
    hidden
        Units of each of the two hidden layers.
    averages
        Averages of each velocity over the past.
    """

    hidden: int = 256
    averages: int = 24

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> CausalForm:
        """From the header of a file. Raises KeyError or ParameterError."""
        return cls(
            checked_count(content["hidden"], "hidden", 1, 4096),
            checked_count(content["averages"], "averages", 2, 256),
        )


class CausalNetwork(nn.Module):
    """Current and slightly earlier phases out of the velocities of the last two seconds.

    Parameters
    ----------
    joints
        Joints whose velocities it reads.
    channels
        Phase channels.
    fps
        Frames a second.
    form
        Sizes of its layers.

    Attributes
    ----------
    window
        Frames that it reads.
    lags
        Frames before the newest one whose phases it gives.
    facing_frames
        Frames up to the newest one over which the facing is averaged.
    """

    basis: Tensor
    mean: Tensor
    scale: Tensor
    unit: Tensor

    def __init__(self, joints: int, channels: int, fps: float, form: CausalForm) -> None:
        super().__init__()
        self.form, self.channels = form, channels
        self.window = round(_WINDOW_S * fps) + 1
        self.lags = tuple(round(lag * fps) for lag in LAGS_S)
        self.facing_frames = max(round(FACING_S * fps), 1)
        if self.window < form.averages:
            raise ParameterError(
                f"{fps:g} frames a second are too few for a causal encoder",
                hint="train a phase model at 60 frames a second",
            )
        self.register_buffer(
            "basis", _averages(self.window, form.averages, _FINEST_S * fps), persistent=False
        )
        features = form.averages * joints * 3 + 1
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        # Mean amplitude of each channel.
        self.register_buffer("unit", torch.ones(channels))
        self.layers = nn.ModuleList(
            [
                nn.Linear(features, form.hidden),
                nn.Linear(form.hidden, form.hidden),
                nn.Linear(form.hidden, len(self.lags) * channels * VALUES),
            ]
        )

    def features(self, velocities: Tensor, angle: Tensor) -> Tensor:
        """What the layers read, before normalisation.

        Parameters
        ----------
        velocities : (batch, window, joints, 3)
            m/s in the world, the newest last; 0 where there was no frame.
        angle : (batch,)
            Radians from +Z towards +X: the current facing.
        """
        averages = torch.einsum("aw,bwjd->bajd", self.basis, velocities)
        sine, cosine = torch.sin(angle)[:, None, None], torch.cos(angle)[:, None, None]
        x, y, z = averages.unbind(-1)
        turned = torch.stack([cosine * x - sine * z, y, sine * x + cosine * z], dim=-1)
        power = turned.square().mean((1, 2, 3)).sqrt()[:, None] + STILL
        return torch.cat([turned.flatten(1) / power, power.log()], dim=1)

    def forward(self, velocities: Tensor, angle: Tensor, dropout: float = 0.0) -> Tensor:
        """(batch, lags, channels, values); see `features`."""
        hidden = (self.features(velocities, angle) - self.mean) / self.scale
        for layer in list(self.layers)[:-1]:
            hidden = nn.functional.elu(layer(hidden))
            hidden = nn.functional.dropout(hidden, dropout, self.training)
        return self.layers[-1](hidden).view(-1, len(self.lags), self.channels, VALUES)

    def values(self, phase: Tensor, frequency: Tensor, amplitude: Tensor, offset: Tensor) -> Tensor:
        """(..., channels, values): what `forward` gives for these parameters (..., channels)."""
        angle, length = 2.0 * math.pi * phase, amplitude / self.unit
        parts = (length * torch.sin(angle), length * torch.cos(angle), offset / self.unit)
        return torch.stack([*parts, frequency.clamp(min=_LEAST_HZ).log()], dim=-1)


def _averages(window: int, count: int, finest: float) -> Tensor:
    """(count, window) weights of averages over the past, the newest frame last."""
    warped = torch.log(torch.arange(window, dtype=torch.float64) + finest)
    centres = torch.linspace(float(warped[0]), float(warped[-1]), count, dtype=torch.float64)
    away = (warped - centres[:, None]) / (centres[1] - centres[0])
    bell = 0.5 + 0.5 * torch.cos(math.pi * away.clamp(-1.0, 1.0))
    return (bell / bell.sum(1, keepdim=True)).flip(1).float().contiguous()
