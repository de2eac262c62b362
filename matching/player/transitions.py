"""Jumps from one row to another that leave no seam, for many characters at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.evaluation.runs import FELT_S
from deepphase.motion import quaternions
from deepphase.steering.inertialization import (
    angular_velocities,
    from_rotation_vectors,
    rotation_offsets,
)
from deepphase.steering.springs import decayed, spring_rate
from matching.player.playback import Playback


class PosePair(NamedTuple):
    """What characters show: the poses of this frame and of the one before.

    Parameters
    ----------
    rotations_before, rotations
        (characters, joints, 4), the carrier's in root space.
    translations_before, translations
        (characters, translated joints, 3) metres.
    root_velocity
        (characters, 3) m/s, m/s and rad/s in root space.
    """

    rotations_before: Array
    translations_before: Array
    rotations: Array
    translations: Array
    root_velocity: Array

    def of(self, which: Array) -> PosePair:
        """Some of the characters."""
        return PosePair(*(value[which] for value in self))


class Transitions:
    """What is left of each character's last jumps: offsets of joints and of the root's velocity.

    Parameters
    ----------
    playback
        The motion that is played.
    characters
        How many.
    halflife_s
        Seconds in which an offset is halved.
    ranges
        First row, and last row + 1, of the clip that each of some rows is in.
    """

    def __init__(
        self,
        playback: Playback,
        characters: int,
        halflife_s: float,
        ranges: Callable[[Array], tuple[Array, Array]],
    ) -> None:
        spring_rate(halflife_s)
        self._playback, self._halflife_s, self._ranges = playback, halflife_s, ranges
        self._turns = 3 * len(playback.skeleton)
        self._shifts = self._turns + 3 * len(playback.translated_joints)
        # A row: rotation vectors of joints, shifts of translated joints, root velocity.
        self._offset = np.zeros((characters, self._shifts + 3), np.float32)
        self._rate = np.zeros_like(self._offset)

    @property
    def root_velocity(self) -> Array:
        """(characters, 3) m/s, m/s and rad/s, in root space: added to the motion's own."""
        return self._offset[:, self._shifts :]

    def begin(self, which: Array, rows: Array, shown: PosePair) -> None:
        """Let characters jump to rows that match where they are now.

        Parameters
        ----------
        which
            (jumping,) characters.
        rows
            (jumping,) rows that stand for this moment.
        shown
            What the characters (jumping, ...) show.
        """
        self._offset[which], self._rate[which] = self._offsets(rows, shown)

    def roughness(self, rows: Array, shown: PosePair) -> Array:
        """Rehearse jumps: how hard the body would be accelerated by them.

        Parameters
        ----------
        rows
            (q, candidates) rows to jump to.
        shown
            What the characters (q, ...) show.

        Returns
        -------
        (q, candidates)
            Largest acceleration of any joint of the body, in root space, within the time in
            which a jump is felt, as a share of what is usual in the data.
        """
        play, count = self._playback, rows.shape[1]
        each = PosePair(*(np.repeat(value, count, axis=0) for value in shown))
        flat = rows.reshape(-1)
        offset, rate = self._offsets(flat, each)
        steps = np.arange(1, round(FELT_S * play.fps) + 2)
        offset, rate = offset[:, None], rate[:, None]
        left, _ = decayed(offset, rate, self._halflife_s, steps[:, None] / play.fps)
        _, stops = self._ranges(flat)
        played = np.minimum(flat[:, None] + steps, stops[:, None] - 1)
        rotations, translations = self._with(left.astype(np.float32), played)
        positions = play.positions(
            np.concatenate([np.stack([each.rotations_before, each.rotations], 1), rotations], 1),
            np.concatenate(
                [np.stack([each.translations_before, each.translations], 1), translations], 1
            ),
        )
        felt = np.diff(positions.astype(np.float64), n=2, axis=1) * play.fps**2
        largest = np.sqrt(np.vecdot(felt, felt).max(axis=(1, 2)))
        return (largest / max(play.usual_acceleration, 1e-9)).reshape(rows.shape)

    def _offsets(self, rows: Array, shown: PosePair) -> tuple[Array, Array]:
        """Offsets and their rates that make rows begin as the characters are and move."""
        play, seconds = self._playback, 1.0 / self._playback.fps
        # The same step of time on both sides: from the row before, where the clip has one.
        later = rows > self._ranges(rows)[0]
        before, after = np.where(later, rows - 1, rows), np.where(later, rows, rows + 1)
        here = play.rotations[np.stack([before, after, rows])]
        turns, turning = rotation_offsets(
            shown.rotations,
            angular_velocities(shown.rotations_before, shown.rotations, seconds),
            here[2],
            angular_velocities(here[0], here[1], seconds),
        )
        count = len(rows)
        new_velocity = (play.translations[after] - play.translations[before]) / seconds
        old_velocity = (shown.translations - shown.translations_before) / seconds
        offset = np.concatenate(
            [
                turns.reshape(count, -1),
                (shown.translations - play.translations[rows]).reshape(count, -1),
                shown.root_velocity - play.steps[rows] / seconds,
            ],
            axis=1,
        )
        rate = np.concatenate(
            [
                turning.reshape(count, -1),
                (old_velocity - new_velocity).reshape(count, -1),
                np.zeros((count, 3)),
            ],
            axis=1,
        )
        return offset.astype(np.float32), rate.astype(np.float32)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._offset, self._rate = decayed(self._offset, self._rate, self._halflife_s, seconds)

    def applied(self, rows: Array) -> tuple[Array, Array]:
        """Rotations (characters, joints, 4) and translations of rows, with the offsets on them."""
        return self._with(self._offset, rows)

    def _with(self, offset: Array, rows: Array) -> tuple[Array, Array]:
        play = self._playback
        turns = offset[..., : self._turns].reshape(*rows.shape, -1, 3)
        shifts = offset[..., self._turns : self._shifts].reshape(*rows.shape, -1, 3)
        rotations = quaternions.multiply(from_rotation_vectors(turns), play.rotations[rows])
        return rotations, play.translations[rows] + shifts
