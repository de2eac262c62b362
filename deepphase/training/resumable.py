"""Data and modules of trainings in segments, whose batches depend on the position alone."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.training.folder import STEP
from deepphase.training.steps import CapturedStep, Loss

# Number of segments of a training; a checkpoint is written after each.
_SEGMENTS = 50
# Lightning advertises its makers' services in any Trainer, also in one of the user's own.
for _package in ("pytorch_lightning", "lightning_fabric"):
    logging.getLogger(f"{_package}.utilities.rank_zero").addFilter(
        lambda record: "Tip: For seamless" not in record.getMessage()
    )


class WindowOrder:
    """Order of the training windows, one permutation per pass: a function of seed and position."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self._pass, self._order = -1, torch.empty(0, dtype=torch.int64)

    def __call__(self, start: int, stop: int) -> Tensor:
        """(stop - start,) the windows at these positions of the whole training."""
        parts = []
        while start < stop:
            pass_, inside = divmod(start, self.count)
            taken = min(stop - start, self.count - inside)
            if pass_ != self._pass:
                generator = torch.Generator().manual_seed(self.seed * 1_000_003 + pass_)
                self._pass, self._order = pass_, torch.randperm(self.count, generator=generator)
            parts.append(self._order[inside : inside + taken])
            start += taken
        return torch.cat(parts)


