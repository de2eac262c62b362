"""Closed loop of training: inputs of the next frame from the network's own outputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from controllers.networks.phase_update import updated_phases
from controllers.schema.config import POSE_BLOCKS
from controllers.schema.schema import ControllerSchema
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_BLOCKS,
    TRAJECTORY_DIRECTION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)

# Lower bound on a direction's length, to avoid division by zero.
_MIN_LENGTH = 1e-6


class ClosedLoop(nn.Module):
    """Writes the outputs of a network into the inputs of the next frame, differentiably.

    The pose, the future trajectory and the phases from now on come from the network. The past
    trajectory, tracks and labels remain those of the clip, from which a body does not deviate far
    over the few frames of an unrolled training. `NetworkInput` does the same at run time.

    Parameters
    ----------
    schema
        Layouts of the columns.
    blend
        Share of the predicted phase against the advanced one; see `updated_phases`.
    """

    inputs_here: Tensor
    inputs_there: Tensor
    gate_here: Tensor
    gate_there: Tensor

    def __init__(self, schema: ControllerSchema, blend: float = 0.5) -> None:
        super().__init__()
        self._seconds, self._blend = 1.0 / schema.fps, blend
        self._gated = schema.gate is not None
        # Buffers move to the device once, with the module.
        for name, layout in (("inputs", schema.inputs), ("gate", schema.gate)):
            here, there = ([], []) if layout is None else _columns(schema, layout)
            self.register_buffer(
                f"{name}_here", torch.tensor(here, dtype=torch.long), persistent=False
            )
            self.register_buffer(
                f"{name}_there", torch.tensor(there, dtype=torch.long), persistent=False
            )
        self._manifold = self._phase = None
        slices = schema.outputs.slices
        self._direction = slices[TRAJECTORY_DIRECTION]
        if schema.gate is not None and "phase_manifold" in schema.gate.slices:
            block = schema.gate.slices["phase_manifold"]
            names = ("phase_manifold", "phase_frequency", "phase_amplitude")
            width = slices["phase_manifold"].stop - slices["phase_manifold"].start
            self._later = len(schema.config.later_s)
            self._manifold = slice(block.stop - width, block.stop)
            self._updates = [slices[name] for name in names]
        elif schema.gate is not None and "phase" in schema.gate.slices:
            self._phase, self._rate = schema.gate.slices["phase"], slices["phase_rate"]

    def next_frame(
        self, inputs: Tensor, gate: Tensor, input_gate: Tensor, outputs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Raw inputs and gate of a frame, with the network's own values in place of the recorded.

        Parameters
        ----------
        inputs, gate : (batch, dims)
            Raw values of the clip's next frame.
        input_gate : (batch, dims)
            Raw gate of the outputs' own frame.
        outputs : (batch, dims)
            Raw outputs.

        Returns
        -------
        Inputs and gate, (batch, dims) each, as in a run.
        """
        outputs = self._facing(outputs)
        inputs = inputs.index_copy(1, self.inputs_here, outputs[:, self.inputs_there])
        if self._gated:
            gate = gate.index_copy(1, self.gate_here, outputs[:, self.gate_there])
        if self._manifold is not None:
            shape = (len(outputs), self._later, -1)
            predicted, frequency, amplitude = (
                outputs[:, block].reshape(shape) for block in self._updates
            )
            old = input_gate[:, self._manifold].reshape(shape)
            new = updated_phases(old, predicted, frequency, amplitude, self._seconds, self._blend)
            gate = _with_block(gate, self._manifold, new.flatten(1))
        if self._phase is not None:
            rate = outputs[:, self._rate].clamp(min=0.0)
            grown = input_gate[:, self._phase] + self._seconds * rate
            gate = _with_block(gate, self._phase, torch.remainder(grown + 0.5, 1.0) - 0.5)
        return inputs, gate

    def _facing(self, outputs: Tensor) -> Tensor:
        """The outputs with trajectory directions of length 1."""
        block = outputs[:, self._direction].unflatten(1, (-1, 2))
        length = block.square().sum(-1, keepdim=True).clamp(min=_MIN_LENGTH**2).sqrt()
        return _with_block(outputs, self._direction, (block / length).flatten(1))


def _columns(schema: ControllerSchema, layout: FeatureLayout) -> tuple[list[int], list[int]]:
    """Columns of a layout, and the columns of the outputs that fill them."""
    slices, outputs = layout.slices, schema.outputs.slices
    here: list[int] = []
    there: list[int] = []
    for name in POSE_BLOCKS:
        if name in slices:
            here += range(slices[name].start, slices[name].stop)
            there += range(outputs[name].start, outputs[name].stop)
    later = len(schema.config.later_s)
    given, predicted = TrajectoryBlocks(slices, later), TrajectoryBlocks(outputs, later)
    for name in TRAJECTORY_BLOCKS:
        if name in given and name in predicted:
            # The current position and direction are constants in root space.
            now = name == TRAJECTORY_VELOCITY
            here += given.columns_later(name, now=now)
            there += predicted.columns_later(name, now=now)
    if "foot_velocity" in slices:
        start = outputs["joint_velocity"].start
        feet = [schema.joints.index(name) for name in schema.feet]
        here += range(slices["foot_velocity"].start, slices["foot_velocity"].stop)
        there += [start + 3 * foot + axis for foot in feet for axis in range(3)]
    return here, there


def _with_block(rows: Tensor, block: slice, values: Tensor) -> Tensor:
    return torch.cat([rows[:, : block.start], values, rows[:, block.stop :]], dim=1)
