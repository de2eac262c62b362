"""A trained PFNN with its weights computed in advance: faster or slower, larger, not exact."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import elu

from controllers.networks.catmull_rom import open_phase
from controllers.networks.network import ControllerNetwork
from controllers.networks.pfnn import Pfnn
from deepphase.errors import ParameterError

Form = Literal["linear", "constant"]
# Phases in the tables of the paper (section 7).
TABLE_SIZES: dict[Form, int] = {"linear": 10, "constant": 50}


class PrecomputedPfnn(ControllerNetwork):
    """A PFNN's weights at evenly spaced phases, the nearest or a line between two of them.

    Only for running; rows of a batch whose phases share a table entry are computed together.

    Parameters
    ----------
    network
        A trained PFNN.
    form
        "constant": the weights of the nearest phase. "linear": between the two nearest.
    count
        Phases in the table; the paper's if left out.
    """

    weight_0: Tensor

    def __init__(self, network: Pfnn, form: Form, count: int | None = None) -> None:
        super().__init__(network.dims)
        if form not in TABLE_SIZES:
            raise ParameterError(f"no form {form!r}", hint=f"forms: {', '.join(TABLE_SIZES)}")
        self.form, self.count = form, TABLE_SIZES[form] if count is None else count
        self.cyclic = network.config.cyclic
        if self.count < 2:
            raise ParameterError(f"a table of {self.count} phases: it needs 2")
        last = self.count if self.cyclic else self.count - 1
        with torch.no_grad():
            # One entry more than the table of a cycle: phase 1 is phase 0 again.
            phases = torch.arange(last + 1)[:, None] / last
            blend = network.coefficients(phases.to(network.layer_in.weight))
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

    @property
    def megabytes(self) -> float:
        """Of the tables."""
        return sum(each.numel() * each.element_size() for each in self.buffers()) / 1e6


def _by_entry(entries: Tensor) -> list[tuple[int, Tensor]]:
    """Table entries that occur, with the rows where they do."""
    order = torch.argsort(entries)
    numbers, counts = torch.unique_consecutive(entries[order], return_counts=True)
    return list(zip(numbers.tolist(), order.split(counts.tolist()), strict=True))
