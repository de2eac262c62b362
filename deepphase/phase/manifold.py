"""One saved view of a phase manifold: a PCA with fixed signs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from deepphase.arrays import Array, short_repr
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import read_arrays, write_arrays

FORMAT, VERSION = "deepphase.projection", 1
_VIEW_AXES = 3


@dataclass(frozen=True, eq=False)
class ManifoldProjection:
    """The leading principal axes of a manifold; new clips land in the same picture.

    Parameters
    ----------
    mean
        (2 * channels,)
    axes
        (3, 2 * channels) orthonormal rows; zeros where the manifold has fewer dimensions.
    explained
        (3,) share of the variance on each axis.
    """

    mean: Array
    axes: Array
    explained: Array

    def __repr__(self) -> str:
        shares = " + ".join(f"{share:.0%}" for share in self.explained)
        return short_repr(self, f"{len(self.mean)} values to 3 axes", f"{shares} of the variance")

    @classmethod
    def fit(cls, manifold: Array) -> ManifoldProjection:
        """Principal axes of (frames, 2 * channels).

        The sign of an axis is arbitrary; here its largest component is positive, so that two
        pictures of the same manifold agree.

        Raises
        ------
        ParameterError
            Where there are no frames or a value is not finite.
        """
        if manifold.ndim != 2 or not len(manifold) or not np.isfinite(manifold).all():
            raise ParameterError(
                "a manifold must have frames, and finite values", hint="encode clips that move"
            )
        values = manifold.astype(np.float64)
        mean = values.mean(0)
        variance, vectors = np.linalg.eigh(np.atleast_2d(np.cov(values.T, bias=True)))
        order = np.argsort(variance)[::-1][:_VIEW_AXES]
        axes = np.zeros((_VIEW_AXES, values.shape[1]))
        axes[: len(order)] = vectors[:, order].T
        largest = np.abs(axes).argmax(1)
        axes *= np.where(axes[np.arange(_VIEW_AXES), largest] < 0, -1.0, 1.0)[:, None]
        explained = np.zeros(_VIEW_AXES)
        total = variance.sum()
        if total > 0:
            explained[: len(order)] = np.maximum(variance[order], 0) / total
        return cls(*(item.astype(np.float32) for item in (mean, axes, explained)))

    def save(self, path: str | Path) -> None:
        """Write the projection as a file of its own, whole or not at all."""
        write_arrays(path, self.as_arrays(), {}, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> ManifoldProjection:
        """Read what `save` wrote.

        Raises
        ------
        CheckpointError
            Where the file is damaged or foreign.
        """
        arrays, _ = read_arrays(path, format=FORMAT, version=VERSION, types={"*": "F32"})
        try:
            return cls.from_arrays(arrays)
        except (KeyError, ValueError) as error:
            raise CheckpointError(
                f"this projection is damaged: {error}", hint="save it again", path=path
            ) from None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str = "") -> ManifoldProjection:
        """From what `as_arrays` made.

        Raises
        ------
        KeyError
            Where one is missing.
        ValueError
            Where their shapes do not fit.
        """
        made = cls(*(np.array(arrays[prefix + item.name]) for item in fields(cls)))
        shapes = (made.mean.shape[:1], (_VIEW_AXES, *made.mean.shape), (_VIEW_AXES,))
        if (made.mean.shape, made.axes.shape, made.explained.shape) != shapes:
            raise ValueError(f"its mean has shape {made.mean.shape}, its axes {made.axes.shape}")
        return made

    def as_arrays(self, prefix: str = "") -> dict[str, Array]:
        """Its arrays by name, for a file that holds others, too."""
        return {prefix + item.name: getattr(self, item.name) for item in fields(self)}

    def __call__(self, manifold: Array) -> Array:
        """(..., 2 * channels) -> (..., 3)."""
        return (manifold - self.mean) @ self.axes.T
