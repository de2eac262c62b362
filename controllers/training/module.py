"""LightningModule of the training of a controller."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from controllers.config import ControllerConfig
from controllers.data.controller_batches import ControllerBatches, FrameBatch
from controllers.data.controller_data import ControllerData
from controllers.networks.network import ControllerNetwork
from controllers.networks.normalised import NormalisedController
from controllers.networks.registry import make_network
from controllers.schema.config import POSE_BLOCKS
from controllers.training.unrolled import ClosedLoop
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.phase.training.resumable import ResumableModule, cosine_rate


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
