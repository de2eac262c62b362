"""Windows of a corpus as a LightningDataModule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.body_points import PointVelocities
from deepphase.phase.config import PhaseConfig
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities
from deepphase.phase.song_signals import SongSignals
from deepphase.phase.training.variation import Stretches, VariedWindows, WindowVariation
from deepphase.phase.windows import BlockOrder, WindowOrder, gather
from deepphase.progress import Progress
from deepphase.short_repr import short_repr
from deepphase.training.resumable import ResumableData

_VALIDATION_WINDOWS = 2048
# Of trainings whose length follows their clips. On a dog's ten minutes, eleven passes in place of
# two explain .02 more, while the error of the phases' speed rises from 4.5 to 6.3 %.
_PASSES, _FEWEST_WINDOWS, _MOST_WINDOWS = 2, 25_600, 153_600
# Windows of a shard at most: about 17 seconds of motion.
_SHARD_WINDOWS = 1024


class PhaseData(ResumableData, pl.LightningDataModule):
    """Training and held-out windows of clips, for `PhaseModule` in any trainer.

    All signals lie on the device; batches travel there as the indices of their windows' middle
    frames, and become windows (batch, signals, frames) there. Where the signals take more than
    `memory` bytes, they are in a file; blocks of them are in memory one after the other, and
    batches travel as windows.

    Velocities are varied in speed and heading, as the config says; features of songs are not.

    Parameters
    ----------
    clips
        Clips of one skeleton; or signals, as of songs (`SignalCorpus.from_songs`).
    config
        Window, batch size, held-out share, mirroring and seed.
    description
        A skeleton description (`load_description`), where names and structure do not show which
        joint is which.
    progress
        Called now and then; see `Progress`.
    memory
        Bytes of memory for the signals; None for as much as they take. Of N devices each has about
        one N-th of them in memory, for 2, 3, 4, 6, 8, 12 or 24 devices.

    Attributes
    ----------
    corpus
        The signals of all clips.
    split
        Which of their frames are learned from, and which are held out.

    Raises
    ------
    ParameterError
        Where the configuration and the clips cannot go together.
    """

    def __init__(
        self,
        clips: ClipStore | SignalCorpus,
        config: PhaseConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        memory: int | None = None,
    ) -> None:
        super().__init__()
        corpus: SignalCorpus[Any] = (
            clips
            if isinstance(clips, SignalCorpus)
            else SignalCorpus.from_store(clips, progress, description=description, memory=memory)
        )
        config = config.for_body(getattr(corpus.signals, "body", {}).get("kind"))
        options = config.training
        self.corpus, self.config, self.batch_size = corpus, config, options.batch_size
        self.window = config.network.window(corpus.signals.fps)
        self.split = split = corpus.split(self.window, options.held_out, options.seed)
        if len(split.train_windows) < options.batch_size:
            raise ParameterError(
                f"there are {len(split.train_windows)} training windows, fewer than one batch of "
                f"{options.batch_size}",
                hint="choose a smaller training.batch_size or add clips",
            )
        held_out = split.held_out_windows
        choice = np.linspace(0, len(held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        self.held_out = torch.from_numpy(held_out[np.unique(choice)])
        mirror = corpus.signals.mirror()
        self.blocks = None if memory is None else self._blocks(memory)
        self._held: _Block | None = None
        self._values = torch.from_numpy(corpus.values)
        self._mirror = None if mirror is None else tuple(map(torch.from_numpy, mirror))
        # Of signals in a file, those of a block are computed with it.
        self._train = torch.from_numpy(split.train_windows[: None if self.blocks is None else 0])
        starts, stops = map(torch.from_numpy, split.train_windows.ranges.T.copy())
        self._stretches = Stretches(starts, stops)
        of_songs = isinstance(corpus.signals, SongSignals)
        self._variation = None if of_songs else WindowVariation(options)
        self._order = WindowOrder(len(split.train_windows), options.seed)

    def __repr__(self) -> str:
        both = self.split.train_windows, self.split.held_out_windows
        train, held_out = (f"{len(each):,}" for each in both)
        return short_repr(self, f"{train} windows", f"{held_out} held out", repr(self.corpus))

    @property
    def signals(self) -> JointVelocities | SongSignals | PointVelocities:
        """What the corpus holds: names, units, frame rate."""
        return self.corpus.signals

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options, each = self.config.training, self.epoch_samples
        if options.windows is None:
            return min(max(_PASSES * each, _FEWEST_WINDOWS), _MOST_WINDOWS)
        return options.windows or math.ceil(options.epochs * each)

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the data."""
        return len(self.split.train_windows)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor | VariedWindows:
        """Middle frames of a share of the windows at these positions; of blocks, the windows."""
        drawn = self._variation.draws(start, stop) if self._variation else None
        if self.blocks is None:
            centres = self._train[self._order(start, stop)[share]]
            if drawn is None:
                return centres
            rates, headings = drawn
            return VariedWindows(centres, rates[share], headings[share])
        rank, step = share.start or 0, share.step or 1
        parts, position = [], start
        for block, first, last in self.blocks.blocks(start, stop):
            own = first + (rank - (position - start)) % step
            if own < last:
                where = slice(position - start + own - first, position - start + last - first, step)
                varied = None if drawn is None else (drawn[0][where], drawn[1][where])
                parts.append(self._windows(block, own, last, step, varied))
            position += last - first
        # As `gather` lays windows out.
        return torch.cat([part.permute(2, 0, 1) for part in parts], 1).permute(1, 2, 0)

    def _windows(
        self,
        block: tuple[int, int],
        first: int,
        last: int,
        step: int,
        varied: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Windows at every step-th position of a block, with their rates and headings."""
        assert self.blocks is not None
        # All that this device takes of the block, at these positions or others.
        key = (*block, first % step, step)
        if self._held is None or self._held.key != key:
            self._held = None
            rows = self.blocks.rows(block)[first % step :: step]
            centres = self.split.train_windows[rows]
            self._held = _Block.read(key, self.corpus.values, centres, self.window)
        which = slice(first // step, -(-(last - first % step) // step))
        return self._held.windows(which, varied)

    def _blocks(self, memory: int) -> BlockOrder | None:
        """The order in blocks of at most half that memory; None where all signals fit."""
        frame = self.corpus.values.itemsize * self.corpus.values.shape[1]
        if self.corpus.values.nbytes <= memory:
            return None
        lanes, count = BlockOrder.LANES, len(self.split.train_windows)
        # A shard of n windows has the frames of n - 1 + window.
        fitting = memory // 2 // frame // lanes - self.window
        windows = min(_SHARD_WINDOWS, fitting, count // lanes)
        if windows < self.window:
            raise ParameterError(
                f"{memory:,} bytes of memory are too few for blocks of windows",
                hint=f"give --memory {4 * self.window * lanes * frame / 1e6:.0f}MB or more",
            )
        shards = -(-count // (windows * lanes)) * lanes
        each = (count // shards + self.window) * frame * lanes
        return BlockOrder(
            count, self.config.training.seed, shards, max(memory // 2 // each, 1) * lanes
        )

    def on_after_batch_transfer(self, batch: Tensor | VariedWindows, dataloader_idx: int) -> Tensor:
        """Windows (batch, signals, frames) around these middle frames.

        In training a share of them is mirrored, where the body has two sides.
        """
        if isinstance(batch, Tensor) and batch.is_floating_point():
            windows = batch
        else:
            windows = self.gathered(batch)
        if not self.trainer.training:
            return windows
        return self.mirrored(windows, self.trainer.world_size, self.trainer.global_rank)

    def mirrored(self, windows: Tensor, devices: int = 1, rank: int = 0) -> Tensor:
        """Windows of a batch of training, of which the config's share is mirrored in place."""
        share = self.config.training.mirror
        if self._mirror is None or not share:
            return windows
        if self._mirror[0].device != windows.device:
            self._mirror = tuple(part.to(windows.device) for part in self._mirror)
        order, sign = self._mirror
        # The first ones of all devices' batches together, of which each has every n-th.
        count = len(range(rank, round(share * len(windows) * devices), devices))
        windows[:count] = windows[:count, order] * sign[:, None]
        return windows

    def gathered(self, drawn: Tensor | VariedWindows) -> Tensor:
        """Windows (batch, signals, frames) around middle frames, on the device of these."""
        device = drawn.device if isinstance(drawn, Tensor) else drawn.centres.device
        # Not a buffer of the module: buffers are broadcast between devices and stored.
        if self._values.device != device:
            self._values = self._values.to(device)
            self._stretches = self._stretches.to(device)
        if isinstance(drawn, Tensor):
            return gather(self._values, drawn, self.window)
        room = self._stretches.room(drawn.centres)
        return drawn.gathered(self._values, room, self.window)

    def validation_batch(self, rows: Tensor) -> Tensor:
        """Middle frames of held-out windows; of signals in a file, the windows."""
        if self.blocks is None:
            return rows
        return _Block.read((), self.corpus.values, rows.numpy(), self.window).windows(slice(None))


@dataclass(frozen=True, eq=False)
class _Block:
    """Signals around some middle frames, in memory.

    Parameters
    ----------
    values
        (frames, signals)
    centres
        (windows,) middle frames in `values`.
    """

    key: tuple[int, ...]
    values: Tensor
    centres: Tensor
    stretches: Stretches
    window: int

    @classmethod
    def read(cls, key: tuple[int, ...], signals: Array, centres: Array, window: int) -> _Block:
        """Read the frames of the windows around `centres`."""
        half, ordered = window // 2, np.unique(centres)
        # Windows that overlap or touch share their frames.
        first = np.append(True, np.diff(ordered) > window)
        last = np.append(first[1:], True)
        starts, stops = ordered[first] - half, ordered[last] + half + 1
        offsets = np.cumsum(stops - starts) - (stops - starts)
        values = np.empty((int((stops - starts).sum()), signals.shape[1]), np.float32)
        for start, stop, offset in zip(starts, stops, offsets, strict=True):
            values[offset : offset + stop - start] = signals[start:stop]
        release_pages(signals)
        run = np.searchsorted(starts, centres, side="right") - 1
        local = torch.from_numpy(centres - starts[run] + offsets[run])
        ends = offsets + stops - starts
        stretches = Stretches(torch.from_numpy(offsets), torch.from_numpy(ends))
        return cls(key, torch.from_numpy(values), local, stretches, window)

    def windows(self, which: slice, varied: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """(windows, signals, frames), with their rates and headings if given."""
        centres = self.centres[which]
        if varied is None:
            return gather(self.values, centres, self.window)
        room = self.stretches.room(centres)
        return VariedWindows(centres, *varied).gathered(self.values, room, self.window)
