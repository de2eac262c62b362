"""What all controller networks have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError

State = tuple[Tensor, ...]


@dataclass(frozen=True)
class NetworkDims:
    """Numbers a frame in and out of a network.

    Parameters
    ----------
    inputs, outputs
        At least 1 each.
    gate
        What the weights depend on; 0 for networks without a gate.
    """

    inputs: int
    gate: int
    outputs: int

    def __post_init__(self) -> None:
        if self.inputs < 1 or self.gate < 0 or self.outputs < 1:
            raise ParameterError(f"a network of {self}")


class ControllerNetwork(nn.Module):
    """One frame to the next: inputs and gate of a frame -> outputs, all normalised.

    Subclasses have `forward(inputs, gate)`, and `initial_state` and `step` where they remember
    something between frames.
    """

    state_names: tuple[str, ...] = ()
    state_is_kept: bool = False
    """Whether `step` gives the state back as it was: it is then changed by others."""

    def __init__(self, dims: NetworkDims) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, gate) -> (batch, outputs)."""
        raise NotImplementedError

    def initial_state(self, batch: int) -> State:
        """What `step` starts from: tensors (batch, ...), as many as `state_names`."""
        return ()

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame of a run: outputs (batch, outputs) and the state of the next frame."""
        return self(inputs, gate), state

    def weight_magnitude(self) -> Tensor:
        """Mean |weight| of all parameters: what the L1 penalty of the papers is taken of."""
        parameters = list(self.parameters())
        count = sum(parameter.numel() for parameter in parameters)
        return torch.stack([parameter.abs().sum() for parameter in parameters]).sum() / count

    @property
    def parameter_count(self) -> int:
        """Numbers that training finds."""
        return sum(parameter.numel() for parameter in self.parameters())

    def check_dims(self, inputs: Tensor, gate: Tensor) -> None:
        """Raise ParameterError unless the last axes are as wide as the network."""
        found, expected = (inputs.shape[-1], gate.shape[-1]), (self.dims.inputs, self.dims.gate)
        if found != expected:
            raise ParameterError(
                f"inputs and gate of {found[0]} and {found[1]} numbers, the network takes "
                f"{expected[0]} and {expected[1]}"
            )


def phase_circle(phase: Tensor) -> Tensor:
    """(..., 1) cycles -> (..., 2): sine and cosine, which know no jump from 0.5 to -0.5."""
    angle = 2.0 * math.pi * phase
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def check_dropout(dropout: float) -> None:
    """Raise ParameterError unless it is a probability below 1."""
    if not 0.0 <= dropout < 1.0:
        raise ParameterError(f"dropout must lie in 0 to 1, not {dropout}")


def check_positive(**values: int) -> None:
    """Raise ParameterError, which names it, where a count is not positive."""
    for name, value in values.items():
        if value < 1:
            raise ParameterError(f"{name} must be positive, not {value}")
