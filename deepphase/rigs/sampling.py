"""Samples of controls around those of examples, from which networks learn more of a rig."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError

Sampling = Literal["pca", "uniform", "univariate", "multivariate", "gmm", "none"]
_COMPONENTS = 25
# Principal components with a smaller share of the largest deviation carry no motion.
_LEAST = 1e-6


def sampled_controls(
    values: Array, count: int, kind: Sampling, noise: float = 1.0, seed: int = 0
) -> Array:
    """Further values of controls.

    Parameters
    ----------
    values : (examples, controls)
        In units of their standard deviations.
    count
        Number of samples; "none" makes none.
    kind
        - "pca": an example, moved by a normal deviate along the principal components in units of
          their deviations (algorithm 2 of Holden 2017, with components that are whitened);
        - "uniform": between the extremes of each control;
        - "univariate", "multivariate": normal, each control by itself or all together;
        - "gmm": a mixture of 25 normal distributions.
    noise
        Deviation of the deviate of "pca".

    Returns
    -------
    (count, controls)

    Raises
    ------
    ParameterError
        If there is no such kind.

    References
    ----------
    Holden 2017, sections 3.6.2 and 3.7.2.
    """
    if kind not in get_args(Sampling):
        raise ParameterError(f"no sampling {kind!r}; there are {', '.join(get_args(Sampling))}")
    rng = np.random.default_rng(seed)
    if kind == "none":
        return np.empty((0, values.shape[1]))
    if kind == "uniform":
        return rng.uniform(values.min(axis=0), values.max(axis=0), (count, values.shape[1]))
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    if kind == "univariate":
        return np.asarray(mean + deviation * rng.standard_normal((count, values.shape[1])))
    if kind == "gmm":
        return _mixture(values, count, seed)
    _, scales, axes = np.linalg.svd(values - mean, full_matrices=False)
    kept = scales > _LEAST * scales.max(initial=1e-12)
    scales, axes = scales[kept] / np.sqrt(len(values)), axes[kept]
    moves = rng.standard_normal((count, len(scales))) * scales @ axes
    if kind == "multivariate":
        return np.asarray(mean + moves)
    return np.asarray(values[rng.integers(len(values), size=count)] + noise * moves)


def _mixture(values: Array, count: int, seed: int) -> Array:
    from sklearn.mixture import GaussianMixture

    components = min(_COMPONENTS, max(1, len(values) // 4))
    mixture = GaussianMixture(components, reg_covar=1e-4, random_state=seed, max_iter=30)
    samples, _ = mixture.fit(values).sample(count)
    return np.asarray(samples)
