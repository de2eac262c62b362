"""View of a phase manifold in three dimensions, for live assets."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array


def manifold_arrays(vectors: Array) -> dict[str, Array]:
    """Projection of a phase manifold to three dimensions by its principal components.

    Parameters
    ----------
    vectors : (points, 2 * channels)
        (A sin, A cos) of each channel, interleaved.

    Returns
    -------
    ``manifold.mean`` (2 * channels,) and ``manifold.basis`` (3, 2 * channels), so that a vector is
    projected to basis @ (vector - mean); ``manifold.points`` (points, 3), the projected vectors;
    ``manifold.phase`` (points,) cycles, of the channel with the largest amplitude.
    """
    vectors = vectors.astype(np.float64)
    mean = vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors - mean, full_matrices=False)
    basis = np.zeros((3, vectors.shape[1]))
    basis[: len(axes[:3])] = axes[:3]
    pairs = vectors.reshape(len(vectors), -1, 2)
    strongest = np.square(pairs).sum(axis=(0, 2)).argmax()
    phase = np.arctan2(pairs[:, strongest, 0], pairs[:, strongest, 1]) / (2.0 * np.pi)
    arrays = {"mean": mean, "basis": basis, "points": (vectors - mean) @ basis.T, "phase": phase}
    return {f"manifold.{name}": each.astype(np.float32) for name, each in arrays.items()}
