"""Drifted inputs: bodies that move less or more than captured ones, and are to recover."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepphase.controllers.data.controller_batches import FrameBatch
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.controllers.training.closed_loop import goal_weights, random_biases
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)

_BODY, _PHASES = ("joint_velocity", "foot_velocity"), ("phase_manifold",)
_TRAJECTORY = (TRAJECTORY_POSITION, TRAJECTORY_VELOCITY)
# Bounds of the random factors.
_FACTORS = (0.1, 1.5)


class Drift(nn.Module):
    """Scales the motion in the inputs of some sequences, while the targets stay the clip's.

    Small errors of a network add up in a run: steps get shorter, velocities and amplitudes of
    phases with them, and a gait that is rare in the clips ends in standing. A network that is
    trained on captured frames alone never sees such a body; from these inputs it learns to bring
    one back to the motion that the trajectory ahead asks for. In runs a part of that trajectory is
    the body's own prediction, the more of it the nearer: this part is scaled as well.
    """

    inputs: Tensor
    gate: Tensor
    phases: Tensor

    def __init__(self, schema: ControllerSchema, share: float) -> None:
        super().__init__()
        self._share, self._later = share, len(schema.config.later_s)
        layouts = {"inputs": schema.inputs, "gate": schema.gate}
        self._ahead = {
            name: [] if layout is None else self._blocks_ahead(layout)
            for name, layout in layouts.items()
        }
        for name, layout in layouts.items():
            body = _columns(layout, (*_BODY, *_TRAJECTORY))
            for columns, _ in self._ahead[name]:
                body[columns] = False
            self.register_buffer(name, body, persistent=False)
        self.register_buffer("phases", _columns(schema.gate, _PHASES), persistent=False)

    def forward(self, batch: FrameBatch) -> FrameBatch:
        """The batch with velocities, trajectory and phase vectors of some sequences scaled.

        Phases have a factor of their own. The trajectory ahead is scaled in the first frame of a
        sequence; that of the others is the goal of the body's own motion.
        """
        count, device = len(batch.inputs), batch.inputs.device
        chosen = torch.rand(count, 1, device=device) < self._share
        factors = torch.empty(2, count, 1, device=device).uniform_(*_FACTORS)
        body, phases = torch.where(chosen, factors, torch.ones_like(factors))
        weights = goal_weights(random_biases(count, device)[0], self._later - 1)
        kept = weights + (1.0 - weights) * body
        frames = (count, *(1,) * (batch.inputs.dim() - 1))
        made = {}
        for name, columns in (("inputs", self.inputs), ("gate", self.gate)):
            rows = getattr(batch, name)
            rows = torch.where(columns, rows * body.view(frames), rows)
            if name == "gate":
                rows = torch.where(self.phases, rows * phases.view(frames), rows)
            first = rows if rows.dim() == 2 else rows[:, 0]
            for block, is_path in self._ahead[name]:
                ahead = first[:, block]
                first[:, block] = torch.where(chosen, _scaled(ahead, kept, is_path), ahead)
            made[name] = rows
        return FrameBatch(made["inputs"], made["gate"], batch.outputs)

    def _blocks_ahead(self, layout: FeatureLayout) -> list[tuple[slice, bool]]:
        """Columns of the samples after now of each block, and whether they are places."""
        blocks = TrajectoryBlocks(layout.slices, self._later)
        found = []
        for name in _TRAJECTORY:
            if name in blocks:
                columns = blocks.columns_later(name, now=False)
                found.append((slice(columns.start, columns.stop), name == TRAJECTORY_POSITION))
        return found


def _scaled(values: Tensor, factors: Tensor, is_path: bool) -> Tensor:
    """Velocities (batch, 2 * n), or the steps between places, times (batch, n) factors."""
    pairs = values.unflatten(1, (-1, 2))
    if not is_path:
        return (factors[..., None] * pairs).flatten(1)
    steps = torch.diff(pairs, dim=1, prepend=torch.zeros_like(pairs[:, :1]))
    return torch.cumsum(factors[..., None] * steps, dim=1).flatten(1)


def _columns(layout: FeatureLayout | None, names: tuple[str, ...]) -> Tensor:
    """(columns,) bool: the columns of these blocks."""
    found = torch.zeros(0 if layout is None else layout.dims, dtype=torch.bool)
    if layout is not None:
        for name in names:
            if name in layout.slices:
                found[layout.slices[name]] = True
    return found
