"""A linear layer whose weights are a blend, without ever making the blended weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class BlendedLinear(nn.Module):
    """y = x (sum_k c_k W_k) + sum_k c_k b_k, with coefficients of its own for every row.

    The blend is linear, so sum_k c_k (x W_k) = (c outer x) W with the W_k stacked: one matrix
    product for the whole batch, where a weight matrix a row is as many numbers as batch * in *
    out. Equal to rounding.

    Parameters
    ----------
    points
        Control points or experts that are blended.
    ins, outs
        Widths.
    """

    def __init__(self, points: int, ins: int, outs: int) -> None:
        super().__init__()
        self.points, self.ins, self.outs = points, ins, outs
        self.weight = nn.Parameter(torch.empty(points, ins, outs))
        self.bias = nn.Parameter(torch.zeros(points, outs))
        # Glorot and Bengio 2010, as PFNN and MANN start.
        bound = math.sqrt(6.0 / (ins + outs))
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """(batch, ins) and (batch, points) -> (batch, outs)."""
        stacked = coefficients[:, :, None] * x[:, None, :]  # (batch, points, ins)
        weight = self.weight.reshape(self.points * self.ins, self.outs)
        return stacked.flatten(1) @ weight + coefficients @ self.bias
