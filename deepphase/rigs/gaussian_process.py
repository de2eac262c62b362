"""Gaussian process regression with the multiquadric kernel, and its examples.

The kernel is conditionally definite only: its matrix has one positive and otherwise negative
eigenvalues, so that it is factorised by LU, the ridge is subtracted, and there is no variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from deepphase.arrays import Array

RIDGE = 1e-5
# Of outputs that need not be exact at the examples, as derivatives, whose weights are float32.
JACOBIAN_RIDGE = 1e-2
WIDTHS = tuple(np.geomspace(1e-4, 1e2, 13).tolist())
# Examples that are added before the process is fitted again.
_ADDED = 25
# Frames among which the next example is looked for.
_CANDIDATES = 4000


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
    width
        Of the kernel, in the unit of the inputs.

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
        # In the precision of the weights: those of derivatives are too many to convert each time.
        near = kernel(inputs, self.inputs, self.width).astype(self.weights.dtype, copy=False)
        return np.asarray(near @ self.weights + self.mean)


def chosen_width(
    inputs: Array,
    outputs: Array,
    seed: int = 0,
    splits: int = 10,
    widths: tuple[float, ...] = WIDTHS,
    ridge: float = RIDGE,
) -> float:
    """The width with the lowest mean error on held-out halves of the examples (3.5.1.1)."""
    rng = np.random.default_rng(seed)
    errors = np.zeros(len(widths))
    for _ in range(splits):
        order = rng.permutation(len(inputs))
        half = len(order) // 2
        fitted, held_out = order[:half], order[half:]
        for row, width in enumerate(widths):
            made = MultiquadricProcess.fit(inputs[fitted], outputs[fitted], width, ridge)
            errors[row] += np.mean((made.predict(inputs[held_out]) - outputs[held_out]) ** 2)
    return widths[int(np.argmin(errors))]


def chosen_examples(
    inputs: Array,
    outputs: Array,
    count: int,
    width: float,
    *,
    farthest: int = 50,
    seed: int = 0,
) -> Array:
    """Indices of examples that cover the inputs, then of those that the process misses most.

    Parameters
    ----------
    inputs : (n, inputs)
        The first is the first example: the rest pose.
    outputs : (n, outputs)
    count
        Examples in all.
    width
        Of the kernel.
    farthest
        Examples that are each the farthest from those before.

    References
    ----------
    Holden 2017, section 3.5.2, equations 3.7 to 3.12. Several examples are added at once.
    """
    total = len(inputs)
    if count >= total:
        return np.arange(total)
    rng = np.random.default_rng(seed)
    chosen = [0]
    nearest = ((inputs - inputs[0]) ** 2).sum(axis=-1)
    while len(chosen) < min(farthest, count):
        chosen.append(int(np.argmax(nearest)))
        np.minimum(nearest, ((inputs - inputs[chosen[-1]]) ** 2).sum(axis=-1), out=nearest)
    left = np.ones(total, bool)
    left[chosen] = False
    while len(chosen) < count:
        process = MultiquadricProcess.fit(inputs[chosen], outputs[chosen], width)
        rows = np.flatnonzero(left)
        if len(rows) > _CANDIDATES:
            rows = rng.choice(rows, _CANDIDATES, replace=False)
        missed = ((process.predict(inputs[rows]) - outputs[rows]) ** 2).sum(axis=-1)
        worst = rows[np.argsort(-missed, kind="stable")]
        # Frames next to each other are missed alike: one of them is enough.
        added: list[int] = []
        for row in worst.tolist():
            if len(added) == min(_ADDED, count - len(chosen)):
                break
            if all(abs(row - other) > 2 for other in added):
                added.append(row)
        added = added or worst[:1].tolist()
        chosen.extend(added)
        left[added] = False
    return np.array(chosen)
