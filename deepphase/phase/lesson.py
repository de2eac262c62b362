"""One training of a periodic autoencoder as Lightning runs it."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from deepphase.phase.autoencoder import PeriodicAutoencoder
from deepphase.phase.configuration import TrainingConfig
from deepphase.phase.piecewise import PiecewiseLesson, cosine_rate
from deepphase.phase.windows import Split, WindowOrder, gather

_VALIDATION_WINDOWS = 2048


class PhaseLesson(PiecewiseLesson):
    """Reconstruct windows through one sinusoid a channel (Starke et al. 2022, eq. 7).

    All signals lie on the device; a batch is the indices of its windows' middle frames.
    """

    network: PeriodicAutoencoder

    def __init__(
        self,
        network: PeriodicAutoencoder,
        options: TrainingConfig,
        values: np.ndarray,
        split: Split,
        mirror: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        choice = np.linspace(0, len(split.held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        super().__init__(
            network,
            batch_size=options.batch_size,
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            held_out=torch.from_numpy(split.held_out[np.unique(choice)]),
        )
        self.options = options
        self._values = torch.from_numpy(values)
        self._mirror = None if mirror is None else tuple(map(torch.from_numpy, mirror))
        self._train = torch.from_numpy(split.train)
        self._order = WindowOrder(len(split.train), options.seed)

    @property
    def shown(self) -> int:
        """Windows shown in the whole training."""
        return self.options.windows or math.ceil(self.options.epochs * len(self._train))

    def batch(self, start: int, stop: int) -> Tensor:
        """Middle frames of the windows at these positions."""
        return self._train[self._order(start, stop)]

    def rate(self, step: int, total: int) -> float:
        """As the recipe's schedule says."""
        options = self.options
        if options.schedule == "constant":
            return 1.0
        return cosine_rate(step, total, options.warmup, options.final_rate)

    def on_fit_start(self) -> None:
        # Not a buffer: buffers are broadcast between devices and stored with the weights.
        self._values = self._values.to(self.device)
        if self._mirror is not None:
            self._mirror = tuple(part.to(self.device) for part in self._mirror)

    def training_step(self, centres: Tensor) -> Tensor:
        windows = gather(self._values, centres, self.network.window)
        if self._mirror is not None and self.options.mirror:
            order, sign = self._mirror
            count = round(self.options.mirror * len(windows))
            windows[:count] = windows[:count, order] * sign[:, None]
        loss = torch.nn.functional.mse_loss(self.network(windows).float(), windows)
        self.last_loss = loss.detach()
        return loss

    def validation_step(self, centres: Tensor) -> None:
        windows = gather(self._values, centres, self.network.window)
        error = (self.network(windows).float() - windows).square().sum()
        self.add_validated(error, windows.square().sum())
