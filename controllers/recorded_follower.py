"""Characters that wish to go where captured ones went: each along a trajectory of its own."""

from __future__ import annotations

import numpy as np

from deepphase.errors import ParameterError
from deepphase.steering.movers import Movers

Array = np.ndarray


class RecordedFollower:
    """Wishes the recorded trajectories, whatever the characters do.

    Parameters
    ----------
    positions, angles
        (characters, frames, 2) m and (characters, frames) rad, continuous: the roots from the
        moment on that the run begins with. Behind the last frame all goes on as it did there.
    fps
        Frames a second.
    labels
        Of each character; none by default.
    """

    def __init__(
        self,
        positions: Array,
        angles: Array,
        fps: float,
        labels: list[dict[str, str]] | None = None,
    ) -> None:
        if angles.shape != positions.shape[:2] or angles.shape[1] < 2:
            raise ParameterError(
                f"trajectories of positions {positions.shape} and angles {angles.shape}",
                hint="give (characters, frames, 2) and (characters, frames), 2 frames or more",
            )
        self._positions = np.asarray(positions, np.float64)
        self._angles = np.asarray(angles, np.float64)
        self._fps, self._time = fps, 0.0
        self._labels = labels or [{} for _ in angles]

    def advance(self, movers: Movers, seconds: float) -> Array:
        """As `Follower.advance`; what is known ahead never jumps."""
        self._time += seconds
        return np.zeros(len(self._angles), bool)

    def ahead(self, movers: Movers, which: Array, offsets_s: Array) -> tuple[Array, Array]:
        """As `Follower.ahead`."""
        return self._at(self._time + np.asarray(offsets_s), which)

    def point(self) -> tuple[Array, Array]:
        """As `Follower.point`."""
        positions, angles = self._at(np.array([self._time]), np.arange(len(self._angles)))
        return positions[:, 0], angles[:, 0]

    def labels(self) -> list[dict[str, str]]:
        """As `Follower.labels`."""
        return self._labels

    def _at(self, times: Array, which: Array) -> tuple[Array, Array]:
        place = np.maximum(times * self._fps, 0.0)
        before = np.minimum(place.astype(np.int64), self._angles.shape[1] - 2)
        share = place - before
        positions, angles = self._positions[which], self._angles[which]
        moved = positions[:, before + 1] - positions[:, before]
        turned = angles[:, before + 1] - angles[:, before]
        return positions[:, before] + share[:, None] * moved, angles[:, before] + share * turned
