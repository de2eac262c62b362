"""Networks whose blended layers are computed in integers of 8 bits, for crowds."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.runtime.int8_kernel import (
    LARGEST,
    SMALLEST,
    blend_products,
    has_vnni,
    round_rows,
)
from deepphase.errors import ParameterError

# Rows of one product: more do not fit into the processor's cache.
_ROWS_AT_ONCE = 512


def int8_network(controller: NormalisedController) -> NormalisedController:
    """A copy of a network, with blended layers in integers of 8 bits.

    Weights have a scale for every output, activations one for every character. Gates, biases and
    what is not a blended layer stay as they are. The copy runs, and cannot be saved or exported.
    On a processor without AVX-512 VNNI, where integers are slower than float32, it is the network
    itself.

    Raises
    ------
    ParameterError
        If the network has no blended layers.
    """
    made = deepcopy(controller)
    layers = {
        name: layer for name, layer in made.named_modules() if isinstance(layer, BlendedLinear)
    }
    if not layers:
        raise ParameterError(
            "the network has no blended layers to compute in 8 bits",
            hint="mixtures of experts, PFNN and VINN have them",
        )
    if not has_vnni():
        return controller
    for name, layer in layers.items():
        made.set_submodule(name, Int8Blend(layer))
    return made


class Int8Blend(nn.Module):
    """A `BlendedLinear` in integers of 8 bits, for inference on the CPU.

    Parameters
    ----------
    layer
        Layer with the weights.
    """

    bias: Tensor
    in_8_bits = True

    def __init__(self, layer: BlendedLinear) -> None:
        super().__init__()
        self._outs = layer.outs
        with torch.no_grad():
            # All points side by side: rows are rounded once, and multiplied once.
            weight = layer.weight.permute(1, 0, 2).flatten(1).cpu()
            scales = weight.abs().amax(dim=0).clamp(min=SMALLEST) / LARGEST
            self._weight = torch.round(weight / scales).to(torch.int8).contiguous()
            bias = layer.bias.cpu().clone()
        self._scales = scales.numpy()
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """(batch, ins) and (batch, points) -> (batch, outs)."""
        values, shares = x.contiguous().numpy(), coefficients.contiguous().numpy()
        rounded, scales = np.empty(values.shape, np.int8), np.empty(len(values), np.float32)
        round_rows(values, rounded, scales)
        rows, bias = torch.from_numpy(rounded), self.bias.numpy()
        outputs = np.empty((len(values), self._outs), np.float32)
        for start in range(0, len(values), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            products = torch._int_mm(rows[part], self._weight).numpy()
            blend_products(products, scales[part], self._scales, shares[part], bias, outputs[part])
        return torch.from_numpy(outputs)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # The integers are not parameters: what is saved would silently lack these weights.
        raise kept_in_memory()


def check_no_int8(network: nn.Module) -> None:
    """Raise ParameterError for a network in 8 bits: its weights are not parameters."""
    if any(getattr(each, "in_8_bits", False) for each in network.modules()):
        raise kept_in_memory()


def kept_in_memory() -> ParameterError:
    """The error of saving or exporting a network in groups or in 8 bits."""
    return ParameterError(
        "a network in groups or in 8 bits cannot be saved or exported",
        hint="save or export the controller that it was made of",
    )
