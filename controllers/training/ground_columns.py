"""Columns of rows as complex numbers on the ground, x + i z, differentiably."""

from __future__ import annotations

import torch
from torch import Tensor


def unit_at(angle: Tensor) -> Tensor:
    """exp(i angle) of radians (...)."""
    return torch.complex(torch.cos(angle), torch.sin(angle))


def complex_columns(values: Tensor) -> Tensor:
    """(batch, 2 * n) x and z interleaved -> (batch, n) complex."""
    x, z = values.unflatten(1, (-1, 2)).unbind(-1)
    return torch.complex(x, z)


def real_columns(values: Tensor) -> Tensor:
    """(batch, n) complex -> (batch, 2 * n)."""
    return torch.view_as_real(values).flatten(1)


def with_block(rows: Tensor, block: slice, values: Tensor) -> Tensor:
    """(batch, dims) rows with other values (batch, n) in a block of columns."""
    return torch.cat([rows[:, : block.start], values, rows[:, block.stop :]], dim=1)
