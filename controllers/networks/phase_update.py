"""The next phases of a running character (Starke et al. 2022, eq. 9)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Vectors below this length have no direction, and directions this near to opposite no middle.
_NO_LENGTH = 1e-8
_NEARLY_OPPOSITE = 1e-4


def updated_phases(
    manifold: Tensor,
    predicted: Tensor,
    frequency: Tensor,
    amplitude: Tensor,
    seconds: float,
    blend: float = 0.5,
) -> Tensor:
    """Phase vectors one step later.

    Each channel's direction is turned by frequency * seconds cycles, forward in time, and then
    by a share of the angle that is left to the predicted direction; its length is the predicted
    amplitude. (The paper's formula multiplies by amplitudes twice; directions are meant.)

    Parameters
    ----------
    manifold : (..., 2 * channels)
        (A sin 2 pi phase, A cos 2 pi phase), interleaved by channel. Any leading axes: characters,
        moments of the trajectory.
    predicted : (..., 2 * channels)
        The same one step later, as the network predicts it; its length is not looked at.
    frequency, amplitude : (..., channels)
        Hz and the latent's unit, as the network predicts them. Below 0 they count as 0.
    seconds
        Of the step.
    blend
        Share of the way to the prediction: 0 only turns, 1 only predicts.

    Returns
    -------
    (..., 2 * channels), each channel of length `amplitude`. Where only one of the two has a
    direction it is that one's; where neither has, the phase is 0. Directions opposite to each
    other have no middle: the turned one is kept.
    """
    old, has_old = _directions(manifold.unflatten(-1, (-1, 2)))
    goal, has_goal = _directions(predicted.unflatten(-1, (-1, 2)))
    turned = turned_by(old, 2.0 * math.pi * frequency.clamp(min=0.0) * seconds)
    # Sine and cosine of the phase's lead from the turned to the predicted direction.
    ahead = goal[..., 0] * turned[..., 1] - goal[..., 1] * turned[..., 0]
    along = (goal * turned).sum(-1)
    opposite = along < _NEARLY_OPPOSITE - 1.0
    apart = torch.where(opposite, torch.zeros_like(along), torch.atan2(ahead, along))
    middle = turned_by(turned, blend * apart)
    direction = torch.where(has_old & has_goal, middle, torch.where(has_old, turned, goal))
    return (amplitude.clamp(min=0.0)[..., None] * direction).flatten(-2)


def turned_by(vectors: Tensor, angle: Tensor) -> Tensor:
    """(..., 2) vectors (sin, cos) whose phase grows by an angle (...) in radians."""
    sine, cosine = torch.sin(angle), torch.cos(angle)
    s, c = vectors[..., 0], vectors[..., 1]
    return torch.stack([s * cosine + c * sine, c * cosine - s * sine], dim=-1)


def _directions(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors of (..., 2), and whether there is a direction (..., 1); if not, phase 0."""
    found = vectors.square().sum(-1, keepdim=True) > _NO_LENGTH**2
    ahead = torch.tensor([0.0, 1.0], dtype=vectors.dtype, device=vectors.device)
    safe = torch.where(found, vectors, ahead)
    return safe / safe.square().sum(-1, keepdim=True).sqrt(), found
