"""Snapshots of a training while it runs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
import torch

from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.windows import Split


@dataclass(frozen=True, eq=False)
class TrainingView:
    """Snapshot of a training; a copy that is safe to keep and use.

    Parameters
    ----------
    windows, of
        Number of windows trained on so far, and in the whole training.
    epoch
        Passes over all training windows so far.
    loss
        Mean squared error, (m/s)^2, over the windows since the view before.
    explained
        Explained variance of held-out windows; NaN before it is first measured.
    model
        The current weights, on the CPU; without health and projection.
    corpus
        The signals of all clips.
    split
        Training frames and held-out frames.
    """

    windows: int
    of: int
    epoch: float
    loss: float
    explained: float
    model: PhaseModel
    corpus: SignalCorpus
    split: Split


Watch = Callable[[TrainingView], None]


class Watcher(pl.Callback):
    """Callback that passes on a snapshot after each measurement of held-out windows."""

    def __init__(self, watch: Watch, data: PhaseData) -> None:
        self._watch, self._data = watch, data
        self._sum, self._batches = torch.zeros(()), 0

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any, **__: Any) -> None:
        module: PhaseModule = pl_module
        self._sum = self._sum.to(module.last_loss.device) + module.last_loss
        self._batches += 1

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        segments, every = trainer.current_epoch + 1, trainer.check_val_every_n_epoch or 1
        if not trainer.is_global_zero or (segments % every and segments != trainer.max_epochs):
            return
        module: PhaseModule = pl_module  # type: ignore[assignment]
        data = self._data
        samples = min(
            data.batch_size * trainer.world_size * trainer.global_step, data.total_samples
        )
        # A copy: looking at it leaves the training's own modes and device alone.
        network = copy.deepcopy(module.network).to("cpu")
        self._watch(
            TrainingView(
                windows=samples,
                of=data.total_samples,
                epoch=samples / max(data.epoch_samples, 1),
                loss=float(self._sum) / max(self._batches, 1),
                explained=module.explained,
                model=PhaseModel(network, data.config, data.signals),
                corpus=data.corpus,
                split=data.split,
            )
        )
        self._sum, self._batches = torch.zeros(()), 0
