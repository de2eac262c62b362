"""Numbers of a BVH file's table, read by compiled code."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.bvh.hierarchy import LARGEST_NUMBER, LONGEST_NUMBER
from deepphase.formats.bvh.kernels import Kernels


def scan_table(
    kernels: Kernels, text: bytes, start: int, frames: int, columns: int
) -> Array | None:
    """(frames, columns) float64 of the table that begins at an offset, each as `float` reads it.

    None where the text is not a table of `frames` lines of `columns` decimal numbers below
    `LARGEST_NUMBER`, or where many numbers have more digits than the scan takes.
    """
    # A number has a digit and a blank behind it: a count beyond that is not allocated.
    if not 0 < 2 * frames * columns <= len(text) - start + 1:
        return None
    values = np.empty(frames * columns)
    odd = np.empty((16 + len(values) // 16, 3), np.int64)
    content = np.frombuffer(text, np.uint8)
    count = kernels.scan_numbers(content, start, columns, values, LARGEST_NUMBER, odd)
    if count < 0:
        return None
    for index, first, stop in odd[:count].tolist():
        word = text[first:stop]
        if len(word) > LONGEST_NUMBER:
            return None
        values[index] = float(word)
        # False for infinity, too.
        if not abs(values[index]) < LARGEST_NUMBER:
            return None
    return values.reshape(frames, columns)
