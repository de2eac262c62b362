"""Gaussian process regression with the multiquadric kernel.

The kernel is conditionally definite only: its matrix has one positive and otherwise negative
eigenvalues, so that it is factorised by LU, the ridge is subtracted, and there is no variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from deepphase.arrays import Array

RIDGE = 1e-5
# Of examples that are not exact: poses of the same effectors differ in other joints.
EFFECTOR_RIDGE = 1e-2
WIDTHS = tuple(np.geomspace(1e-4, 1e2, 13).tolist())
_SPLITS = 10


def kernel(first: Array, second: Array, width: float) -> Array:
    """(n, m) multiquadric kernel sqrt(|x - x'|^2 + width^2) of (n, d) and (m, d)."""
    squares = (first * first).sum(axis=-1)[:, None] + (second * second).sum(axis=-1)
    squares -= 2.0 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) + width * width))


@dataclass(frozen=True, eq=False)
class MultiquadricProcess:
    """Regression by a Gaussian process: values of new inputs from examples.

    Parameters
    ----------
    inputs : (examples, inputs)
    weights : (examples, outputs)
    mean : (outputs,)

    References
    ----------
    Holden 2017, section 3.5.1, equations 3.1 to 3.4.
    """

    inputs: Array
    weights: Array
    mean: Array
    width: float

    @classmethod
    def fit(
        cls, inputs: Array, outputs: Array, width: float, ridge: float = RIDGE
    ) -> MultiquadricProcess:
        """The process through examples (n, inputs), (n, outputs)."""
        mean = outputs.mean(axis=0)
        matrix = kernel(inputs, inputs, width)
        matrix[np.diag_indices_from(matrix)] -= ridge
        weights = lu_solve(lu_factor(matrix), outputs - mean)
        return cls(inputs, weights, mean, width)

    def predict(self, inputs: Array) -> Array:
        """(n, outputs) of inputs (n, inputs)."""
        return np.asarray(kernel(inputs, self.inputs, self.width) @ self.weights + self.mean)


def chosen_width(
    inputs: Array,
    outputs: Array,
    seed: int = 0,
    ridge: float = RIDGE,
) -> float:
    """The width with the lowest mean error on held-out halves of the examples (3.5.1.1)."""
    rng = np.random.default_rng(seed)
    errors = np.zeros(len(WIDTHS))
    for _ in range(_SPLITS):
        order = rng.permutation(len(inputs))
        half = len(order) // 2
        fitted, held_out = order[:half], order[half:]
        for row, width in enumerate(WIDTHS):
            made = MultiquadricProcess.fit(inputs[fitted], outputs[fitted], width, ridge)
            errors[row] += np.mean((made.predict(inputs[held_out]) - outputs[held_out]) ** 2)
    return WIDTHS[int(np.argmin(errors))]
