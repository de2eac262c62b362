"""The curves that synthetic motion is built of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array


@dataclass(frozen=True)
class Wave:
    """One degree of freedom over a cycle: a mean and two harmonics.

    value(phase) = mean + first cos 2 pi (phase - first_peak) + second cos 4 pi (phase -
    second_peak), in the unit of the degree of freedom (radians or metres).

    Parameters
    ----------
    first_peak, second_peak
        Phases, in cycles, at which the harmonics are largest.
    """

    mean: float = 0.0
    first: float = 0.0
    first_peak: float = 0.0
    second: float = 0.0
    second_peak: float = 0.0

    def coefficients(self, scale: float = 1.0, lag: float = 0.0) -> Array:
        """(5,) mean, cosine and sine of both harmonics, scaled and late by `lag` cycles.

        Gaits are blended by these, as the value is linear in them.
        """
        one, two = 2 * np.pi * (self.first_peak + lag), 4 * np.pi * (self.second_peak + lag)
        first, second = scale * self.first, scale * self.second
        harmonics = first * np.cos(one), first * np.sin(one)
        return np.array([self.mean, *harmonics, second * np.cos(two), second * np.sin(two)])


def evaluate_waves(coefficients: Array, phase: Array) -> Array:
    """Values (frames, ...) of waves at phases (frames,), of coefficients (frames, ..., 5)."""
    angle = 2 * np.pi * phase
    harmonics = np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)
    basis = np.stack([np.ones_like(angle), *harmonics], axis=-1)
    return np.einsum("f...c,fc->f...", coefficients, basis)


def smooth_step(x: Array) -> Array:
    """0 before 0, 1 after 1, smooth to the second derivative: 6 x^5 - 15 x^4 + 10 x^3.

    References
    ----------
    Flash and Hogan 1985: the minimum-jerk movement between two rests.
    """
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (10.0 + x * (6.0 * x - 15.0))


def brisk_step(x: Array, ramp: float = 0.35) -> Array:
    """0 before 0, 1 after 1, smooth to the second derivative, at a constant rate in between.

    Its largest rate is 1 / (1 - ramp), lower than that of `smooth_step` (1.875): the feet of
    people swing so. `ramp` is the share of the way up to that rate, and down from it.
    """
    x = np.clip(x, 0.0, 1.0)

    def ramped(since: Array) -> Array:
        # Integral of the cubic 3 s^2 - 2 s^3 over a ramp, and of 1 after it.
        s = np.clip(since / ramp, 0.0, 1.0)
        return ramp * (s**3 - 0.5 * s**4) + np.maximum(since - ramp, 0.0)

    return (ramped(x) - ramped(x - (1.0 - ramp))) / (1.0 - ramp)


def smooth_bump(x: Array) -> Array:
    """0 outside of (0, 1), 1 at one half, smooth to the second derivative."""
    x = np.clip(x, 0.0, 1.0)
    return 64.0 * (x * (1.0 - x)) ** 3


def integrated(rate: Array, step: float) -> Array:
    """Integral over the first axis by the trapezoidal rule, 0 at the first frame."""
    steps = 0.5 * step * (rate[1:] + rate[:-1])
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(steps, axis=0)])


def on_ground(heading: Array | float, side: Array | float, ahead: Array | float) -> Array:
    """(..., 2) x and z of what lies to the left and ahead of a heading (radians, +Z to +X)."""
    sine, cosine = np.sin(heading), np.cos(heading)
    return np.stack([cosine * side + sine * ahead, cosine * ahead - sine * side], axis=-1)
