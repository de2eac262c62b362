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
# Samples are kept on the device if its free memory is this many times their size.
_SPARE = 3


@dataclass(frozen=True, eq=False)
class FrameBatch:
    """Raw sequences of frames; sequences of one frame have no axis of frames.

    Parameters
    ----------
    inputs, gate, outputs
        (batch[, frames], dims) raw values.
    """

    inputs: Tensor
    gate: Tensor
    outputs: Tensor

    def __len__(self) -> int:
        return len(self.inputs)


class ControllerBatches(ResumableData, pl.LightningDataModule):
    """Training and held-out sequences of frames, for `ControllerModule` in any trainer.

    The data loader yields the first rows of the sequences; on the device they become a
    `FrameBatch`.

    Parameters
    ----------
    data
        Samples and their split.
    config
        Config of the network and of its training.

    Raises
    ------
    ParameterError
        If no sequence of training frames is long enough.
    """

    def __init__(self, data: ControllerData, config: ControllerConfig) -> None:
        super().__init__()
        self.data, self.config = data, config
        options, samples, split = config.training, data.samples, data.split
        recurrent = network_kind(config.name).is_recurrent
        frames = options.sequence_frames if recurrent else options.unroll_frames
        self._frames = torch.arange(frames)
        # Rows whose following frames are training samples of the same run.
        starts = split.train[samples.following(split.train) >= frames]
        if not len(starts):
            raise ParameterError(
                f"no {frames} consecutive training frames",
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
        """Number of frames in a sequence."""
        return len(self._frames)

    @property
    def pairs(self) -> int:
        """Number of pairs of frames that start a sequence: an epoch of the config."""
        return len(self._starts)

    @property
    def total_samples(self) -> int:
        """Number of sequences in the whole training that the config asks for."""
        options = self.config.training
        if options.samples:
            return max(math.ceil(options.samples / self.frames), 1)
        return math.ceil(options.epochs * self.pairs / self.frames)

    @property
    def epoch_samples(self) -> int:
        """Number of sequences in one pass over the pairs of frames."""
        return math.ceil(self.pairs / self.frames)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """First rows of a share of the sequences at these positions of the training."""
        return self._starts[self._order(start, stop)[share]]

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> FrameBatch:
        """The sequences with these first rows, on their device."""
        device = batch.device
        if device.type == "cuda" and self._rows[0].device != device:
            needed = sum(each.numel() * each.element_size() for each in self._rows)
            if _SPARE * needed < torch.cuda.mem_get_info(device)[0]:
                self._rows = tuple(each.to(device) for each in self._rows)
        rows = batch.to(self._rows[0].device)
        if self.frames > 1:
            rows = rows[:, None] + self._frames.to(rows.device)
        return FrameBatch(*(each[rows].to(device) for each in self._rows))
