"""The part of a song that is danced to."""

from __future__ import annotations

import numpy as np

from deepphase.errors import ParameterError
from deepphase.music.features import SongFeatures


def frames_of_stretch(
    song: SongFeatures, fps: float, start_s: float, seconds: float | None = None
) -> int:
    """Frames of a motion to a song, from one of its seconds on and not beyond its end.

    Parameters
    ----------
    fps
        The motion's.
    start_s
        The song's second at the first frame.
    seconds
        How long; to the song's end if not given.

    Raises
    ------
    ParameterError
        Where start or seconds are impossible, or the song is over before the start.
    """
    if not (np.isfinite(start_s) and start_s >= 0):
        raise ParameterError(f"a start at {start_s} s", hint="seconds of the song, from 0")
    if seconds is not None and not (np.isfinite(seconds) and seconds > 0):
        raise ParameterError(f"a dance of {seconds} s", hint="give seconds above 0")
    left = song.duration_s - start_s
    if left * fps < 1:
        raise ParameterError(
            f"{song.name} has {song.duration_s:.2f} s, the dance starts at {start_s:g} s",
            hint="start earlier",
        )
    return max(round((left if seconds is None else min(seconds, left)) * fps), 1)
