"""Training of the networks that lead from paths, or from hands and feet, to an editor's motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.control_data import TRAVELS, PathData, PathTraining, PathWindows
from deepphase.edit.control_networks import (
    EffectorLimits,
    EffectorNetworks,
    PathLimits,
    PathNetworks,
)
from deepphase.edit.editor import MotionEditor
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
# Share of the frames whose speeds, turns and places are within the limits.
_PATH_PERCENTILE, _EFFECTOR_PERCENTILE = 99.5, 99.9


class ControlModule(ResumableModule):
    """Motion from paths, or from hands and feet, through a frozen editor.

    A LightningModule for any `pytorch_lightning.Trainer`, with batches of `PathData`.
    """

    network: PathNetworks | EffectorNetworks

    def __init__(self, data: PathData, editor: MotionEditor) -> None:
        make = _effector_networks if data.for_effectors else _path_networks
        super().__init__(make(data, editor), learning_rate=_LEARNING_RATE, weight_decay=0.0)
        scale = np.maximum(data.frames.velocities.numpy().std(axis=0), 1e-3)
        self.network.velocity_scale.copy_(torch.from_numpy(scale))
        # Not registered: its weights are neither trained nor saved in resume points.
        self._decoder = [editor.network.requires_grad_(False)]

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, _WARMUP, _FINAL_RATE)

    def training_step(self, batch: PathWindows) -> Tensor:
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        motion = self._error(batch, position).square().mean()
        self.last_loss = motion.detach()
        weights = [each.abs().mean() for each in self.network.parameters() if each.ndim > 1]
        loss = motion + _SPARSITY * torch.stack(weights).mean()
        if isinstance(self.network, PathNetworks):
            loss = loss + _footstep_loss(self.network, batch)
        return loss

    def validation_step(self, batch: PathWindows, index: int) -> None:
        error = self._error(batch, index)
        self.add_validated(error.square().sum(), batch.rows.square().sum())

    def _error(self, batch: PathWindows, seed: int) -> Tensor:
        """(batch, values, frames) what the networks make of windows, less their rows."""
        network, decode = self.network, self._decoder[0].to(batch.rows.device).decode
        if isinstance(network, PathNetworks):
            return decode(network.hidden(batch.velocities, batch.contacts)) - batch.rows
        count, _, frames = batch.effectors.shape
        known = random_known(count, len(network.limits.joints), frames, seed)
        places = batch.effectors
        return network.made(batch.velocities, places, known.to(places), decode) - batch.rows


def _path_networks(data: PathData, editor: MotionEditor) -> PathNetworks:
    """Untrained networks with the limits and the scale of footsteps of data."""
    velocities = data.frames.velocities.numpy()
    speeds = np.linalg.norm(velocities[:, :2], axis=1)
    moving = speeds > TRAVELS
    if not moving.any():
        moving = np.ones_like(moving)
    limits = PathLimits(
        float(np.percentile(speeds[moving], _PATH_PERCENTILE)),
        float(np.median(speeds[moving])),
        float(np.percentile(np.abs(velocities[moving, 2]), _PATH_PERCENTILE)),
        {name: list(values) for name, values in data.labels.items()},
        data.clips,
    )
    networks = PathNetworks(editor.layout, editor.config.network, limits)
    steps = data.frames.steps[data.frames.known[:, 0]].numpy()
    if len(steps):
        networks.step_mean.copy_(torch.from_numpy(steps.mean(axis=0)))
        networks.step_scale.copy_(torch.from_numpy(np.maximum(steps.std(axis=0), 0.05)))
    return networks


def _effector_networks(data: PathData, editor: MotionEditor) -> EffectorNetworks:
    """Untrained networks with the limits and the scale of places of data."""
    flat = data.frames.effectors.numpy()
    places = flat.reshape(len(flat), -1, 3)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=-1)[data.same_clip] * editor.fps
    highest, farthest = (
        tuple(np.percentile(each, _EFFECTOR_PERCENTILE, axis=0).tolist())
        for each in (speeds, np.linalg.norm(places, axis=-1))
    )
    limits = EffectorLimits(tuple(data.effectors), highest, farthest, data.clips)
    networks = EffectorNetworks(editor.layout, editor.config.network, limits)
    networks.place_mean.copy_(torch.from_numpy(flat.mean(axis=0)))
    networks.place_scale.fill_(max(float(np.sqrt(flat.var(axis=0).mean())), 1e-3))
    return networks


def _footstep_loss(network: PathNetworks, batch: PathWindows) -> Tensor:
    wanted = (batch.steps - network.step_mean[:, None]) / network.step_scale[:, None]
    errors = (network.footsteps(batch.velocities) - wanted).square().mean(dim=1)
    known = batch.known[:, 0]
    return _STEPS * (errors * known).sum() / known.sum().clamp(min=1)


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
    folder: str | Path | None = None,
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
        network = module.network.to("cpu").eval()
        if isinstance(network, PathNetworks):
            return replace(editor, path=network)
        return replace(editor, effectors=network)

    task = TrainedTask[PathData, ControlModule, MotionEditor](
        training.seed,
        data=lambda: PathData(
            store, editor, training, labels=labels, effectors=effectors, progress=progress
        ),
        module=lambda data: ControlModule(data, editor),
        fingerprint=lambda data: {
            "training": asdict(training),
            "editor": editor.config.as_mapping(),
            "frames": float(data.frames.rows.abs().sum(dtype=torch.float64)),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)
