"""Cubic curves through keys, as animation programs draw them between handles."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from deepphase.arrays import Array


def key_slopes(values: Array) -> Array:
    """(frames, columns) slopes of values (frames, columns), per frame."""
    return np.gradient(values, axis=0) if len(values) > 1 else np.zeros_like(values)


def hermite(rows: Array, values: Array, slopes: Array, frames: int) -> Array:
    """(frames, columns) of cubic curves through keys, level before the first and after the last.

    Parameters
    ----------
    rows : (keys,)
        Their frames, ascending.
    values, slopes : (keys, columns)
        Slopes are per frame.
    """
    if len(rows) == 1:
        return np.repeat(values, frames, axis=0)
    times = np.clip(np.arange(frames), rows[0], rows[-1])
    return np.asarray(CubicHermiteSpline(rows, values, slopes, axis=0)(times))
