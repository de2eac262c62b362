"""What a jump leaves: decaying offsets of poses, and steps of roots whose feet stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.evaluation.measurement import BLEND_S
from deepphase.features.feature import complex_of
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import CONSTANTS
from deepphase.motion import quaternions
from deepphase.steering.springs import (
    RootCorrection,
    angular_velocities,
    damping_share,
    decayed,
    rotation_offsets,
    spring_rate,
)

# Halflife in seconds of the difference of posture between two moments of rest: as slow as a shift
# of weight.
_HELD_HALFLIFE_S = 2.0


class PosePair(NamedTuple):
    """Poses of characters at this frame and at the one before."""

    # rotations_before, rotations: (characters, joints, 4), the carrier's in root space.
    rotations_before: Array
    # translations_before, translations: (characters, translated joints, 3) metres.
    translations_before: Array
    rotations: Array
    translations: Array
    root_velocity: Array  # (characters, 3) m/s, m/s and rad/s in root space

    def of(self, which: Array) -> PosePair:
        """Some of the characters."""
        return PosePair(*(value[which] for value in self))


class Transitions:
    """Decaying offsets of joints and root velocity that each character's last jumps have left."""

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
        # Offsets of joints that last: differences of posture between moments of rest.
        self._held = np.zeros((characters, self._shifts), np.float32)

    @property
    def root_velocity(self) -> Array:
        """(characters, 3) m/s, m/s and rad/s in root space, to be added to the motion's own."""
        return self._offset[:, self._shifts :]

    def begin(self, which: Array, rows: Array, current: PosePair, *, hold: bool = False) -> None:
        """Start the transitions of characters to rows.

        `which` (jumping,) indices of the characters; `rows` (jumping,) rows that replace the
        current ones at this frame; `current`: poses of these characters, (jumping, ...); `hold`:
        keep the posture, which then changes within seconds.
        """
        offset, rate = self._offsets(rows, current)
        self._held[which] = 0.0
        if hold:
            joints = slice(0, self._shifts)
            self._held[which] = offset[:, joints]
            # The velocity goes on, too.
            rate[:, joints] += np.log(2.0) / _HELD_HALFLIFE_S * offset[:, joints]
            offset[:, joints] = 0.0
        self._offset[which], self._rate[which] = offset, rate

    def costs(self, rows: Array, current: PosePair) -> Array:
        """Transition costs: relative peak accelerations of the body.

        `rows` (q, candidates) rows to jump to; `current`: poses of the characters, (q, ...).
        Returns (q, candidates): largest acceleration of any joint of the body, in root space, in
        the `BLEND_S` after the jump, divided by the usual acceleration of the data.
        """
        play, count = self._playback, rows.shape[1]
        each = PosePair(*(np.repeat(value, count, axis=0) for value in current))
        flat = rows.reshape(-1)
        offset, rate = self._offsets(flat, each)
        steps = np.arange(1, round(BLEND_S * play.fps) + 2)
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
        accelerations = np.diff(positions.astype(np.float64), n=2, axis=1) * play.fps**2
        largest = np.sqrt(np.vecdot(accelerations, accelerations).max(axis=(1, 2)))
        return (largest / max(play.usual_acceleration, 1e-9)).reshape(rows.shape)

    def _offsets(self, rows: Array, current: PosePair) -> tuple[Array, Array]:
        """Offsets, and their rates, from the poses and velocities of rows to the current ones."""
        play, seconds = self._playback, 1.0 / self._playback.fps
        # Velocities over one frame: from the row before, where the clip has one.
        later = rows > self._ranges(rows)[0]
        before, after = np.where(later, rows - 1, rows), np.where(later, rows, rows + 1)
        here = play.rotations[np.stack([before, after, rows])]
        turns, turning = rotation_offsets(
            current.rotations,
            angular_velocities(current.rotations_before, current.rotations, seconds),
            here[2],
            angular_velocities(here[0], here[1], seconds),
        )
        count = len(rows)
        new_velocity = (play.translations[after] - play.translations[before]) / seconds
        old_velocity = (current.translations - current.translations_before) / seconds
        offset = np.concatenate(
            [
                turns.reshape(count, -1),
                (current.translations - play.translations[rows]).reshape(count, -1),
                current.root_velocity - play.steps[rows] / seconds,
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
        """Decay the offsets by an interval."""
        self._offset, self._rate = decayed(self._offset, self._rate, self._halflife_s, seconds)
        self._held *= 1.0 - damping_share(_HELD_HALFLIFE_S, seconds)

    def applied(self, rows: Array) -> tuple[Array, Array]:
        """Rotations (characters, joints, 4) and translations of rows with the offsets added."""
        rotations, translations = self._with(self._offset, rows)
        held = self._held.any(axis=1)
        if held.any():
            between = self._with(self._held[held], rows[held])
            turns, shifts = self._parts(self._offset[held], rows[held].shape)
            turned = quaternions.from_rotation_vectors(turns)
            rotations[held] = quaternions.multiply(turned, between[0])
            translations[held] = between[1] + shifts
        return rotations, translations

    def _with(self, offset: Array, rows: Array) -> tuple[Array, Array]:
        play = self._playback
        turns, shifts = self._parts(offset, rows.shape)
        turned = quaternions.from_rotation_vectors(turns)
        return quaternions.multiply(turned, play.rotations[rows]), play.translations[rows] + shifts

    def _parts(self, offset: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Rotation vectors of joints (..., joints, 3), and shifts of translated joints."""
        return (
            offset[..., : self._turns].reshape(*shape, -1, 3),
            offset[..., self._turns : self._shifts].reshape(*shape, -1, 3),
        )


class RootSteps(RootCorrection):
    """Steps of the roots of characters that play rows.

    Transitions change the legs, and corrections turn the body: with the clip's own steps feet on
    the floor would slide. Steps are changed so that the feet that carry the body move over the
    ground as they do in the clip: a body turns about these feet. A `RootCorrection` does the rest.
    """

    def __init__(
        self,
        playback: Playback,
        poses: tuple[Array, Array],
        seconds: float,
        *,
        share: float,
        turn: float,
    ) -> None:
        count = len(poses[0])
        standing_speed = playback.standing_speed
        super().__init__(count, seconds, share=share, turn=turn, standing_speed=standing_speed)
        self._playback, self._tips = playback, playback.tips(*poses).T
        # m/s in root space, as complex x + i z, beside the clip's own velocity.
        self._extra = np.zeros(count, np.complex128)

    def begin(self, which: Array, velocities: Array) -> None:
        """Begin transitions of characters with velocities (which, 2) beside the new clip's own."""
        self._extra[which] = complex_of(velocities)[:, 0]

    def step(
        self,
        own: Array,
        rows: tuple[Array, Array],
        poses: tuple[Array, Array],
        turns: Array,
        free: Array,
        slips: Array,
        resting: Array | None,
    ) -> Array:
        """(characters,) complex metres in root space by which roots move in this frame.

        `own` (characters, 2) metres of the clips' own steps; `rows`: before and now; `turns`
        radians of the roots; `free` (characters, 2) m/s beside the clip's own of a body that no
        foot carries; `slips` (characters, limbs) complex metres in root space by which the clips'
        feet move.
        """
        before, now = rows
        tips, self._tips = self._tips, self._playback.tips(*poses).T
        play, clip_step = self._playback, complex_of(own)[:, 0]
        weights = np.minimum(play.support[before], play.support[now]).T
        if resting is not None:
            weights = np.where(resting, 0.0, weights)
        wanted = slips.T + tips - self._tips * np.exp(-1j * turns) - clip_step
        weight = weights.sum(axis=0) + CONSTANTS.free
        carried = (weights * wanted).sum(axis=0) / self._seconds
        goal = (carried + CONSTANTS.free * complex_of(free)[:, 0]) / weight
        self._extra += self._settled * (goal - self._extra)
        return clip_step + self._seconds * self._extra
