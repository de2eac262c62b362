"""Training of the networks that lead from paths, or from hands and feet, to an editor's motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.editing.control_data import PathData, PathTraining, PathWindows
from deepphase.editing.control_networks import EffectorLimits, EffectorNetworks, PathNetworks
from deepphase.editing.editor import MotionEditor
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task

_WARMUP, _FINAL_RATE, _LEARNING_RATE = 0.03, 0.01, 1e-3
# Weight in the loss of the weights' mean magnitude (Holden et al. 2016), and of the footsteps.
_SPARSITY, _STEPS = 0.01, 0.2
EFFECTOR_BATCH = 8
"""Windows in a batch by default: clips of blows are few, and small batches make more steps."""
# Probabilities that a hand or a foot is known in a whole window, or nowhere in it; otherwise it is
# in a stretch.
_WHOLE, _NOWHERE = 0.6, 0.25
# Share of the frames whose speeds and places are within the limits.
_EFFECTOR_PERCENTILE = 99.9


class ControlModule(ResumableModule):
    """Base class: motion from other values through a frozen editor.

    Parameters
    ----------
    network
        Networks that lead to the editor's hidden units.
    editor
        The editor; its network is not changed.
    """

    def __init__(self, network: nn.Module, editor: MotionEditor) -> None:
        super().__init__(network, learning_rate=_LEARNING_RATE, weight_decay=0.0)
        # Not registered: its weights are neither trained nor saved in resume points.
        self._decoder = [editor.network.requires_grad_(False)]

    def made(self, batch: PathWindows, seed: int, decode: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, values, frames) rows that the networks make of windows.

        Parameters
        ----------
        seed
            Of what is random.
        decode
            The editor's decoder of hidden units.
        """
        raise NotImplementedError

    def further_loss(self, batch: PathWindows) -> Tensor | float:
        """What the loss has beside the error of the motion."""
        return 0.0

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, _WARMUP, _FINAL_RATE)

    def training_step(self, batch: PathWindows) -> Tensor:
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        motion = self._error(batch, position).square().mean()
        self.last_loss = motion.detach()
        weights = [each.abs().mean() for each in self.network.parameters() if each.ndim > 1]
        sparsity = _SPARSITY * torch.stack(weights).mean()
        return motion + sparsity + self.further_loss(batch)

    def validation_step(self, batch: PathWindows, index: int) -> None:
        error = self._error(batch, index)
        self.add_validated(error.square().sum(), batch.rows.square().sum())

    def _error(self, batch: PathWindows, seed: int) -> Tensor:
        decoder = self._decoder[0].to(batch.rows.device)
        return self.made(batch, seed, decoder.decode) - batch.rows


class PathModule(ControlModule):
    """Footsteps from paths, and motion from paths and contacts through a frozen editor.

    A LightningModule for any `pytorch_lightning.Trainer`, with batches of `PathData`.

    Parameters
    ----------
    data
        Training data, of which the scales of velocities and footsteps are.
    editor
        The editor; its network is not changed.
    """

    network: PathNetworks

    def __init__(self, data: PathData, editor: MotionEditor) -> None:
        networks = PathNetworks(
            len(editor.feet),
            editor.config.network,
            data.limits,
        )
        super().__init__(networks, editor)
        velocities, steps = data.velocities, data.steps_known
        networks.velocity_scale.copy_(torch.from_numpy(np.maximum(velocities.std(axis=0), 1e-3)))
        if len(steps):
            networks.step_mean.copy_(torch.from_numpy(steps.mean(axis=0)))
            networks.step_scale.copy_(torch.from_numpy(np.maximum(steps.std(axis=0), 0.05)))

    def made(self, batch: PathWindows, seed: int, decode: Callable[[Tensor], Tensor]) -> Tensor:
        return decode(self.network.hidden(batch.velocities, batch.contacts))

    def further_loss(self, batch: PathWindows) -> Tensor:
        network = self.network
        wanted = (batch.steps - network.step_mean[:, None]) / network.step_scale[:, None]
        errors = (network.footsteps(batch.velocities) - wanted).square().mean(dim=1)
        return _STEPS * (errors * batch.known).sum() / batch.known.sum().clamp(min=1)


