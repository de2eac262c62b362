"""Regression of controls from joints: a Gaussian process, and a network with one hidden layer.

The multiquadric kernel is conditionally definite only: its matrix has one positive and otherwise
negative eigenvalues, so that it is factorised by LU, the ridge is subtracted, and there is no
variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from deepphase.arrays import Array

RIDGE = 1e-5
_WIDTHS = np.geomspace(1e-4, 1e2, 13).tolist()
_SPLITS = 10


def kernel(first: Array, second: Array, width: float) -> Array:
    """(n, m) multiquadric kernel sqrt(|x - x'|^2 + width^2) of (n, d) and (m, d)."""
    squares = (first * first).sum(axis=-1)[:, None] + (second * second).sum(axis=-1)
    squares -= 2.0 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) + width * width))


@dataclass(frozen=True, eq=False)
class MultiquadricProcess:
    """Regression by a Gaussian process (Holden 2017, section 3.5.1, equations 3.1 to 3.4)."""

    inputs: Array  # (examples, inputs)
    weights: Array  # (examples, outputs)
    mean: Array  # (outputs,)
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


def chosen_width(inputs: Array, outputs: Array, seed: int = 0, ridge: float = RIDGE) -> float:
    """The width with the lowest mean error on held-out halves of the examples (3.5.1.1)."""
    rng = np.random.default_rng(seed)
    errors = np.zeros(len(_WIDTHS))
    for _ in range(_SPLITS):
        learnt, held_out = np.split(rng.permutation(len(inputs)), [len(inputs) // 2])
        for row, width in enumerate(_WIDTHS):
            process = MultiquadricProcess.fit(inputs[learnt], outputs[learnt], width, ridge)
            errors[row] += np.mean((process.predict(inputs[held_out]) - outputs[held_out]) ** 2)
    return float(_WIDTHS[int(np.argmin(errors))])


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    """One hidden layer with ReLU (Holden 2017, equation 3.14)."""

    first: Array  # (hidden, inputs)
    first_bias: Array
    second: Array  # (outputs, hidden)
    second_bias: Array

    def predict(self, inputs: Array) -> Array:
        """(n, outputs) of inputs (n, inputs)."""
        hidden = np.maximum(inputs.astype(np.float32) @ self.first.T + self.first_bias, 0.0)
        return np.asarray(hidden @ self.second.T + self.second_bias, np.float64)


@dataclass(frozen=True, eq=False)
class RigScale:
    """Means and deviations of joints and controls."""

    used: Array  # controls that move in the examples; the others keep their values
    position_mean: Array  # (3 joints,) metres
    value_mean: Array  # (used,)
    value_scale: Array  # (used,)
    rest: Array  # (controls,) values of the others

    @classmethod
    def from_examples(cls, values: Array, positions: Array) -> RigScale:
        """The scale of poses: values (poses, controls) and positions (poses, joints, 3)."""
        deviations = values.std(axis=0)
        # In the units of the controls: a smaller deviation would exaggerate errors and steps.
        used = np.flatnonzero(deviations > 1e-3)
        return cls(
            used,
            positions.reshape(len(values), -1).mean(axis=0),
            values[:, used].mean(axis=0),
            np.maximum(deviations[used], 5e-3),
            values.mean(axis=0),
        )

    def normalised(self, values: Array) -> Array:
        """(poses, used) values (poses, controls) in deviations."""
        return np.asarray((values[:, self.used] - self.value_mean) / self.value_scale)

    def values(self, normalised: Array) -> Array:
        """(poses, controls) of what `normalised` returns."""
        values = np.repeat(self.rest[None], len(normalised), axis=0)
        values[:, self.used] = normalised * self.value_scale + self.value_mean
        return values
