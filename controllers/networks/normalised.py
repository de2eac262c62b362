"""Networks with their normalisation, for raw inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.arrays import Array
from deepphase.controllers.networks.network import ControllerNetwork, State
from deepphase.controllers.schema.config import CYCLES_UNIT
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout, Moments, Normalisation


def normalisation_of(layout: FeatureLayout | None, batches: Iterable[Array]) -> Normalisation:
    """The normalisation of batches of raw rows (rows, dims); blocks in cycles keep their values."""
    if layout is None:
        return Normalisation(np.zeros(0, np.float32), np.zeros(0, np.float32))
    moments = Moments()
    for rows in batches:
        moments.add(rows)
    found = moments.normalisation(layout)
    for feature in layout:
        if feature.unit == CYCLES_UNIT:
            block = layout.slices[feature.name]
            found.mean[block], found.scale[block] = 0.0, 1.0
    return found


class NormalisedController(nn.Module):
    """A network with raw inputs and outputs, as it is run, saved and exported.

    `carried`: columns of the inputs that raw outputs add to, and their shares, (outputs,) each;
    None where outputs are predicted as they are. See `ControllerSchema.carried`.
    """

    inputs_mean: Tensor
    inputs_scale: Tensor
    gate_mean: Tensor
    gate_scale: Tensor
    outputs_mean: Tensor
    outputs_scale: Tensor
    outputs_unit: Tensor
    carried_columns: Tensor
    carried_shares: Tensor

    def __init__(
        self,
        network: ControllerNetwork,
        inputs: Normalisation,
        gate: Normalisation,
        outputs: Normalisation,
        carried: tuple[Array, Array] | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        for name, each in (("inputs", inputs), ("gate", gate), ("outputs", outputs)):
            width = getattr(network.dims, name)
            if len(each.mean) != width:
                raise ParameterError(
                    f"{name}: the normalisation has {len(each.mean)} values, the network {width}"
                )
            self.register_buffer(f"{name}_mean", torch.from_numpy(each.mean.copy()))
            self.register_buffer(f"{name}_scale", torch.from_numpy(each.scale.copy()))
        # A block of weight 0 is not trained; its output is its mean.
        untrained = self.outputs_scale == 0
        inverse = torch.where(untrained, torch.ones(()), self.outputs_scale).reciprocal()
        self.register_buffer("outputs_unit", torch.where(untrained, torch.zeros(()), inverse))
        self._carries = carried is not None
        columns, shares = ((), ()) if carried is None else carried
        self.register_buffer("carried_columns", torch.as_tensor(columns, dtype=torch.long))
        self.register_buffer("carried_shares", torch.as_tensor(shares, dtype=torch.float32))

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """Raw (batch, inputs) and (batch, gate) -> raw (batch, outputs)."""
        return self.raw(self.network(*self.normalised(inputs, gate)), inputs)

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame of a run in raw values; see `ControllerNetwork.step`."""
        outputs, state = self.network.step(*self.normalised(inputs, gate), state)
        return self.raw(outputs, inputs), state

    def normalised(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
        """Raw inputs and gate -> normalised ones."""
        return (
            (inputs - self.inputs_mean).mul_(self.inputs_scale),
            (gate - self.gate_mean).mul_(self.gate_scale),
        )

    def blend_weights(self, gate: Tensor) -> Tensor | None:
        """`ControllerNetwork.blend_weights` of a raw gate (batch, gate)."""
        return self.network.blend_weights((gate - self.gate_mean) * self.gate_scale)

    def target(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """Raw outputs (..., outputs) after raw inputs -> normalised targets of the loss."""
        if self._carries:
            outputs = outputs - self._carried(inputs)
        return (outputs - self.outputs_mean) * self.outputs_scale

    def raw(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """Normalised outputs (..., outputs) of the network, after raw inputs -> raw outputs."""
        made = torch.addcmul(self.outputs_mean, outputs, self.outputs_unit)
        return made.add_(self._carried(inputs)) if self._carries else made

    def _carried(self, inputs: Tensor) -> Tensor:
        return torch.index_select(inputs, -1, self.carried_columns).mul_(self.carried_shares)
