"""Captured detail of running characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import DetailRows, detail_columns
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.features.trajectory import complex_of, pairs

# Characters that look at a time, which bounds the memory.
_AT_ONCE = 64
# Characters that begin together look apart, by this share of the time: the golden section.
_APART = 0.618
_FAR = np.float32(1e9)


@dataclass(frozen=True)
class DetailConstants:
    """Constants of captured detail in runs, which the live page has as well."""

    # Seconds after which a character looks for a moment that is more like its own.
    look_s: float = 1.0
    nearer: float = 1.5
    # Half-life in seconds of the difference from the detail of the moment before.
    fade_s: float = 0.05
    last_s: float = 0.25  # Moments so near to the end of their stretch, in seconds, are not chosen


CONSTANTS = DetailConstants()


class CharacterDetail:
    """Adds captured detail to the outputs of a network; see `DetailRows`."""

    def __init__(self, detail: DetailRows, schema: ControllerSchema, count: int) -> None:
        self._detail, self._columns = detail, detail_columns(schema)
        self._seconds = 1.0 / schema.fps
        self._keys = detail.keys.astype(np.float32)
        self._styles, self._styled = np.array(detail.styles), len(set(detail.styles)) > 1
        lengths = np.diff(detail.stops, prepend=0)
        self._stretch = np.repeat(np.arange(len(lengths)), lengths)
        left = detail.stops[self._stretch] - np.arange(len(detail))
        # Squared lengths of the keys; moments at the end of their stretch are far from all.
        self._squares = np.vecdot(self._keys, self._keys)
        self._squares[left * detail.step <= CONSTANTS.last_s * schema.fps] += _FAR
        self._look = round(CONSTANTS.look_s * schema.fps)
        self._kept = np.float32(0.5 ** (1.0 / (CONSTANTS.fade_s * schema.fps)))
        # Frames of all rows, of which every `step`-th is a row; -1 without detail.
        self._frame = np.full(count, -1)
        self._age = np.round(self._look * np.modf(_APART * np.arange(count))[0]).astype(np.int64)
        # Share of the detail, smaller where no moment is like that of the character.
        self._share = np.ones((count, 1), np.float32)
        self._shown, self._offset = np.zeros((2, count, len(self._columns)), np.float32)

    def add(
        self,
        outputs: Array,
        inputs: Array,
        gate: Array,
        without: Array,
        styles: Sequence[str],
    ) -> None:
        """Add the detail of a frame to outputs (characters, dims), in place.

        `inputs`, `gate` (characters, dims) raw values of which the outputs are. `without`
        (characters,) bool: characters that have no detail in this frame. `styles` (characters,)
        desired values of the label; empty texts without one.
        """
        self._frame = np.where(without, -1, self._frame + (self._frame >= 0))
        self._shown[without] = 0.0
        self._age += 1
        row = self._frame // self._detail.step
        ends = row + 1 >= self._detail.stops[self._stretch[row]]
        looks = np.flatnonzero(~without & ((row < 0) | ends | (self._age >= self._look)))
        for first in range(0, len(looks), _AT_ONCE):
            which = looks[first : first + _AT_ONCE]
            values = np.concatenate([inputs[which], gate[which]], axis=1)
            self._choose(which, values, [styles[each] for each in which], ends[which])
        which = np.flatnonzero(~without)
        if len(which):
            self._offset[which] *= self._kept
            self._shown[which] = self._captured(which) + self._offset[which]
            outputs[:, self._columns] += self._shown

    def feet(self, angles: Array) -> tuple[Array, Array]:
        """Steps of captured feet in a frame, and their heights.

        Those of any moment where a character has no detail.

        `angles` (characters,) radians: facings before the frame. Returns (characters, limbs, 2)
        metres in the world, x and z, and (characters, limbs) metres.
        """
        row = np.maximum(self._frame, 0) // self._detail.step
        feet = self._detail.feet[row].astype(np.float64)
        facing = np.exp(-1j * angles)[:, None]
        slips = complex_of(feet[..., :2])[..., 0] * facing * self._seconds
        return pairs(slips), feet[..., 2]

    def _captured(self, which: Array) -> Array:
        """(which, values) float32: detail between two rows."""
        row, after = np.divmod(self._frame[which], self._detail.step)
        between = (after / np.float32(self._detail.step))[:, None].astype(np.float32)
        following = np.minimum(row + 1, len(self._detail) - 1)
        low, high = (self._detail.residuals[each].astype(np.float32) for each in (row, following))
        return self._share[which] * self._detail.units * (low + between * (high - low))

    def _choose(self, which: Array, values: Array, styles: Sequence[str], ends: Array) -> None:
        """Choose the moments of characters by inputs and gates (which, dims)."""
        detail, keys = self._detail, self._keys
        wanted = values @ detail.projection + detail.bias
        apart = self._squares - 2.0 * wanted @ keys.T + np.vecdot(wanted, wanted)[:, None]
        if self._styled:
            other = (self._styles != np.array(styles)[:, None])[:, self._stretch]
            # A style without detail has that of all.
            other &= ~other.all(axis=1, keepdims=True)
            apart[other] += _FAR
        each = np.arange(len(which))
        best, own = apart.argmin(axis=1), self._frame[which] // detail.step
        stays = (own >= 0) & ~ends
        stays &= apart[each, own] < CONSTANTS.nearer**2 * np.maximum(apart[each, best], 0.0)
        chosen = np.where(stays, own, best)
        self._frame[which] = np.where(stays, self._frame[which], best * detail.step)
        # Those that look early keep their turn, so that crowds do not look all at once.
        self._age[which] %= self._look
        nearer = detail.reach**2 / np.maximum(apart[each, chosen], 1e-12)
        self._share[which, 0] = np.minimum(nearer, 1.0)
        self._offset[which] = self._shown[which] - self._captured(which)
