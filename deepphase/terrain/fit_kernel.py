"""Errors of patches of ground under a gait cycle, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import float32, float64, int64, void

from deepphase.compiled import compiled


@compiled(
    void(
        float32[:, ::1],
        float64,
        float64[::1],
        float64[:, ::1],
        float64[:, ::1],
        float64[::1],
        float64[::1],
        int64,
        float64,
        float64[:, ::1],
    ),
    error_model="numpy",
)
def patch_errors(heights, spacing, origin, patches, places, feet, contacts, jump, reach, out):
    """Fill the errors of patches of one heightmap (Holden et al. 2017, equations 1 to 4).

    Parameters
    ----------
    heights
        (rows, columns) metres of the heightmap.
    spacing, origin
        Metres between its points, and x and z of the first.
    patches
        (patches, 4) x and z of the centre, cosine and sine of the turn.
    places
        (points, 2) metres of foot points relative to the mean place of contacts.
    feet
        (points,) metres: heights of the soles relative to their mean at contacts.
    contacts
        (points,) 1 at contacts, else 0.
    jump
        1 if the cycle is a jump, whose feet shall not pass high above the ground.
    reach
        Metres that the feet of a jump may be above the ground.
    out
        (patches, 4) errors down, up and over, summed over points, and metres by which the patch is
        lowered so that its mean height at contacts is 0.
    """
    rows, columns = heights.shape
    count = places.shape[0]
    ground = np.empty(count)
    for p in range(patches.shape[0]):
        total, weight = 0.0, 0.0
        for i in range(count):
            x = patches[p, 0] + patches[p, 2] * places[i, 0] + patches[p, 3] * places[i, 1]
            z = patches[p, 1] - patches[p, 3] * places[i, 0] + patches[p, 2] * places[i, 1]
            u = min(max((x - origin[0]) / spacing, 0.0), columns - 1.0)
            v = min(max((z - origin[1]) / spacing, 0.0), rows - 1.0)
            a, b = min(int(u), max(columns - 2, 0)), min(int(v), max(rows - 2, 0))
            c, d = min(a + 1, columns - 1), min(b + 1, rows - 1)
            low = heights[b, a] + (heights[b, c] - heights[b, a]) * (u - a)
            high = heights[d, a] + (heights[d, c] - heights[d, a]) * (u - a)
            ground[i] = low + (high - low) * (v - b)
            total += contacts[i] * ground[i]
            weight += contacts[i]
        lowered = total / weight if weight > 0.0 else 0.0
        down, up, over = 0.0, 0.0, 0.0
        for i in range(count):
            gap = ground[i] - lowered - feet[i]
            down += contacts[i] * gap * gap
            free = 1.0 - contacts[i]
            if gap > 0.0:
                up += free * gap * gap
            elif jump == 1 and -gap > reach:
                over += free * (-gap - reach) ** 2
        out[p, 0], out[p, 1], out[p, 2], out[p, 3] = down, up, over, lowered
