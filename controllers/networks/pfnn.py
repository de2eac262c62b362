"""The phase-functioned neural network (Holden, Komura and Saito 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import elu

from controllers.networks.blended_linear import BlendedLinear
from controllers.networks.catmull_rom import cyclic_coefficients, open_coefficients
from controllers.networks.network import (
    ControllerNetwork,
    NetworkDims,
    check_dropout,
    check_positive,
)
from deepphase.errors import ParameterError


@dataclass(frozen=True)
class PfnnConfig:
    """The shape of a PFNN; the defaults are the paper's.

    Parameters
    ----------
    hidden
        Width of the two hidden layers.
    points
        Control points of the weights' spline; at least 4.
    cyclic
        Whether the spline closes. If not, the phase runs from 0 to 1, as in a punch.
    dropout
        Probability that an input of a layer is dropped (the paper retains 0.7).
    """

    hidden: int = 512
    points: int = 4
    cyclic: bool = True
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check_positive(hidden=self.hidden)
        check_dropout(self.dropout)
        if self.points < 4:
            raise ParameterError(f"a cubic spline needs 4 points, not {self.points}")


class Pfnn(ControllerNetwork):
    """Three layers whose weights are a cubic function of the phase.

    The gate is the phase: one number, in cycles, growing with time.
    """

    def __init__(self, dims: NetworkDims, config: PfnnConfig) -> None:
        super().__init__(dims)
        if dims.gate != 1:
            raise ParameterError(f"a PFNN is gated by one phase, not by {dims.gate} numbers")
        self.config = config
        hidden, points = config.hidden, config.points
        self.layer_in = BlendedLinear(points, dims.inputs, hidden)
        self.layer_mid = BlendedLinear(points, hidden, hidden)
        self.layer_out = BlendedLinear(points, hidden, dims.outputs)
        self.dropout = nn.Dropout(config.dropout)

    def coefficients(self, gate: Tensor) -> Tensor:
        """(batch, 1) cycles -> (batch, points): how much each control point counts."""
        spline = cyclic_coefficients if self.config.cyclic else open_coefficients
        return spline(gate, self.config.points)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 1) cycles -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        blend = self.coefficients(gate)  # (batch, points)
        x = elu(self.layer_in(self.dropout(inputs), blend))  # (batch, hidden)
        x = elu(self.layer_mid(self.dropout(x), blend))  # (batch, hidden)
        return self.layer_out(self.dropout(x), blend)  # (batch, outputs)
