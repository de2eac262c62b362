"""Random changes of the trajectory among the inputs, in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from controllers.schema.schema import ControllerSchema
from controllers.training.ground_columns import (
    complex_columns,
    real_columns,
    unit_at,
    with_block,
)
from deepphase.features.trajectory import (
    TRAJECTORY_BLOCKS,
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
)

# Turn of the changed path in rad/s at a noise of 1.
_TURN = 2.0


class PathNoise(nn.Module):
    """Trajectories that are longer or shorter and turn more or less than the recorded ones.

    A network without goals otherwise copies the speed and turning of its inputs, and small errors
    of its own add up. The targets remain the recorded ones, so that it learns to correct them by
    the pose, the phases and the tracks.

    Parameters
    ----------
    schema
        Layouts of the columns.
    noise
        Standard deviation of the logarithm of the factor by which paths are longer. The deviation
        of the additional turning is twice the noise in rad/s.
    """

    offsets_s: Tensor

    def __init__(self, schema: ControllerSchema, noise: float) -> None:
        super().__init__()
        self._noise = noise
        slices = schema.inputs.slices
        self._blocks = {name: slices[name] for name in TRAJECTORY_BLOCKS if name in slices}
        self.register_buffer("offsets_s", torch.tensor(schema.config.offsets_s), persistent=False)

    def changed(self, inputs: Tensor) -> Tensor:
        """Raw inputs (batch, frames, dims) with one random change of each row's trajectories."""
        batch, frames = inputs.shape[:2]
        draws = self._noise * torch.randn(2, batch, device=inputs.device)
        factor, turn = draws[0].exp(), _TURN * draws[1]
        rows = inputs.flatten(0, 1)
        factor = factor.repeat_interleave(frames)[:, None]
        angle = turn.repeat_interleave(frames)[:, None] * self.offsets_s
        # A positive angle about Y turns z to x: i to 1.
        for name, block in self._blocks.items():
            values = complex_columns(rows[:, block])
            if name != TRAJECTORY_DIRECTION:
                values = factor * values
            # A chord of an arc turns half as far as its tangent.
            share = 0.5 if name == TRAJECTORY_POSITION else 1.0
            rows = with_block(rows, block, real_columns(values * unit_at(-share * angle)))
        return rows.unflatten(0, (batch, frames))
