"""Checks of what a player shows, with one sentence for each mistake."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError


def check_times(what: str, fps: float, start_s: float) -> None:
    """Raise ParameterError unless data can begin at a time and have a rate."""
    if not (np.isfinite(fps) and fps > 0 and np.isfinite(start_s)):
        raise ParameterError(f"{what}: {fps} frames a second from {start_s} s are not possible")


def check_array(what: str, values: Array | None, *shape: int | str) -> None:
    """Raise ParameterError unless values are finite and of a shape, whose names stand for any size.

    Parameters
    ----------
    values
        None is always right.
    shape
        The size of each axis, or a name for one that is not empty, as in "frames".
    """
    if values is None:
        return
    fits = values.ndim == len(shape) and all(
        size > 0 if isinstance(wanted, str) else size == wanted
        for size, wanted in zip(values.shape, shape, strict=True)
    )
    if not fits:
        words = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise ParameterError(f"{what}: the shape is {values.shape}, expected ({words})")
    if not np.isfinite(values).all():
        raise ParameterError(
            f"{what}: these are values that are not finite", hint="clean the motion first"
        )
