"""Unrolled training: a network's outputs as inputs of its next frame, differentiably.

Clips give the recorded root of every frame. The body that a network moves deviates from it, and
sees the clip's trajectory from where it is, as a running character sees its goals. `Drift` perturbs
the recorded inputs, so that the network learns to recover.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepphase.controllers.data.controller_batches import FrameBatch
from deepphase.controllers.runtime.network_state import (
    angle_of,
    complex_columns,
    unit_at,
    unit_pairs,
    updated_phases,
)
from deepphase.controllers.schema.config import BALL_BLOCKS, POSE_BLOCKS
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.features.feature import (
    TRAJECTORY_BLOCKS,
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)
from deepphase.features.layout import FeatureLayout

# Lower bound on a direction's length, to avoid division by zero.
_MIN_LENGTH = 1e-6
# Biases of the goals in training: those of positions, and by how much those of directions are
# higher. They include the three blends of runs, 0.5 and 2, 2 and 5, 5 and 10.
_BIASES, _HIGHER = (0.3, 6.0), (1.5, 5.0)


def random_biases(batch: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Random biases of positions and directions, (batch, 1) each, log-uniform."""
    position, higher = (
        torch.empty(batch, 1, device=device).uniform_(*map(math.log, bounds)).exp()
        for bounds in (_BIASES, _HIGHER)
    )
    return position, position * higher


def goal_weights(bias: Tensor, samples: int) -> Tensor:
    """(batch, samples) weights of the goal by biases (batch, 1), as `desired_weights` has them."""
    ahead = torch.arange(1, samples + 1, dtype=bias.dtype, device=bias.device) / samples
    return 1.0 - (1.0 - ahead) ** bias


class ClosedLoop(nn.Module):
    """Writes the outputs of a network into the inputs of the next frame, differentiably.

    The pose, the future trajectory and the phases from now on come from the network. The past
    trajectory, tracks and labels remain those of the clip, from which a body does not deviate far
    over the few frames of an unrolled training. `NetworkInput` does the same at run time.
    """

    inputs_here: Tensor
    inputs_there: Tensor
    gate_here: Tensor
    gate_there: Tensor

    def __init__(self, schema: ControllerSchema) -> None:
        super().__init__()
        self._seconds = 1.0 / schema.fps
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

        `inputs`, `gate` (batch, dims) raw values of the clip's next frame. `input_gate` (batch,
        dims) raw gate of the outputs' own frame. `outputs` (batch, dims) raw outputs. Returns
        inputs and gate, (batch, dims) each, as in a run.
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
            new = updated_phases(old, predicted, frequency, amplitude, self._seconds)
            gate = _changed(gate, self._manifold, lambda _: new.flatten(1))
        if self._phase is not None:
            rate = outputs[:, self._rate].clamp(min=0.0)
            grown = input_gate[:, self._phase] + self._seconds * rate
            moved = torch.remainder(grown + 0.5, 1.0) - 0.5
            gate = _changed(gate, self._phase, lambda _: moved)
        return inputs, gate

    def _facing(self, outputs: Tensor) -> Tensor:
        """The outputs with trajectory directions of length 1."""
        return _changed(
            outputs,
            self._direction,
            lambda own: unit_pairs(own.unflatten(1, (-1, 2)), _MIN_LENGTH).flatten(1),
        )


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
    for name in BALL_BLOCKS:
        if name in slices and name in outputs:
            here += range(slices[name].stop - 3 * later, slices[name].stop)
            there += range(outputs[name].start, outputs[name].stop)
    if "foot_velocity" in slices:
        start = outputs["joint_velocity"].start
        feet = [schema.joints.index(name) for name in schema.feet]
        here += range(slices["foot_velocity"].start, slices["foot_velocity"].stop)
        there += [start + 3 * foot + axis for foot in feet for axis in range(3)]
    return here, there


