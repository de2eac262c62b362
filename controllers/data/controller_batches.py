"""Batches of a controller's training data as a LightningDataModule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_rows import balanced_rows
from deepphase.controllers.networks.registry import network_kind
from deepphase.errors import ParameterError
from deepphase.training.resumable import ResumableData, WindowOrder

SEQUENCE_FRAMES = 16
"""Length of the sequences that recurrent networks are trained on."""

_VALIDATION_SAMPLES = 2048
# Samples are kept on the device if its free memory is this many times their size.
_SPARE = 3


@dataclass(frozen=True, eq=False)
class FrameBatch:
    """Raw sequences of frames; sequences of one frame have no axis of frames."""

    inputs: Tensor
    gate: Tensor
    outputs: Tensor

    def __len__(self) -> int:
        """Number of frame pairs."""
        return self.inputs[..., 0].numel()


class ControllerBatches(ResumableData, pl.LightningDataModule):
    """Training and held-out sequences of frames, for `ControllerModule` in any trainer.

    Positions in the training count frame pairs, and a step has `batch_size` of them: as sequences
    get longer in the course of a training, a step has fewer. The data loader yields the rows of the
    sequences, (sequences[, frames]); on the device they become a `FrameBatch`.

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
        stages = ((0.0, SEQUENCE_FRAMES),) if recurrent else options.unroll_stages
        self._stages, self.frames = stages, stages[-1][1]
        self.batch_size = options.batch_size
        following = samples.following(split.train)
        self._starts, self._orders = {}, {}
        for _, frames in reversed(stages):
            # Rows whose following frames are training samples of the same run.
            starts = split.train[following >= frames]
            if not len(starts):
                raise ParameterError(
                    f"there are no {frames} consecutive training frames",
                    hint=f"lower training.{'sequence' if recurrent else 'unroll'}_frames, or add "
                    "clips",
                )
            starts = balanced_rows(samples, starts, options.balance, options.seed)
            self._starts[frames] = torch.from_numpy(starts)
            self._orders[frames] = WindowOrder(len(starts), options.seed)
        # Other networks are measured by one step from a recorded frame.
        self._measured = torch.arange(self.frames if recurrent else 1)
        held_out = split.held_out[samples.following(split.held_out) >= len(self._measured)]
        choice = np.linspace(0, len(held_out) - 1, _VALIDATION_SAMPLES, dtype=int)
        self.held_out = torch.from_numpy(held_out[np.unique(choice)])
        self._rows = tuple(
            torch.from_numpy(np.asarray(rows))
            for rows in (samples.inputs, samples.gate, samples.outputs)
        )

    @property
    def total_samples(self) -> int:
        """Number of frame pairs in the whole training that the config asks for."""
        options = self.config.training
        return options.samples or math.ceil(options.epochs * self.epoch_samples)

    @property
    def epoch_samples(self) -> int:
        """Number of frame pairs in one pass over those that start a sequence."""
        return len(self._starts[self.frames])

    def frames_at(self, position: int) -> int:
        """Number of frames in the sequences at a position of the training."""
        share = position / self.total_samples
        return next(frames for begin, frames in reversed(self._stages) if begin <= share)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """(sequences[, frames]) rows of a share of the sequences at these positions."""
        frames = self.frames_at(start)
        devices = max((stop - start) // self.batch_size, 1)
        count = max((stop - start) // devices // frames, 1) * devices
        first = start // (stop - start) * count
        rows = self._starts[frames][self._orders[frames](first, first + count)[share]]
        return _sequences(rows, torch.arange(frames))

    def validation_batch(self, rows: Tensor) -> Tensor:
        """(sequences[, frames]) rows of the held-out sequences that begin with these."""
        return _sequences(rows, self._measured)

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> FrameBatch:
        """The frames of these rows, (sequences[, frames]), on their device."""
        device = batch.device
        if device.type == "cuda" and self._rows[0].device != device:
            needed = sum(tensor.numel() * tensor.element_size() for tensor in self._rows)
            if _SPARE * needed < torch.cuda.mem_get_info(device)[0]:
                self._rows = tuple(tensor.to(device) for tensor in self._rows)
        rows = batch.to(self._rows[0].device)
        return FrameBatch(*(tensor[rows].to(device) for tensor in self._rows))


def _sequences(rows: Tensor, frames: Tensor) -> Tensor:
    """(sequences, frames) rows from the first ones on; (sequences,) where frames are one each."""
    return rows if len(frames) == 1 else rows[:, None] + frames