class ResumableData:
    """Batches that depend only on their position in the whole training.

    A mixin for a class to which Lightning gives its `trainer`. Subclasses define `total_samples`,
    and call `set_train` or define `batch`. In a trainer of the user an epoch is one pass over the
    data.
    `run_task` divides the training into segments that end with a checkpoint, and Lightning counts
    these as epochs.
    """

    trainer: Any
    batch_size: int
    held_out: Tensor
    in_segments = False
    _train: Tensor
    _order: WindowOrder

    def set_train(self, rows: Tensor, seed: int) -> None:
        """Set what each pass goes over, in another order."""
        self._train, self._order = rows, WindowOrder(len(rows), seed)

    @property
    def total_samples(self) -> int:
        """Number of samples in the whole training that the config asks for."""
        raise NotImplementedError

    @property
    def epoch_samples(self) -> int:
        """Number of samples in one pass over the data."""
        return len(self._train)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Any:
        """A share of the samples at these positions of the training, or what they are made of."""
        return self._train[self._order(start, stop)[share]]

    def validation_batch(self, rows: Tensor) -> Tensor:
        """A batch of samples for validation, by their indices."""
        return rows

    def steps(self, devices: int) -> int:
        """Optimizer steps in the whole training that the config asks for."""
        return max(math.ceil(self.total_samples / (self.batch_size * devices)), 1)

    def segments(self, devices: int) -> int:
        """Number of segments of the training."""
        return min(_SEGMENTS, self.steps(devices))

    def train_dataloader(self) -> Iterable[Tensor]:
        if self.in_segments:
            return _Batches(self._segment)
        samples = self.batch_size * self.trainer.world_size
        return _Batches(self._epoch, math.ceil(self.epoch_samples / samples))

    def val_dataloader(self) -> Iterable[Tensor]:
        return _Batches(self._validation)

    def _segment(self) -> Iterator[Tensor]:
        """This device's batches of the current segment."""
        devices = self.trainer.world_size
        total, segments = self.steps(devices), self.segments(devices)
        # Not `current_epoch`: Lightning asks for the first batch before it has restored that.
        begin = self.trainer.global_step
        ends = (total * segment // segments for segment in range(1, segments + 1))
        # None is left of a training that ended before its result was written.
        yield from self._range(begin, next((end for end in ends if end > begin), begin))

    def _epoch(self) -> Iterator[Tensor]:
        """This device's batches of the current epoch, or the rest of it after a checkpoint."""
        trainer = self.trainer
        count, summed = trainer.num_training_batches, trainer.accumulate_grad_batches
        epoch, inside = divmod(trainer.global_step, math.ceil(count / summed))
        yield from self._range(epoch * count + inside * summed, (epoch + 1) * count)

    def _range(self, begin: int, end: int) -> Iterator[Tensor]:
        devices, rank = self.trainer.world_size, self.trainer.global_rank
        samples = self.batch_size * devices
        for place in range(begin, end):
            # All devices together take the batch of one device with as many samples.
            yield self.batch(place * samples, (place + 1) * samples, slice(rank, None, devices))

    def _validation(self) -> Iterator[Tensor]:
        share = self.held_out[self.trainer.global_rank :: self.trainer.world_size]
        return map(self.validation_batch, share.split(256))


def adamw(network: torch.nn.Module, **options: Any) -> torch.optim.Optimizer:
    """AdamW of all weights of a network."""
    return torch.optim.AdamW(network.parameters(), **options)


class ResumableModule(pl.LightningModule):
    """An optimizer whose learning rate is a function of the step; loss and measures are logged.

    Logged are loss, learning_rate and samples_per_s every `log_every_n_steps`, and
    explained_variance of the held-out data after each validation.

    Subclasses have `validation_step`, which calls `add_validated`, and `training_step`, which
    returns what `stepped` does. Where a step needs values on the CPU, `is_captured` is False.
    `optimizer` is called as `adamw` with the network, `lr`, `weight_decay` and `fused`.
    """

    # Length of the warm-up as a share of the training, and last learning rate as one of the highest
    warmup, final_rate = 0.02, 0.01

    is_captured: ClassVar[bool] = True
    total_steps: int | None = None
    _captured: CapturedStep | None = None
    _has_stepped = False

    def __init__(
        self,
        network: torch.nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        optimizer: Callable[..., torch.optim.Optimizer] = adamw,
    ) -> None:
        super().__init__()
        self.network, self._optimizer = network, optimizer
        self._learning_rate, self._weight_decay = learning_rate, weight_decay
        self.last_loss, self.explained = torch.tensor(math.nan), math.nan

    def rate(self, step: int, total: float) -> float:
        """Learning rate of a step as a share of the highest: a warm-up, then half a cosine.

        1 where `total` is infinite.
        """
        if math.isinf(total):
            return 1.0
        warm = self.warmup * total
        if step < warm:
            return (step + 1) / (warm + 1)
        share = min((step - warm) / max(total - warm, 1), 1.0)
        return self.final_rate + (1.0 - self.final_rate) * 0.5 * (1.0 + math.cos(math.pi * share))

    def configure_optimizers(self) -> Any:
        total = self.total_steps or self.trainer.estimated_stepping_batches
        optimizer = self._optimizer(
            self.network,
            lr=self._learning_rate,
            weight_decay=self._weight_decay,
            fused=self.trainer.strategy.root_device.type in ("cpu", "cuda", "mps"),
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.rate(step, total))
        scheduler = {"scheduler": schedule, "interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": scheduler}

    def on_train_start(self) -> None:
        self._samples, self._logged_at = 0, time.perf_counter()
        self._captured = CapturedStep.from_trainer(self.trainer) if self.is_captured else None

    def on_train_end(self) -> None:
        self._captured = None

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # Of a captured step; a training may go on on another device.
        for state in checkpoint.get("optimizer_states", ()):
            for group in state["param_groups"]:
                group.update(lr=float(group["lr"]), capturable=False)

    def stepped(self, loss: Loss, *batch: Tensor) -> Tensor:
        """The loss of a training step; on a CUDA device the whole step, see `CapturedStep`."""
        if self._captured is None:
            value, shown = loss(*batch)
        else:
            self._has_stepped = True
            value, shown = self._captured(loss, *batch)
        self.last_loss = shown.detach()
        return value

    @property
    def position(self) -> int:
        """Of the step in the training, another one on each device."""
        return self.trainer.global_step * self.trainer.world_size + self.trainer.global_rank

    def step_generator(self, seed: int) -> torch.Generator | None:
        """Random numbers by the step alone; None on accelerators, whose default one is seeded."""
        if self.device.type == "cpu":
            return torch.Generator().manual_seed(seed * 1_000_003 + self.position)
        torch.manual_seed(seed * 1_000_003 + self.position)
        return None

    # Lightning calls the optimizer, which calls the others in this order, after `training_step`.

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Any) -> None:
        if not self._has_stepped:
            super().optimizer_zero_grad(epoch, batch_idx, optimizer)

    def backward(self, loss: Tensor, *args: Any, **options: Any) -> None:
        if not self._has_stepped:
            super().backward(loss, *args, **options)

    def optimizer_step(
        self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
    ) -> None:
        if self._captured is None:
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
            return
        optimizer_closure()
        if not self._has_stepped:
            optimizer.step()
        self._has_stepped = False

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        trainer, step = self.trainer, self.trainer.global_step
        self._samples += len(batch) * trainer.world_size
        every = trainer.log_every_n_steps  # type: ignore[attr-defined]  # set by a connector
        # The last step of an epoch too, so that callbacks find a loss after short epochs.
        if not every or (step % every and not trainer.is_last_batch):
            return
        # Read first: on an accelerator this waits for the steps that are timed.
        mean_loss = self.last_loss
        if trainer.world_size > 1:
            mean_loss = trainer.strategy.reduce(mean_loss, reduce_op="mean")
        loss, now = float(mean_loss), time.perf_counter()
        self.log_dict(
            {
                STEP: float(step),
                "loss": loss,
                "learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
                "samples_per_s": self._samples / max(now - self._logged_at, 1e-9),
            }
        )
        self._samples, self._logged_at = 0, now

    def on_validation_epoch_start(self) -> None:
        self._sums = torch.zeros(2, dtype=torch.float64, device="cpu")

    def add_validated(self, error: Tensor, total: Tensor) -> None:
        """Add a batch's squared error, and the squares that it is a share of."""
        self._sums += torch.stack([error, total]).double().cpu()

    def on_validation_epoch_end(self) -> None:
        # Summed over all devices: callbacks that read it decide alike everywhere.
        several, sums = self.trainer.world_size > 1, self._sums
        if several:
            sums = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        unexplained, total = sums.tolist()
        self.explained = 1.0 - unexplained / max(total, 1e-12)
        measured = {STEP: float(self.trainer.global_step), "explained_variance": self.explained}
        self.log_dict(measured, sync_dist=several)


@dataclass
class _Batches:
    """Batches that are made at every iteration; their number, where it is known."""

    make: Callable[[], Iterator[Tensor]]
    count: int | None = None

    def __iter__(self) -> Iterator[Tensor]:
        return self.make()

    def __len__(self) -> int:
        if self.count is None:
            raise TypeError("the number of batches is not known")
        return self.count
