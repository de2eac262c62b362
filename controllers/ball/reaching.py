"""Feet that reach for a ball that goes astray, and the velocities that a touch can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array, smoothstep
from deepphase.motion.ball import Ball
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource, RootStates
from deepphase.steering.springs import spring_to, wrapped_angle

NEXT_TOUCH_S = 0.6
"""Time in seconds in which a touched ball is sent to where the body will need it."""
# There the ball is this far in front of the body, metres; as fitted balls are.
_AHEAD_M = 0.45
# A foot gives a ball at most this multiple of the speed at which it meets it, and in directions
# within this angle of that in which it comes, radians; as in `fit_kernel` and `fitting`.
GIVES, _CONE = 1.6, np.radians(60.0)
# A foot that swings reaches for a ball within this distance, metres, wholly from this much nearer.
_REACH_M, _FADE_M = 0.4, 0.15
# It does where the ball would be farther from its aim than half of this, wholly from this on.
_ASTRAY_M = 0.4
# It goes to where the ball is after this time, seconds, this far behind its middle, metres.
_LEAD_S, _BEHIND_M = 0.1, 0.12
# Half-life of the reaching foot's way there and back, seconds.
_HALFLIFE_S = 0.08
_TINY = 1e-9


def aims_of(places: Array, angles: Array) -> Array:
    """(..., 2) metres: where bodies at places (..., 2) that face angles (...) need their ball."""
    return places + _AHEAD_M * np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def velocities_to(aims: Array, places: Array, ball: Ball) -> Array:
    """(balls, 2) m/s at which balls roll from places (balls, 2) to their aims (balls, 2) in time.

    NaN without an aim.
    """
    way = aims - places
    distance = np.sqrt(np.vecdot(way, way))
    speeds = ball.speed_to_roll(distance, NEXT_TOUCH_S)
    return way * (speeds / np.maximum(distance, _TINY))[:, None]


def given_velocities(velocities: Array, wanted: Array, feet: Array) -> Array:
    """Velocities of balls after touches, as near to the wanted ones as feet give.

    The change of velocity lies within 60 degrees of the way in which the foot meets the ball, and
    is at most 1.6 times as fast as the foot meets it along the change: the limits within which
    balls are fitted. All are (balls, 2) m/s: the ball before, as it shall be, and the foot.
    """
    now, foot = (values[:, 0] + 1j * values[:, 1] for values in (velocities, feet))
    change, meeting = wanted[:, 0] + 1j * wanted[:, 1] - now, foot - now
    size, fast = np.abs(change), np.abs(meeting)
    apart = np.angle(change * meeting.conj())
    angle = np.clip(apart, -_CONE, _CONE)
    push = np.clip(size * np.cos(apart - angle), 0.0, GIVES * fast * np.cos(angle))
    after = now + push * meeting / np.maximum(fast, _TINY) * np.exp(1j * angle)
    return np.stack([after.real, after.imag], axis=-1)


class ReachingFeet:
    """Offsets (characters, 2, 2) from the motion of the feet that reach for a ball, metres x, z."""

    def __init__(self, characters: int) -> None:
        self.offsets = np.zeros((characters, 2, 2))
        self._speeds = np.zeros_like(self.offsets)

    def move(
        self, tips: Array, swinging: Array, places: Array, velocities: Array, wanted: Array,
        seconds: float,
    ) -> None:  # fmt: skip
        """Advance the offsets by one frame.

        The nearest foot that swings reaches behind a ball that would miss its aim. `tips`
        (characters, 2, 2) are the ends of both feet with their offsets, and `wanted` velocities of
        `velocities_to`, NaN where no foot reaches.
        """
        change = np.where(np.isfinite(wanted), wanted - velocities, 0.0)
        size = np.sqrt(np.vecdot(change, change))
        astray = size * NEXT_TOUCH_S
        behind = _BEHIND_M * change / np.maximum(size, _TINY)[:, None]
        ways = (places + _LEAD_S * velocities - behind)[:, None] - (tips - self.offsets)
        far = np.sqrt(np.vecdot(ways, ways))
        usable = swinging & (far < _REACH_M)
        nearest = np.where(usable, far, np.inf).argmin(axis=1)
        chosen = usable & (np.arange(2) == nearest[:, None])
        share = smoothstep(np.clip((_REACH_M - far) / _FADE_M, 0.0, 1.0))
        share = share * smoothstep(np.clip(2.0 * astray / _ASTRAY_M - 1.0, 0.0, 1.0))[:, None]
        goals = np.where(chosen[..., None], share[..., None] * ways, 0.0)
        self.offsets, self._speeds = spring_to(
            self.offsets, self._speeds, goals, _HALFLIFE_S, seconds
        )


# Characters stop this far from the middle of the ball, metres.
_STOP_M = 0.3
# Balls are fetched at this speed if the data have none, m/s.
_SPEED = 1.2


def fetching_speed(data: Mapping[str, Any]) -> float:
    """m/s at which balls are fetched: that of travelling in a controller's data."""
    return float(data.get("travelling_speed", 0.0)) or _SPEED


class FetchingGoals(ForwardedGoals):
    """Goals of a source, blended with the way to the ball of characters that are losing it.

    `balls` returns their places and velocities (characters, 2), and the share of the way to each
    ball in the goals; they are fetched at `speed`, m/s.
    """

    def __init__(
        self, goal_source: GoalSource, balls: Callable[[], tuple[Array, Array, Array]], speed: float
    ) -> None:
        super().__init__(goal_source)
        self._balls, self._speed = balls, speed

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`."""
        positions, angles = self._goal_source.trajectory(root_states, which, offsets_s)
        places, velocities, shares = self._balls()
        rows = np.flatnonzero(shares[which])
        if not len(rows):
            return positions, angles
        positions, angles = np.array(positions, np.float64), np.array(angles, np.float64)
        times = np.asarray(offsets_s, np.float64)
        for row in rows:
            character = which[row]
            here = root_states.positions[character]
            way = places[character] - here
            # A ball that rolls away is met where it will be.
            lead = min(float(np.hypot(*way)) / self._speed, 1.0)
            way = way + lead * velocities[character]
            distance = max(float(np.hypot(*way)), 1e-6)
            along = np.minimum(times * self._speed, max(distance - _STOP_M, 0.0))
            share = shares[character]
            places_to = here + along[:, None] * way / distance
            positions[row] += share * (places_to - positions[row])
            angles[row] += share * wrapped_angle(np.arctan2(way[0], way[1]) - angles[row])
        return positions, angles
