"""Base classes of controller networks and of their configs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError

State = tuple[Tensor, ...]


@dataclass(frozen=True)
class NetworkDims:
    """Number of values of a network's inputs, gate (0 for networks without) and outputs."""

    inputs: int
    gate: int
    outputs: int

    def __post_init__(self) -> None:
        if self.inputs < 1 or self.gate < 0 or self.outputs < 1:
            raise ParameterError(
                f"a network with {self.inputs} inputs, {self.gate} gate values and "
                f"{self.outputs} outputs is not possible",
                hint="inputs and outputs must be at least 1",
            )


@dataclass(frozen=True)
class ControllerNetworkConfig:
    """Config of a controller network; every network has a frozen dataclass that extends this one.

    The fields are the keys of the section `network` of a config file. Values are checked against
    their types: int, float, bool, str, tuples, and each of these or None.
    """


class ControllerNetwork(nn.Module):
    """A network from inputs and gate of a frame to outputs of the next, all normalised.

    A subclass is constructed from `NetworkDims` and its own `ControllerNetworkConfig`, and defines
    `forward`. All else has defaults for a deterministic network without state that is trained by
    gradient descent:

    =============================================  ===============================================
    a network that ...                             overrides
    =============================================  ===============================================
    has a state between frames                     `state_names`, `initial_state`, `step`
    is trained on sequences                        `is_recurrent`
    draws random numbers                           `is_stochastic`, `state_is_kept`, `redrawn`
    has loss terms of its own                      `training_outputs`
    is fitted, not trained by gradient descent     `is_fitted`, `fit`
    blends weights                                 `blend_weights`
    runs in a live page                            `page_form`
    =============================================  ===============================================

    `registry.register_network` registers it by a name.
    """

    state_names: tuple[str, ...] = ()
    """Names of the tensors of the state."""
    state_is_kept: bool = False
    """Whether `step` returns the state unchanged; only `redrawn` changes it then."""
    is_recurrent: bool = False
    """Whether `forward` also takes (batch, frames, dims), and training uses sequences."""
    is_stochastic: bool = False
    """Whether two runs from the same frame differ."""
    is_fitted: bool = False
    """Whether the parameters come from `fit` instead of gradient descent."""

    page_form: str = ""
    """Key of its form in `NETWORKS` of `deepphase/viewer/runtime/network.js`; empty without one."""

    def __init__(self, dims: NetworkDims) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, gate) -> (batch, outputs)."""
        raise NotImplementedError

    def initial_state(self, batch: int) -> State:
        """The first state for `step`: tensors (batch, ...), one for each of `state_names`."""
        return ()

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame of a run: outputs (batch, outputs) and the state of the next frame."""
        return self(inputs, gate), state

    def redrawn(self, state: State, stepped: Tensor) -> State:
        """The state of the next frame, with new random numbers in it.

        `stepped` (batch,) bool: characters with a foot that touched down in this frame.
        """
        return state

    def training_outputs(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Outputs for training, and weighted scalar loss terms by their names."""
        return self(inputs, gate), {}

    def fit(self, inputs: Tensor, gate: Tensor, outputs: Tensor) -> None:
        """Compute the parameters from normalised samples, (samples, dims) each.

        Called if `is_fitted`.
        """
        raise NotImplementedError

    def blend_weights(self, gate: Tensor) -> Tensor | None:
        """(batch, gate) -> (batch, experts or control points): their shares in the weights.

        None if the weights are not blended.
        """
        return None

    def weight_magnitude(self) -> Tensor:
        """Mean absolute value of all parameters, for the L1 penalty of the papers."""
        parameters = list(self.parameters())
        count = sum(parameter.numel() for parameter in parameters)
        return torch.stack([parameter.abs().sum() for parameter in parameters]).sum() / count

    def check_dims(self, inputs: Tensor, gate: Tensor) -> None:
        """Raise ParameterError unless the last axes have the network's dimensions."""
        found, expected = (inputs.shape[-1], gate.shape[-1]), (self.dims.inputs, self.dims.gate)
        if found != expected:
            raise ParameterError(
                f"{found[0]} inputs and {found[1]} gate values, the network takes "
                f"{expected[0]} and {expected[1]}"
            )


class Dropout(nn.Dropout):
    """Dropout whose probability may change between the steps of a captured training."""

    share: Tensor

    def __init__(self, share: float) -> None:
        super().__init__(share)
        self.register_buffer("share", torch.tensor(float(share)), persistent=False)

    def set_share(self, share: float) -> None:
        """Set the probability."""
        self.p = share
        self.share.fill_(share)

    def forward(self, values: Tensor) -> Tensor:
        """Values of any shape."""
        if not self.training or not (self.p or values.is_cuda):
            return values
        if not values.is_cuda:
            return torch.native_dropout(values, self.p, True)[0]
        # A graph reads the probability on the device, not the one that it was captured with.
        scale = (torch.rand_like(values, dtype=torch.float32) >= self.share) / (1.0 - self.share)
        return values * scale.to(values.dtype)


def phase_circle(phase: Tensor) -> Tensor:
    """(..., 1) cycles -> (..., 2): sine and cosine, continuous from 0.5 to -0.5."""
    angle = 2.0 * math.pi * phase
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)
