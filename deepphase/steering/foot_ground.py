"""Feet on ground while a body moves: heights of standing and of swinging feet, frame by frame."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.foot_ik import LimbTransforms
from deepphase.steering.springs import faded, spring_rate
from deepphase.terrain.heightmap import Heightmap

# Points of a foot from the last joint to the tip.
_ALONG = np.linspace(0.0, 1.0, 4)
# A swinging foot clears the ground that it comes over within these times, seconds.
_AHEAD_S = (0.0, 0.04, 0.08, 0.12)
_CLEARANCE_M = 0.01
# Half-lives in seconds with which standing feet, swinging feet and the hips move.
_STANDING_S, _SWINGING_S, _HIPS_S = 0.02, 0.04, 0.05
# Feet are moved, and hips lowered, by at most these shares of the limb's length.
_MAX_LIFT, _MAX_DROP = 0.6, 0.35
# Share of a limb's length to which the hips let it stretch.
_MAX_STRETCH = 0.985


class FootGround:
    """Heights of the feet of many characters over ground.

    Standing feet are moved up or down until their lowest point touches the ground, and swinging
    feet up where they would pass through it. The hips are lowered where a standing foot cannot be
    reached. All moves are eased by springs.

    `soles` (2, limbs) metres of the limbs' last joints and tips over the ground while they stand.
    """

    def __init__(self, ground: Heightmap, soles: Array, characters: int) -> None:
        self._ground = ground
        limbs = np.asarray(soles).shape[1]
        self._soles = soles[0] + _ALONG[:, None] * (soles[1] - soles[0])
        self._lift, self._lift_speed = np.zeros((2, limbs, characters))
        self._drop, self._drop_speed = np.zeros((2, characters))
        self._before: Array | None = None
        self._rates = [spring_rate(each) for each in (_STANDING_S, _SWINGING_S, _HIPS_S)]

    def moved(
        self, transforms: LimbTransforms, shift: Array, touching: Array, seconds: float
    ) -> tuple[Array, Array]:
        """Metres by which the feet move up and the hips move down.

        `shift` (limbs, characters, 2) metres along x and z by which the feet are moved as well;
        `touching` (limbs, characters) Bool: the foot stands. Returns `lifts` (limbs, characters).
        `drops` (characters,).
        """
        upper, _, last, tips = transforms.positions
        length = transforms.lengths
        points = last + _ALONG[:, None, None, None] * (tips - last)
        places = points[..., ::2] + shift
        bottom = points[..., 1] - self._soles[..., None]
        speed = np.zeros_like(places)
        if self._before is not None:
            speed = (places - self._before) / seconds
        self._before = places
        here = self._ground.at(places)
        ahead = np.max(
            [self._ground.at(places + time * speed) for time in _AHEAD_S[1:]] + [here], axis=0
        )
        standing = (here - bottom).max(axis=0)
        swinging = np.maximum((ahead - bottom).max(axis=0) + _CLEARANCE_M, 0.0)
        goal = np.where(touching, standing, swinging)
        goal = np.clip(goal, -_MAX_LIFT * length, _MAX_LIFT * length)
        rate = np.where(touching, self._rates[0], self._rates[1])
        offset, self._lift_speed = faded(self._lift - goal, self._lift_speed, rate, seconds)
        self._lift = goal + offset
        # The highest place of the hips from which a standing foot is reached.
        across2 = np.square((last - upper)[..., ::2] + shift).sum(axis=-1)
        own = np.sqrt(np.vecdot(last - upper, last - upper))
        reach = np.maximum(_MAX_STRETCH * length, own)
        top = last[..., 1] + self._lift + np.sqrt(np.maximum(reach**2 - across2, 0.0))
        lower = np.where(touching, upper[..., 1] - top, 0.0)
        drop = np.clip(lower, 0.0, _MAX_DROP * length).max(axis=0, initial=0.0)
        offset, self._drop_speed = faded(
            self._drop - drop, self._drop_speed, self._rates[2], seconds
        )
        self._drop = drop + offset
        return self._lift, self._drop