class EffectorModule(ControlModule):
    """Motion from the paths of some hands and feet through a frozen editor.

    A LightningModule for any `pytorch_lightning.Trainer`, with batches of `PathData`.

    Parameters
    ----------
    data
        Training data with `effectors`.
    editor
        The editor; its network is not changed.
    """

    network: EffectorNetworks

    def __init__(self, data: PathData, editor: MotionEditor) -> None:
        networks = EffectorNetworks(
            len(editor.layout.group),
            editor.config.network,
            _effector_limits(data, editor.fps),
        )
        super().__init__(networks, editor)
        velocities, places = data.velocities, data.effector_places
        networks.velocity_scale.copy_(torch.from_numpy(np.maximum(velocities.std(axis=0), 1e-3)))
        networks.place_mean.copy_(torch.from_numpy(places.mean(axis=0)))
        networks.place_scale.fill_(max(float(np.sqrt(places.var(axis=0).mean())), 1e-3))

    def made(self, batch: PathWindows, seed: int, decode: Callable[[Tensor], Tensor]) -> Tensor:
        count, _, frames = batch.effectors.shape
        known = random_known(count, len(self.network.limits.joints), frames, seed)
        return self.network.made(
            batch.velocities, batch.effectors, known.to(batch.effectors), decode
        )


def random_known(batch: int, effectors: int, frames: int, seed: int) -> Tensor:
    """(batch, effectors, frames) bool: where places are known in training, by a seed.

    A hand or a foot is known in all of a window, nowhere in it, or in a stretch.
    """
    generator = torch.Generator().manual_seed(seed)
    kind = torch.rand(batch, effectors, 1, generator=generator)
    ends = torch.rand(2, batch, effectors, 1, generator=generator).sort(0).values * frames
    index = torch.arange(frames)
    stretch = (index >= ends[0]) & (index < ends[1])
    return (kind < _WHOLE) | ((kind >= _WHOLE + _NOWHERE) & stretch)


def train_path(
    store: ClipStore,
    editor: MotionEditor,
    training: PathTraining | None = None,
    *,
    folder: str | Path,
    effectors: bool = False,
    labels: Mapping[str, Sequence[str]] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> MotionEditor | None:
    """Train the networks that lead from paths, or from hands and feet, to an editor's motion.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    store
        Clips of the editor's skeleton; without `effectors`, those that walk or run are taken.
    editor
        The editor; its autoencoder is not changed.
    training
        Length, batches and seed of the training; by default batches of 32 windows, or of 8 with
        `effectors`.
    effectors
        Train the networks of hands and feet instead of those of paths.
    labels
        Take only clips with these labels: label -> values.

    Returns
    -------
    The editor with these networks; None in all processes but the first of a training on several
    devices.

    Raises
    ------
    ParameterError
        If no clip has the labels, travels or is long enough, or Lightning refuses an option.
    SkeletonError
        If the clips have another skeleton.
    """
    training = training or PathTraining(**({"batch_size": EFFECTOR_BATCH} if effectors else {}))

    def result(_: PathData, module: ControlModule, run: object) -> MotionEditor:
        editor.network.to("cpu")
        network: Any = module.network.to("cpu").eval()
        return replace(editor, **{"effectors" if effectors else "path": network})

    task = TrainedTask[PathData, ControlModule, MotionEditor](
        training.seed,
        data=lambda: PathData(
            store, editor, training, labels=labels, effectors=effectors, progress=progress
        ),
        module=lambda data: (EffectorModule if effectors else PathModule)(data, editor),
        fingerprint=lambda data: {
            "training": asdict(training),
            "editor": editor.config.as_mapping(),
            "limits": asdict(data.limits),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def _effector_limits(data: PathData, fps: float) -> EffectorLimits:
    count = len(data.effectors)
    places = data.effector_places.reshape(-1, count, 3)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=-1)[data.same_clip] * fps
    return EffectorLimits(
        tuple(data.effectors),
        _highest(speeds),
        _highest(np.linalg.norm(places, axis=-1)),
        data.limits.clips,
    )


def _highest(values: Array) -> tuple[float, ...]:
    return tuple(np.percentile(values, _EFFECTOR_PERCENTILE, axis=0).tolist())
