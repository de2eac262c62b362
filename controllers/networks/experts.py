"""Mixture of experts, whose weights are blended by a gating network.

The architecture is the same in DeepPhase (gated by the phase manifold; Starke et al. 2022), with
local phases (contact phases; Starke et al. 2020), in MANN (foot velocities; Zhang et al. 2018) and
without phases (the desired trajectory). The schema defines the gate; see `schema.blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from deepphase.config import BELOW_1, require_in
from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    Dropout,
    NetworkDims,
)
from deepphase.errors import ParameterError


@dataclass(frozen=True)
class ExpertsConfig(ControllerNetworkConfig):
    """Gated mixture of experts; the defaults are DeepPhase's."""

    experts: int = 8  # Number of experts, whose weights are blended
    gating_hidden: int = 128  # Width of the two hidden layers of the gating network
    hidden: int = 512  # Width of the two hidden layers of the prediction network
    dropout: float = 0.3  # Dropout probability of the inputs of each layer, in both networks

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("experts", "gating_hidden", "hidden"), (1, 1e6))
        require_in(self, **counts, dropout=(0, BELOW_1))


class Experts(ControllerNetwork):
    """Three layers whose weights are blended from those of the experts, depending on the gate."""

    page_form = "experts"

    def __init__(self, dims: NetworkDims, config: ExpertsConfig) -> None:
        super().__init__(dims)
        if dims.gate < 1:
            raise ParameterError(
                "a mixture of experts needs a gate", hint="choose a schema with a gate"
            )
        self.config = config
        experts, hidden, gating = config.experts, config.hidden, config.gating_hidden
        self.gate_in = nn.Linear(dims.gate, gating)
        self.gate_mid = nn.Linear(gating, gating)
        self.gate_out = nn.Linear(gating, experts)
        self.layer_in = BlendedLinear(experts, dims.inputs, hidden)
        self.layer_mid = BlendedLinear(experts, hidden, hidden)
        self.layer_out = BlendedLinear(experts, hidden, dims.outputs)
        self.dropout = Dropout(config.dropout)

    def blend_weights(self, gate: Tensor) -> Tensor:
        """(batch, gate) -> (batch, experts): weights of the experts, which sum to 1."""
        g = elu(self.gate_in(self.dropout(gate)))  # (batch, gating hidden)
        g = elu(self.gate_mid(self.dropout(g)))  # (batch, gating hidden)
        return torch.softmax(self.gate_out(self.dropout(g)), dim=-1)  # (batch, experts)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, gate) -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        blend = self.blend_weights(gate)  # (batch, experts)
        x = elu(self.layer_in(self.dropout(inputs), blend))  # (batch, hidden)
        x = elu(self.layer_mid(self.dropout(x), blend))  # (batch, hidden)
        return self.layer_out(self.dropout(x), blend)  # (batch, outputs)
