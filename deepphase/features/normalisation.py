"""Normalisation of feature rows, which makes blocks of different units comparable."""

from __future__ import annotations

from collections.abc import Sequence
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

    Holden, Motion-Matching (2021), normalize_feature.
    """

    mean: Array  # (dims,) float32
    scale: Array  # (dims,) float32

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
    """Mean and deviation of rows that arrive in batches.

    The moments of every batch are kept, so those of batches that were read apart, such as the
    clips of several processes, are joined to the same numbers as all of them in one pass.
    """

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self._batches: list[tuple[float, Array, Array]] = []

    def add(self, rows: Array) -> None:
        """Add a batch of rows (rows, dims)."""
        if not len(rows):
            return
        values = rows.astype(np.float64)
        mean = values.mean(0)
        # About the mean of the batch: about 0, small deviations would be lost.
        self._batches.append((float(len(values)), mean, np.square(values - mean).sum(0)))

    def arrays(self) -> Array:
        """(batches, 1 + 2 * dims) float64: rows, mean and sum of squares about it of each batch."""
        return np.array([np.concatenate([[n], *each]) for n, *each in self._batches]).reshape(
            -1, 1 + 2 * self._dims
        )

    @classmethod
    def joined(cls, batches: Sequence[Array], dims: int) -> Moments:
        """The moments of all batches of several `arrays`, in their order."""
        moments = cls(dims)
        for row in np.concatenate(list(batches)):
            moments._batches.append((float(row[0]), row[1 : 1 + dims], row[1 + dims :]))
        return moments

    def normalisation(self, layout: FeatureLayout) -> Normalisation:
        """The normalisation of all rows so far; ParameterError where there are none."""
        if not self._batches:
            raise ParameterError("there must be at least one frame to normalise features by")
        counts, means, squares = (np.array(each) for each in zip(*self._batches, strict=True))
        weights, origin = (counts / counts.sum())[:, None], means[0]
        away = means - origin
        centre = (weights * away).sum(0)
        variance = squares.sum(0) / counts.sum() + (weights * np.square(away - centre)).sum(0)
        mean, deviation = origin + centre, np.sqrt(variance)
        scale = np.empty_like(mean)
        for name, block in layout.slices.items():
            spread = float(deviation[block].mean())
            scale[block] = layout[name].weight / (spread if spread > _MIN_DEVIATION else 1.0)
        return Normalisation(mean.astype(np.float32), scale.astype(np.float32))
