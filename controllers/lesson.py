"""One training of a controller as Lightning runs it."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from controllers.closed_loop import ClosedLoop
from controllers.networks.network import ControllerNetwork
from controllers.normalised import NormalisedController
from controllers.samples import ControllerSamples
from controllers.schema_config import POSE_BLOCKS
from controllers.training_config import ControllerTraining
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.phase.piecewise import PiecewiseLesson, cosine_rate
from deepphase.phase.windows import WindowOrder

Array = np.ndarray

_VALIDATION_SAMPLES = 2048
# Samples are put onto a device that has so much more room than they take.
_SPARE = 3


class ControllerLesson(PiecewiseLesson):
    """Predict the next frame: mean squared error of normalised outputs (Holden et al. 2017, eq. 8).

    Parameters
    ----------
    controller
        The network with its normalisations.
    options
        The recipe's.
    samples
        All pairs.
    train, held_out
        Rows of the samples.
    """

    network: ControllerNetwork

    def __init__(
        self,
        controller: NormalisedController,
        options: ControllerTraining,
        samples: ControllerSamples,
        train: Array,
        held_out: Array,
    ) -> None:
        recurrent = controller.network.is_recurrent
        frames = options.sequence_frames if recurrent else options.own_frames
        self._frames = torch.arange(frames)
        # Rows whose next frames are of the same run, and among the rows, too.
        starts = train[samples.following(train) >= frames]
        if not len(starts):
            raise ParameterError(
                f"no stretch of {frames} training frames without a gap",
                hint=f"lower training.{'sequence' if recurrent else 'own'}_frames, or add clips",
            )
        checked = held_out[samples.following(held_out) >= frames]
        checked = checked[
            np.unique(np.linspace(0, len(checked) - 1, _VALIDATION_SAMPLES, dtype=int))
        ]
        super().__init__(
            controller.network,
            batch_size=max(options.batch_size // frames, 1),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            held_out=torch.from_numpy(checked),
        )
        self.controller, self.options = controller, options
        self._loop = None if recurrent or frames == 1 else ClosedLoop(samples.schema)
        self._starts = torch.from_numpy(starts)
        self._order = WindowOrder(len(starts), options.seed)
        self._rows = tuple(
            torch.from_numpy(np.asarray(each))
            for each in (samples.inputs, samples.gate, samples.outputs)
        )
        self._noise = torch.from_numpy(_pose_columns(samples.schema.inputs))
        self._noise = self._noise * options.pose_noise

    @property
    def shown(self) -> int:
        """Sequences (of one pair, where frames are learnt one by one) in the whole training."""
        options, frames = self.options, len(self._frames)
        if options.samples:
            return max(math.ceil(options.samples / frames), 1)
        return math.ceil(options.epochs * len(self._starts) / frames)

    @property
    def passed(self) -> int:
        """Sequences of one pass over the data, as the configuration counts epochs."""
        return math.ceil(len(self._starts) / len(self._frames))

    def batch(self, start: int, stop: int) -> Tensor:
        """Rows that sequences begin with, at these positions."""
        return self._starts[self._order(start, stop)]

    def rate(self, step: int, total: int) -> float:
        """As the recipe's schedule says."""
        options = self.options
        if options.schedule == "constant":
            return 1.0
        if options.schedule == "cosine":
            return cosine_rate(step, total, options.warmup, options.final_rate)
        # All frames of a batch count, so that an epoch of sequences is one of pairs.
        pairs = step * self.batch_size * len(self._frames) * self.trainer.world_size
        return restarted_rate(
            pairs / len(self._starts), options.restart_epochs, options.restart_factor
        )

    def on_fit_start(self) -> None:
        self.controller.to(self.device)
        if self._loop is not None:
            self._loop.to(self.device)
        self._noise = self._noise.to(self.device)
        if self.device.type == "cuda":
            needed = sum(each.numel() * each.element_size() for each in self._rows)
            if _SPARE * needed < torch.cuda.mem_get_info(self.device)[0]:
                self._rows = tuple(each.to(self.device) for each in self._rows)

    def on_train_batch_start(self, *_: object) -> None:
        # Dropout and noise are a function of the position: a resumed training has the same.
        position = self.trainer.global_step * self.trainer.world_size + self.trainer.global_rank
        torch.manual_seed(self.options.seed * 1_000_003 + position)

    def training_step(self, starts: Tensor) -> Tensor:
        if self._loop is None:
            loss, extra = self._recorded(starts)
        else:
            loss, extra = self._own(self._loop, starts)
        self.last_loss = loss.detach()
        if self.options.weight_magnitude:
            extra = extra + self.options.weight_magnitude * self.network.weight_magnitude()
        return loss + extra

    def validation_step(self, starts: Tensor) -> None:
        inputs, gate, target = self._pairs(starts)
        if self._loop is not None:
            # One step from a recorded frame: what trainings of any kind are compared by.
            inputs, gate, target = inputs[:, 0], gate[:, 0], target[:, 0]
        predicted, _ = self._predicted(inputs, gate)
        self.add_validated((predicted.float() - target).square().sum(), target.square().sum())

    def _recorded(self, starts: Tensor) -> tuple[Tensor, Tensor | float]:
        """Error and the network's own penalty on recorded frames."""
        inputs, gate, target = self._pairs(starts)
        predicted, extra = self._predicted(self._shaken(inputs), gate)
        return torch.nn.functional.mse_loss(predicted.float(), target), extra

    def _own(self, loop: ClosedLoop, starts: Tensor) -> tuple[Tensor, Tensor | float]:
        """The same of frames in a row, the first of which alone is recorded."""
        controller = self.controller
        recorded, gates, outputs = self._raw(starts)
        inputs, gate = recorded[:, 0], gates[:, 0]
        total, penalty = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        last = len(self._frames) - 1
        for frame in range(last + 1):
            seen, seen_gate = controller.normalised(inputs, gate)
            predicted, extra = self._predicted(seen if frame else self._shaken(seen), seen_gate)
            predicted = predicted.float()
            target = controller.target(outputs[:, frame])
            total = total + torch.nn.functional.mse_loss(predicted, target)
            penalty = penalty + extra
            if frame < last:
                made = controller.raw(predicted)
                ahead, gate_ahead = recorded[:, frame + 1], gates[:, frame + 1]
                inputs, gate = loop.next_frame(ahead, gate_ahead, gate, made)
        return total / (last + 1), penalty / (last + 1)

    def _shaken(self, inputs: Tensor) -> Tensor:
        """Normalised inputs with the recipe's noise."""
        if not self.options.pose_noise:
            return inputs
        return inputs + self._noise * torch.randn_like(inputs)

    def _pairs(self, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Normalised (batch[, frames], dims) of inputs, gate and outputs."""
        inputs, gate, outputs = self._raw(starts)
        return *self.controller.normalised(inputs, gate), self.controller.target(outputs)

    def _raw(self, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Raw (batch[, frames], dims) of inputs, gate and outputs."""
        rows = starts.to(self._rows[0].device)
        if len(self._frames) > 1:
            rows = rows[:, None] + self._frames.to(rows.device)
        inputs, gate, outputs = (each[rows].to(self.device) for each in self._rows)
        return inputs, gate, outputs

    def _predicted(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, Tensor | float]:
        """Normalised outputs, and the sum of the network's own loss terms."""
        outputs, terms = self.network.training_outputs(inputs, gate)
        return outputs, sum(terms.values(), 0.0)


def restarted_rate(epoch: float, first: float, factor: float) -> float:
    """Share of the highest learning rate after so many epochs of AdamWR.

    References
    ----------
    Loshchilov and Hutter 2019, Decoupled weight decay regularization, eq. 14.
    """
    length = first
    while epoch >= length:
        epoch, length = epoch - length, length * factor
    return 0.5 * (1.0 + math.cos(math.pi * epoch / length))


def _pose_columns(layout: FeatureLayout) -> Array:
    """(dims,) float32: the weight of the pose's columns, 0 in all others."""
    columns = np.zeros(layout.dims, np.float32)
    for name in POSE_BLOCKS:
        if name in layout.slices:
            columns[layout.slices[name]] = layout[name].weight
    return columns
