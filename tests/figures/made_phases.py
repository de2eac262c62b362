"""Phases of clips by formula: known frequency, amplitude and drift."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import wrapped
from deepphase.phase.parameters import PhaseParameters

FPS = 60.0


def made_phases(
    frames: int, channels: int, *, speed: float = 1.0, seed: int = 0
) -> PhaseParameters:
    """One cycle whose frequency (`speed`, Hz) drifts by 20 %, and channels at once and twice it."""
    random = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / FPS
    base = speed * (1 + 0.2 * np.sin(2 * np.pi * 0.13 * time + seed))
    frequency = base * (1 + np.arange(channels) % 2)
    phase = wrapped(np.cumsum(frequency, axis=0) / FPS + np.arange(channels) / 7)
    strength = 0.5 * speed ** (np.arange(channels) % 2) * (1 + 0.1 * np.cos(0.9 * time))
    amplitude = 0.85 ** np.arange(channels) * strength + random.normal(0, 0.01, frequency.shape)
    offset = 0.1 * np.sin(2 * np.pi * 0.3 * time + np.arange(channels))
    values = (phase, frequency, np.abs(amplitude), offset)
    return PhaseParameters(*(value.astype(np.float32) for value in values))
