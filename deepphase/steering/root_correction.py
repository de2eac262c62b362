"""Small corrections that bring roots to their targets, where the motion alone would miss them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.steering.springs import damping_share, wrapped_angle


@dataclass(frozen=True)
class CorrectionConstants:
    """Constants of `RootCorrection`."""

    # Half-life of a change of the correction.
    settling_s: float = 0.03
    # Half-lives of the corrections of the facing, and of the root's place.
    facing_halflife_s: float = 0.12
    adjust_halflife_s: float = 0.2
    # steer_s, most_steer: A body beside its path turns to where the path is in so many seconds, by
    # at most this angle in radians.
    steer_s: float = 0.2
    most_steer: float = 0.35


CORRECTION = CorrectionConstants()


class RootCorrection:
    """Corrects steps and turns of roots (characters,) towards targets.

    A body turns to its path where it is beside it; a shift, with which feet slide, does the rest:
    each at most `share` of the motion's own, the turn with `turn` radians per metre more.
    `standing_speed` m/s: slower bodies do not turn to their path. `seconds` of a frame.
    """

    def __init__(
        self, count: int, seconds: float, *, share: float, turn: float, standing_speed: float
    ) -> None:
        self._seconds, self._standing_speed = seconds, standing_speed
        self._share, self._most_turn = share, turn
        self._settled = damping_share(CORRECTION.settling_s, seconds)
        # Metres in the world as complex numbers, and radians, a frame.
        self._shift, self._turn = np.zeros(count, np.complex128), np.zeros(count)

    def turn(
        self, turned: Array, velocity: Array, angle: Array, gap: Array, facing: Array
    ) -> Array:
        """(characters,) radians by which roots turn in this frame.

        `turned` (characters,) radians of the motion's own turn; `velocity, gap` (characters,)
        complex x + i z in the world: m/s of the motion, and metres from root to target; `angle,
        facing` (characters,) Radians: of the root, and desired.
        """
        seconds, speed = self._seconds, np.abs(velocity)
        travels = speed > self._standing_speed
        # Positive to the left of the way: a positive turn about Y has a negative complex angle.
        aside = np.where(travels, -(gap * velocity.conj()).imag, 0.0) / np.maximum(speed, 1e-9) ** 2
        steer = np.clip(aside / CORRECTION.steer_s, -CORRECTION.most_steer, CORRECTION.most_steer)
        share = damping_share(CORRECTION.facing_halflife_s, seconds)
        turn = share * wrapped_angle(facing + steer - angle - turned)
        most = self._share * np.abs(turned) + self._most_turn * speed * seconds
        # A correction that begins or ends at once would jerk the body.
        self._turn += self._settled * (np.clip(turn, -most, most) - self._turn)
        return turned + self._turn

    def shift(self, step: Array, gap: Array) -> Array:
        """(characters,) complex metres in the world of the correction towards targets.

        `step, gap` (characters,) complex metres in the world: of the step, and from the root after
        it to the target.
        """
        correction = damping_share(CORRECTION.adjust_halflife_s, self._seconds) * gap
        limit = self._share * np.abs(step)
        correction *= np.minimum(1.0, limit / np.maximum(np.abs(correction), 1e-12))
        self._shift += self._settled * (correction - self._shift)
        return self._shift
