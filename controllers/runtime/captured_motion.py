"""Captured motion of running characters: rest where a goal stands, and detail of their motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import (
    DetailRows,
    RestRows,
    detail_columns,
    rest_columns,
    rest_layout,
)
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.features.feature import complex_of, pairs
from deepphase.steering.rest import CONSTANTS, RestChain
from deepphase.steering.springs import faded, spring_rate, wrapped_angle

# Rest begins where a body is slower, m/s, or the goal has stood for so long, s; and where the body
# faces its goal up to an angle, rad, or the goal has stood for longer.
_BODY_M_S, _STOOD_S, _TURN, _TURNED_S = 0.4, 0.8, np.radians(40.0), 3.0
# Half-lives in seconds of the difference between two poses: at the beginning of rest, also after a
# change of posture, and from one stretch of it to the next, which hold the posture.
_ENTRY_S, _CHANGED_S, _HELD_S = 0.15, 0.25, 0.5
_ROOT, _POSE = ("root_velocity", "root_turn"), ("joint_position", "joint_rotation")


class CharacterRest:
    """Plays moments of rest for characters whose goals stand.

    The outputs of the network are replaced by those of the captured moments, plus a difference that
    decays: a character comes to rest without a jump, and the network goes on from the pose of any
    moment.
    """

    def __init__(self, rest: RestRows, schema: ControllerSchema, count: int) -> None:
        self._values, self._seconds = rest.outputs, 1.0 / schema.fps
        self._columns, slices = rest_columns(schema), rest_layout(schema).slices
        self._poses, self._velocities = slices["joint_position"], slices["joint_velocity"]
        self._root, self._pose = np.zeros((2, self._values.shape[1]), np.float32)
        for mask, names in ((self._root, _ROOT), (self._pose, _POSE)):
            for name in names:
                mask[slices[name]] = 1.0
        self._chain = RestChain(rest.moments(schema), count, schema.fps)
        self._row = np.full(count, -1)
        # Outputs (characters, dims) of the last frame and of the one before.
        self._shown: tuple[Array, Array] | None = None
        self._offset, self._slope = np.zeros((2, count, self._values.shape[1]), np.float32)
        self._rate = np.full_like(self._offset, spring_rate(_ENTRY_S))
        self._stood, self._facing = np.zeros(count), np.zeros(count)
        # Desired styles of the last frame, and seconds in which a body changes its posture.
        self._styles: list[str] | None = None
        self._changing = np.zeros(count)

    @property
    def resting(self) -> Array:
        """(characters,) bool: characters that play moments of rest."""
        return self._chain.resting

    def replace(
        self,
        outputs: Array,
        stands: Array,
        speeds: Array,
        angles: Array,
        facings: Array,
        styles: Sequence[str],
    ) -> None:
        """Replace the outputs (characters, dims) of characters that rest; kept until the next
        frame.

        `stands` (characters,) bool: the goal stands. `speeds`, `angles` of the roots before the
        frame; `facings` desired, radians; `styles` desired values of the label.
        """
        chain, seconds = self._chain, self._seconds
        last, before = self._shown or (outputs.copy(),) * 2
        chain.advance()
        self._stood = np.where(stands, self._stood + seconds, 0.0)
        resting = chain.resting
        turned = np.abs(wrapped_angle(facings - np.where(resting, self._facing, angles)))
        changed = np.array(self._styles or styles) != np.array(styles)
        self._styles = list(styles)
        leaves = resting & (~stands | (turned > _TURN))
        leaves |= self._waits(np.flatnonzero(resting & changed), last, styles)
        chain.end(np.flatnonzero(leaves))
        self._row[leaves] = -1
        slow = (speeds < _BODY_M_S) | (self._stood > _STOOD_S)
        enters = ~resting & stands & slow & ((turned < _TURN) | (self._stood > _TURNED_S))
        waits = self._waits(np.flatnonzero(enters), last, styles)
        changing = self._changing
        self._changing = np.where(waits, changing + seconds, 0.0)
        enters &= ~waits | (self._changing > CONSTANTS.changing_s)
        entry = np.where(changing > 0.0, spring_rate(_CHANGED_S), spring_rate(_ENTRY_S))
        self._facing[enters] = facings[enters]
        chosen = np.flatnonzero(enters | chain.ending(self._row))
        if len(chosen):
            shown = [values[np.ix_(chosen, self._columns)] for values in (last, before)]
            rates = np.where(enters, entry, spring_rate(_HELD_S))[chosen]
            self._choose(chosen, shown, rates, styles)
        which = np.flatnonzero(chain.resting)
        if len(which):
            self._row[which] += 1
            self._offset[which], self._slope[which] = faded(
                self._offset[which], self._slope[which], self._rate[which], seconds
            )
            values = self._values[self._row[which]] + self._offset[which]
            values[:, self._velocities] += self._slope[which][:, self._poses]
            outputs[np.ix_(which, self._columns)] = values
        self._shown = outputs, last

    def _waits(self, which: Array, last: Array, styles: Sequence[str]) -> Array:
        """(characters,) bool: which of these characters are in another posture than desired."""
        waits = np.zeros(len(last), bool)
        if len(which) and any(styles):
            poses = last[np.ix_(which, self._columns[self._poses])].reshape(len(which), -1, 3)
            waits[which] = self._chain.in_other_posture(poses, [styles[who] for who in which])
        return waits

    def _choose(
        self, which: Array, shown: Sequence[Array], rates: Array, styles: Sequence[str]
    ) -> None:
        """Choose the moments of characters, and the differences from the last shown frames."""
        last, before = shown
        poses = last[:, self._poses].reshape(len(which), -1, 3)
        rows = self._chain.choose(which, self._row[which], poses, [styles[who] for who in which])
        values = self._values
        self._row[which] = rows
        self._offset[which] = (self._root + self._pose) * (last - values[rows])
        change = (last - before) - (values[rows + 1] - values[rows])
        # A root has no place to hold, and its acceleration is mostly noise.
        self._slope[which] = self._pose * change / np.float32(self._seconds)
        entry = spring_rate(_ENTRY_S)
        self._rate[which] = np.where(self._pose > 0.0, rates[:, None], entry)


# Characters that look at a time, which bounds the memory.
_AT_ONCE = 64
# Characters that begin together look apart, by this share of the time: the golden section.
_APART = 0.618
_FAR = np.float32(1e9)


# Seconds after which a character looks for a moment that is nearer by this factor, half-life of the
# difference from the detail of the moment before, and seconds before the end of a stretch in which
# moments are not chosen.
_LOOK_S, _NEARER, _FADE_S, _LAST_S = 1.0, 1.5, 0.05, 0.25


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
        self._squares[left * detail.step <= _LAST_S * schema.fps] += _FAR
        self._look = round(_LOOK_S * schema.fps)
        self._kept = np.float32(0.5 ** (1.0 / (_FADE_S * schema.fps)))
        # Frames of all rows, of which every `step`-th is a row; -1 without detail.
        self._frame = np.full(count, -1)
        self._age = np.round(self._look * np.modf(_APART * np.arange(count))[0]).astype(np.int64)
        # Share of the detail, smaller where no moment is like that of the character.
        self._share = np.ones((count, 1), np.float32)
        self._shown, self._offset = np.zeros((2, count, len(self._columns)), np.float32)

    def add(
        self, outputs: Array, inputs: Array, gate: Array, without: Array, styles: Sequence[str]
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
            self._choose(which, values, [styles[who] for who in which], ends[which])
        which = np.flatnonzero(~without)
        if len(which):
            self._offset[which] *= self._kept
            self._shown[which] = self._captured(which) + self._offset[which]
            outputs[:, self._columns] += self._shown

    def feet(self, angles: Array) -> tuple[Array, Array]:
        """Steps (characters, limbs, 2) m, in the world, of captured feet in a frame, and heights,
        m.

        Those of any moment where a character has no detail. `angles`: facings before the frame.
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
        low, high = (self._detail.residuals[frame].astype(np.float32) for frame in (row, following))
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
        stays &= apart[each, own] < _NEARER**2 * np.maximum(apart[each, best], 0.0)
        chosen = np.where(stays, own, best)
        self._frame[which] = np.where(stays, self._frame[which], best * detail.step)
        # Those that look early keep their turn, so that crowds do not look all at once.
        self._age[which] %= self._look
        nearer = detail.reach**2 / np.maximum(apart[each, chosen], 1e-12)
        self._share[which, 0] = np.minimum(nearer, 1.0)
        self._offset[which] = self._shown[which] - self._captured(which)
