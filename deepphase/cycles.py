"""Cycles: angles counted in turns, as phases are."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array


def wrapped(cycles: Array) -> Array:
    """Cycles brought into [-0.5, 0.5), elementwise."""
    turned = cycles - np.floor(cycles + 0.5)
    # Rounding can carry a value just below -0.5 onto +0.5, which the interval leaves out.
    return np.where(turned >= 0.5, turned - 1.0, turned).astype(np.asarray(cycles).dtype)
