"""Goals that are absurd for some frames, each character's by its own measure."""

from __future__ import annotations

import numpy as np

SIZES_M = (1e3, 1e4, 1e6, 1e30)
FRAMES = (1, 10, 60)


class AbsurdGoals:
    """Goals of another source, moved far away for some frames.

    Parameters
    ----------
    goals
        The source.
    sizes, frames
        Of each character: metres by which the goals are moved, and for how many frames.
    begin
        The first of these frames.
    """

    def __init__(self, goals, sizes, frames, begin=30) -> None:
        self._goals, self._sizes = goals, np.asarray(sizes)
        self._frames, self._begin = np.asarray(frames), begin
        self._index = 0

    def advance(self, root_states, seconds):
        self._index += 1
        return self._goals.advance(root_states, seconds)

    def trajectory(self, root_states, which, offsets_s):
        places, angles = self._goals.trajectory(root_states, which, offsets_s)
        since = self._index - self._begin
        away = np.where((since >= 0) & (since < self._frames), self._sizes, 0.0)[which]
        # To and fro, so that velocities are absurd, too.
        signs = np.where(np.arange(len(offsets_s)) % 2, 1.0, -0.5)
        return places + (away[:, None] * signs)[..., None], angles + away[:, None]

    def target(self):
        return self._goals.target()

    def labels(self):
        return self._goals.labels()


def every_kind() -> tuple[np.ndarray, np.ndarray]:
    """Sizes and frames of twelve characters: each size for each number of frames."""
    return np.repeat(SIZES_M, len(FRAMES)), np.tile(FRAMES, len(SIZES_M))
