"""Batches of a controller's training data as a LightningDataModule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from controllers.config import ControllerConfig
from controllers.data.controller_data import ControllerData
from controllers.networks.registry import network_kind
from deepphase.errors import ParameterError
from deepphase.phase.training.resumable import ResumableData
from deepphase.phase.windows import WindowOrder

_VALIDATION_SAMPLES = 2048
# Samples are put onto a device that has so much more room than they take.
_SPARE = 3


@dataclass(frozen=True, eq=False)
class FrameBatch:
    """Raw sequences of frames; without the axis of frames where a sequence has only one.

    Parameters
    ----------
    inputs, gate, outputs
        (batch[, frames], dims).
    """

    inputs: Tensor
    gate: Tensor
    outputs: Tensor

    def __len__(self) -> int:
        return len(self.inputs)


class ControllerBatches(ResumableData, pl.LightningDataModule):
    """Training and held-out sequences of frames, for `ControllerModule` in any trainer.

    A batch travels to the device as the rows that its sequences begin with, and becomes a
    `FrameBatch` there.

    Parameters
    ----------
    data
        The samples.
    config
        The network, batch size, frames of a sequence, and seed.

    Raises
    ------
    ParameterError
        Where no sequence of training frames is long enough.
    """

    def __init__(self, data: ControllerData, config: ControllerConfig) -> None:
        super().__init__()
        self.data, self.config = data, config
        options, samples, split = config.training, data.samples, data.split
        recurrent = network_kind(config.name).is_recurrent
        frames = options.sequence_frames if recurrent else options.unroll_frames
        self._frames = torch.arange(frames)
        # Rows whose next frames are of the same run, and among the rows, too.
        starts = split.train[samples.following(split.train) >= frames]
        if not len(starts):
            raise ParameterError(
                f"no stretch of {frames} training frames without a gap",
                hint=f"lower training.{'sequence' if recurrent else 'unroll'}_frames, or add clips",
            )
        held_out = split.held_out[samples.following(split.held_out) >= frames]
        choice = np.linspace(0, len(held_out) - 1, _VALIDATION_SAMPLES, dtype=int)
        self.held_out = torch.from_numpy(held_out[np.unique(choice)])
        self.batch_size = max(options.batch_size // frames, 1)
        self._starts = torch.from_numpy(starts)
        self._order = WindowOrder(len(starts), options.seed)
        self._rows = tuple(
            torch.from_numpy(np.asarray(each))
            for each in (samples.inputs, samples.gate, samples.outputs)
        )

    @property
    def frames(self) -> int:
        """Frames of a sequence."""
        return len(self._frames)

    @property
    def pairs(self) -> int:
        """Pairs of frames that sequences can begin with: an epoch of the configuration."""
        return len(self._starts)

    @property
    def total_samples(self) -> int:
        """Sequences in the whole training of the configuration."""
        options = self.config.training
        if options.samples:
            return max(math.ceil(options.samples / self.frames), 1)
        return math.ceil(options.epochs * self.pairs / self.frames)

    @property
    def epoch_samples(self) -> int:
        """Sequences of one pass over the pairs of frames."""
        return math.ceil(self.pairs / self.frames)

    def batch(self, start: int, stop: int) -> Tensor:
        """Rows that the sequences at these positions begin with."""
        return self._starts[self._order(start, stop)]

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> FrameBatch:
        """The sequences that begin with these rows, on the device of the rows."""
        device = batch.device
        if device.type == "cuda" and self._rows[0].device != device:
            needed = sum(each.numel() * each.element_size() for each in self._rows)
            if _SPARE * needed < torch.cuda.mem_get_info(device)[0]:
                self._rows = tuple(each.to(device) for each in self._rows)
        rows = batch.to(self._rows[0].device)
        if self.frames > 1:
            rows = rows[:, None] + self._frames.to(rows.device)
        return FrameBatch(*(each[rows].to(device) for each in self._rows))
