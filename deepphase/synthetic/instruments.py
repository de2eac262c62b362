"""Sounds by formula: drums, a bass and chords."""

from __future__ import annotations

import numpy as np

from deepphase.motion.skeleton import Array


def kick(rate: int) -> Array:
    """(samples,) a bass drum: a sine that falls from 130 to 48 Hz."""
    time = np.arange(int(0.25 * rate)) / rate
    angle = 2 * np.pi * (48.0 * time + 82.0 * 0.03 * (1 - np.exp(-time / 0.03)))
    return np.sin(angle) * np.exp(-time / 0.09)


def snare(rate: int, generator: np.random.Generator) -> Array:
    """(samples,) a snare drum: noise and a short tone."""
    time = np.arange(int(0.2 * rate)) / rate
    noise = generator.standard_normal(len(time)) * np.exp(-time / 0.06)
    return 0.5 * noise + 0.5 * np.sin(2 * np.pi * 190.0 * time) * np.exp(-time / 0.04)


def hat(rate: int, generator: np.random.Generator, decay: float = 0.025) -> Array:
    """(samples,) a cymbal: noise without its low end."""
    time = np.arange(int(6 * decay * rate)) / rate
    noise = np.diff(generator.standard_normal(len(time) + 2), n=2)
    return 0.3 * noise * np.exp(-time / decay)


def bass(rate: int, hertz: float, seconds: float) -> Array:
    """(samples,) a plucked bass note."""
    time = np.arange(max(int(seconds * rate), 1)) / rate
    note = sum(np.sin(2 * np.pi * hertz * k * time) / k**1.5 for k in range(1, 6))
    return note * np.exp(-time / 0.3) * _faded(len(time), rate)


def chord(rate: int, hertz: Array, seconds: float) -> Array:
    """(samples,) a chord of the tones (tones,) in Hz, struck softly and held."""
    time = np.arange(max(int(seconds * rate), 1)) / rate
    tones = sum(
        np.sin(2 * np.pi * tone * k * time + tone) / k**2 for tone in hertz for k in (1, 2, 3)
    )
    attack = 1.0 - np.exp(-time / 0.01)
    return tones * attack * (0.35 + 0.65 * np.exp(-time / 0.5)) * _faded(len(time), rate)


def _faded(samples: int, rate: int) -> Array:
    """1, falling to 0 over the last 15 ms: a note that ends without a click."""
    return np.clip((samples - 1 - np.arange(samples)) / (0.015 * rate), 0.0, 1.0)
