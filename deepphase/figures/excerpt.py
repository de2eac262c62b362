"""What a figure draws of more frames than it can show, and how it says so."""

from __future__ import annotations

import math
from typing import NamedTuple

# No movement of a body is faster than half of this: fewer frames a second would show a slower one.
_SLOWEST_FPS = 15.0


class Excerpt(NamedTuple):
    """The frames that are drawn, and what the figure says of it; "" where it draws all."""

    frames: slice
    words: str

    @property
    def step(self) -> int:
        """Frames from one that is drawn to the next."""
        return int(self.frames.step)


def excerpt(frames: int, fps: float, most: int) -> Excerpt:
    """Every n-th frame of a clip, and where these are still too many, its beginning.

    Parameters
    ----------
    frames
        Of the clip.
    fps
        Frames a second.
    most
        Frames that can be drawn.
    """
    step = min(thinning(frames, most), max(1, int(fps / _SLOWEST_FPS)))
    stop = min(frames, most * step)
    words = [f"1 frame in {step} is drawn"] if step > 1 else []
    if stop < frames:
        words.append(f"the first {stop / fps:,.0f} s of {frames / fps:,.0f} s")
    return Excerpt(slice(0, stop, step), ", ".join(words))


def thinning(count: int, most: int) -> int:
    """The smallest n so that every n-th of `count` points are at most `most`."""
    return max(1, math.ceil(count / most))


def thinned_words(step: int, count: int) -> str:
    """What a figure says that draws every `step`-th of `count` points, whose order is no time."""
    return "" if step == 1 else f"1 frame in {step} of {count:,} is drawn"
