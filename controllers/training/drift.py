"""Drifted inputs: bodies that move less or more than captured ones, and are to recover."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepphase.controllers.data.controller_batches import FrameBatch
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)

_BLOCKS = ("joint_velocity", "foot_velocity", "phase_manifold")
# Bounds of the random factors.
_FACTORS = (0.2, 1.3)


class Drift(nn.Module):
    """Scales the motion in the inputs of some sequences, while what is ahead stays the clip's.

    Small errors of a network add up in a run: steps get shorter, velocities and amplitudes of
    phases with them, and a gait that is rare in the clips ends in standing. A network that is
    trained on captured frames alone never sees such a body; from these inputs it learns to bring
    one back to the motion that the trajectory ahead asks for.

    Parameters
    ----------
    schema
        Layouts of the columns.
    share
        Share of the sequences that are changed.
    """

    inputs: Tensor
    gate: Tensor

    def __init__(self, schema: ControllerSchema, share: float) -> None:
        super().__init__()
        self._share = share
        for name, layout in (("inputs", schema.inputs), ("gate", schema.gate)):
            self.register_buffer(name, _motion(schema, layout), persistent=False)

    def forward(self, batch: FrameBatch) -> FrameBatch:
        """The batch with velocities, past trajectory and phase vectors of some sequences scaled.

        The motion of the inputs and that of the gate have a factor each.
        """
        inputs, gate = (
            torch.where(columns, rows * self._factors(rows), rows)
            for columns, rows in ((self.inputs, batch.inputs), (self.gate, batch.gate))
        )
        return FrameBatch(inputs, gate, batch.outputs)

    def _factors(self, rows: Tensor) -> Tensor:
        shape = (len(rows), *(1,) * (rows.dim() - 1))
        factors = torch.empty(shape, device=rows.device).uniform_(*_FACTORS)
        chosen = torch.rand(shape, device=rows.device) < self._share
        return torch.where(chosen, factors, torch.ones_like(factors))


def _motion(schema: ControllerSchema, layout: FeatureLayout | None) -> Tensor:
    """(columns,) bool: velocities of the body, phase vectors, and the trajectory up to now."""
    found = torch.zeros(0 if layout is None else layout.dims, dtype=torch.bool)
    if layout is None:
        return found
    for name in _BLOCKS:
        if name in layout.slices:
            found[layout.slices[name]] = True
    blocks = TrajectoryBlocks(layout.slices, len(schema.config.later_s))
    for name in (TRAJECTORY_POSITION, TRAJECTORY_VELOCITY):
        if name in blocks:
            found[layout.slices[name]] = True
            found[list(blocks.columns_later(name, now=False))] = False
    return found
