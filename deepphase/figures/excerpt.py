"""Excerpts of long clips: the frames that a figure draws, and a note on those it leaves out."""

from __future__ import annotations

import math
from typing import NamedTuple

# Body movements are slower than half of this rate, in Hz; a lower rate would alias them.
_MIN_FPS = 15.0


class Excerpt(NamedTuple):
    """The frames that are drawn, and a note on those left out; "" if all are drawn."""

    frames: slice
    note: str

    @property
    def step(self) -> int:
        """Distance between frames that are drawn."""
        return int(self.frames.step)


def excerpt(frames: int, fps: float, max_frames: int) -> Excerpt:
    """Every n-th frame of a clip; if these are still too many, only its beginning."""
    step = min(thinning(frames, max_frames), max(1, int(fps / _MIN_FPS)))
    stop = min(frames, max_frames * step)
    notes = [f"1 frame in {step} is drawn"] if step > 1 else []
    if stop < frames:
        notes.append(f"the first {stop / fps:,.0f} s of {frames / fps:,.0f} s")
    return Excerpt(slice(0, stop, step), ", ".join(notes))


def thinning(count: int, max_count: int) -> int:
    """The smallest n for which every n-th of `count` points are no more than `max_count`."""
    return max(1, math.ceil(count / max_count))


def thinning_note(step: int, count: int) -> str:
    """Note of a figure that draws every `step`-th of `count` points of several clips."""
    return "" if step == 1 else f"1 frame in {step} of {count:,} is drawn"
