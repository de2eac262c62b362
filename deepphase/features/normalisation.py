"""Blocks of different units made comparable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout

# A block whose values hardly change over all frames keeps its own unit.
_LEAST_DEVIATION = 1e-5


@dataclass(frozen=True, eq=False)
class Normalisation:
    """normalised = (raw - mean) * scale; the scale has the weight in it.

    One scale a block: the weight over the mean standard deviation of its values, so that within a
    block a large movement stays larger than a small one.

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
        """(..., block dims) -> the same of one block alone."""
        return ((raw - self.mean[block]) * self.scale[block]).astype(np.float32)

    def inverse(self, normalised: Array) -> Array:
        """(..., dims) raw values; those of a block with weight 0 are its mean."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        return (normalised / scale + self.mean).astype(np.float32)


class Moments:
    """Mean and deviation of rows that come in pieces."""

    def __init__(self, dims: int) -> None:
        self._count = 0
        self._sum = np.zeros(dims)
        self._squares = np.zeros(dims)

    def add(self, rows: Array) -> None:
        """Take in rows (rows, dims)."""
        # Squares about the mean of the first piece: those about 0 would lose small deviations.
        values = rows.astype(np.float64)
        if not self._count:
            self._about = values.mean(0) if len(values) else np.zeros_like(self._sum)
        values -= self._about
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
            scale[block] = layout[name].weight / (spread if spread > _LEAST_DEVIATION else 1.0)
        return Normalisation((mean + self._about).astype(np.float32), scale.astype(np.float32))
