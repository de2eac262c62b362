"""Baselines without blended weights: a feed-forward and a recurrent network (ERD)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from deepphase.config import BELOW_1, require_in
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    Dropout,
    NetworkDims,
    State,
    phase_circle,
)


@dataclass(frozen=True)
class PlainConfig(ControllerNetworkConfig):
    """Feed-forward network."""

    # Width of the two hidden layers. None: chosen so that the parameter count equals that of a PFNN
    # with 512 hidden units.
    hidden: int | None = None
    dropout: float = 0.3  # Dropout probability of the inputs of each layer

    def __post_init__(self) -> None:
        require_in(self, hidden=(1, 1e6), dropout=(0, BELOW_1))


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
        self.dropout = Dropout(config.dropout)

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


@dataclass(frozen=True)
class RecurrentConfig(PlainConfig):
    """Encoder-recurrent-decoder network (ERD).

    Parameters
    ----------
    hidden
        Width of the encoder and the LSTM. None: chosen so that the parameter count equals that
        of a PFNN with 512 hidden units.
    dropout
        Dropout probability of the inputs of each layer.
    """


class Recurrent(ControllerNetwork):
    """A plain network whose middle layer is an LSTM.

    `forward` takes (batch, dims), one frame from the initial state, or sequences
    (batch, frames, dims).
    """

    state_names = ("hidden", "cell")
    is_recurrent = True

    def __init__(self, dims: NetworkDims, config: RecurrentConfig) -> None:
        super().__init__(dims)
        ins = dims.inputs + 2 * dims.gate
        self.hidden = config.hidden or recurrent_width(dims)
        self.layer_in = nn.Linear(ins, self.hidden)
        # The gates input, forget, cell and output in the order of torch.nn.LSTM, in plain operators
        # so that the step can be exported.
        self.from_input = nn.Linear(self.hidden, 4 * self.hidden)
        self.from_hidden = nn.Linear(self.hidden, 4 * self.hidden, bias=False)
        self.layer_out = nn.Linear(self.hidden, dims.outputs)
        self.dropout = Dropout(config.dropout)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch[, frames], inputs) and (batch[, frames], gate) -> (batch[, frames], outputs)."""
        state = self.initial_state(len(inputs))
        if inputs.ndim == 2:
            return self.step(inputs, gate, state)[0]
        return self.sequence(inputs, gate, state)[0]

    def initial_state(self, batch: int) -> State:
        """Two tensors (batch, hidden) of zeros."""
        zeros = self.from_hidden.weight.new_zeros(batch, self.hidden)
        return zeros, zeros

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame."""
        outputs, state = self.sequence(inputs[:, None], gate[:, None], state)
        return outputs[:, 0], state

    def sequence(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """(batch, frames, ...) frame by frame, and the state after the last."""
        self.check_dims(inputs, gate)
        x = torch.cat([inputs, phase_circle(gate)], dim=-1)  # (batch, frames, inputs + 0 or 2)
        x = elu(self.layer_in(self.dropout(x)))  # (batch, frames, hidden)
        driven = self.from_input(self.dropout(x))  # (batch, frames, 4 hidden)
        hidden, cell = state
        states = []
        for frame in range(driven.shape[1]):
            gates = driven[:, frame] + self.from_hidden(hidden)  # (batch, 4 hidden)
            enter, forget, value, leave = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(value)
            hidden = torch.sigmoid(leave) * torch.tanh(cell)  # (batch, hidden)
            states.append(hidden)
        x = torch.stack(states, dim=1)  # (batch, frames, hidden)
        return self.layer_out(self.dropout(x)), (hidden, cell)


def recurrent_width(dims: NetworkDims) -> int:
    """Width of encoder and LSTM whose parameter count is closest to a PFNN's."""
    # 8 h^2 + h (in + out + 5) + out = parameters
    linear = dims.inputs + dims.outputs + 5
    root = (linear**2 + 32 * (pfnn_parameters(dims) - dims.outputs)) ** 0.5
    return round((root - linear) / 16)
