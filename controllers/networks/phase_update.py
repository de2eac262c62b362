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
    old, has_old = _directions(manifold)
    goal, has_goal = _directions(predicted)
    # Numbers sin + i cos: a phase that grows by an angle turns them by minus that angle.
    turned = old * unit_at(-2.0 * math.pi * seconds * frequency.clamp(min=0.0))
    way = goal * turned.conj()
    opposite = way.real < NEARLY_OPPOSITE - 1.0
    apart = torch.where(opposite, 0.0, torch.angle(way))
    middle = turned * unit_at(blend * apart)
    direction = torch.where(has_old & has_goal, middle, torch.where(has_old, turned, goal))
    return torch.view_as_real(amplitude.clamp(min=0.0) * direction).flatten(-2)


def unit_at(angle: Tensor) -> Tensor:
    """exp(i angle) of radians (...)."""
    return _UnitAt.apply(angle)  # type: ignore[no-any-return, no-untyped-call]


class _UnitAt(torch.autograd.Function):
    """`torch.polar` of length 1, with a derivative of one product."""

    @staticmethod
    def forward(ctx, angle):
        unit = torch.polar(torch.ones_like(angle), angle)
        ctx.save_for_backward(unit)
        return unit

    @staticmethod
    def backward(ctx, grad):
        (unit,) = ctx.saved_tensors
        return (grad * unit.conj()).imag


def _directions(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Unit sin + i cos of (..., 2 * channels), and where there is a direction; if not, phase 0."""
    numbers = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous())
    found = numbers.abs() > MIN_LENGTH
    return torch.where(found, torch.sgn(numbers), 1j), found
