"""LightningModule of a periodic autoencoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import release_pages
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import encode_windows, gather, make_autoencoder
from deepphase.phase.health import measured_health
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.networks.muon import Muon
from deepphase.phase.networks.sine_fit_autoencoder import (
    SineFitAutoencoder,
    needed_channels,
    with_channels,
)
from deepphase.phase.parameters import ManifoldProjection
from deepphase.phase.signals import JointVelocities, PointVelocities
from deepphase.phase.song_signals import SongSignals
from deepphase.phase.training.data import PhaseData
from deepphase.training.resumable import ResumableModule, adamw
from deepphase.training.task import versions
from deepphase.work import Progress, report

# Frames that the projection is fitted to, at most.
_PROJECTED_FRAMES = 10_000
# Windows by which channels are left out, and the share of what all channels explain that those
# may explain together.
_PRUNING_WINDOWS, _IDLE = 512, 0.01
# Windows that are encoded at once; a multiple of the batches of `encode_windows`.
_ENCODED = 2_048


class PhaseModule(ResumableModule):
    """Reconstruct windows through one sinusoid a channel (Starke et al. 2022, eq. 7).

    A LightningModule for any `pytorch_lightning.Trainer`; its batches are windows
    (batch, signals, frames), as `PhaseData` makes them::

        data = PhaseData(store, config)
        module = PhaseModule(config, data.signals)
        pl.Trainer(max_epochs=10).fit(module, datamodule=data)
        module.phase_model(data).save("walk.model")

    The learning rate follows `config.training` over the steps that the trainer estimates. The
    weights are drawn from torch's random numbers: `pl.seed_everything` makes them repeatable.

    Parameters
    ----------
    config
        The network and how it is trained.
    signals
        Input signals: `PhaseData.signals`.
    """

    network: PeriodicAutoencoder

    def __init__(
        self, config: PhaseConfig, signals: JointVelocities | SongSignals | PointVelocities
    ) -> None:
        options = config.training
        super().__init__(
            make_autoencoder(len(signals.names), signals.fps, config.network),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            optimizer=Muon if options.optimizer == "muon" else adamw,
        )
        self.config, self.signals = config, signals
        self.warmup, self.final_rate = options.warmup, options.final_rate

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return 1.0 if self.config.training.schedule == "constant" else super().rate(step, total)

    def training_step(self, windows: Tensor) -> Tensor:
        return self.stepped(self._loss, windows)

    def _loss(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        loss = self.network.loss(windows)
        return loss, loss

    def validation_step(self, windows: Tensor) -> None:
        error = self.network.loss(windows) * windows.numel()
        self.add_validated(error, windows.square().sum())

    def phase_model(
        self,
        data: PhaseData,
        *,
        provenance: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> PhaseModel:
        """The model with the current weights, measured on the held-out clips of `data`.

        Parameters
        ----------
        provenance
            Further provenance for the model file.
        """
        corpus, split = data.corpus, data.split
        facts = {
            "clips": len(corpus.starts),
            "minutes": len(corpus.values) / corpus.signals.fps / 60,
            "training_windows": len(split.train_windows),
            "held_out_windows": len(split.held_out_windows),
            "clips_too_short": split.too_short,
            "seed": self.config.training.seed,
            "data": dict(corpus.origin),
            "versions": versions(),
        }
        network = self._without_idle_channels(data)
        config = replace(self.config, network=network.config)
        model: PhaseModel = PhaseModel(
            network, config, corpus.signals, provenance={**facts, **(provenance or {})}
        )
        self._measure(model, data, progress)
        return model

    def _without_idle_channels(self, data: PhaseData) -> PeriodicAutoencoder:
        """The network on the CPU, without the channels that hardly explain anything."""
        network = self.network.to("cpu").eval()
        if self.config.any_skeleton or type(network) is not SineFitAutoencoder:
            return network
        centres = data.split.train_windows
        chosen = np.unique(np.linspace(0, len(centres) - 1, _PRUNING_WINDOWS).astype(np.int64))
        values, some = map(torch.from_numpy, (data.corpus.values, centres[chosen]))
        windows = gather(values, some, data.window)
        kept = needed_channels(network, windows, _IDLE)
        if len(kept) == network.config.channels:
            return network
        config = replace(network.config, channels=len(kept))
        fewer = make_autoencoder(network.signals, network.fps, config)
        fewer.load_state_dict(with_channels(network.state_dict(), kept))
        return fewer

    def _measure(self, model: PhaseModel, data: PhaseData, progress: Progress | None) -> None:
        """Give a model its measures on held-out clips, and its projection."""
        corpus, split = data.corpus, data.split
        report(progress, "measuring", 0, 1, "on held-out clips")
        step = max(len(split.train_windows) // _PROJECTED_FRAMES, 1)
        windows = split.train_windows[::step] - model.window // 2
        manifolds = []
        for first in range(0, len(windows), _ENCODED):
            chosen = windows[first : first + _ENCODED]
            manifolds.append(encode_windows(model.network, corpus.values, chosen).manifold())
            release_pages(corpus.values)
        model.health = measured_health(model, corpus.values, split.held_out_ranges)
        trained = self.config.network.channels
        if model.channels < trained:
            left = f"{model.channels} of {trained} channels are left"
            words = f"{left}: the others explained under {_IDLE:.0%} of the motion"
            model.health = replace(model.health, findings=(*model.health.findings, words))
        model.projection = ManifoldProjection.fit(np.concatenate(manifolds))
