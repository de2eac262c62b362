"""A weight matrix a sample, as controllers are usually written: the oracle of blending."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import elu

from deepphase.controllers.networks.blended_linear import BlendedLinear


def naive_linear(layer: BlendedLinear, x: Tensor, coefficients: Tensor) -> Tensor:
    """(batch, ins) through the blended weights (batch, ins, outs)."""
    weights = torch.einsum("bp,pio->bio", coefficients, layer.weight)
    biases = torch.einsum("bp,po->bo", coefficients, layer.bias)
    return torch.einsum("bi,bio->bo", x, weights) + biases


def naive_body(network, inputs: Tensor, coefficients: Tensor) -> Tensor:
    """The three layers of a PFNN or of experts, without dropout."""
    x = elu(naive_linear(network.layer_in, inputs, coefficients))
    x = elu(naive_linear(network.layer_mid, x, coefficients))
    return naive_linear(network.layer_out, x, coefficients)
