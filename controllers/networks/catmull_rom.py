"""Catmull-Rom splines: coefficients of the control points of PFNN's weights at a phase."""

from __future__ import annotations

import torch
from torch import Tensor


def cyclic_coefficients(phase: Tensor, points: int) -> Tensor:
    """Weights of the control points of a closed Catmull-Rom spline.

    Parameters
    ----------
    phase : (batch, 1)
        Cycles; whole cycles make no difference.
    points
        Number of control points, at phases 0, 1/points, ...

    Returns
    -------
    (batch, points). They sum to 1. Four of them differ from 0, and at a control point one.

    References
    ----------
    Holden, Komura and Saito 2017, eq. 7. As a function of the distance to each control point
    it needs neither indices nor branches.
    """
    half = points / 2.0
    distance = torch.remainder(points * phase - _indices(phase, points) + half, points) - half
    return _cubic(distance.abs())


def open_coefficients(phase: Tensor, points: int) -> Tensor:
    """Weights of the control points of an open spline from phase 0 to 1.

    Phase 0 is the first control point, 1 the last; beyond the ends they are repeated.
    """
    place = (points - 1) * open_phase(phase)
    weights = _cubic((place - _indices(phase, points)).abs())
    before, behind = _cubic((place + 1.0).abs()), _cubic((place - points).abs())
    edges = torch.zeros_like(weights)
    edges = torch.cat([before, edges[:, 1:-1], behind], dim=1)
    return weights + edges


def open_phase(phase: Tensor) -> Tensor:
    """Cycles -> [0, 1]: phases in [-0.5, 0) are the second half; larger ones are clamped to 1."""
    return torch.where(phase < 0.0, phase + 1.0, phase).clamp(0.0, 1.0)


def _indices(phase: Tensor, points: int) -> Tensor:
    return torch.arange(points, device=phase.device, dtype=phase.dtype)


def _cubic(distance: Tensor) -> Tensor:
    """Cardinal function of Catmull-Rom splines at a distance in control points; 0 beyond 2."""
    square = distance.square()
    cube = square * distance
    near = 1.0 - 2.5 * square + 1.5 * cube
    far = 2.0 - 4.0 * distance + 2.5 * square - 0.5 * cube
    zero = torch.zeros_like(distance)
    return torch.where(distance < 1.0, near, torch.where(distance < 2.0, far, zero))
