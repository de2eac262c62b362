"""Other speeds, headings and directions of time of training windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from deepphase.phase.config import TrainingConfig
from deepphase.phase.windows import gather_at_rates


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
    """Runs of frames of one motion, for the room around a frame.

    `starts`, `stops` (stretches,) sorted; frames start to stop - 1 of each.
    """

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
        """Rates and headings, (stop - start,) each, of these positions of the training.

        Half of the rates are 1 or -1.
        """
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
