"""Phases near the ends of a clip: sinusoids of the nearest whole window, advanced to the frame.

Within half a window of a clip's end there is no whole window around a frame. A window that is
filled up with repeated poses describes the fill as well as the motion. The nearest window that
lies inside the clip describes the motion alone, and its sinusoids say where each phase is some
frames earlier or later (phase += frequency * dt).
"""

from __future__ import annotations

import numpy as np

from deepphase.phase.parameters import PhaseParameters


def advanced_to_ends(
    whole: PhaseParameters, frames: int, first: int, fps: float
) -> PhaseParameters:
    """Phase parameters of every frame out of those of the frames that have a whole window.

    Parameters
    ----------
    whole
        (windows, channels) of the frames `first`, `first` + 1, ...; at least one.
    frames
        Frames of the clip.
    fps
        Frames a second.

    Returns
    -------
    (frames, channels). Outside `whole`, its first or last sinusoids advanced by frequency * time:
    frequency, amplitude and offset are theirs, so that none exceeds the clip's own.
    """
    index = np.arange(frames)
    nearest = np.clip(index - first, 0, len(whole.phase) - 1)
    away = index - first - nearest
    made = whole[nearest]
    # Frames that have a window keep its phase bit for bit.
    outside = away != 0
    if outside.any():
        seconds = (away[outside] / fps)[:, None]
        made.phase[outside] = made[outside].advanced(seconds).phase
    return made
