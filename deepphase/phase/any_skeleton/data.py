"""Training windows of several skeletons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.roles import find_roles
from deepphase.phase.any_skeleton.augmentation import Augmentation
from deepphase.phase.any_skeleton.body_points import FPS, POINTS, BodyPlan, mirrored_points
from deepphase.phase.config import PhaseConfig
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities
from deepphase.phase.training.variation import Stretches, VariedWindows, WindowVariation
from deepphase.phase.windows import Split, gather, split_by_source
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData

_VALIDATION_WINDOWS = 2048
# A mirror image goes to the other side.
_MIRROR = np.array([-1.0, 1.0, 1.0], np.float32)
_POWER_WINDOWS = 2048


@dataclass(frozen=True, eq=False)
class TrainingBody:
    """The clips of one skeleton, as those of a body whose joints are body points.

    Parameters
    ----------
    corpus
        Velocities of the skeleton's joints.
    points
        (frames, 3 * POINTS) velocities of the body points, m/s.
    found
        (points,) indices of the points that the skeleton has.
    split
        Its training and held-out frames.
    stretches
        The clips that the training frames are of.
    power
        Mean square of the windows of these points, (m/s)^2.
    """

    corpus: SignalCorpus[JointVelocities]
    points: Tensor
    found: Array
    split: Split
    stretches: Stretches
    power: float

    @classmethod
    def read(
        cls,
        store: ClipStore,
        config: PhaseConfig,
        description: Mapping[str, Any] | None,
        progress: Progress | None,
    ) -> TrainingBody:
        """Read the clips of a store at 60 frames per second."""
        first = store.clip(int(np.argmax(store.lengths)))
        roles = find_roles(first.skeleton, description, clip=first)
        signals = replace(JointVelocities.of_clip(first, roles), fps=FPS)
        corpus = SignalCorpus.read(store, progress, signals)
        options, window = config.training, config.network.window(FPS)
        split = split_by_source(
            corpus.starts, corpus.stops, corpus.sources, window, options.held_out, options.seed
        )
        index = np.array([first.skeleton.index(name) for name in signals.joints])
        read = BodyPlan.of(first.skeleton, roles).of_joints(index).points_from_joints()
        found = np.flatnonzero(read.any(1))
        points = np.einsum("pj,fjc->fpc", read, corpus.values.reshape(len(corpus.values), -1, 3))
        values = torch.from_numpy(points.reshape(len(points), -1))
        some = torch.from_numpy(split.train[:: max(len(split.train) // _POWER_WINDOWS, 1)])
        # Points that the skeleton lacks are zero.
        power = float(gather(values, some, window).square().mean()) * len(POINTS) / len(found)
        if not power > 1e-12:
            raise ParameterError(
                f"nothing moves in {store.group}",
                hint="phases are learnt from movement; see `deepphase inspect`",
            )
        return cls(corpus, values, found, split, Stretches.of(split.train, window), power)


@dataclass(frozen=True, eq=False)
class BodyBatch:
    """Windows of one body.

    Parameters
    ----------
    windows
        (batch, 3 * joints, frames) m/s.
    read : (points, joints)
    write : (joints, points)
        Interpolation between joints and body points.
    power
        Mean square of the body's windows.
    """

    windows: Tensor
    read: Tensor
    write: Tensor
    power: float

    def __len__(self) -> int:
        return len(self.windows)


class AnySkeletonData(ResumableData, pl.LightningDataModule):
    """Training and held-out windows of the clips of several skeletons, for `AnySkeletonModule`.

    Every batch is of one skeleton, which is drawn with the square root of its number of windows,
    and of one body made of it. All draws depend on seed and position alone.

    Parameters
    ----------
    stores
        Clips of one skeleton each.
    config
        Window, batch size, held-out share, augmentation and seed.
    description
        A skeleton description (`load_description`), for all of them.
    progress
        Called now and then; see `Progress`.

    Raises
    ------
    ParameterError
        Where the configuration and the clips cannot go together.
    """

    def __init__(
        self,
        stores: Sequence[ClipStore],
        config: PhaseConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        if not stores:
            raise ParameterError("a model for any skeleton needs at least one store")
        options = config.training
        self.config, self.batch_size = config, options.batch_size
        self.window = config.network.window(FPS)
        self.bodies = [TrainingBody.read(each, config, description, progress) for each in stores]
        counts = np.array([len(body.split.train) for body in self.bodies])
        if not counts.all():
            raise ParameterError(
                f"there are no training windows in {stores[int(counts.argmin())].group}",
                hint="add clips of at least one window, or leave the store out",
            )
        self._share = np.sqrt(counts) / np.sqrt(counts).sum()
        self._count = int(counts.sum())
        self._augmentation = Augmentation(options.proportions, options.joint_dropout)
        self._variation = WindowVariation(options)
        self._mirrored = list(mirrored_points())
        held = _VALIDATION_WINDOWS // len(self.bodies)
        chosen = [np.linspace(0, len(body.split.held_out) - 1, held) for body in self.bodies]
        self._held = [
            body.split.held_out[np.unique(each.astype(np.int64))]
            for body, each in zip(self.bodies, chosen, strict=True)
        ]
        self.held_out = torch.arange(sum(map(len, self._held)))

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options = self.config.training
        return options.windows or math.ceil(options.epochs * self._count)

    @property
    def epoch_samples(self) -> int:
        """Windows of as many as all skeletons have together."""
        return self._count

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Any:
        """A share of the windows at these positions, of one body."""
        seed = self.config.training.seed
        generator = np.random.default_rng([seed, start])
        number = int(generator.choice(len(self.bodies), p=self._share))
        body, augmentation = self.bodies[number], self._augmentation
        centres = body.split.train
        drawn = centres[generator.integers(len(centres), size=stop - start)]
        change = augmentation.scaled(generator)
        if generator.uniform() < self.config.training.mirror:
            change = change[:, self._mirrored] * _MIRROR[:, None, None]
        else:
            change = change * np.ones((3, 1, 1), np.float32)
        kept = augmentation.kept(generator, body.found)
        own = torch.from_numpy(drawn[share])
        if self._variation:
            rates, headings = (each[share] for each in self._variation.draws(start, stop))
            room = body.stretches.room(own)
            windows = VariedWindows(own, rates, headings).gathered(body.points, room, self.window)
        else:
            windows = gather(body.points, own, self.window)
        changed = windows.permute(2, 0, 1) @ torch.from_numpy(_by_axis(change[:, kept])).T
        return _batch_of(changed.permute(1, 2, 0), kept, body.power)

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        windows, read, write = batch.windows, batch.read, batch.write
        return BodyBatch(windows.to(device), read.to(device), write.to(device), batch.power)

    def _validation(self) -> Any:
        rank, world = self.trainer.global_rank, self.trainer.world_size
        for number, body in enumerate(self.bodies):
            columns = (3 * body.found[:, None] + np.arange(3)).reshape(-1)
            for rows in torch.from_numpy(self._held[number][rank::world]).split(256):
                windows = gather(body.points, rows, self.window)[:, columns]
                yield _batch_of(windows, body.found, body.power)


def _batch_of(windows: Tensor, kept: Array, power: float) -> BodyBatch:
    plan = BodyPlan.of_points(kept)
    read, write = plan.points_from_joints(), plan.joints_from_points()
    return BodyBatch(windows, torch.from_numpy(read), torch.from_numpy(write), power)


def _by_axis(change: Array) -> Array:
    """(3 * rows, 3 * columns) map of interleaved axes, of one map (3, rows, columns) per axis."""
    _, rows, columns = change.shape
    whole = np.zeros((rows, 3, columns, 3), np.float32)
    for axis in range(3):
        whole[:, axis, :, axis] = change[axis]
    return whole.reshape(3 * rows, 3 * columns)
