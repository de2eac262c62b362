"""Balls fitted to motion: paths that obey physics, touched where swinging feet can touch them.

There is no need for a captured ball: the possible touches of every swing of a foot are compared,
and the best sequence of touches, with free rolls between them, is found by dynamic programming.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.controllers.ball.ball_track import BallTouches, BallTrack
from deepphase.controllers.ball.fit_kernel import best_touches, roll_cost, roll_speeds, touch_cost
from deepphase.motion.ball import Ball
from deepphase.motion.clip import Clip, end_positions, global_transforms, velocities
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton

FOOT_RADIUS_M = 0.04
"""Radius of the spheres that feet and shins are made of, metres."""

# Possible touches: moments of a swing, and directions from the foot to the ball, radians from the
# direction in which the foot moves.
_MOMENTS, _DIRECTIONS = 7, np.radians([-60.0, -30.0, -10.0, 10.0, 30.0, 60.0])
# A foot that is slower than this does not touch, m/s; shorter swings are none, seconds.
_SLOWEST, _SHORTEST_S = 0.5, 0.12
# A touch is followed by one of the next swings, of either foot.
_SWINGS_AHEAD = 4
# Where no foot swings, the ball lies this far in front of the body, metres.
_IN_FRONT_M = 0.45
# Overlap of a ball with another part of the legs where it is touched.
_DENT_M, _DENT_TOLERANCE_M = 0.02, 0.02


@dataclass(frozen=True, eq=False)
class LegPoints:
    """Points of both legs, as centres of spheres that a ball meets."""

    positions: Array  # (frames, points, 3) metres; heights over the floor
    foremost: tuple[int, ...]  # (feet,) the point of each foot that touches a ball in front of it
    feet: tuple[str, ...]
    swinging: Array  # (frames, feet) bool: the foot is off the floor
    roots: Array  # (frames, 2) metres
    body_velocities: Array  # (frames, 2) m/s of the root
    directions: Array  # (frames, 2) facing
    floor: float

    @classmethod
    def from_clip(cls, clip: Clip, roles: Roles) -> LegPoints:
        """The legs of a clip; SkeletonError if no pair of feet is found."""
        transforms = global_transforms(clip)
        contacts = foot_contacts(clip, roles, transforms=transforms)
        points, foremost = leg_points(clip, roles, transforms)
        points[..., 1] -= contacts.floor
        root = root_trajectory(clip, roles, positions=transforms[1])
        chains = LegChains.from_skeleton(clip.skeleton, roles)
        columns = [contacts.joints.index(int(last)) for last in chains.last[:2]]
        return cls(
            points,
            foremost,
            tuple(clip.skeleton.names[int(last)] for last in chains.last[:2]),
            ~contacts.flags[:, columns],
            np.ascontiguousarray(root.positions[:, ::2], np.float64),
            np.ascontiguousarray(velocities(root.positions, clip.fps)[:, ::2], np.float64),
            np.ascontiguousarray(root.directions[:, ::2], np.float64),
            contacts.floor,
        )


def leg_joints(skeleton: Skeleton, roles: Roles) -> list[tuple[int, int, int, int]]:
    """Knee, ankle, toe and end site of the left and the right leg; -1 without an end site."""
    chains = LegChains.from_skeleton(skeleton, roles)
    ends = roles.both("foot_end") or (-1, -1)
    return [
        (int(chains.middle[leg]), int(chains.last[leg]), int(chains.tips[leg]), int(ends[leg]))
        for leg in range(2)
    ]


def leg_points(
    clip: Clip, roles: Roles, transforms: tuple[Array, Array] | None = None
) -> tuple[Array, tuple[int, ...]]:
    """Points of the legs in the world, (frames, points, 3), and the foremost one of each foot."""
    transforms = global_transforms(clip) if transforms is None else transforms
    positions = transforms[1].astype(np.float64)
    legs = leg_joints(clip.skeleton, roles)
    tips = end_positions(clip, transforms).astype(np.float64) if legs[0][3] >= 0 else None
    points: list[Array] = []
    foremost: list[int] = []
    for *joints, end in legs:
        knee, ankle, toe = (positions[:, joint] for joint in joints)
        front = toe if tips is None else tips[:, end]
        line = [0.5 * (ankle + knee), 0.75 * ankle + 0.25 * knee, ankle, 0.5 * (ankle + toe), toe]
        foremost.append(len(points) + len(line))
        points += [*line, front]
    return np.stack(points, axis=1), tuple(foremost)


def fit_ball(
    clip: Clip,
    ball: Ball | None = None,
    *,
    roles: Roles | None = None,
    description: Mapping[str, Any] | None = None,
) -> BallTrack:
    """The most plausible ball at the feet of a clip.

    Between touches the ball rolls freely on the clip's floor. Of some 40 possible touches of every
    swing of a foot, the sequence is taken whose impulses are most like those of a foot, whose rolls
    pass through no leg, and which stays near the body.

    Returns the ball; without a swing it lies in front of the body.
    """
    ball = ball or Ball()
    roles = roles or find_roles(clip.skeleton, description=description, clip=clip)
    legs = LegPoints.from_clip(clip, roles)
    return _Fit(clip, legs, ball).track()


class _Fit:
    """The search for the ball of one clip."""

    def __init__(self, clip: Clip, legs: LegPoints, ball: Ball) -> None:
        self._clip, self._legs, self._ball = clip, legs, ball
        self._seconds, self._radius = 1.0 / clip.fps, ball.radius_m + FOOT_RADIUS_M
        # Heights over the centre of a ball on the floor.
        self._points = legs.positions - np.array([0.0, ball.radius_m, 0.0])
        self._points = np.ascontiguousarray(self._points)
        moved = np.gradient(self._points, self._seconds, axis=0) if len(clip) > 1 else 0.0
        self._moved = np.broadcast_to(moved, self._points.shape)

    def track(self) -> BallTrack:
        """The best ball."""
        found = self._candidates()
        if found is None:
            return self._resting()
        frames, places, normals, own, swings, feet = found
        point = np.array(self._legs.foremost)[feet]
        foot_velocities = np.ascontiguousarray(self._moved[frames, point][:, ::2])
        # Swings are in order, and so are the candidates.
        firsts = np.searchsorted(swings, np.arange(swings[-1] + 2))
        last_swing = len(firsts) - 2
        following = np.minimum(swings + 1, last_swing + 1)
        lowest = firsts[following]
        highest = firsts[np.minimum(swings + 1 + _SWINGS_AHEAD, last_swing + 1)]
        chosen, speeds = np.full(len(frames) + 1, -1), np.zeros((2, 2))
        bodies = np.ascontiguousarray(self._legs.body_velocities[frames])
        best_touches(
            frames,
            places,
            normals,
            foot_velocities,
            own,
            lowest,
            highest,
            bodies,
            self._points,
            self._legs.roots,
            self._seconds,
            self._radius,
            self._ball.deceleration,
            int(firsts[min(3, last_swing + 1)]),
            int(firsts[max(last_swing - 2, 0)]),
            chosen,
            speeds,
        )
        sequence = chosen[chosen >= 0]
        if not len(sequence):
            return self._resting()
        return self._of_touches(
            frames[sequence],
            places[sequence],
            normals[sequence],
            foot_velocities[sequence],
            own[sequence],
            feet[sequence],
            speeds,
        )

    def _candidates(self) -> tuple[Array, Array, Array, Array, Array, Array] | None:
        """Frames, places, directions, costs, swings and feet of all possible touches."""
        legs, spans = self._legs, []
        for foot in range(len(legs.feet)):
            for begin, end in true_runs(legs.swinging[:, foot]):
                if (end - begin) * self._seconds < _SHORTEST_S:
                    continue
                point = legs.foremost[foot]
                moved = self._moved[begin:end, point]
                low = np.abs(self._points[begin:end, point, 1]) < 0.8 * self._radius
                fast = np.hypot(moved[:, 0], moved[:, 2]) > _SLOWEST
                usable = begin + np.flatnonzero(low & fast)
                if len(usable):
                    spread = np.linspace(0, len(usable) - 1, _MOMENTS).round().astype(int)
                    spans.append((begin, foot, usable[np.unique(spread)]))
        if not spans:
            return None
        spans.sort(key=lambda each: each[0])
        frames = np.concatenate([np.repeat(span[2], len(_DIRECTIONS)) for span in spans])
        counts = [len(span[2]) * len(_DIRECTIONS) for span in spans]
        swings = np.repeat(np.arange(len(spans)), counts)
        feet = np.repeat([span[1] for span in spans], counts)
        point = np.array(legs.foremost)[feet]
        moved = self._moved[frames, point][:, ::2]
        heading = np.arctan2(moved[:, 0], moved[:, 1])
        angles = heading + np.tile(_DIRECTIONS, len(frames) // len(_DIRECTIONS))
        normals = np.stack([np.sin(angles), np.cos(angles)], axis=1)
        at = self._points[frames, point]
        away = np.sqrt(np.maximum(self._radius**2 - at[:, 1] ** 2, 0.0))
        places = at[:, ::2] + away[:, None] * normals
        centres = np.stack([places[:, 0], np.zeros(len(places)), places[:, 1]], axis=1)
        gaps = np.linalg.norm(self._points[frames] - centres[:, None], axis=-1) - self._radius
        depth = np.maximum(-gaps.min(axis=1) - _DENT_M, 0.0)
        own = (depth / _DENT_TOLERANCE_M) ** 2
        return frames, np.ascontiguousarray(places), normals, own, swings, feet

    def _of_touches(
        self,
        frames: Array,
        places: Array,
        normals: Array,
        foot_velocities: Array,
        own: Array,
        feet: Array,
        speeds: Array,
    ) -> BallTrack:
        count, length = len(frames), len(self._clip)
        slow = self._ball.deceleration
        before, after = np.zeros((count, 2)), np.zeros((count, 2))
        before[0], after[-1] = speeds
        for index in range(count - 1):
            way = places[index + 1] - places[index]
            distance = float(np.hypot(*way))
            time = (frames[index + 1] - frames[index]) * self._seconds
            first, last = roll_speeds(distance, time, slow)
            after[index] = first * way / max(distance, 1e-9)
            before[index + 1] = last * way / max(distance, 1e-9)
        positions = np.zeros((length, 2))
        moved = np.zeros((length, 2))
        plausible = np.zeros(length)
        costs = [
            float(own[i]) + touch_cost(*normals[i], *foot_velocities[i], *before[i], *after[i])
            for i in range(count)
        ]
        bounds = [*frames.tolist(), length]
        for index in range(count):
            begin, end = bounds[index], bounds[index + 1]
            self._roll(positions, moved, places[index], after[index], begin, begin, end)
            cost = self._roll_cost(places[index], after[index], begin, end)
            following = costs[index + 1] if index + 1 < count else 0.0
            plausible[begin:end] = np.exp(-(cost + max(costs[index], following)))
        self._roll(positions, moved, places[0], before[0], int(frames[0]), 0, int(frames[0]))
        cost = self._roll_cost(places[0], before[0], int(frames[0]), -1)
        plausible[: frames[0]] = np.exp(-(cost + costs[0]))
        approach = ((foot_velocities - before) * normals).sum(axis=1)
        change = after - before
        given = (change * normals).sum(axis=1)
        impulses = np.zeros((count, 3))
        impulses[:, ::2] = self._ball.mass_kg * change
        names = tuple(self._legs.feet[foot] for foot in feet)
        touches = BallTouches(frames, names, impulses, given / np.maximum(approach, 0.1) - 1.0)
        return self._made(positions, moved, plausible, touches)

    def _roll(
        self,
        positions: Array,
        moved: Array,
        place: Array,
        velocity: Array,
        at: int,
        begin: int,
        end: int,
    ) -> None:
        """Fill frames begin to end - 1 with a free roll through a place at frame `at`."""
        slow, speed = self._ball.deceleration, float(np.hypot(*velocity))
        times = (np.arange(begin, end) - at) * self._seconds
        direction = velocity / max(speed, 1e-9)
        if speed < 1e-9:
            positions[begin:end] = place
            return
        stop = np.minimum(times, speed / slow) if slow > 0 else times
        along = speed * stop - 0.5 * slow * stop**2
        positions[begin:end] = place + along[:, None] * direction
        moved[begin:end] = (speed - slow * stop)[:, None] * direction

    def _roll_cost(self, place: Array, velocity: Array, begin: int, end: int) -> float:
        cost: float = roll_cost(
            *place.tolist(),
            *velocity.tolist(),
            begin,
            end,
            self._seconds,
            self._radius,
            self._ball.deceleration,
            self._points,
            self._legs.roots,
        )
        return cost

    def _resting(self) -> BallTrack:
        """A ball that lies in front of the body at the middle of the clip."""
        legs, length = self._legs, len(self._clip)
        middle = length // 2
        place = legs.roots[middle] + _IN_FRONT_M * legs.directions[middle]
        cost = self._roll_cost(place, np.zeros(2), 0, length)
        none = BallTouches(np.zeros(0, np.int64), (), np.zeros((0, 3)), np.zeros(0))
        return self._made(
            np.tile(place, (length, 1)), np.zeros((length, 2)), np.full(length, np.exp(-cost)), none
        )

    def _made(
        self, places: Array, moved: Array, plausible: Array, touches: BallTouches
    ) -> BallTrack:
        clip, ball = self._clip, self._ball
        still = np.zeros(len(clip))
        return BallTrack(
            clip.name,
            float(clip.fps),
            ball.resting(places),
            np.stack([moved[:, 0], still, moved[:, 1]], axis=1),
            plausible,
            touches,
            ball,
        )
