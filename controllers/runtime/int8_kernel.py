"""Rounding of activations to 8 bits, and the blend of integer products, compiled by numba."""

from __future__ import annotations

import llvmlite.binding
import numba
import numpy as np
from numba import float32, int8, int32, njit, void

from deepphase.compiled import compiled

LARGEST = 127.0
"""Largest integer that values are rounded to."""
SMALLEST = 1e-30
"""Least of the largest values of a row or column: what is smaller counts as 0."""

# Bits of a float32 without its sign, and those of infinity.
_ABSOLUTE, _INFINITE = 0x7FFFFFFF, 0x7F800000


def has_vnni() -> bool:
    """Whether this processor multiplies 64 pairs of bytes at once (AVX-512 VNNI).

    Where numba compiles for a named processor, its features count.
    """
    # numba sets them at run time.
    named, features = (getattr(numba.config, name, None) for name in ("CPU_NAME", "CPU_FEATURES"))
    if named or features:
        return "+avx512vnni" in (features or "")
    try:
        return bool(llvmlite.binding.get_host_cpu_features().get("avx512vnni"))
    except RuntimeError:
        return False


@njit(error_model="numpy")
def largest_size(values):
    """Largest size of float32 numbers (n,), at least `SMALLEST`; NaN if one is not finite."""
    # The bits of positive numbers are in the order of the numbers, infinity and NaN last, and the
    # largest of integers is found on whole registers.
    bits = values.view(np.int32)
    most = int32(0)
    for i in range(len(bits)):
        most = int32(max(most, int32(bits[i] & int32(_ABSOLUTE))))
    if most >= int32(_INFINITE):
        return float32(np.nan)
    return max(np.int32(most).view(np.float32), float32(SMALLEST))


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
        largest = largest_size(values[row])
        # No integer stands for NaN: the scale takes it to the outputs.
        if np.isnan(largest):
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
