"""Ground along a trajectory: its level under a body, and heights left and right of a path."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.terrain.heightmap import Heightmap

SIDE_M = 0.25
"""Metres from a path to the heights at its left and right (Holden et al. 2017, section 4.3)."""
SIDES = 3
"""Heights at each sample: left, centre, right."""

# The level of the ground is its mean along the facing, weighted by a Gaussian of this width.
_LEVEL_M = 0.3
_STEPS = np.linspace(-2.0, 2.0, 49)
_WEIGHTS = np.exp(-0.5 * _STEPS**2) / np.exp(-0.5 * _STEPS**2).sum()


def ground_level(ground: Heightmap, places: Array, directions: Array) -> Array:
    """(...) metres: the height that bodies at places are measured from.

    The mean of the ground in front of and behind a root, over about as much as a step, so that
    it rises evenly on stairs. The sides do not count: on a beam it is that of the beam.

    `places, directions` (..., 2) x and z in metres of roots, and unit vectors of their facings.
    """
    steps = _LEVEL_M * _STEPS[:, None] * np.asarray(directions, np.float64)[..., None, :]
    return ground.at(np.asarray(places, np.float64)[..., None, :] + steps) @ _WEIGHTS


def trajectory_heights(ground: Heightmap, places: Array, directions: Array, level: Array) -> Array:
    """(..., samples, 3) metres over the level: left, centre and right of each sample of paths.

    `places, directions` (..., samples, 2) x and z in metres, and unit vectors of the facing;
    `level` (...) metres, of `ground_level`.
    """
    places = np.asarray(places, np.float64)
    # The left of a body that faces +Z is +X.
    left = SIDE_M * np.stack([directions[..., 1], -directions[..., 0]], axis=-1)
    points = np.stack([places + left, places, places - left], axis=-2)
    return ground.at(points) - np.asarray(level)[..., None, None]
