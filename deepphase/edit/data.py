"""Training data of editors: rows of all clips, and their windows as a LightningDataModule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import RowLayout, RowScale
from deepphase.edit.joint_statistics import PoseTrack, joint_statistics
from deepphase.edit.motion_rows import MotionRows, MotionSpace
from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.phase.windows import WindowOrder, split_by_source
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData

_VALIDATION_WINDOWS = 256


class WindowData(ResumableData, pl.LightningDataModule):
    """Base class: windows of clips that travel to the device as their middle frames."""

    window: int
    _train: Tensor
    _order: WindowOrder

    def set_windows(self, train: Array, held_out: Array, seed: int) -> None:
        """Set the middle frames of the windows for training and of those for validation."""
        self._train = torch.from_numpy(train)
        choice = np.linspace(0, len(held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        self.held_out = torch.from_numpy(held_out[np.unique(choice)])
        self._order = WindowOrder(len(train), seed)

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the training frames, overlapping by half."""
        return max(2 * len(self._train) // self.window, 1)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """Middle frames of a share of the windows at these positions."""
        return self._train[self._order(start, stop)[share]]

    def frames_of(self, centres: Tensor) -> Tensor:
        """(batch, window) frames around middle frames."""
        steps = torch.arange(self.window, device=centres.device) - self.window // 2
        return centres[:, None] + steps


class EditorData(WindowData):
    """Training and held-out windows of clips, for `EditorModule` in any trainer.

    Parameters
    ----------
    config
        Rate, window, batch size, held-out share, mirroring and seed.

    Attributes
    ----------
    values
        (frames, values) float32 normalised rows of all clips, then of their mirror images.
    split
        Training and held-out frames.
    normalisation
        Of the training frames.
    statistics
        How the joints turn in the training frames.
    """

    def __init__(
        self,
        store: ClipStore,
        config: EditorConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        options, network = config.training, config.network
        self.config, self.batch_size, self.window = config, options.batch_size, network.window
        first = store.clip(int(np.argmax(store.lengths)))
        given = None if description is None else dict(description)
        self.space = space = MotionSpace.of_clip(first, network.fps, given)
        roles = find_roles(first.skeleton, given, clip=first)
        self.feet = foot_contacts(first, roles).joints
        mapping = space.mirror_map(first) if options.mirror else None
        parts, images, tracks, self.sources = [], [], [], []
        for index in range(len(store)):
            clip = resample(space.on_hips(store.clip(index)), network.fps)
            parts.append(space.rows(clip)[0].array())
            tracks.append(PoseTrack.of_clip(clip, space))
            if mapping is not None:
                images.append(space.rows(mirrored(clip, mapping))[0].array())
            self.sources.append(clip.source.path or clip.name)
            if progress is not None:
                progress("reading clips", index + 1, len(store), clip.name)
        self.stops = np.cumsum([len(part) for part in parts])
        self.starts = self.stops - [len(part) for part in parts]
        self.split = split_by_source(
            self.starts, self.stops, self.sources, self.window, options.held_out, options.seed,
            source_kinds(store, given),
        )  # fmt: skip
        if len(self.split.train) < options.batch_size:
            raise ParameterError(
                f"there are {len(self.split.train)} training windows, fewer than one batch of "
                f"{options.batch_size}",
                hint="choose a smaller training.batch_size or add clips",
            )
        rows = np.concatenate([*parts, *images])
        held_out = np.zeros(self.stops[-1], bool)
        for start, stop in self.split.held_out_ranges:
            held_out[start:stop] = True
        training = rows[: len(held_out)][~held_out] if not held_out.all() else rows
        self.normalisation = RowScale.of_rows(training, len(space.points))
        self.values = (rows - self.normalisation.mean) / self.normalisation.scale
        self.statistics = joint_statistics(tracks)
        self.layout = RowLayout.of_space(space, self.feet)
        self.frames, self.has_mirror = len(held_out), mapping is not None
        self._values = torch.from_numpy(self.values)
        self.set_windows(self.split.train, self.split.held_out, options.seed)

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options = self.config.training
        return options.windows or math.ceil(options.epochs * self.epoch_samples)

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> Tensor:
        """Windows (batch, values, frames) around these middle frames; some are mirrored."""
        if self._values.device != batch.device:
            self._values = self._values.to(batch.device)
        share = self.config.training.mirror
        if self.has_mirror and share and self.trainer.training:
            devices, rank = self.trainer.world_size, self.trainer.global_rank
            count = len(range(rank, round(share * len(batch) * devices), devices))
            batch = torch.cat([batch[:count] + self.frames, batch[count:]])
        return self.windows(batch)

    def windows(self, centres: Tensor) -> Tensor:
        """(batch, values, frames) windows around middle frames."""
        return self._values[self.frames_of(centres)].transpose(1, 2)

    def held_out_motions(self) -> list[MotionRows]:
        """The rows, not normalised, of each held-out stretch of a clip."""
        scale, mean = self.normalisation.scale, self.normalisation.mean
        points = len(self.space.points)
        return [
            MotionRows.from_array(self.values[a:b] * scale + mean, points)
            for a, b in self.split.held_out_ranges
        ]
