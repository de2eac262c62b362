"""Feed-forward network, the baseline without structure, with or without a phase as input."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    NetworkDims,
    check_dropout,
    check_positive,
    phase_circle,
)


@dataclass(frozen=True)
class PlainConfig(ControllerNetworkConfig):
    """Feed-forward network.

    Parameters
    ----------
    hidden
        Width of the two hidden layers. None: chosen so that the parameter count equals that of a
        PFNN with 512 hidden units.
    dropout
        Dropout probability of the inputs of each layer.
    """

    hidden: int | None = None
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check_positive(hidden=1 if self.hidden is None else self.hidden)
        check_dropout(self.dropout)


class Plain(ControllerNetwork):
    """Three layers; the sine and cosine of the gate, if there is one, are further inputs."""

    page_form = "plain"

    def __init__(self, dims: NetworkDims, config: PlainConfig) -> None:
        super().__init__(dims)
        ins = dims.inputs + 2 * dims.gate
        hidden = config.hidden or plain_width(dims)
        self.layer_in = nn.Linear(ins, hidden)
        self.layer_mid = nn.Linear(hidden, hidden)
        self.layer_out = nn.Linear(hidden, dims.outputs)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 0 or 1) cycles -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        x = torch.cat([inputs, phase_circle(gate)], dim=-1)  # (batch, inputs + 0 or 2)
        x = elu(self.layer_in(self.dropout(x)))  # (batch, hidden)
        x = elu(self.layer_mid(self.dropout(x)))  # (batch, hidden)
        return self.layer_out(self.dropout(x))  # (batch, outputs)


def pfnn_parameters(dims: NetworkDims, hidden: int = 512, points: int = 4) -> int:
    """Number of parameters of the paper's PFNN with these dimensions, for baselines of its size."""
    layers = ((dims.inputs, hidden), (hidden, hidden), (hidden, dims.outputs))
    return points * sum((ins + 1) * outs for ins, outs in layers)


def plain_width(dims: NetworkDims) -> int:
    """Width of the hidden layers whose parameter count is closest to a PFNN's."""
    # h^2 + h (in + out + 2) + out = parameters
    half = 0.5 * (dims.inputs + dims.outputs + 2)
    return round((half**2 + pfnn_parameters(dims) - dims.outputs) ** 0.5 - half)
