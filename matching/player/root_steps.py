"""Steps of roots over the ground: supporting feet stay, and goals are approached."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.features.trajectory import complex_of
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import CONSTANTS
from deepphase.steering.springs import damping_share, wrapped_angle


class RootSteps:
    """Steps of the roots of characters that play rows.

    Transitions change the legs, and corrections turn the body: with the clip's own steps feet on
    the floor would slide. Steps are those of the clip, changed so that the feet that carry the body
    move over the ground as they do in the clip. So a body turns about these feet. It turns to its
    path where it is beside it, and a small correction, with which feet slide, does the rest.

    `halflife_s, share, turn`: half-life of the correction of the place, the largest correction as a
    share of the motion's own step and turn, and radians per metre that are added to the latter.
    """

    def __init__(
        self,
        playback: Playback,
        poses: tuple[Array, Array],
        seconds: float,
        *,
        halflife_s: float,
        share: float,
        turn: float,
    ) -> None:
        count = len(poses[0])
        self._playback, self._seconds = playback, seconds
        self._halflife_s, self._share, self._most_turn = halflife_s, share, turn
        self._tips = playback.tips(*poses).T
        # m/s in root space, as complex x + i z, beside the clip's own velocity.
        self._extra = np.zeros(count, np.complex128)
        # Metres in the world as complex numbers, and radians, a frame.
        self._shift, self._turn = np.zeros(count, np.complex128), np.zeros(count)

    def begin(self, which: Array, velocities: Array) -> None:
        """Begin transitions of characters with velocities (which, 2) beside the new clip's own."""
        self._extra[which] = complex_of(velocities)[:, 0]

    def turn(
        self, turned: Array, velocity: Array, angle: Array, gap: Array, facing: Array
    ) -> Array:
        """(characters,) radians by which roots turn in this frame.

        `turned` (characters,) Radians of the motion's own turn; `velocity, gap` (characters,)
        Complex x + i z in the world: m/s of the motion, and metres from root to target; `angle,
        facing` (characters,) Radians: of the root, and desired.
        """
        seconds, speed = self._seconds, np.abs(velocity)
        travels = speed > self._playback.standing_speed
        # Positive to the left of the way: a positive turn about Y has a negative complex angle.
        aside = np.where(travels, -(gap * velocity.conj()).imag, 0.0) / np.maximum(speed, 1e-9) ** 2
        steer = np.clip(aside / CONSTANTS.steer_s, -CONSTANTS.most_steer, CONSTANTS.most_steer)
        share = damping_share(CONSTANTS.facing_halflife_s, seconds)
        turn = share * wrapped_angle(facing + steer - angle - turned)
        most = self._share * np.abs(turned) + self._most_turn * speed * seconds
        # A correction that begins or ends at once would jerk the body.
        settled = damping_share(CONSTANTS.settling_s, seconds)
        self._turn += settled * (np.clip(turn, -most, most) - self._turn)
        return turned + self._turn

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

        `own` (characters, 2) Metres of the clips' own steps; `rows` (characters,) each: rows before
        and now; `turns` (characters,) Radians by which the roots turn; `free` (characters, 2) m/s
        beside the clip's own of a body that no foot carries; `slips` (characters, limbs) Complex
        metres in root space by which the clips' feet move; `resting` (characters,) Bool: bodies at
        rest, whose feet take steps.
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
        self._extra += damping_share(CONSTANTS.settling_s, self._seconds) * (goal - self._extra)
        return clip_step + self._seconds * self._extra

    def shift(self, step: Array, gap: Array) -> Array:
        """(characters,) complex metres in the world of the correction towards targets.

        `step, gap` (characters,) Complex metres in the world: of the step, and from the root after
        it to the target.
        """
        correction = damping_share(self._halflife_s, self._seconds) * gap
        limit = self._share * np.abs(step)
        correction *= np.minimum(1.0, limit / np.maximum(np.abs(correction), 1e-12))
        settled = damping_share(CONSTANTS.settling_s, self._seconds)
        self._shift += settled * (correction - self._shift)
        return self._shift