class RootOffset(NamedTuple):
    """Roots of a network's own motion relative to the recorded ones."""

    place: Tensor  # (batch,) complex metres x + i z, in the axes of the recorded root
    angle: Tensor  # (batch,) radians

    @classmethod
    def none(cls, batch: int, device: torch.device) -> RootOffset:
        """The offset of a recorded frame."""
        return cls(
            torch.zeros(batch, dtype=torch.complex64, device=device),
            torch.zeros(batch, device=device),
        )


class ClipGoals(nn.Module):
    """The clip's trajectory as the goal of the network's own motion in an unrolled training.

    Errors are those of the root's way, and of the feet on the floor over the ground.
    """

    feet: Tensor
    # Columns x, z of the inputs on the ground, and which of them are places; the samples ahead of
    # each block in the inputs and in the outputs.
    ground: Tensor
    is_place: Tensor
    goal: Tensor
    own: Tensor

    def __init__(self, schema: ControllerSchema) -> None:
        super().__init__()
        self._seconds, self._later = 1.0 / schema.fps, len(schema.config.later_s)
        slices, self._outputs = schema.inputs.slices, schema.outputs.slices
        self._places = slices["joint_position"], self._outputs["joint_position"]
        ground, places = list[int](), list[bool]()
        goal, own = list[int](), list[int]()
        self._blends, ahead = [], 2 * (self._later - 1)
        for name in (*TRAJECTORY_BLOCKS, *BALL_BLOCKS):
            if name not in slices:
                continue
            columns = list(range(slices[name].start, slices[name].stop))
            if name in BALL_BLOCKS:
                # x, height, z
                columns = [column for index, column in enumerate(columns) if index % 3 != 1]
            ground += columns
            places += [name in (TRAJECTORY_POSITION, "ball_position")] * (len(columns) // 2)
            if name in TRAJECTORY_BLOCKS and name in self._outputs:
                self._blends.append(name)
                stop = self._outputs[name].stop
                goal, own = goal + columns[-ahead:], [*own, *range(stop - ahead, stop)]
        feet = [schema.joints.index(name) for name in schema.feet]
        for buffer, made in ("feet", feet), ("ground", ground), ("goal", goal), ("own", own):
            self.register_buffer(buffer, torch.tensor(made, dtype=torch.long), persistent=False)
        self.register_buffer("is_place", torch.tensor(places).float(), persistent=False)

    def steps(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The root's steps in raw outputs (..., dims): complex metres, radians, exp(i radians)."""
        step, turn = self._root(outputs)
        return step, turn, unit_at(turn)

    def moved(self, offset: RootOffset, outputs: Tensor, recorded: Sequence[Tensor]) -> RootOffset:
        """The offset one frame later, after the root's step in raw outputs (batch, dims)."""
        step, turn = self._root(outputs)
        recorded_step, recorded_turn, unit = recorded
        place = offset.place + step * unit_at(-offset.angle) - recorded_step
        return RootOffset(place * unit, offset.angle + turn - recorded_turn)

    def mean_square(self, offsets: Sequence[RootOffset]) -> Tensor:
        """Mean square of the velocity errors since the first frame, m2/s2; 1 rad/s is 0.5 m/s."""
        place, angle = (torch.stack(each, 1) for each in zip(*offsets, strict=True))
        error = torch.view_as_real(place).square().sum(-1) + 0.25 * angle.square()
        frames = torch.arange(1, len(offsets) + 1, device=angle.device)
        return (error / (self._seconds * frames).square()).mean()

    def seen(self, inputs: Tensor, offset: RootOffset) -> Tensor:
        """Raw recorded inputs with their trajectory relative to the network's own root."""
        turn, place = unit_at(offset.angle)[:, None], offset.place[:, None]
        # (batch, n) complex of columns x and z, interleaved.
        pairs = inputs.index_select(1, self.ground).unflatten(1, (-1, 2))
        moved = (torch.view_as_complex(pairs) - place * self.is_place) * turn
        return inputs.index_copy(1, self.ground, torch.view_as_real(moved).flatten(1))

    def weights(self, position: Tensor, direction: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights of `blended` by biases (batch, 1): of places a matrix, of the others a row."""
        count = self._later - 1
        weights = goal_weights(position, count)
        before = torch.diff(weights, dim=1, append=weights[:, :1])
        places = torch.diag_embed(weights) - before[:, None].expand(-1, count, -1).tril(-1)
        return places, weights, goal_weights(direction, count)

    def blended(
        self, outputs: Tensor, seen: Tensor, weights: tuple[Tensor, Tensor, Tensor]
    ) -> Tensor:
        """Raw outputs with their future blended with that of `seen`; see `blended_positions`."""
        places, velocities, directions = weights
        shape = (len(self._blends), self._later - 1, 2)
        goals, owns = (
            rows.index_select(1, columns).unflatten(1, shape)
            for rows, columns in ((seen, self.goal), (outputs, self.own))
        )
        apart, mixed = goals - owns, []
        for index, (name, own) in enumerate(zip(self._blends, owns.unbind(1), strict=True)):
            if name == TRAJECTORY_POSITION:
                mixed.append(torch.baddbmm(own, places, apart[:, index]))
            elif name == TRAJECTORY_DIRECTION:
                goal, now = map(torch.view_as_complex, (goals[:, index], own))
                turned = now * unit_at(directions * angle_of(goal * now.conj()))
                mixed.append(torch.view_as_real(turned))
            else:
                mixed.append(torch.addcmul(own, velocities[..., None], apart[:, index]))
        return outputs.index_copy(1, self.own, torch.stack(mixed, 1).flatten(1))

    def feet_error(
        self, inputs: Tensor, outputs: Tensor, recorded_inputs: Tensor, recorded_outputs: Tensor
    ) -> Tensor:
        """Mean squared error of the velocities of feet that the clip has on the floor, m2/s2."""
        own = self._feet_velocities(inputs, outputs)
        recorded = self._feet_velocities(recorded_inputs, recorded_outputs)
        contacts = recorded_outputs[..., self._outputs["contact"]]
        return (contacts * (own - recorded).square().sum(-1)).mean()

    def _feet_velocities(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """(..., feet, 3) m/s over the ground, in the axes of the root before the step."""
        step, turn = self._root(outputs)
        before, after = (
            rows[..., block].unflatten(-1, (-1, 3)).index_select(-2, self.feet)
            for rows, block in zip((inputs, outputs), self._places, strict=True)
        )
        ground = torch.complex(after[..., 0], after[..., 2]) * unit_at(-turn)[..., None]
        ground = ground + step[..., None]
        moved = torch.stack([ground.real, after[..., 1], ground.imag], dim=-1) - before
        return moved / self._seconds

    def _root(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """(...) complex metres and (...) radians: the root's step in raw outputs (..., dims)."""
        velocity, turn = (
            outputs[..., self._outputs[f"root_{name}"]] for name in ("velocity", "turn")
        )
        return self._seconds * complex_columns(velocity)[..., 0], self._seconds * turn[..., 0]


def _changed(rows: Tensor, block: slice, change: Callable[[Tensor], Tensor]) -> Tensor:
    """(batch, dims) rows whose block of columns is changed."""
    sizes = [block.start, block.stop - block.start, rows.shape[1] - block.stop]
    before, own, behind = rows.split(sizes, dim=1)
    return torch.cat([before, change(own), behind], dim=1)


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
            body = _drift_columns(layout, (*_BODY, *_TRAJECTORY))
            for columns, _ in self._ahead[name]:
                body[columns] = False
            self.register_buffer(name, body, persistent=False)
        self.register_buffer("phases", _drift_columns(schema.gate, _PHASES), persistent=False)

    def forward(self, batch: FrameBatch) -> FrameBatch:
        """The batch with velocities, the trajectory ahead and phases of some sequences scaled."""
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


def _drift_columns(layout: FeatureLayout | None, names: tuple[str, ...]) -> Tensor:
    """(columns,) bool: the columns of these blocks."""
    found = torch.zeros(0 if layout is None else layout.dims, dtype=torch.bool)
    if layout is not None:
        for name in names:
            if name in layout.slices:
                found[layout.slices[name]] = True
    return found
