"""Part of the ground that a run came near."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.terrain.heightmap import Heightmap

# Metres around the run, and between points.
_MARGIN_M, _SPACING_M = 3.0, 0.1
_MAX_POINTS = 400


def ground_patch(ground: Heightmap, places: Array, max_points: int = _MAX_POINTS) -> Heightmap:
    """The ground around places (..., 2), coarse enough to draw.

    Parameters
    ----------
    max_points
        Largest number of points along its longer side.
    """
    places = places.reshape(-1, 2)
    low, high = places.min(axis=0) - _MARGIN_M, places.max(axis=0) + _MARGIN_M
    extent = float((high - low).max())
    spacing = max(_SPACING_M, extent / max_points)
    counts = np.ceil((high - low) / spacing).astype(int) + 1
    x, z = (low[axis] + spacing * np.arange(counts[axis]) for axis in (0, 1))
    heights = ground.at(np.stack(np.meshgrid(x, z), axis=-1))
    return Heightmap(heights, spacing, (float(low[0]), float(low[1])), ground.name)
