"""Windows of a corpus as a LightningDataModule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities
from deepphase.phase.song_signals import SongSignals
from deepphase.phase.training.resumable import ResumableData
from deepphase.phase.windows import WindowOrder, gather, split_by_source
from deepphase.progress import Progress

_VALIDATION_WINDOWS = 2048


class PhaseData(ResumableData, pl.LightningDataModule):
    """Training and held-out windows of clips, for `PhaseModule` in any trainer.

    All signals lie on the device; batches travel there as the indices of their windows' middle
    frames, and become windows (batch, signals, frames) there.

    Parameters
    ----------
    clips
        Clips of one skeleton; or signals, as of songs (`SignalCorpus.of_songs`).
    config
        Window, batch size, held-out share, mirroring and seed.
    description
        A skeleton description (`load_description`), where names and structure do not show which
        joint is which.
    progress
        Called now and then; see `Progress`.

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
    ) -> None:
        super().__init__()
        corpus: SignalCorpus[Any] = (
            clips
            if isinstance(clips, SignalCorpus)
            else SignalCorpus.read(clips, progress, description=description)
        )
        options = config.training
        self.corpus, self.config, self.batch_size = corpus, config, options.batch_size
        self.split = split = split_by_source(
            corpus.starts,
            corpus.stops,
            corpus.sources,
            config.network.window(corpus.signals.fps),
            options.held_out,
            options.seed,
        )
        if len(split.train) < options.batch_size:
            raise ParameterError(
                f"{len(split.train)} training windows, fewer than one batch of "
                f"{options.batch_size}",
                hint="choose a smaller --training.batch_size or add clips",
            )
        choice = np.linspace(0, len(split.held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        self.held_out = torch.from_numpy(split.held_out[np.unique(choice)])
        mirror = corpus.signals.mirror()
        self._values = torch.from_numpy(corpus.values)
        self._mirror = None if mirror is None else tuple(map(torch.from_numpy, mirror))
        self._train = torch.from_numpy(split.train)
        self._order = WindowOrder(len(split.train), options.seed)

    @property
    def signals(self) -> JointVelocities | SongSignals:
        """What the corpus holds: names, units, frame rate."""
        return self.corpus.signals

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options = self.config.training
        return options.windows or math.ceil(options.epochs * len(self._train))

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the data."""
        return len(self._train)

    def batch(self, start: int, stop: int) -> Tensor:
        """Middle frames of the windows at these positions."""
        return self._train[self._order(start, stop)]

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> Tensor:
        """Windows (batch, signals, frames) around these middle frames.

        In training a share of them is mirrored, where the body has two sides.
        """
        # Not a buffer of the module: buffers are broadcast between devices and stored.
        if self._values.device != batch.device:
            self._values = self._values.to(batch.device)
            if self._mirror is not None:
                self._mirror = tuple(part.to(batch.device) for part in self._mirror)
        windows = gather(self._values, batch, self.config.network.window(self.signals.fps))
        share = self.config.training.mirror
        if self._mirror is not None and share and self.trainer.training:
            order, sign = self._mirror
            count = round(share * len(windows))
            windows[:count] = windows[:count, order] * sign[:, None]
        return windows
