"""What a network sees of a frame that it made itself: training over several frames in a row."""

from __future__ import annotations

import torch
from torch import Tensor

from controllers.networks.phase_update import updated_phases
from controllers.schema import ControllerSchema
from deepphase.features.layout import FeatureLayout

_POSE = ("joint_position", "joint_velocity", "joint_rotation")
_TRAJECTORY = ("trajectory_position", "trajectory_direction", "trajectory_velocity")
# Of a direction: nobody faces nowhere.
_LEAST = 1e-6


class ClosedLoop:
    """Puts what a network gave into what it sees of the next frame; gradients flow through.

    The pose, the trajectory that lies ahead, and the phases of now and later are the network's
    own. What lies behind, tracks and labels stay those of the clip: over the few frames of a
    lesson a body does not come far from it. `SeenFrame` does the same for a running character.

    Parameters
    ----------
    schema
        What the columns are.
    blend
        Share of the way from the turned to the predicted phase.
    """

    def __init__(self, schema: ControllerSchema, blend: float = 0.5) -> None:
        self._seconds, self._blend = 1.0 / schema.fps, blend
        self._inputs = _columns(schema, schema.inputs)
        self._gate = None if schema.gate is None else _columns(schema, schema.gate)
        self._manifold = self._phase = None
        slices = schema.outputs.slices
        self._direction = slices["trajectory_direction"]
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
        self, inputs: Tensor, gate: Tensor, seen_gate: Tensor, outputs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Raw inputs and gate of a frame, with the network's own values in their places.

        Parameters
        ----------
        inputs, gate : (batch, dims)
            The clip's next frame, raw.
        seen_gate : (batch, dims)
            The gate, raw, that the network gave its outputs with.
        outputs : (batch, dims)
            Raw.

        Returns
        -------
        Both as the network sees them when it runs by itself.
        """
        outputs = self._facing(outputs)
        inputs = _with_columns(inputs, self._inputs, outputs)
        if self._gate is not None:
            gate = _with_columns(gate, self._gate, outputs)
        if self._manifold is not None:
            shape = (len(outputs), self._later, -1)
            predicted, frequency, amplitude = (
                outputs[:, block].reshape(shape) for block in self._updates
            )
            old = seen_gate[:, self._manifold].reshape(shape)
            new = updated_phases(old, predicted, frequency, amplitude, self._seconds, self._blend)
            gate = _with_block(gate, self._manifold, new.flatten(1))
        if self._phase is not None:
            rate = outputs[:, self._rate].clamp(min=0.0)
            grown = seen_gate[:, self._phase] + self._seconds * rate
            gate = _with_block(gate, self._phase, torch.remainder(grown + 0.5, 1.0) - 0.5)
        return inputs, gate

    def _facing(self, outputs: Tensor) -> Tensor:
        """The outputs with directions of length 1, as a running character has them."""
        block = outputs[:, self._direction].unflatten(1, (-1, 2))
        length = block.square().sum(-1, keepdim=True).clamp(min=_LEAST**2).sqrt()
        return _with_block(outputs, self._direction, (block / length).flatten(1))


def _columns(schema: ControllerSchema, layout: FeatureLayout) -> tuple[Tensor, Tensor]:
    """Columns of a layout, and those of the outputs that they are filled with."""
    slices, outputs = layout.slices, schema.outputs.slices
    here: list[int] = []
    there: list[int] = []
    later = 2 * len(schema.config.later_s)
    for name in _POSE:
        if name in slices:
            here += range(slices[name].start, slices[name].stop)
            there += range(outputs[name].start, outputs[name].stop)
    for name in _TRAJECTORY:
        if name in slices and name in outputs:
            # Place and facing of now are those of the root itself.
            count = later if name == "trajectory_velocity" else later - 2
            here += range(slices[name].stop - count, slices[name].stop)
            there += range(outputs[name].stop - count, outputs[name].stop)
    if "foot_velocity" in slices:
        start = outputs["joint_velocity"].start
        feet = [schema.joints.index(name) for name in schema.feet]
        here += range(slices["foot_velocity"].start, slices["foot_velocity"].stop)
        there += [start + 3 * foot + axis for foot in feet for axis in range(3)]
    return torch.tensor(here, dtype=torch.long), torch.tensor(there, dtype=torch.long)


def _with_columns(rows: Tensor, columns: tuple[Tensor, Tensor], outputs: Tensor) -> Tensor:
    here, there = (each.to(rows.device) for each in columns)
    return rows.index_copy(1, here, outputs.index_select(1, there))


def _with_block(rows: Tensor, block: slice, values: Tensor) -> Tensor:
    return torch.cat([rows[:, : block.start], values, rows[:, block.stop :]], dim=1)
