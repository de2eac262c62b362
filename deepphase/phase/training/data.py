"""Windows of a corpus, varied in speed and heading, as a LightningDataModule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import release_pages, short_repr
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig, TrainingConfig
from deepphase.phase.encoding import gather, gather_at_rates
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities, PointVelocities
from deepphase.phase.song_signals import SongSignals
from deepphase.training.resumable import ResumableData
from deepphase.work import Progress


class VariedWindows(NamedTuple):
    """Windows before they are gathered, each (batch,)."""

    centres: Tensor  # middle frames
    rates: Tensor  # factors on the speed; below 0, windows are played backwards
    headings: Tensor  # rad, by which velocities are turned about the vertical axis

    def gathered(self, velocities: Tensor, room: Tensor, window: int) -> Tensor:
        """(batch, signals, frames)

        `velocities` (frames, signals) x, y, z of each joint, y up. `room` (batch,) frames of the
        same motion on either side of each centre, at least window // 2. Rates that need more are
        lowered.
        """
        half = window // 2
        # A rate that is rounded up would need one frame more.
        highest = room * (1.0 - 1e-6) / half
        lowered = torch.copysign(highest, self.rates)
        rates = torch.where(self.rates.abs() * half > room, lowered, self.rates)
        windows = gather_at_rates(velocities, self.centres, window, rates)
        return with_headings(windows, self.headings)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Runs of frames of one motion: `starts` to `stops` - 1, sorted."""

    starts: Tensor
    stops: Tensor

    def room(self, frames: Tensor) -> Tensor:
        """(frames,) the number of frames on the shorter side of each frame."""
        own = torch.searchsorted(self.starts, frames, right=True) - 1
        return torch.minimum(frames - self.starts[own], self.stops[own] - 1 - frames)

    def to(self, device: torch.device) -> Stretches:
        """The same on a device."""
        return Stretches(self.starts.to(device), self.stops.to(device))


class WindowVariation:
    """Draws of a training, which depend on seed and position alone."""

    def __init__(self, options: TrainingConfig) -> None:
        self._fastest = math.log1p(options.tempo)
        self._heading = math.radians(options.heading_deg)
        self._reversal = options.reversal or 0.0
        self._seed = options.seed

    def __bool__(self) -> bool:
        """Whether anything is varied."""
        return self._fastest > 0 or self._heading > 0 or self._reversal > 0

    def draws(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Rates, half of them 1 or -1, and headings of these positions of the training."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + start)
        count = stop - start
        exponents = 2.0 * torch.rand(count, generator=generator) - 1.0
        varied = torch.rand(count, generator=generator) < 0.5
        rates = torch.exp(self._fastest * exponents * varied)
        headings = self._heading * torch.randn(count, generator=generator)
        backwards = torch.rand(count, generator=generator) < self._reversal
        return torch.where(backwards, -rates, rates), headings


def with_headings(windows: Tensor, headings: Tensor) -> Tensor:
    """Windows (batch, signals, frames), in place turned about the y axis by (batch,) rad."""
    cosine, sine = (part[:, None, None] for part in (torch.cos(headings), torch.sin(headings)))
    x, z = windows[:, 0::3], windows[:, 2::3]
    across = cosine * x + sine * z
    windows[:, 2::3] = cosine * z - sine * x
    windows[:, 0::3] = across
    return windows


_VALIDATION_WINDOWS = 512
# Of trainings whose length follows their clips. On a dog's ten minutes, eleven passes in place of
# two explain .02 more, while the error of the phases' speed rises from 4.5 to 6.3 %.
_PASSES, _FEWEST_WINDOWS, _MOST_WINDOWS = 2, 25_600, 76_800


class PhaseData(ResumableData, pl.LightningDataModule):
    """Training and held-out windows of clips, for `PhaseModule` in any trainer.

    All signals lie on the device; batches travel there as the indices of their windows' middle
    frames, and become windows (batch, signals, frames) there. Where the signals take more than
    `memory` bytes, they are in a file, from which windows are drawn; these travel as the batches.

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
        Bytes of memory for the signals; None for as much as they take.

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
        self._in_file = isinstance(corpus.values, np.memmap)
        self._values = torch.from_numpy(corpus.values)
        self._mirror = None if mirror is None else tuple(map(torch.from_numpy, mirror))
        starts, stops = map(torch.from_numpy, split.train_windows.ranges.T.copy())
        self._stretches = Stretches(starts, stops)
        of_songs = isinstance(corpus.signals, SongSignals)
        self._variation = None if of_songs else WindowVariation(options)
        # Of signals in a file, even their indices may be too many for the memory.
        every = slice(0) if self._in_file else slice(None)
        self.set_train(torch.from_numpy(split.train_windows[every]), options.seed)

    def __repr__(self) -> str:
        both = self.split.train_windows, self.split.held_out_windows
        train, held_out = (f"{len(windows):,}" for windows in both)
        return short_repr(self, f"{train} windows", f"{held_out} held out", repr(self.corpus))

    @property
    def signals(self) -> JointVelocities | SongSignals | PointVelocities:
        """What the corpus holds: names, units, frame rate."""
        return self.corpus.signals

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options, one_pass = self.config.training, self.epoch_samples
        if options.windows is None:
            return min(max(_PASSES * one_pass, _FEWEST_WINDOWS), _MOST_WINDOWS)
        return options.windows or math.ceil(options.epochs * one_pass)

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the data."""
        return len(self.split.train_windows)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor | VariedWindows:
        """Middle frames of a share of the windows at these positions; of a file, the windows."""
        if self._in_file:
            generator = np.random.default_rng([self.config.training.seed, start])
            rows = generator.integers(len(self.split.train_windows), size=stop - start)
            centres = torch.from_numpy(self.split.train_windows[rows[share]])
        else:
            centres = super().batch(start, stop, share)
        drawn: Tensor | VariedWindows = centres
        if self._variation:
            rates, headings = self._variation.draws(start, stop)
            drawn = VariedWindows(centres, rates[share], headings[share])
        return self._read(drawn) if self._in_file else drawn

    def _read(self, drawn: Tensor | VariedWindows) -> Tensor:
        windows = self.gathered(drawn)
        release_pages(self.corpus.values)
        return windows

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
        self._values, self._stretches = self._values.to(device), self._stretches.to(device)
        if isinstance(drawn, Tensor):
            return gather(self._values, drawn, self.window)
        room = self._stretches.room(drawn.centres)
        return drawn.gathered(self._values, room, self.window)

    def validation_batch(self, rows: Tensor) -> Tensor:
        """Middle frames of held-out windows; of signals in a file, the windows."""
        return self._read(rows) if self._in_file else rows
