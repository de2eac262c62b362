"""Training of the networks that lead from hands and feet to the motion of an editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.editing.editor import MotionEditor
from deepphase.editing.effector_networks import EffectorLimits, EffectorNetworks
from deepphase.editing.path_training import (
    ControlModule,
    PathData,
    PathTraining,
    PathWindows,
    hidden_units,
    trained_control,
)
from deepphase.progress import Progress

EFFECTOR_BATCH = 8
"""Windows in a batch by default: clips of blows are few, and small batches make more steps."""
# Probabilities that a hand or a foot is known in a whole window, or nowhere in it; otherwise it is
# in a stretch.
_WHOLE, _NOWHERE = 0.6, 0.25
# Share of the frames whose speeds and places are within the limits.
_LIMIT_PERCENTILE = 99.9


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
            hidden_units(editor),
            editor.network.stride,
            editor.config.network,
            _limits(data, editor.fps),
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


def train_effectors(
    store: ClipStore,
    editor: MotionEditor,
    training: PathTraining | None = None,
    *,
    folder: str | Path,
    labels: Mapping[str, Sequence[str]] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> MotionEditor | None:
    """Train the networks that lead from the paths of hands and feet to an editor's motion.

    Parameters
    ----------
    store
        Clips of the editor's skeleton, of any motion.
    editor
        The editor; its autoencoder is not changed.
    training
        Length and seed of the training.
    folder
        Folder of the resume point while the training runs, and of `metrics.csv`.
    labels
        Take only clips with these labels: label -> values.
    resume
        Continue from the resume point in `folder`.
    progress
        Called regularly; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`.

    Returns
    -------
    The editor with these networks; None in all processes but the first of a training on several
    devices.

    Raises
    ------
    ParameterError
        If no clip has the labels or is long enough, or Lightning refuses an option.
    SkeletonError
        If the clips have another skeleton.
    KeyboardInterrupt
        If the training is interrupted; the resume point is kept.
    CheckpointError
        If `resume` finds no resume point, or that of another training.
    """
    training = training or PathTraining(batch_size=EFFECTOR_BATCH)
    module = trained_control(
        lambda: PathData(store, editor, training, labels=labels, effectors=True, progress=progress),
        EffectorModule,
        editor,
        folder=folder,
        resume=resume,
        progress=progress,
        trainer=trainer,
    )
    return None if module is None else replace(editor, effectors=module.network.to("cpu").eval())


def _limits(data: PathData, fps: float) -> EffectorLimits:
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
    return tuple(np.percentile(values, _LIMIT_PERCENTILE, axis=0).tolist())
