"""Rest of characters: where a goal stands, captured rest takes the place of the network's pose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import RestRows, rest_columns, rest_layout
from deepphase.controllers.schema.schema import ControllerSchema
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
        """Replace the outputs (characters, dims) of characters that rest in this frame.

        The array is kept until the next frame.

        `stands` (characters,) bool: the goal stands. `speeds`, `angles` (characters,) m/s and
        radians: of the roots before the frame. `facings` (characters,) radians: desired ones.
        `styles` (characters,) desired values of the label.
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
            shown = [each[np.ix_(chosen, self._columns)] for each in (last, before)]
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
            waits[which] = self._chain.in_other_posture(poses, [styles[each] for each in which])
        return waits

    def _choose(
        self, which: Array, shown: Sequence[Array], rates: Array, styles: Sequence[str]
    ) -> None:
        """Choose the moments of characters, and the differences from the last shown frames.

        `rates` are the springs' of the poses' differences, (which,) 1/s.
        """
        last, before = shown
        poses = last[:, self._poses].reshape(len(which), -1, 3)
        rows = self._chain.choose(which, self._row[which], poses, [styles[each] for each in which])
        values = self._values
        self._row[which] = rows
        self._offset[which] = (self._root + self._pose) * (last - values[rows])
        change = (last - before) - (values[rows + 1] - values[rows])
        # A root has no place to hold, and its acceleration is mostly noise.
        self._slope[which] = self._pose * change / np.float32(self._seconds)
        entry = spring_rate(_ENTRY_S)
        self._rate[which] = np.where(self._pose > 0.0, rates[:, None], entry)
