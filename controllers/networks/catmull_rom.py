"""How much each control point counts at a phase: the spline that PFNN's weights lie on."""

from __future__ import annotations

import torch
from torch import Tensor


def cyclic_coefficients(phase: Tensor, points: int) -> Tensor:
    """Weights of the control points of a closed Catmull-Rom spline.

    Parameters
    ----------
    phase : (batch, 1)
        Cycles; any whole number of cycles more or less is the same.
    points
        Control points, at phases 0, 1/points, ...

    Returns
    -------
    (batch, points). They sum to 1; four of them differ from 0, at a control point one.

    References
    ----------
    Holden, Komura and Saito 2017, eq. 7. Written as a function of the distance to each control
    point, it needs neither indices nor branches.
    """
    half = points / 2.0
    distance = torch.remainder(points * phase - _indices(phase, points) + half, points) - half
    return _cubic(distance.abs())


def open_coefficients(phase: Tensor, points: int) -> Tensor:
    """The same of an open spline: phase 0 is the first control point, 1 the last.

    Beyond its ends the outermost control point is repeated.
    """
    place = (points - 1) * open_phase(phase)
    weights = _cubic((place - _indices(phase, points)).abs())
    before, behind = _cubic((place + 1.0).abs()), _cubic((place - points).abs())
    edges = torch.zeros_like(weights)
    edges = torch.cat([before, edges[:, 1:-1], behind], dim=1)
    return weights + edges


def open_phase(phase: Tensor) -> Tensor:
    """Cycles -> [0, 1]: wrapped phases in [-0.5, 0) are the second half; beyond 1 it is held."""
    return torch.where(phase < 0.0, phase + 1.0, phase).clamp(0.0, 1.0)


def _indices(phase: Tensor, points: int) -> Tensor:
    return torch.arange(points, device=phase.device, dtype=phase.dtype)


def _cubic(distance: Tensor) -> Tensor:
    """The cardinal function of Catmull-Rom at a distance in control points, 0 beyond 2."""
    square = distance.square()
    cube = square * distance
    near = 1.0 - 2.5 * square + 1.5 * cube
    far = 2.0 - 4.0 * distance + 2.5 * square - 0.5 * cube
    zero = torch.zeros_like(distance)
    return torch.where(distance < 1.0, near, torch.where(distance < 2.0, far, zero))
