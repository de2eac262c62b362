"""What lessons share: a training cut into pieces, whose batches depend on nothing but position."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.phase.metrics import STEP, MetricsCsv, metrics_file
from deepphase.phase.resume import WholeCheckpoints
from deepphase.phase.trainer import quiet_lightning, trainer_options
from deepphase.progress import Progress
from deepphase.threads import warn_of_spinning

# A training is cut into so many pieces; a resume point is written after each.
_PIECES = 100
_VALIDATIONS = 20
# Rows of metrics in a whole training, about.
_LOGGED = 200
# Steps between two words on how far a training is.
_REPORTED = 20


class PiecewiseLesson(pl.LightningModule):
    """AdamW on batches that are chosen by their position in the whole training.

    Subclasses have `shown`, `batch`, `rate`, `training_step` and what validates.

    Parameters
    ----------
    network
        What is trained.
    batch_size
        Samples a step on each device.
    learning_rate, weight_decay
        Of AdamW.
    held_out
        Indices of what validates.
    """

    def __init__(
        self,
        network: torch.nn.Module,
        *,
        batch_size: int,
        learning_rate: float,
        weight_decay: float,
        held_out: Tensor,
    ) -> None:
        super().__init__()
        self.network = network
        self._batch_size, self._held_out = batch_size, held_out
        self._learning_rate, self._weight_decay = learning_rate, weight_decay
        self.last_loss, self.explained = torch.tensor(math.nan), math.nan

    @property
    def shown(self) -> int:
        """Samples shown in the whole training."""
        raise NotImplementedError

    def batch(self, start: int, stop: int) -> Tensor:
        """Indices of the samples at these positions of the whole training."""
        raise NotImplementedError

    def rate(self, step: int, total: int) -> float:
        """Learning rate of a step as a share of the highest."""
        raise NotImplementedError

    def steps(self, devices: int) -> int:
        """Optimiser steps of the whole training."""
        return max(math.ceil(self.shown / (self._batch_size * devices)), 1)

    @property
    def pieces(self) -> int:
        """Lightning's epochs: pieces of the training that end with a resume point."""
        return min(_PIECES, self.steps(1))

    def configure_optimizers(self) -> Any:
        device = self.trainer.strategy.root_device.type
        optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=self._learning_rate,
            weight_decay=self._weight_decay,
            fused=device in ("cpu", "cuda", "mps"),
        )
        total = self.steps(self.trainer.world_size)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.rate(step, total))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def train_dataloader(self) -> _Batches:
        return _Batches(self._training_batches)

    def val_dataloader(self) -> _Batches:
        return _Batches(self._validation_batches)

    def on_train_start(self) -> None:
        self._logged_step, self._logged_at = self.trainer.global_step, time.perf_counter()

    def on_train_batch_end(self, *_: Any) -> None:
        trainer, step = self.trainer, self.trainer.global_step
        if not trainer.log_every_n_steps or step % trainer.log_every_n_steps:
            return
        # Read first: on an accelerator this waits for the steps that are timed.
        loss, now = float(self.last_loss), time.perf_counter()
        samples = (step - self._logged_step) * self._batch_size * trainer.world_size
        self.log_dict(
            {
                STEP: float(step),
                "loss": loss,
                "learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
                "samples_per_s": samples / max(now - self._logged_at, 1e-9),
            }
        )
        self._logged_step, self._logged_at = step, now

    def on_validation_epoch_start(self) -> None:
        self._sums = torch.zeros(2, dtype=torch.float64, device="cpu")

    def add_validated(self, error: Tensor, total: Tensor) -> None:
        """Take in a batch's squared error, and the squares that it is a share of."""
        self._sums += torch.stack([error, total]).double().cpu()

    def on_validation_epoch_end(self) -> None:
        # Summed over all devices: callbacks that read it decide alike everywhere.
        sums = self._sums
        if self.trainer.world_size > 1:
            sums = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        unexplained, total = sums.tolist()
        self.explained = 1.0 - unexplained / max(total, 1e-12)
        self.log_dict({STEP: float(self.trainer.global_step), "explained_variance": self.explained})

    def _training_batches(self) -> Iterator[Tensor]:
        """This device's batches of the current piece."""
        devices, rank = self.trainer.world_size, self.trainer.global_rank
        total, size = self.steps(devices), self._batch_size
        # Not `current_epoch`: Lightning asks for the first batch before it has restored that.
        begin = self.trainer.global_step
        piece = next(p for p in range(1, self.pieces + 1) if total * p // self.pieces > begin)
        for step in range(begin, total * piece // self.pieces):
            start = (step * devices + rank) * size
            yield self.batch(start, start + size)

    def _validation_batches(self) -> Iterator[Tensor]:
        share = self._held_out[self.trainer.global_rank :: self.trainer.world_size]
        return iter(share.split(256))


def cosine_rate(step: int, total: int, warmup: float, final_rate: float) -> float:
    """A linear warm-up over a share of the steps, then half a cosine down to `final_rate`."""
    warm = warmup * total
    if step < warm:
        return (step + 1) / (warm + 1)
    share = min((step - warm) / max(total - warm, 1), 1.0)
    return final_rate + (1.0 - final_rate) * 0.5 * (1.0 + math.cos(math.pi * share))


def fit(
    lesson: PiecewiseLesson,
    point: Path,
    *,
    resume: bool,
    progress: Progress | None,
    trainer: Mapping[str, Any],
    callbacks: Sequence[pl.Callback] = (),
) -> pl.Trainer:
    """Run a lesson to its end, with a resume point after every piece.

    Parameters
    ----------
    point
        The file of the resume points. `metrics.csv` is written beside it.
    resume
        Whether to begin from it.
    trainer
        Options of `pytorch_lightning.Trainer`, which `check_trainer` has seen.
    callbacks
        More of Lightning's callbacks, before those in `trainer`.

    Raises
    ------
    KeyboardInterrupt
        Where it was interrupted; the resume point stays.
    """
    with quiet_lightning():
        runner = pl.Trainer(
            **trainer_options(
                trainer,
                loggers=[MetricsCsv(metrics_file(point.parent), resume=resume)],
                callbacks=[
                    WholeCheckpoints(point),
                    *([] if progress is None else [_Report(progress)]),
                    *callbacks,
                ],
                max_epochs=lesson.pieces,
                check_val_every_n_epoch=max(lesson.pieces // _VALIDATIONS, 1),
                log_every_n_steps=max(lesson.steps(1) // _LOGGED, 1),
                use_distributed_sampler=False,
            )
        )
        if runner.strategy.root_device.type == "cpu":
            warn_of_spinning(torch.get_num_threads())
        try:
            runner.fit(lesson, ckpt_path=str(point) if resume else None, weights_only=True)
        except SystemExit:
            # Lightning turns an interruption into an exit of the whole program.
            raise KeyboardInterrupt from None
    return runner


class _Report(pl.Callback):
    """Passes on how far a training is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        lesson: PiecewiseLesson = pl_module
        step = trainer.global_step
        total = lesson.steps(trainer.world_size)
        if trainer.is_global_zero and (step % _REPORTED == 0 or step == total):
            words = f"loss {float(lesson.last_loss):.4f}"
            if math.isfinite(lesson.explained):
                words += f", explained {lesson.explained:.3f}"
            self._progress("training", round(lesson.shown * step / total), lesson.shown, words)


@dataclass(frozen=True)
class _Batches:
    """What Lightning iterates over: asked anew for every piece."""

    make: Callable[[], Iterator[Tensor]]

    def __iter__(self) -> Iterator[Tensor]:
        return self.make()
