"""LightningModule of a controller, with the loss over unrolled frames."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from deepphase.controllers.config import RECORDED_SHARE, ControllerConfig
from deepphase.controllers.data.controller_batches import ControllerBatches, FrameBatch
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.networks.network import ControllerNetwork, Dropout
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network
from deepphase.controllers.schema.config import PHASE_BLOCKS, POSE_BLOCKS
from deepphase.controllers.training.closed_loop import (
    ClipGoals,
    ClosedLoop,
    Drift,
    RootOffset,
    random_biases,
)
from deepphase.controllers.training.course import CourseChecks
from deepphase.errors import ParameterError
from deepphase.phase.networks.muon import Muon
from deepphase.training.resumable import ResumableModule, adamw

# Weights in the loss, in m2/s2: the root's mean velocity error since the first of the unrolled
# frames, and the velocities of feet on the floor from the second on.
_ROOT_WEIGHT, _FOOT_WEIGHT = 3.0, 1.0
# Entry of checkpoints.
_CHECKS = "course_checks"
# Schedule "restarts": epochs of the first cycle, and times that each is longer than the one before
# (DeepPhase).
_RESTART_EPOCHS, _RESTART_FACTOR = 10.0, 2.0


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
    _noise: Tensor
    _weights: Tensor

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
            optimizer=Muon if options.optimizer == "muon" else adamw,
        )
        self.controller = controller
        self._batch_size, self._pairs = batches.batch_size, batches.epoch_samples
        unrolled = batches.frames > 1 and not controller.network.is_recurrent
        self._fps = data.schema.fps
        self._loop = ClosedLoop(data.schema) if unrolled else None
        self._goals = ClipGoals(data.schema) if unrolled and options.unroll_goals else None
        self._drift = Drift(data.schema, options.drift) if options.drift else None
        self._checks = CourseChecks(config, data, batches.total_samples)
        layers = [each for each in controller.modules() if isinstance(each, Dropout)]
        self._dropouts = [(layer, layer.p) for layer in layers]
        # Noise of the pose's inputs, and weights of outputs in the loss, which are 1 on average.
        inputs, outputs = data.schema.inputs, data.schema.outputs
        noise, weights = torch.zeros(inputs.dims), torch.ones(outputs.dims)
        for name in inputs.slices.keys() & set(POSE_BLOCKS):
            noise[inputs.slices[name]] = inputs[name].weight * options.pose_noise
        for name in outputs.slices.keys() & set(PHASE_BLOCKS):
            weights[outputs.slices[name]] = options.phase_weight
        # Buffers move to the device with the module.
        self.register_buffer("_noise", noise, persistent=False)
        self.register_buffer("_weights", weights / weights.mean(), persistent=False)

    def rate(self, step: int, total: float) -> float:
        """Learning rate of the config's schedule, as a share of the highest."""
        options = self.options
        if options.schedule == "constant":
            return 1.0
        if options.schedule == "cosine":
            return super().rate(step, total)
        pairs = step * self._batch_size * self.trainer.world_size
        return restarted_rate(pairs / self._pairs, _RESTART_EPOCHS, _RESTART_FACTOR)

    def on_train_batch_start(self, *_: object) -> None:
        # Dropout and noise depend on the position alone, so that resumed trainings repeat them.
        torch.manual_seed(self.options.seed * 1_000_003 + self.position)
        self._set_dropout(self.trainer.global_step / self._total)

    def _set_dropout(self, share: float) -> None:
        """Set the dropout after a share of the training."""
        if self._goals is not None:
            fallen = min(max(share - RECORDED_SHARE, 0.0) / (1.0 - RECORDED_SHARE), 1.0)
            for layer, initial in self._dropouts:
                layer.set_share((1.0 - fallen) * initial)

    def training_step(self, batch: FrameBatch) -> Tensor:
        return self.stepped(self._losses, batch.inputs, batch.gate, batch.outputs)

    def _losses(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        """The loss with all its terms, of the tensors of a batch; and the error alone."""
        batch = FrameBatch(*tensors)
        if self._drift is not None:
            batch = self._drift(batch)
        if self._loop is None or batch.inputs.dim() == 2:
            loss, extra = self._teacher_forced_loss(batch)
        else:
            loss, extra = self._unrolled_loss(self._loop, batch)
        if self.options.weight_magnitude:
            extra = extra + self.options.weight_magnitude * self.network.weight_magnitude()
        return loss + extra, loss

    def validation_step(self, batch: FrameBatch) -> None:
        inputs, gate, target = self._normalised(batch)
        predicted, _ = self._predicted(inputs, gate)
        self.add_validated((predicted.float() - target).square().sum(), target.square().sum())

    def on_validation_epoch_end(self) -> None:
        super().on_validation_epoch_end()
        checks, trainer = self._checks, self.trainer
        if trainer.sanity_checking:
            return
        # The other processes of a training wait for the first.
        if trainer.is_global_zero and checks.is_due(trainer.global_step / self._total):
            self.log(
                "run_score", checks.check(self.controller, trainer.global_step), rank_zero_only=True
            )

    @property
    def _total(self) -> float:
        """Optimizer steps of the whole training."""
        return float(self.total_steps or self.trainer.estimated_stepping_batches)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint[_CHECKS] = self._checks.state()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if _CHECKS in checkpoint:
            self._checks.set_state(checkpoint[_CHECKS])

    def restore_best(self) -> dict[str, Any]:
        """Set the network to the weights that ran best, after the training.

        Returns
        -------
        ``run_checks`` and ``best_step`` for the provenance; empty without checks.
        """
        checks = self._checks
        if not checks.checks:
            return {}
        checks.restore(self.controller)
        return {"run_checks": checks.checks, "best_step": checks.best_step}

    def _teacher_forced_loss(self, batch: FrameBatch) -> tuple[Tensor, Tensor | float]:
        """Error and the network's own loss terms on recorded frames."""
        inputs, gate, target = self._normalised(batch)
        predicted, extra = self._predicted(self._with_noise(inputs), gate)
        return self._error(predicted.float(), target), extra

    def _unrolled_loss(self, loop: ClosedLoop, batch: FrameBatch) -> tuple[Tensor, Tensor | float]:
        """The same over consecutive frames, where only the first inputs are recorded."""
        controller, goals = self.controller, self._goals
        recorded, gates, outputs = batch.inputs, batch.gate, batch.outputs
        inputs, gate = recorded[:, 0], gates[:, 0]
        penalty: Tensor | float = 0.0
        frames = recorded.shape[1]
        offset = RootOffset.none(len(recorded), self.device)
        weights = (
            None if goals is None else goals.weights(*random_biases(len(recorded), self.device))
        )
        steps = () if goals is None else goals.steps(outputs)
        read, predictions, made_rows, offsets = [], [], [], []
        for frame in range(frames):
            now, gate_now = controller.normalised(inputs, gate)
            predicted, extra = self._predicted(now if frame else self._with_noise(now), gate_now)
            predicted = predicted.float()
            penalty = penalty + extra
            made = controller.raw(predicted, inputs)
            read.append(inputs)
            predictions.append(predicted)
            made_rows.append(made)
            if goals is not None:
                offset = goals.moved(offset, made, [each[:, frame] for each in steps])
                offsets.append(offset)
            if frame < frames - 1:
                following = recorded[:, frame + 1]
                if goals is not None and weights is not None:
                    following = goals.seen(following, offset)
                    made = goals.blended(made, following, weights)
                inputs, gate = loop.next_frame(following, gates[:, frame + 1], gate, made)
        # All frames at once: small operators cost as much as large ones.
        every, own = torch.stack(read, 1), torch.stack(made_rows, 1)
        error = self._error(torch.stack(predictions, 1), controller.target(outputs, every))
        penalty = penalty / frames
        if goals is not None:
            penalty = penalty + _ROOT_WEIGHT * goals.mean_square(offsets)
            # As often as the other terms, though the first frame has none.
            rows = (each[:, 1:] for each in (every, own, recorded, outputs))
            penalty = penalty + _FOOT_WEIGHT * goals.feet_error(*rows)
        return error, penalty

    def _error(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Mean squared error of normalised outputs, with the config's weight of the phases."""
        if self.options.phase_weight == 1.0:
            return torch.nn.functional.mse_loss(predicted, target)
        return (self._weights * (predicted - target).square()).mean()

    def _with_noise(self, inputs: Tensor) -> Tensor:
        """Normalised inputs with the config's noise on the pose."""
        if not self.options.pose_noise:
            return inputs
        return inputs + self._noise * torch.randn_like(inputs)

    def _normalised(self, batch: FrameBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Normalised (batch[, frames], dims) of inputs, gate and outputs."""
        inputs, gate = self.controller.normalised(batch.inputs, batch.gate)
        return inputs, gate, self.controller.target(batch.outputs, batch.inputs)

    def _predicted(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, Tensor | float]:
        """Normalised outputs, and the sum of the network's own loss terms."""
        outputs, terms = self.network.training_outputs(inputs, gate)
        return outputs, sum(terms.values(), 0.0)


def new_network(config: ControllerConfig, data: ControllerData) -> NormalisedController:
    """A new network with the normalisations of the training samples."""
    network = make_network(config.name, data.schema.dims, config.network)
    normalisations = data.samples.normalisations(data.split.train)
    return NormalisedController(network, *normalisations, carried=data.schema.carried)


def restarted_rate(epoch: float, initial: float, factor: float) -> float:
    """Learning rate of AdamWR after some epochs, as a share of the highest.

    Loshchilov and Hutter 2019, Decoupled weight decay regularization, eq. 14.
    """
    length = initial
    while epoch >= length:
        epoch, length = epoch - length, length * factor
    return 0.5 * (1.0 + math.cos(math.pi * epoch / length))
