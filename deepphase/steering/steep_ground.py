"""Ground that is too steep to walk on: walls, ledges and pits of a heightmap."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

from deepphase.arrays import Array
from deepphase.features.trajectory import pairs
from deepphase.terrain.heightmap import Heightmap

STEP_SHARE = 0.45
"""Characters walk up and down steps of at most this share of the leg's length."""

# Metres that a root keeps from walls, and how far ahead it looks for drops, from which it keeps the
# last of these distances unless they are at both sides.
_CLEARANCE_M, _AHEAD_M = 0.3, (0.0, 0.1, 0.2)
# Drops are measured from the highest place within this radius, metres, if they go down at all.
_BESIDE_M, _DOWN_M = 0.12, 0.03
# Paths are checked in steps of this length.
_STEP_M, _MAX_SAMPLE_M = 0.1, 2.0
_AROUND = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False))
# Directions of drops on one side only add up to at least this share of their number.
_ONE_SIDED = 0.5
# Paths whose samples lie where the ground varies less than a step within this radius are free.
_RADIUS_M = 0.8


class SteepGround:
    """Paths slide along what is higher than a step, and along the edges of what is lower.

    Parameters
    ----------
    ground
        The ground.
    step_m
        Metres of the highest step up or down.
    """

    def __init__(self, ground: Heightmap, step_m: float) -> None:
        self._ground, self._step = ground, step_m
        size = 2 * math.ceil(_RADIUS_M / ground.spacing_m) + 1
        size = min(size, 2 * max(ground.heights.shape) + 1)
        relief = maximum_filter(ground.heights, size) - minimum_filter(ground.heights, size)
        self._relief = Heightmap(relief, ground.spacing_m, ground.origin)

    def kept_off(self, places: Array, paths: Array) -> Array:
        """Paths that do not lead up or down more than a step at once.

        Parameters
        ----------
        places : (characters,) complex
            x + i z metres: their starts.
        paths : (characters, samples) complex
            Their samples.

        Returns
        -------
        (characters, samples) complex
        """
        free = paths.copy()
        every = np.concatenate([places[:, None], paths], axis=1)
        near = (self._relief.at(pairs(every)) > self._step).any(axis=1)
        which = np.flatnonzero(near)
        if not which.size:
            return free
        steps = np.diff(every[which], axis=1)
        steps *= np.minimum(1.0, _MAX_SAMPLE_M / np.maximum(np.abs(steps), 1e-12))
        place = places[which]
        for sample in range(paths.shape[1]):
            count = max(1, math.ceil(float(np.abs(steps[:, sample]).max()) / _STEP_M))
            for _ in range(count):
                place = self._moved(place, steps[:, sample] / count)
            free[which, sample] = place
        return free

    def _moved(self, places: Array, steps: Array) -> Array:
        """(characters,) the ends of short steps."""
        level = self._at(places)
        highest = self._at(places[:, None] + _BESIDE_M * _AROUND).max(axis=1)
        for last, into in ((False, 0), (False, 1), (True, 0), (True, 1)):
            inwards = self._towards(places + steps, level, highest, drops=bool(into))
            towards = np.maximum((steps * inwards.conj()).real, 0.0)
            # In a corner, what is left leads into the other wall.
            steps = np.where(last & (towards > 1e-9), 0.0, steps - towards * inwards)
        for last in (False, True):
            size = np.abs(steps)
            forward = steps / np.maximum(size, 1e-12)
            ahead = (places + steps)[:, None] + np.array(_AHEAD_M) * forward[:, None]
            # The edge of a grid's point is a slope, which shall not be gone down bit by bit.
            drops = self._at(ahead)
            low = (drops < highest[:, None] - self._step) & (drops < level[:, None] - _DOWN_M)
            low &= (size > 1e-9)[:, None]
            falls = low.any(axis=1)
            if not falls.any():
                break
            edge = ahead[np.arange(len(ahead)), low.argmax(axis=1)]
            x, z = self._ground.gradients(pairs(edge), 0.2).T
            rise = x + 1j * z
            # Along the edge, that is, across its slope; straight back from where there is none.
            across = np.where(np.abs(rise) > 1e-6, 1j * rise / np.maximum(np.abs(rise), 1e-6), 0.0)
            along = (steps * across.conj()).real * across
            steps = np.where(falls, 0.0 if last else along, steps)
        return places + steps

    def _towards(self, places: Array, level: Array, highest: Array, *, drops: bool) -> Array:
        """(characters,) complex unit vectors towards what is too high, or too low; 0 without it."""
        if drops:
            around = self._at(places[:, None] + _AHEAD_M[-1] * _AROUND)
            beyond = around < highest[:, None] - self._step
        else:
            around = self._at(places[:, None] + _CLEARANCE_M * _AROUND)
            beyond = around > level[:, None] + self._step
        inwards = beyond @ _AROUND
        size = np.abs(inwards)
        # On a beam there are drops at both sides.
        sided = size > (_ONE_SIDED * beyond.sum(axis=1) if drops else 0.0)
        return np.where(sided, inwards / np.maximum(size, 1e-9), 0.0)

    def _at(self, places: Array) -> Array:
        return self._ground.at(pairs(places))
