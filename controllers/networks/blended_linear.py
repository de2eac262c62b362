"""Linear layer with blended weights, computed without the blended weight matrices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

_MANY_ROWS = 64


class BlendedLinear(nn.Module):
    """y = x (sum_k c_k W_k) + sum_k c_k b_k, with different coefficients for every row.

    The blend is linear, so sum_k c_k (x W_k) = (c outer x) W with the W_k stacked: one matrix
    product for the whole batch, while a blended matrix for each row takes batch * in * out numbers.
    Both are equal up to rounding. In inference a layer that narrows is computed as
    sum_k c_k (x W_k), which writes batch * out numbers for each k instead of batch * in.
    """

    # Axis of the weight that counts inputs, which all points share, for `Muon`.
    input_axes = (1,)

    def __init__(self, points: int, ins: int, outs: int) -> None:
        super().__init__()
        self.points, self.ins, self.outs = points, ins, outs
        self.weight = nn.Parameter(torch.empty(points, ins, outs))
        self.bias = nn.Parameter(torch.zeros(points, outs))
        # Glorot and Bengio 2010, as in PFNN and MANN.
        bound = math.sqrt(6.0 / (ins + outs))
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """(batch, ins) and (batch, points) -> (batch, outs)."""
        # The loop has more calls: it takes longer for few rows.
        if torch.is_inference_mode_enabled() and self.outs < self.ins and len(x) >= _MANY_ROWS:
            outputs = coefficients @ self.bias
            for point in range(self.points):
                outputs.addcmul_(coefficients[:, point, None], x @ self.weight[point])
            return outputs
        stacked = coefficients[:, :, None] * x[:, None, :]  # (batch, points, ins)
        weight = self.weight.reshape(self.points * self.ins, self.outs)
        return stacked.flatten(1) @ weight + coefficients @ self.bias
