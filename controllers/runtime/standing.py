"""Roots of bodies that stand: what a network moves them by on average is not travel."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array

_GOAL_M_S = 0.1
"""A goal stands if the desired trajectory ends slower than this, metres a second."""
_BODY_M_S = 0.15
"""A body stands if its root is predicted to move slower than this, metres a second."""
_DRIFT_S, _FORGET_S = 0.3, 0.1
"""Time constants in seconds: of the mean velocity of a standing body, and of its end."""


class StandingRoots:
    """Keeps the roots of standing bodies in their places.

    The predicted velocity of a body that stands is not 0 on average: some centimetres a second,
    which add up to decimetres. Where the goal stands and the body does, the mean of the last
    predicted velocities is taken from them, so that a body sways about its place.

    Parameters
    ----------
    count
        Number of characters.
    seconds
        Duration of a frame.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self._drift = np.zeros(count, complex)
        self._learnt = 1.0 - np.exp(-seconds / _DRIFT_S)
        self._kept = np.exp(-seconds / _FORGET_S)

    def steadied(self, velocities: Array, goals_stand: Array) -> Array:
        """Velocities (characters,), complex m/s in root axes, without the drift of standing bodies.

        `goals_stand` is (characters,) bool.
        """
        stands = goals_stand & (np.abs(velocities) < _BODY_M_S)
        mean = self._drift + self._learnt * (velocities - self._drift)
        self._drift = np.where(stands, mean, self._kept * self._drift)
        return velocities - self._drift


def goals_that_stand(desired: Array, step_s: float) -> Array:
    """(characters,) bool: the desired places (characters, samples, 2), m, end at rest.

    `step_s` is the time between two samples; trajectories of one sample are never at rest.
    """
    if desired.shape[1] < 2:
        return np.zeros(len(desired), bool)
    last = desired[:, -1] - desired[:, -2]
    return np.asarray(np.vecdot(last, last) < (_GOAL_M_S * step_s) ** 2)
