"""Phase update of a running character (Starke et al. 2022, eq. 9)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Shorter vectors have no direction, and for more nearly opposite directions no mean is defined.
MIN_LENGTH = 1e-8
NEARLY_OPPOSITE = 1e-4


def updated_phases(
    manifold: Tensor,
    predicted: Tensor,
    frequency: Tensor,
    amplitude: Tensor,
    seconds: float,
    blend: float = 0.5,
) -> Tensor:
    """Phase vectors one step later, (..., 2 * channels), each channel of length `amplitude`.

    Each channel's direction is rotated forward by frequency * seconds cycles, then by a share of
    the remaining angle to the predicted direction. (The paper's formula multiplies by amplitudes
    twice; here unit directions are blended.) If only one of the two has a direction, that is the
    result; if neither has, the phase is 0; if they are opposite, the rotated one is the result.

    `manifold`, `predicted` (..., 2 * channels) (A sin 2 pi phase, A cos 2 pi phase), interleaved by
    channel; lengths of the predicted ones are ignored. `frequency`, `amplitude` (..., channels)
    predicted, in Hz and the latent's unit; negative values count as 0.
    """
    old, has_old = _directions(manifold.unflatten(-1, (-1, 2)))
    goal, has_goal = _directions(predicted.unflatten(-1, (-1, 2)))
    turned = turned_by(old, 2.0 * math.pi * frequency.clamp(min=0.0) * seconds)
    # Sine and cosine of the angle from the rotated to the predicted direction.
    ahead = goal[..., 0] * turned[..., 1] - goal[..., 1] * turned[..., 0]
    along = (goal * turned).sum(-1)
    opposite = along < NEARLY_OPPOSITE - 1.0
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
    found = vectors.square().sum(-1, keepdim=True) > MIN_LENGTH**2
    # Made on the device: a copy to it would wait for all that it computes.
    ahead = torch.eye(2, dtype=vectors.dtype, device=vectors.device)[1]
    safe = torch.where(found, vectors, ahead)
    return safe / safe.square().sum(-1, keepdim=True).sqrt(), found
