"""Frechet distance between two sets of features, and diversity of one set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError


@dataclass(frozen=True)
class Spread:
    """A measure over several random splits.

    Parameters
    ----------
    mean, low, high
        Its mean, smallest and largest value.
    rows
        Feature rows on each side of a split.
    """

    mean: float
    low: float
    high: float
    rows: int


def frechet_distance(features: Array, others: Array) -> float:
    """Frechet distance of two sets as if both were Gaussian.

    `|m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2))`, with covariances shrunk towards a multiple of
    the identity (Ledoit and Wolf), strongly for few rows and hardly for many. Distances are
    comparable only between sets with the same number of rows.

    Parameters
    ----------
    features, others : (rows, dimensions)
        At least two rows each.

    References
    ----------
    Heusel et al. 2017 (FID); of motion features: Li et al. 2021 (AIST++), section 5.2.2.
    Ledoit and Wolf 2004.
    """
    features, others = _checked(features), _checked(others)
    if features.shape[1] != others.shape[1]:
        raise ParameterError(
            f"features of {features.shape[1]} dimensions against {others.shape[1]}"
        )
    apart = features.mean(axis=0) - others.mean(axis=0)
    one, other = _covariance(features), _covariance(others)
    root = _square_root(one)
    # The eigenvalues of S1 S2 are those of the symmetric S1^(1/2) S2 S1^(1/2).
    values = np.linalg.eigvalsh(root @ other @ root)
    cross = np.sqrt(np.maximum(values, 0.0)).sum()
    return float(max(apart @ apart + np.trace(one) + np.trace(other) - 2.0 * cross, 0.0))


def smallest_half(groups: Array) -> int:
    """Minimum number of rows in half of the groups: those of the smallest groups."""
    counts = np.sort(np.unique(groups, return_counts=True)[1])
    return int(counts[: len(counts) // 2].sum())


def halves_distance(
    features: Array,
    groups: Array,
    others: tuple[Array, Array] | None = None,
    *,
    rows: int | None = None,
    splits: int = 20,
    seed: int = 0,
) -> Spread:
    """Frechet distance of half of one set from half of another, over random splits by group.

    For one set this is the distance between its halves, the reference value for equal
    distributions. Two sets are compared by halves as well, since distances grow for few rows. All
    halves are reduced to the same number of random rows.

    Parameters
    ----------
    features : (rows, dimensions)
        One set.
    groups : (rows,)
        Groups that are not split: clips, or captured segments.
    others
        The other set and its groups; None for the other half of the first set.
    rows
        Rows of each half; by default as many as every half has.
    splits
        Number of random splits.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or halves have fewer than two rows.
    """
    sides = [(features, groups), (features, groups) if others is None else others]
    if min(len(np.unique(of)) for _, of in sides) < 2:
        raise ParameterError("halves need at least two clips", hint="measure more dances")
    rows = min(smallest_half(of) for _, of in sides) if rows is None else rows
    if rows < 2:
        raise ParameterError("halves of fewer than two windows", hint="measure longer dances")
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(splits):
        halves = [_half(of, rng) for _, of in sides]
        if others is None:
            halves[1] = ~halves[0]
        parts = [values_of[half] for (values_of, _), half in zip(sides, halves, strict=True)]
        cut = [part[rng.permutation(len(part))[:rows]] for part in parts]
        values.append(frechet_distance(*cut))
    return Spread(float(np.mean(values)), min(values), max(values), rows)


def _half(groups: Array, rng: np.random.Generator) -> Array:
    names = np.unique(groups)
    return np.isin(groups, rng.permutation(names)[: len(names) // 2])


def diversity(features: Array, groups: Array | None = None) -> float:
    """Mean Euclidean distance between rows; of different groups only, where groups are given.

    References
    ----------
    Li et al. 2021 (AIST++), section 5.2.2: diversity of generated motion.
    """
    features = _checked(features)
    square = np.einsum("rd,rd->r", features, features)
    apart = square[:, None] + square - 2.0 * features @ features.T
    pairs = ~np.eye(len(features), dtype=bool)
    if groups is not None:
        pairs &= np.asarray(groups)[:, None] != np.asarray(groups)
    if not pairs.any():
        raise ParameterError("no two rows of different groups", hint="measure more dances")
    return float(np.sqrt(np.maximum(apart, 0.0))[pairs].mean())


def _checked(features: Array) -> Array:
    features = np.asarray(features, np.float64)
    if features.ndim != 2 or len(features) < 2:
        raise ParameterError(f"features {features.shape}, expected at least two rows")
    if not np.isfinite(features).all():
        raise ParameterError("features that are not finite")
    return features


def _covariance(features: Array) -> Array:
    from sklearn.covariance import ledoit_wolf

    if not np.ptp(features, axis=0).any():
        return np.zeros((features.shape[1],) * 2)
    return np.asarray(ledoit_wolf(features)[0])


def _square_root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
