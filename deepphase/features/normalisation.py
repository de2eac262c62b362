"""Normalisation of feature rows, which makes blocks of different units comparable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout

# Blocks with a smaller standard deviation are not scaled.
_MIN_DEVIATION = 1e-5


@dataclass(frozen=True, eq=False)
class Normalisation:
    """Normalisation of rows: (raw - mean) * scale, with the weight included in the scale.

    Each block has one scale, its weight over the mean standard deviation of its values, so that
    proportions within a block are kept.

    Parameters
    ----------
    mean
        (dims,) float32.
    scale
        (dims,) float32.

    References
    ----------
    Holden, Motion-Matching (2021), normalize_feature.
    """

    mean: Array
    scale: Array

    def __call__(self, raw: Array) -> Array:
        """(..., dims) -> (..., dims) float32."""
        return ((raw - self.mean) * self.scale).astype(np.float32)

    def of_block(self, raw: Array, block: slice) -> Array:
        """(..., block dims) -> (..., block dims) float32 of one block."""
        return ((raw - self.mean[block]) * self.scale[block]).astype(np.float32)

    def inverse(self, normalised: Array) -> Array:
        """(..., dims) raw values; those of a block with weight 0 are its mean."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        return (normalised / scale + self.mean).astype(np.float32)


class Moments:
    """Accumulator of the mean and deviation of rows that arrive in batches."""

    def __init__(self, dims: int) -> None:
        self._count = 0
        self._sum = np.zeros(dims)
        self._squares = np.zeros(dims)

    def add(self, rows: Array) -> None:
        """Add rows (rows, dims)."""
        # Squares about the mean of the first batch; about 0, small deviations would be lost.
        values = rows.astype(np.float64)
        if not self._count:
            self._origin = values.mean(0) if len(values) else np.zeros_like(self._sum)
        values -= self._origin
        self._count += len(values)
        self._sum += values.sum(0)
        self._squares += np.square(values).sum(0)

    def normalisation(self, layout: FeatureLayout) -> Normalisation:
        """The normalisation of all rows so far; ParameterError where there are none."""
        if not self._count:
            raise ParameterError("no frames to normalise features by")
        mean = self._sum / self._count
        deviation = np.sqrt(np.maximum(self._squares / self._count - mean**2, 0))
        scale = np.empty_like(mean)
        for name, block in layout.slices.items():
            spread = float(deviation[block].mean())
            scale[block] = layout[name].weight / (spread if spread > _MIN_DEVIATION else 1.0)
        return Normalisation((mean + self._origin).astype(np.float32), scale.astype(np.float32))
