"""Blend weights that begin and end smoothly."""

from __future__ import annotations

from deepphase.arrays import Array


def smoothstep(share: Array) -> Array:
    """Weights from 0 at share 0 to 1 at share 1, with slope 0 at both, elementwise."""
    return share * share * (3.0 - 2.0 * share)
