"""One training of a periodic autoencoder as Lightning runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.phase.autoencoder import PeriodicAutoencoder
from deepphase.phase.configuration import TrainingConfig
from deepphase.phase.windows import Split, WindowOrder, gather

# A training is cut into so many pieces; a resume point is written after each.
_PIECES = 100
_VALIDATION_WINDOWS = 2048


class PhaseLesson(pl.LightningModule):
    """Reconstruct windows through one sinusoid a channel (Starke et al. 2022, eq. 7).

    All signals lie on the device; a batch is the indices of its windows' middle frames.
    """

    def __init__(
        self,
        network: PeriodicAutoencoder,
        options: TrainingConfig,
        values: np.ndarray,
        split: Split,
        mirror: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        super().__init__()
        self.network, self.options = network, options
        self._values = torch.from_numpy(values)
        self._mirror = None if mirror is None else tuple(map(torch.from_numpy, mirror))
        self._train = torch.from_numpy(split.train)
        choice = np.linspace(0, len(split.held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        self._held_out = torch.from_numpy(split.held_out[np.unique(choice)])
        self._order = WindowOrder(len(split.train), self.options.seed)
        self.last_loss, self.explained = torch.tensor(math.nan), math.nan

    @property
    def windows(self) -> int:
        """Windows shown in the whole training."""
        return self.options.windows or math.ceil(self.options.epochs * len(self._train))

    def steps(self, devices: int) -> int:
        """Optimiser steps of the whole training."""
        return max(math.ceil(self.windows / (self.options.batch_size * devices)), 1)

    @property
    def pieces(self) -> int:
        """Lightning's epochs: pieces of the training that end with a resume point."""
        return min(_PIECES, self.steps(1))

    def on_fit_start(self) -> None:
        # Not a buffer: buffers are broadcast between devices and stored with the weights.
        self._values = self._values.to(self.device)
        if self._mirror is not None:
            self._mirror = tuple(part.to(self.device) for part in self._mirror)

    def configure_optimizers(self) -> Any:
        options, device = self.options, self.trainer.strategy.root_device.type
        optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=options.learning_rate,
            weight_decay=options.weight_decay,
            fused=device in ("cpu", "cuda", "mps"),
        )
        total = self.steps(self.trainer.world_size)

        def factor(step: int) -> float:
            if options.schedule == "constant":
                return 1.0
            warm = options.warmup * total
            if step < warm:
                return (step + 1) / (warm + 1)
            share = min((step - warm) / max(total - warm, 1), 1.0)
            fall = 0.5 * (1.0 + math.cos(math.pi * share))
            return options.final_rate + (1.0 - options.final_rate) * fall

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def train_dataloader(self) -> _Batches:
        return _Batches(self._training_batches)

    def val_dataloader(self) -> _Batches:
        return _Batches(self._validation_batches)

    def training_step(self, centres: Tensor) -> Tensor:
        windows = gather(self._values, centres, self.network.window)
        if self._mirror is not None and self.options.mirror:
            order, sign = self._mirror
            count = round(self.options.mirror * len(windows))
            windows[:count] = windows[:count, order] * sign[:, None]
        loss = torch.nn.functional.mse_loss(self.network(windows).float(), windows)
        self.last_loss = loss.detach()
        return loss

    def on_validation_epoch_start(self) -> None:
        self._sums = torch.zeros(2, dtype=torch.float64, device="cpu")

    def validation_step(self, centres: Tensor) -> None:
        windows = gather(self._values, centres, self.network.window)
        error = (self.network(windows).float() - windows).square().sum()
        self._sums += torch.stack([error, windows.square().sum()]).double().cpu()

    def on_validation_epoch_end(self) -> None:
        unexplained, total = self._sums.tolist()
        self.explained = 1.0 - unexplained / max(total, 1e-12)

    def _training_batches(self) -> Iterator[Tensor]:
        """This device's batches of the current piece."""
        devices, rank = self.trainer.world_size, self.trainer.global_rank
        total, size = self.steps(devices), self.options.batch_size
        # Not `current_epoch`: Lightning asks for the first batch before it has restored that.
        begin = self.trainer.global_step
        piece = next(p for p in range(1, self.pieces + 1) if total * p // self.pieces > begin)
        for step in range(begin, total * piece // self.pieces):
            start = (step * devices + rank) * size
            yield self._train[self._order(start, start + size)]

    def _validation_batches(self) -> Iterator[Tensor]:
        share = self._held_out[self.trainer.global_rank :: self.trainer.world_size]
        return iter(share.split(256))


@dataclass(frozen=True)
class _Batches:
    """What Lightning iterates over: asked anew for every piece."""

    make: Callable[[], Iterator[Tensor]]

    def __iter__(self) -> Iterator[Tensor]:
        return self.make()
