"""The way of a root without the sway of its steps."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.motion.root_trajectory import RootTrajectory

# Standard deviation in seconds of the Gaussian that smooths the root's way: paths have no sway.
SMOOTHING_S = 0.3


def smoothed_root(root: RootTrajectory, fps: float) -> RootTrajectory:
    """A root trajectory without the sway of steps, as drawn paths are."""
    values = np.concatenate([root.positions[:, ::2], root.angles[:, None]], axis=1)
    sigma = SMOOTHING_S * fps
    margin = math.ceil(4.0 * sigma)
    # Odd reflection: a body that travels at the edge of a clip does not slow down there.
    padded = np.pad(
        values.astype(np.float64), ((margin, margin), (0, 0)), "reflect", reflect_type="odd"
    )
    smooth = gaussian_filter1d(padded, sigma, axis=0)[margin : margin + len(values)]
    return RootTrajectory.from_ground(smooth[:, :2], smooth[:, 2])
