"""Errors of phase parameters against others that are taken for the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.phase.parameters import PhaseParameters


@dataclass(frozen=True)
class PhaseErrors:
    """Errors of phase parameters; percentiles are weighted by the true amplitude.

    Parameters
    ----------
    phase, phase_90
        Median and 90th percentile of the phase's error in cycles.
    frequency
        Median of the frequency's relative error.
    manifold
        Distance of the manifolds over the length of the true one.
    """

    phase: float
    phase_90: float
    frequency: float
    manifold: float


def parameter_errors(found: PhaseParameters, truth: PhaseParameters) -> PhaseErrors:
    """Errors of parameters (..., channels) against the truth's."""
    weights = truth.amplitude
    apart = np.abs(wrapped(found.phase - truth.phase))
    pace = np.abs(found.frequency / np.maximum(truth.frequency, 1e-6) - 1)
    distance = np.square(found.manifold() - truth.manifold()).sum()
    length = np.square(truth.manifold()).sum()
    return PhaseErrors(
        weighted_percentile(apart, weights, 0.5),
        weighted_percentile(apart, weights, 0.9),
        weighted_percentile(pace, weights, 0.5),
        float(np.sqrt(distance / max(length, 1e-30))),
    )


def weighted_percentile(values: Array, weights: Array, share: float) -> float:
    """The value below which a share of the weight lies; 0 where there is no weight.

    Parameters
    ----------
    values, weights
        Of the same shape.
    share
        0 to 1.
    """
    order = np.argsort(values, axis=None)
    cumulative = np.cumsum(weights.reshape(-1)[order], dtype=np.float64)
    if not cumulative.size or cumulative[-1] <= 0:
        return 0.0
    return float(values.reshape(-1)[order[np.searchsorted(cumulative, cumulative[-1] * share)]])
