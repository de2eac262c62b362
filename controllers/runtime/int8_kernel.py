"""Rounding of activations to 8 bits, and the blend of integer products, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import float32, int8, int32, void

from deepphase.compiled import compiled

LARGEST = 127.0
"""Largest integer that values are rounded to."""
SMALLEST = 1e-30
"""Least of the largest values of a row or column: what is smaller counts as 0."""


@compiled(
    void(float32[:, ::1], int8[:, ::1], float32[::1]), error_model="numpy", fastmath={"reassoc"}
)
def round_rows(values, rounded, scales):
    """Round every row to the integers from -127 to 127, with a scale of its own.

    Parameters
    ----------
    values
        (rows, n).
    rounded
        (rows, n): values / scale, filled here.
    scales
        (rows,), filled here; NaN for a row with a value that is not finite.
    """
    for row in range(values.shape[0]):
        largest, total = float32(SMALLEST), float32(0.0)
        for i in range(values.shape[1]):
            largest = max(largest, abs(values[row, i]))
            total += abs(values[row, i])
        # No integer stands for NaN: the scale takes it to the outputs.
        if not np.isfinite(total):
            scales[row] = np.nan
            rounded[row] = int8(0)
            continue
        scales[row] = largest / float32(LARGEST)
        finer = float32(LARGEST) / largest
        for i in range(values.shape[1]):
            rounded[row, i] = int8(np.rint(values[row, i] * finer))


@compiled(
    void(
        int32[:, ::1],
        float32[::1],
        float32[::1],
        float32[:, ::1],
        float32[:, ::1],
        float32[:, ::1],
    ),
    error_model="numpy",
    fastmath={"reassoc", "contract"},
)
def blend_products(products, row_scales, column_scales, coefficients, bias, outputs):
    """Blend integer products of all control points: sum_k c_k (x W_k + b_k).

    Parameters
    ----------
    products
        (rows, points * outs).
    row_scales, column_scales
        (rows,) and (points * outs,) of the factors.
    coefficients
        (rows, points) c.
    bias
        (points, outs) b.
    outputs
        (rows, outs), filled here.
    """
    outs = outputs.shape[1]
    for row in range(outputs.shape[0]):
        outputs[row] = float32(0.0)
        for point in range(coefficients.shape[1]):
            share = coefficients[row, point]
            scale = row_scales[row] * share
            first = point * outs
            for i in range(outs):
                product = float32(products[row, first + i])
                outputs[row, i] += scale * column_scales[first + i] * product
                outputs[row, i] += share * bias[point, i]
