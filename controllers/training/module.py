"""LightningModule of a controller, with the loss over unrolled frames."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from controllers.config import ControllerConfig
from controllers.data.controller_batches import ControllerBatches, FrameBatch
from controllers.data.controller_data import ControllerData
from controllers.networks.network import ControllerNetwork
from controllers.networks.normalised import NormalisedController
from controllers.networks.phase_update import updated_phases
from controllers.networks.registry import make_network
from controllers.schema.config import POSE_BLOCKS
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_BLOCKS,
    TRAJECTORY_DIRECTION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)
from deepphase.phase.training.resumable import ResumableModule, cosine_rate

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


class ControllerModule(ResumableModule):
    """Training of next-frame prediction by mean squared error (Holden et al. 2017, eq. 8).

    A LightningModule for any `pytorch_lightning.Trainer`; each batch is a `FrameBatch`::

        data = ControllerData.read(store, config, phases)
        batches = ControllerBatches(data, config)
        module = ControllerModule(batches)
        pl.Trainer(max_epochs=10).fit(module, datamodule=batches)
        measured_controller(module.controller, config, data).save("walk.controller")

    The learning rate follows `config.training` over the steps that the trainer estimates. Initial
    weights come from torch's random numbers; `pl.seed_everything` makes them reproducible.

    Parameters
    ----------
    batches
        The training data, with its config.
    controller
        Network with its normalisations; by default a new one of the config.

    Raises
    ------
    ParameterError
        If the network is fitted, not trained by gradient descent.
    """

    network: ControllerNetwork

    def __init__(
        self, batches: ControllerBatches, controller: NormalisedController | None = None
    ) -> None:
        config, data = batches.config, batches.data
        controller = new_network(config, data) if controller is None else controller
        if controller.network.is_fitted:
            raise ParameterError(
                f"the network {config.name!r} is fitted, not trained by gradient descent",
                hint="fit it with `train_controller`",
            )
        self.options = options = config.training
        super().__init__(
            controller.network,
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self.controller = controller
        self._frames, self._pairs = batches.frames, batches.pairs
        self._batch_size = batches.batch_size
        unrolled = batches.frames > 1 and not controller.network.is_recurrent
        self._loop = ClosedLoop(data.schema) if unrolled else None
        self._noise = torch.from_numpy(_pose_columns(data.schema.inputs)) * options.pose_noise

    def rate(self, step: int, total: float) -> float:
        """Learning rate of the config's schedule, as a share of the highest."""
        options = self.options
        if options.schedule == "constant":
            return 1.0
        if options.schedule == "cosine":
            return cosine_rate(step, total, options.warmup, options.final_rate)
        # All frames of a batch count, so that epochs of sequences and of pairs are equal.
        pairs = step * self._batch_size * self._frames * self.trainer.world_size
        return restarted_rate(pairs / self._pairs, options.restart_epochs, options.restart_factor)

    def on_fit_start(self) -> None:
        self.controller.to(self.device)
        if self._loop is not None:
            self._loop.to(self.device)
        self._noise = self._noise.to(self.device)

    def on_train_batch_start(self, *_: object) -> None:
        # Dropout and noise depend on the position alone, so that resumed trainings repeat them.
        position = self.trainer.global_step * self.trainer.world_size + self.trainer.global_rank
        torch.manual_seed(self.options.seed * 1_000_003 + position)

    def training_step(self, batch: FrameBatch) -> Tensor:
        if self._loop is None:
            loss, extra = self._teacher_forced_loss(batch)
        else:
            loss, extra = self._unrolled_loss(self._loop, batch)
        self.last_loss = loss.detach()
        if self.options.weight_magnitude:
            extra = extra + self.options.weight_magnitude * self.network.weight_magnitude()
        return loss + extra

    def validation_step(self, batch: FrameBatch) -> None:
        inputs, gate, target = self._normalised(batch)
        if self._loop is not None:
            # One step from a recorded frame, to be comparable with trainings of all kinds.
            inputs, gate, target = inputs[:, 0], gate[:, 0], target[:, 0]
        predicted, _ = self._predicted(inputs, gate)
        self.add_validated((predicted.float() - target).square().sum(), target.square().sum())

    def _teacher_forced_loss(self, batch: FrameBatch) -> tuple[Tensor, Tensor | float]:
        """Error and the network's own loss terms on recorded frames."""
        inputs, gate, target = self._normalised(batch)
        predicted, extra = self._predicted(self._with_noise(inputs), gate)
        return torch.nn.functional.mse_loss(predicted.float(), target), extra

    def _unrolled_loss(self, loop: ClosedLoop, batch: FrameBatch) -> tuple[Tensor, Tensor | float]:
        """The same over consecutive frames, where only the first inputs are recorded."""
        controller = self.controller
        recorded, gates, outputs = batch.inputs, batch.gate, batch.outputs
        inputs, gate = recorded[:, 0], gates[:, 0]
        total, penalty = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        last = self._frames - 1
        for frame in range(last + 1):
            now, gate_now = controller.normalised(inputs, gate)
            predicted, extra = self._predicted(now if frame else self._with_noise(now), gate_now)
            predicted = predicted.float()
            target = controller.target(outputs[:, frame])
            total = total + torch.nn.functional.mse_loss(predicted, target)
            penalty = penalty + extra
            if frame < last:
                inputs, gate = loop.next_frame(
                    recorded[:, frame + 1], gates[:, frame + 1], gate, controller.raw(predicted)
                )
        return total / (last + 1), penalty / (last + 1)

    def _with_noise(self, inputs: Tensor) -> Tensor:
        """Normalised inputs with the config's noise on the pose."""
        if not self.options.pose_noise:
            return inputs
        return inputs + self._noise * torch.randn_like(inputs)

    def _normalised(self, batch: FrameBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Normalised (batch[, frames], dims) of inputs, gate and outputs."""
        inputs, gate = self.controller.normalised(batch.inputs, batch.gate)
        return inputs, gate, self.controller.target(batch.outputs)

    def _predicted(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, Tensor | float]:
        """Normalised outputs, and the sum of the network's own loss terms."""
        outputs, terms = self.network.training_outputs(inputs, gate)
        return outputs, sum(terms.values(), 0.0)


def new_network(config: ControllerConfig, data: ControllerData) -> NormalisedController:
    """A new network with the normalisations of the training samples."""
    network = make_network(config.name, data.schema.dims, config.network)
    return NormalisedController(network, *data.samples.normalisations(data.split.train))


def restarted_rate(epoch: float, initial: float, factor: float) -> float:
    """Learning rate of AdamWR after some epochs, as a share of the highest.

    References
    ----------
    Loshchilov and Hutter 2019, Decoupled weight decay regularization, eq. 14.
    """
    length = initial
    while epoch >= length:
        epoch, length = epoch - length, length * factor
    return 0.5 * (1.0 + math.cos(math.pi * epoch / length))


def _pose_columns(layout: FeatureLayout) -> Array:
    """(dims,) float32 weights of the pose's columns, 0 in all others."""
    columns = np.zeros(layout.dims, np.float32)
    for name in POSE_BLOCKS:
        if name in layout.slices:
            columns[layout.slices[name]] = layout[name].weight
    return columns
