"""Measurement of a phase model's health on clips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from deepphase.arrays import Array, release_pages
from deepphase.phase.health import Health, measure
from deepphase.phase.model import PhaseModel, encode_windows
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.windows import gather

# Largest numbers of frames encoded and of windows reconstructed for a model's health.
_FRAMES, _WINDOWS = 60_000, 8_192
_BATCH = 256


@torch.inference_mode()
def measured_health(model: PhaseModel, values: Array, ranges: Array) -> Health:
    """Health on the interior frames of some stretches of signals.

    Parameters
    ----------
    values
        (frames, signals) that `model.signals.read` made, clips one behind the other.
    ranges
        (stretches, 2) frames start to stop - 1 of each; those shorter than a window are left out.
        Of very many stretches, an evenly spaced subset is used.
    """
    starts = whole_windows(ranges, model.window, _FRAMES)
    stretches = []
    for each in starts:
        stretches.append(encode_windows(model.network, values, each))
        release_pages(values)
    errors = reconstruction_errors(model.network, values, starts, _WINDOWS)
    return measure(stretches, model.fps, *errors, model.signals.groups)


def whole_windows(ranges: Array, window: int, frames: int) -> list[Array]:
    """First frames of all windows of each range, or of about so many, of some of the ranges."""
    half = window // 2
    fitting = [(a, b) for a, b in ranges if b - a >= window]
    total = sum(b - a - 2 * half for a, b in fitting)
    return [np.arange(a, b - 2 * half) for a, b in fitting[:: max(-(-total // frames), 1)]]


@torch.inference_mode()
def reconstruction_errors(
    network: PeriodicAutoencoder, values: Array, starts: Sequence[Array], count: int
) -> tuple[Array, Array]:
    """(signals,) squared errors of `count` windows, and squared deviations from their means."""
    data = torch.from_numpy(values)
    unexplained = np.zeros(values.shape[1])
    deviation = np.zeros_like(unexplained)
    every = np.concatenate(starts) if starts else np.zeros(0, np.int64)
    chosen = np.unique(np.linspace(0, len(every) - 1, count).astype(int)) if starts else every
    for first in torch.from_numpy(every[chosen]).split(_BATCH):
        windows = gather(data, first + network.window // 2, network.window)
        error = network(windows) - windows
        unexplained += error.square().sum((0, 2)).double().numpy()
        deviation += windows.square().sum((0, 2)).double().numpy()
        release_pages(values)
    return unexplained, deviation
