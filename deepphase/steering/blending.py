"""Blending of predicted and desired trajectories.

The near future follows the prediction, the far future the goal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.steering.springs import wrapped_angle


def desired_weights(count: int, bias: float) -> Array:
    """(count,) weights of the goal at evenly spaced future samples.

    1 - (1 - t)^bias with t from 0, now, to 1, the last sample. A bias above 1 responds sooner, one
    below 1 follows the prediction longer.

    References
    ----------
    Holden, Komura and Saito 2017, section 6, eq. 9, in the reading of their released code.
    """
    if count < 1 or not bias > 0:
        raise ParameterError(f"{count} samples blended with the bias {bias}: both must be above 0")
    time = np.arange(1, count + 1) / count
    return 1.0 - (1.0 - time) ** bias


def blended_positions(predicted: Array, desired: Array, bias: float) -> Array:
    """Future positions as the sum of blended steps.

    Parameters
    ----------
    predicted, desired : (..., samples, axes)
        Metres relative to the current place; evenly spaced in time, without now.
    bias
        Bias of `desired_weights`; the paper's "responsive" is 2, its "natural" 0.5.

    Returns
    -------
    (..., samples, axes)
    """
    samples, axes = predicted.shape[-2:]
    blends = _step_blends(samples, axes, bias)
    return sum(
        rows.reshape(-1, samples * axes) @ blend
        for rows, blend in zip((predicted, desired), blends, strict=True)
    ).reshape(predicted.shape)


@lru_cache(maxsize=32)
def _step_blends(samples: int, axes: int, bias: float) -> tuple[Array, Array]:
    """Matrices (samples * axes,) * 2 that predicted and desired places are multiplied by.

    Differences, their shares and their sums are one product, which is the same in every frame.
    """
    weights = desired_weights(samples, bias)
    differences = np.eye(samples) - np.eye(samples, k=-1)
    sums = np.tril(np.ones((samples, samples)))
    predicted, desired = (
        np.kron(sums @ (share * differences), np.eye(axes)).T
        for share in (1.0 - weights[:, None], weights[:, None])
    )
    return predicted, desired


def blended_angles(predicted: Array, desired: Array, bias: float) -> Array:
    """(..., samples) radians: future facings turned towards the desired ones, the shorter way."""
    weights = desired_weights(predicted.shape[-1], bias)
    return predicted + weights * wrapped_angle(desired - predicted)
