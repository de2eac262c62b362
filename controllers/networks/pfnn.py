"""Phase-functioned neural network (Holden, Komura and Saito 2017), exact and precomputed.

In the paper's section 7 the weights of a trained network are computed in advance at evenly spaced
phases. This form is an approximation and takes more memory; whether it is faster depends on the
size of the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from deepphase.controllers.networks.blended_linear import (
    BlendedLinear,
    SplineKind,
    check_spline,
    cyclic_coefficients,
    open_coefficients,
    open_phase,
)
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    NetworkDims,
    check_dropout,
    check_positive,
)
from deepphase.errors import ParameterError

TABLE_SIZES = {"linear": 10, "constant": 50}
"""Precomputed form -> number of phases in its table (section 7 of the paper)."""


@dataclass(frozen=True)
class PfnnConfig(ControllerNetworkConfig):
    """Phase-functioned neural network; the defaults are the paper's.

    Parameters
    ----------
    hidden
        Width of the two hidden layers.
    points
        Number of control points of the spline of weights; at least 4.
    cyclic
        Whether the spline is closed. If not, the phase runs from 0 to 1, as in a punch.
    spline
        Spline of the weights: the paper's "catmull_rom"; or "natural", whose second derivative is
        continuous, with as many parameters.
    dropout
        Dropout probability of the inputs of each layer.
    """

    hidden: int = 512
    points: int = 4
    cyclic: bool = True
    spline: SplineKind = "catmull_rom"
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check_positive(hidden=self.hidden)
        check_dropout(self.dropout)
        check_spline(self.spline)
        if self.points < 4:
            raise ParameterError(f"points must be at least 4 for a cubic spline, not {self.points}")


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
        self.dropout = nn.Dropout(config.dropout)

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

    def precomputed(self, form: str, count: int | None = None) -> PrecomputedPfnn:
        """The network with its weights computed in advance; see `PrecomputedPfnn`."""
        return PrecomputedPfnn(self, form, count)


class PrecomputedPfnn(ControllerNetwork):
    """A PFNN with weights from a table at evenly spaced phases, for inference only.

    Rows of a batch whose phases share a table entry are computed together.

    Parameters
    ----------
    form
        "constant": the weights of the nearest phase. "linear": interpolated weights of
        the two nearest.
    """

    weight_0: Tensor

    def __init__(self, network: Pfnn, form: str, count: int | None = None) -> None:
        super().__init__(network.dims)
        if form not in TABLE_SIZES:
            raise ParameterError(
                f"there is no form {form!r}", hint=f"forms: {', '.join(TABLE_SIZES)}"
            )
        self.form, self.count = form, TABLE_SIZES[form] if count is None else count
        self.cyclic = network.config.cyclic
        if self.count < 2:
            raise ParameterError(
                f"a table of {self.count} phases is not possible", hint="give at least 2"
            )
        last = self.count if self.cyclic else self.count - 1
        with torch.no_grad():
            # The table of a cycle has one more entry: phase 1 equals phase 0.
            phases = torch.arange(last + 1)[:, None] / last
            blend = network.blend_weights(phases.to(network.layer_in.weight))
            for index, layer in enumerate((network.layer_in, network.layer_mid, network.layer_out)):
                table = torch.einsum("tp,pio->tio", blend, layer.weight)
                self.register_buffer(f"weight_{index}", table)
                self.register_buffer(f"bias_{index}", blend @ layer.bias)

    @torch.no_grad()
    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 1) cycles -> (batch, outputs), without gradients."""
        self.check_dims(inputs, gate)
        last = len(self.weight_0) - 1
        phase = gate[:, 0]
        phase = torch.remainder(phase, 1.0) if self.cyclic else open_phase(phase)
        place = phase * last
        if self.form == "constant":
            entry = place.round().long()
            outputs = torch.empty(len(inputs), self.dims.outputs).to(inputs)
            for number, rows in _by_entry(entry):
                outputs[rows] = self._constant(inputs[rows], number)
            return outputs
        entry = place.floor().long().clamp(max=last - 1)
        share = (place - entry)[:, None]
        outputs = torch.empty(len(inputs), self.dims.outputs).to(inputs)
        for number, rows in _by_entry(entry):
            outputs[rows] = self._linear(inputs[rows], number, share[rows])
        return outputs

    def _constant(self, x: Tensor, entry: int) -> Tensor:
        for index in range(3):
            x = elu(x) if index else x
            x = torch.addmm(
                self.get_buffer(f"bias_{index}")[entry],
                x,
                self.get_buffer(f"weight_{index}")[entry],
            )
        return x

    def _linear(self, x: Tensor, entry: int, share: Tensor) -> Tensor:
        for index in range(3):
            x = elu(x) if index else x
            weight = self.get_buffer(f"weight_{index}")[entry : entry + 2]
            bias = self.get_buffer(f"bias_{index}")[entry : entry + 2]
            blend = torch.cat([1.0 - share, share], dim=1)
            stacked = (blend[:, :, None] * x[:, None, :]).flatten(1)
            x = stacked @ weight.flatten(0, 1) + blend @ bias
        return x

    def check_exportable(self) -> None:
        """Raise ParameterError: only the exact network is exported."""
        raise ParameterError("precomputed forms are not exported", hint="export the exact network")


def _by_entry(entries: Tensor) -> list[tuple[int, Tensor]]:
    """Table entries, each with the rows that use it."""
    order = torch.argsort(entries)
    numbers, counts = torch.unique_consecutive(entries[order], return_counts=True)
    return list(zip(numbers.tolist(), order.split(counts.tolist()), strict=True))
