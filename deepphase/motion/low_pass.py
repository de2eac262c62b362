"""Low-pass filters that do not delay what they let through."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

Array = np.ndarray

# A filter's edge at or above this share of the frame rate would let everything through.
_HIGHEST_SHARE = 0.45


def low_passed(values: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, ...) values without what is faster than `cutoff_hz`: forth and back Butterworth.

    Values stay as they are where the cutoff is 0 or near half the rate and above.

    References
    ----------
    Winter 2009, Biomechanics and motor control of human movement, section 2.2.4.4.
    """
    if cutoff_hz <= 0 or cutoff_hz >= _HIGHEST_SHARE * fps or len(values) < 3:
        return values
    sections = butter(2, cutoff_hz, fs=fps, output="sos")
    # What the filter still remembers beyond the edges: a few of its longest waves.
    margin = min(len(values) - 1, int(np.ceil(3 * fps / cutoff_hz)))
    return sosfiltfilt(sections, values, axis=0, padtype="odd", padlen=margin)
