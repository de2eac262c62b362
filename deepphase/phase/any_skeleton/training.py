"""Training of a phase model for any skeleton on the clips of several skeletons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.func import functional_call

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.any_skeleton.binding import bound_weights
from deepphase.phase.any_skeleton.body_points import FPS, POINTS
from deepphase.phase.any_skeleton.data import AnySkeletonData, BodyBatch
from deepphase.phase.any_skeleton.model import AnySkeletonModel, TrainedSkeleton
from deepphase.phase.config import PhaseConfig
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import encode_windows
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions

# A batch of windows that barely move is not divided by less than this share of the mean square.
_LEAST_POWER = 0.3
_LARGEST_GRADIENT = 1.0
# Frames of each skeleton that the projection is fitted to, at most.
_PROJECTED_FRAMES = 10_000


class AnySkeletonModule(ResumableModule):
    """Reconstruct windows of the joints of any body through the sinusoids of one network.

    The error of a batch is divided by its mean square, so that a dog counts as much as a person who
    runs.

    Parameters
    ----------
    config
        The network and how it is trained.
    """

    network: PeriodicAutoencoder

    def __init__(self, config: PhaseConfig) -> None:
        options = config.training
        super().__init__(
            make_autoencoder(3 * len(POINTS), FPS, config.network),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            optimizer=options.optimizer,
        )
        self.config = config

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        options = self.config.training
        if options.schedule == "constant":
            return 1.0
        return cosine_rate(step, total, options.warmup, options.final_rate)

    def _reconstructed(self, batch: BodyBatch) -> Tensor:
        weights = bound_weights(dict(self.network.named_parameters()), batch.read, batch.write)
        return functional_call(self.network, weights, (batch.windows,)).float()

    def training_step(self, batch: BodyBatch) -> Tensor:
        error = (self._reconstructed(batch) - batch.windows).square().mean()
        loss = error / batch.windows.square().mean().clamp(min=_LEAST_POWER * batch.power)
        self.last_loss = loss.detach()
        return loss

    def validation_step(self, batch: BodyBatch) -> None:
        error = (self._reconstructed(batch) - batch.windows).square().sum() / batch.power
        self.add_validated(error, batch.windows.square().sum() / batch.power)


def train_any_skeleton(
    stores: Sequence[ClipStore],
    config: PhaseConfig | None = None,
    *,
    folder: str | Path,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **trainer: Any,
) -> AnySkeletonModel | None:
    """Train one phase model on the clips of several skeletons.

    Parameters
    ----------
    stores
        Clips of one skeleton each.
    config
        Network and training; `configs/phase/any_skeleton.yaml` if None.
    folder, resume, description, progress, trainer
        As for :func:`deepphase.phase.training.train.train_phase`.

    Returns
    -------
    The model; None in all processes but the first of a training on several devices.

    Raises
    ------
    As `train_phase` does.
    """
    config = PhaseConfig.load("any_skeleton") if config is None else config

    def result(
        data: AnySkeletonData, module: AnySkeletonModule, run: dict[str, Any]
    ) -> AnySkeletonModel:
        provenance = {
            "seed": config.training.seed,
            "data": [dict(body.corpus.origin) for body in data.bodies],
            "minutes": [len(body.corpus.values) / FPS / 60 for body in data.bodies],
            **run,
            "versions": versions(),
        }
        model = AnySkeletonModel(module.network.to("cpu"), config, provenance=provenance)
        _measure(model, stores, data, description, progress)
        return model

    task = TrainedTask(
        config.training.seed,
        data=lambda: AnySkeletonData(stores, config, description=description, progress=progress),
        module=lambda _: AnySkeletonModule(config),
        fingerprint=lambda data: _fingerprint(config, data),
        result=result,
    )
    trainer = {"gradient_clip_val": _LARGEST_GRADIENT, **trainer}
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def _measure(
    model: AnySkeletonModel,
    stores: Sequence[ClipStore],
    data: AnySkeletonData,
    description: Mapping[str, Any] | None,
    progress: Progress | None,
) -> None:
    """Give a model its measures on the held-out clips of each skeleton, and its projection."""
    measured, manifolds = [], []
    for number, (store, body) in enumerate(zip(stores, data.bodies, strict=True)):
        if progress is not None:
            progress("measuring", number, len(stores), "on held-out clips")
        corpus, split = body.corpus, body.split
        clip = store.clip(int(np.argmax(store.lengths)))
        bound = model.bound_to(corpus.signals, clip, description)
        health = measured_health(bound, corpus.values, split.held_out_ranges)
        kind = corpus.signals.body["kind"]
        joints = len(corpus.signals.joints)
        measured.append(TrainedSkeleton(store.group, kind, joints, health))
        seen = split.train[:: max(len(split.train) // _PROJECTED_FRAMES, 1)] - model.window // 2
        manifold = encode_windows(bound.network, corpus.values, seen).manifold()
        # Fast bodies alone would set the axes.
        manifolds.append(manifold / np.sqrt(np.square(manifold).mean() + 1e-12))
    model.skeletons = tuple(measured)
    model.projection = ManifoldProjection.fit(np.concatenate(manifolds))


def _fingerprint(config: PhaseConfig, data: AnySkeletonData) -> dict[str, Any]:
    """Values that two trainings must share for one to continue the other's resume point."""
    return {
        "config": asdict(config),
        "skeletons": [
            {
                "joints": list(body.corpus.signals.joints),
                "frames": len(body.corpus.values),
                "checksum": float(np.abs(body.corpus.values).sum(dtype=np.float64)),
            }
            for body in data.bodies
        ],
    }
