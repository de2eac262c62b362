"""Linear layer with blended weights, computed without the blended weight matrices."""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import numpy as np
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
        # (batch, points, ins): as a product of matrices, its derivatives are two others.
        outer = torch.bmm if torch.is_grad_enabled() else torch.mul
        stacked = outer(coefficients[:, :, None], x[:, None, :])
        weight = self.weight.reshape(self.points * self.ins, self.outs)
        return torch.addmm(coefficients @ self.bias, stacked.flatten(1), weight)


SplineKind = Literal["catmull_rom", "natural"]


def cyclic_coefficients(phase: Tensor, points: int, kind: SplineKind = "catmull_rom") -> Tensor:
    """Weights (batch, points) of the control points of a closed cubic spline, which sum to 1.

    `phase` (batch, 1) cycles. `kind`: "catmull_rom", whose second derivative jumps at every control
    point, and of which at most four weights differ from 0; or "natural", the interpolating spline
    with a continuous second derivative. Holden, Komura and Saito 2017, eq. 7: as functions of the
    distance to each control point both kinds need neither indices nor branches.
    """
    half = points / 2.0
    distance = torch.remainder(points * phase - _indices(phase, points) + half, points) - half
    if kind == "catmull_rom":
        return _catmull_rom(distance.abs())
    return _b_spline(distance.abs()) @ _constant(_closed(points), phase)


def open_coefficients(phase: Tensor, points: int, kind: SplineKind = "catmull_rom") -> Tensor:
    """Weights of the control points of an open spline from phase 0, the first, to 1, the last."""
    place = (points - 1) * open_phase(phase)
    if kind == "natural":
        # One more B-spline beyond each end.
        weights = _b_spline((place - _indices(phase, points + 2) + 1.0).abs())
        return weights @ _constant(_open(points), phase)
    weights = _catmull_rom((place - _indices(phase, points)).abs())
    before, behind = _catmull_rom((place + 1.0).abs()), _catmull_rom((place - points).abs())
    edges = torch.zeros_like(weights)
    edges = torch.cat([before, edges[:, 1:-1], behind], dim=1)
    return weights + edges


def open_phase(phase: Tensor) -> Tensor:
    """Cycles -> [0, 1]: phases in [-0.5, 0) are the second half; larger ones are clamped to 1."""
    return torch.where(phase < 0.0, phase + 1.0, phase).clamp(0.0, 1.0)


def _indices(phase: Tensor, points: int) -> Tensor:
    return torch.arange(points, device=phase.device, dtype=phase.dtype)


def _catmull_rom(distance: Tensor) -> Tensor:
    """Cardinal function of Catmull-Rom splines at a distance in control points; 0 beyond 2."""
    square = distance.square()
    cube = square * distance
    near = 1.0 - 2.5 * square + 1.5 * cube
    far = 2.0 - 4.0 * distance + 2.5 * square - 0.5 * cube
    zero = torch.zeros_like(distance)
    return torch.where(distance < 1.0, near, torch.where(distance < 2.0, far, zero))


def _b_spline(distance: Tensor) -> Tensor:
    """Uniform cubic B-spline at a distance in control points; 0 beyond 2 (de Boor 1978)."""
    near = (2.0 - distance).clamp(min=0.0)
    inner = (1.0 - distance).clamp(min=0.0)
    return (near * near * near - 4.0 * inner * inner * inner) / 6.0


# (address of the numbers, device) -> a copy there. A captured training step may make none.
_ON_GPU: dict[tuple[int, torch.device], Tensor] = {}


@torch.inference_mode(False)
def _constant(values: np.ndarray, like: Tensor) -> Tensor:
    """Values that this module keeps, on a tensor's device and of its type."""
    made = _ON_GPU.get((id(values), like.device))
    if made is None or made.dtype != like.dtype:
        made = torch.from_numpy(values).to(like)
        # Not those of a trace.
        if like.is_cuda and type(made) is Tensor:
            _ON_GPU[id(values), like.device] = made
    return made


@cache
def _closed(points: int) -> np.ndarray:
    """(points, points) shares of the control points of a closed curve in its B-splines."""
    eye = np.eye(points)
    return np.linalg.inv((np.roll(eye, 1, 0) + 4.0 * eye + np.roll(eye, -1, 0)) / 6.0)


@cache
def _open(points: int) -> np.ndarray:
    """(points + 2, points) the same of an open one, with second derivatives of 0 at its ends."""
    count = points + 2
    values = (np.eye(count, k=-1) + 4.0 * np.eye(count) + np.eye(count, k=1)) / 6.0
    values[[0, -1]] = 0.0
    values[0, :3] = values[-1, -3:] = 1.0, -2.0, 1.0
    return np.linalg.inv(values)[:, 1:-1].copy()
