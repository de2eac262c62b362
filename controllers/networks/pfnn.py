"""Phase-functioned neural network (Holden, Komura and Saito 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import elu

from deepphase.config import BELOW_1, require_in, require_one_of
from deepphase.controllers.networks.blended_linear import (
    BlendedLinear,
    SplineKind,
    cyclic_coefficients,
    open_coefficients,
)
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    Dropout,
    NetworkDims,
)
from deepphase.errors import ParameterError


@dataclass(frozen=True)
class PfnnConfig(ControllerNetworkConfig):
    """Phase-functioned neural network; the defaults are the paper's."""

    hidden: int = 512  # Width of the two hidden layers
    points: int = 4  # Number of control points of the spline of weights; at least 4
    # Whether the spline is closed. If not, the phase runs from 0 to 1, as in a punch.
    cyclic: bool = True
    # Spline of the weights: the paper's "catmull_rom"; or "natural", whose second derivative is
    # continuous, with as many parameters.
    spline: SplineKind = "catmull_rom"
    dropout: float = 0.3  # Dropout probability of the inputs of each layer

    def __post_init__(self) -> None:
        # A cubic spline has four points at least.
        require_in(self, hidden=(1, 1e6), points=(4, 1e6), dropout=(0, BELOW_1))
        require_one_of(self, spline=SplineKind)


class Pfnn(ControllerNetwork):
    """Three layers whose weights are a cubic function of the phase.

    The gate is the phase in cycles, which grows with time.
    """

    page_form = "pfnn"

    def __init__(self, dims: NetworkDims, config: PfnnConfig) -> None:
        super().__init__(dims)
        if dims.gate != 1:
            raise ParameterError(
                f"a PFNN is gated by one phase, not by {dims.gate} values",
                hint="choose a schema with the gate 'phase'",
            )
        self.config = config
        hidden, points = config.hidden, config.points
        self.layer_in = BlendedLinear(points, dims.inputs, hidden)
        self.layer_mid = BlendedLinear(points, hidden, hidden)
        self.layer_out = BlendedLinear(points, hidden, dims.outputs)
        self.dropout = Dropout(config.dropout)

    def blend_weights(self, gate: Tensor) -> Tensor:
        """(batch, 1) cycles -> (batch, points): share of each control point in the weights."""
        coefficients = cyclic_coefficients if self.config.cyclic else open_coefficients
        return coefficients(gate, self.config.points, self.config.spline)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 1) cycles -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        blend = self.blend_weights(gate)  # (batch, points)
        x = elu(self.layer_in(self.dropout(inputs), blend))  # (batch, hidden)
        x = elu(self.layer_mid(self.dropout(x), blend))  # (batch, hidden)
        return self.layer_out(self.dropout(x), blend)  # (batch, outputs)
