"""Resumable training with Lightning, in segments whose batches depend on the position alone."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder
from deepphase.training.metrics import MetricsCsv
from deepphase.training.metrics_file import STEP, metrics_file
from deepphase.training.muon import Muon
from deepphase.training.resume import WholeCheckpoints, resume_point, sole_training, unfinished
from deepphase.training.trainer import (
    quiet_lightning,
    restarted,
    trainer_options,
    warn_of_slow_bfloat16,
)
from deepphase.training.world import World, joined

# Number of segments of a training; a resume point is written after each.
_SEGMENTS = 100
_VALIDATIONS = 20
# Approximate number of rows of metrics in a whole training.
_LOGGED = 200
# Steps between two progress reports.
_REPORTED = 20


class ResumableData:
    """Batches that depend only on their position in the whole training.

    A mixin for a class to which Lightning gives its `trainer`. Subclasses define `total_samples`,
    `epoch_samples` and `batch`.

    In a trainer of the user an epoch is one pass over the data. `fit` divides the training into
    segments that end with a resume point, and Lightning counts these as epochs.

    Attributes
    ----------
    batch_size
        Samples per step on each device.
    held_out
        Indices of the samples for validation.
    in_segments
        Whether `fit` runs the training.
    """

    trainer: Any
    batch_size: int
    held_out: Tensor
    in_segments = False

    @property
    def total_samples(self) -> int:
        """Number of samples in the whole training that the config asks for."""
        raise NotImplementedError

    @property
    def epoch_samples(self) -> int:
        """Number of samples in one pass over the data."""
        raise NotImplementedError

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Any:
        """A share of the samples at these positions of the training, or what they are made of."""
        raise NotImplementedError

    def validation_batch(self, rows: Tensor) -> Tensor:
        """A batch of samples for validation, by their indices."""
        return rows

    def steps(self, devices: int) -> int:
        """Optimizer steps in the whole training that the config asks for."""
        return max(math.ceil(self.total_samples / (self.batch_size * devices)), 1)

    def segments(self, devices: int) -> int:
        """Number of segments of the training; each ends with a resume point."""
        return min(_SEGMENTS, self.steps(devices))

    def train_dataloader(self) -> Iterable[Tensor]:
        if self.in_segments:
            return _Batches(self._segment)
        return _SizedBatches(
            self._epoch, math.ceil(self.epoch_samples / (self.batch_size * self.trainer.world_size))
        )

    def val_dataloader(self) -> Iterable[Tensor]:
        return _Batches(self._validation)

    def _segment(self) -> Iterator[Tensor]:
        """This device's batches of the current segment."""
        devices = self.trainer.world_size
        total, segments = self.steps(devices), self.segments(devices)
        # Not `current_epoch`: Lightning asks for the first batch before it has restored that.
        begin = self.trainer.global_step
        segment = next(p for p in range(1, segments + 1) if total * p // segments > begin)
        yield from self._range(begin, total * segment // segments)

    def _epoch(self) -> Iterator[Tensor]:
        """This device's batches of the current epoch, or the rest of it after a checkpoint."""
        trainer = self.trainer
        count, each = trainer.num_training_batches, trainer.accumulate_grad_batches
        epoch, inside = divmod(trainer.global_step, math.ceil(count / each))
        yield from self._range(epoch * count + inside * each, (epoch + 1) * count)

    def _range(self, begin: int, end: int) -> Iterator[Tensor]:
        devices, rank = self.trainer.world_size, self.trainer.global_rank
        each = self.batch_size * devices
        for place in range(begin, end):
            # All devices together take the batch of one device with as many samples.
            yield self.batch(place * each, (place + 1) * each, slice(rank, None, devices))

    def _validation(self) -> Iterator[Tensor]:
        share = self.held_out[self.trainer.global_rank :: self.trainer.world_size]
        return map(self.validation_batch, share.split(256))


class ResumableModule(pl.LightningModule):
    """An optimizer whose learning rate is a function of the step; loss and measures are logged.

    Logged are loss, learning_rate and samples_per_s every `log_every_n_steps`, and
    explained_variance of the held-out data after each validation.

    Subclasses have `rate`, `training_step`, which sets `last_loss`, and `validation_step`, which
    calls `add_validated`.

    Parameters
    ----------
    network
        What is trained.
    learning_rate, weight_decay
        Of the optimizer.
    optimizer
        "adamw" or "muon".

    Attributes
    ----------
    total_steps
        Optimizer steps of the whole training; None where the trainer's estimate counts.
    """

    total_steps: int | None = None

    def __init__(
        self,
        network: torch.nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        optimizer: Literal["adamw", "muon"] = "adamw",
    ) -> None:
        super().__init__()
        self.network, self._optimizer = network, optimizer
        self._learning_rate, self._weight_decay = learning_rate, weight_decay
        self.last_loss, self.explained = torch.tensor(math.nan), math.nan

    def rate(self, step: int, total: float) -> float:
        """Learning rate of a step as a share of the highest; `total` may be infinite."""
        raise NotImplementedError

    def configure_optimizers(self) -> Any:
        device = self.trainer.strategy.root_device.type
        total = self.total_steps or self.trainer.estimated_stepping_batches
        optimizer, schedule = self.optimizer_over(total, device)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def optimizer_over(
        self, total: float, device: str = "cpu"
    ) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
        """The optimizer, and the schedule of its learning rate over `total` steps."""
        optimizer: torch.optim.Optimizer
        if self._optimizer == "muon":
            optimizer = Muon(self.network, self._learning_rate, self._weight_decay)
        else:
            optimizer = torch.optim.AdamW(
                self.network.parameters(),
                lr=self._learning_rate,
                weight_decay=self._weight_decay,
                fused=device in ("cpu", "cuda", "mps"),
            )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.rate(step, total))
        return optimizer, schedule

    def on_train_start(self) -> None:
        self._samples, self._logged_at = 0, time.perf_counter()

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
        sums = self._sums
        if self.trainer.world_size > 1:
            sums = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        unexplained, total = sums.tolist()
        self.explained = 1.0 - unexplained / max(total, 1e-12)
        several = self.trainer.world_size > 1
        measured = {STEP: float(self.trainer.global_step), "explained_variance": self.explained}
        self.log_dict(measured, sync_dist=several)


def cosine_rate(step: int, total: float, warmup: float, final_rate: float) -> float:
    """A linear warm-up over a share of the steps, then half a cosine down to `final_rate`.

    1 throughout where `total` is infinite.
    """
    if math.isinf(total):
        return 1.0
    warm = warmup * total
    if step < warm:
        return (step + 1) / (warm + 1)
    share = min((step - warm) / max(total - warm, 1), 1.0)
    return final_rate + (1.0 - final_rate) * 0.5 * (1.0 + math.cos(math.pi * share))


def fit(
    module: ResumableModule,
    folder: Path,
    fingerprint: Mapping[str, Any],
    *,
    data: ResumableData | None = None,
    resume: bool,
    progress: Progress | None,
    trainer: Mapping[str, Any],
    callbacks: Sequence[pl.Callback] = (),
) -> pl.Trainer | None:
    """Run a training to its end, with a resume point after every segment.

    Parameters
    ----------
    folder
        Folder of the resume point and of `metrics.csv`. Only the first process of a training on
        several devices writes there.
    fingerprint
        Values that two trainings must share for one to continue the other's resume point.
    data
        A LightningDataModule; None for a module with its own data.
    resume
        Whether to continue from the resume point; done without it where torchrun starts again.
    trainer
        Options of `pytorch_lightning.Trainer`, checked by `check_trainer`.
    callbacks
        Further callbacks, called before those in `trainer`.

    Returns
    -------
    The trainer; None in all processes but the first, which end with it.

    Raises
    ------
    KeyboardInterrupt
        Where it was interrupted; the resume point stays.
    CheckpointError
        If another training runs in the folder, there is no such resume point, it cannot be written,
        or another process of the training was killed.
    """
    source: Any = module if data is None else data
    source.in_segments = True
    with joined(trainer) as world, ExitStack() as stack:
        # torchrun repeats the first command, which did not resume.
        resume = resume or world.first(lambda: restarted() and unfinished(folder))
        several = {"processes": world.size} if world.size > 1 else {}
        world.first(lambda: _enter(stack, sole_training(folder)))
        point = world.first(lambda: resume_point(folder, {**fingerprint, **several}, resume=resume))
        read_from = world.together(lambda: _resumed_from(point, world, stack)) if resume else None
        segments = source.segments(world.size)
        with quiet_lightning():
            runner = pl.Trainer(
                **trainer_options(
                    trainer,
                    loggers=[MetricsCsv(metrics_file(folder), resume=resume)],
                    callbacks=[
                        WholeCheckpoints(point),
                        *([] if progress is None else [_Report(progress, source.total_samples)]),
                        *callbacks,
                    ],
                    max_epochs=segments,
                    check_val_every_n_epoch=max(segments // _VALIDATIONS, 1),
                    log_every_n_steps=max(source.steps(world.size) // _LOGGED, 1),
                    use_distributed_sampler=False,
                    # As one device with all samples of a step would normalise them.
                    sync_batchnorm=world.size > 1 and torch.cuda.is_available(),
                )
            )
            module.total_steps = source.steps(world.size)
            if runner.strategy.root_device.type == "cpu":
                warn_of_slow_bfloat16(str(runner.precision))
            if world.size > 1:
                # Lightning's handler of SIGTERM broadcasts it, while the others do something else.
                runner._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
            with world.ending_together():
                try:
                    runner.fit(
                        module,
                        datamodule=data,  # type: ignore[arg-type]  # a mixin of data modules
                        ckpt_path=None if read_from is None else str(read_from),
                        weights_only=True,
                    )
                except SystemExit:
                    # Lightning turns an interruption into an exit of the whole program.
                    raise KeyboardInterrupt from None
        world.leave()
    return runner if world.rank == 0 else None


def _enter(stack: ExitStack, context: AbstractContextManager[Any]) -> None:
    stack.enter_context(context)


def _resumed_from(point: Path, world: World, stack: ExitStack) -> Path:
    """A resume point that this process can read: a copy, where it does not see the folder."""
    content = point.read_bytes() if point.is_file() else b""
    digests = world.gather(hashlib.sha256(content).hexdigest())
    equal = digests[world.rank] == digests[0]
    if all(world.gather(equal)):
        return point
    content = world.gather(content if world.rank == 0 else b"")[0]
    if equal:
        return point
    copy = stack.enter_context(temporary_folder()) / point.name
    copy.write_bytes(content)
    return copy


class _Report(pl.Callback):
    """Reports the progress of a training."""

    def __init__(self, progress: Progress, samples: int) -> None:
        self._progress, self._samples = progress, samples

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        module: ResumableModule = pl_module
        step, total = trainer.global_step, module.total_steps or 1
        if trainer.is_global_zero and (step % _REPORTED == 0 or step == total):
            words = f"loss {float(module.last_loss):.4f}"
            if math.isfinite(module.explained):
                words += f", explained {module.explained:.3f}"
            self._progress("training", round(self._samples * step / total), self._samples, words)


@dataclass(frozen=True)
class _Batches:
    """Batches of one segment, epoch or validation, made at every iteration."""

    make: Callable[[], Iterator[Tensor]]

    def __iter__(self) -> Iterator[Tensor]:
        return self.make()


@dataclass(frozen=True)
class _SizedBatches(_Batches):
    """The same with a known number of batches."""

    count: int

    def __len__(self) -> int:
        return self.count
