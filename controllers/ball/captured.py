"""Balls that were captured with the motion, as a point named ball."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.controllers.ball.ball_track import BallTouches, BallTrack, check_over_floor
from deepphase.controllers.ball.fitting import FOOT_RADIUS_M, LegPoints
from deepphase.errors import FormatError, ParameterError
from deepphase.motion.ball import Ball, BallState, advanced
from deepphase.motion.clip import Clip, velocities
from deepphase.motion.point_track import PointTrack, ball_points
from deepphase.motion.roles import Roles

# Longer gaps of the ball are not bridged, seconds.
_LONGEST_GAP_S = 0.5
# A ball that is faster than this was confused with another marker, m/s.
_FASTEST = 40.0
# The ball's velocity changes by at least this at a touch, m/s, and a foot is that near, metres.
_KICKED, _NEAR_M = 0.4, 0.08


def captured_ball(track: PointTrack, clip: Clip, ball: Ball, roles: Roles) -> BallTrack:
    """The ball of a point track, at the rate of its clip.

    Gaps of up to half a second are bridged by physics: the ball rolls or flies on from before the
    gap, and what is then missing is spread over the gap.
    """
    path = track.source.path or None
    points = ball_points(track.names)
    if len(points) != 1:
        names = ", ".join(track.names[point] for point in points)
        raise FormatError(
            f"{track.name}: {len(points)} balls: {names}"
            if points
            else f"{track.name}: no point named ball",
            hint="keep one point named ball" if points else "rename the ball's point",
            path=path,
        )
    legs = LegPoints.from_clip(clip, roles)
    positions = track.positions[:, points[0]].astype(np.float64)
    positions[:, 1] -= legs.floor
    if track.present is not None:
        positions = _bridged(positions, track.present[:, points[0]], track, ball)
    if len(clip) != len(track) or clip.fps != track.fps:
        times = np.arange(len(clip)) / clip.fps
        track_times = np.arange(len(track)) / track.fps
        positions = np.stack([np.interp(times, track_times, axis) for axis in positions.T], axis=1)
    moved = velocities(positions, clip.fps)
    fastest = float(np.sqrt(np.square(moved).sum(axis=1)).max())
    if fastest > _FASTEST:
        raise FormatError(
            f"{track.name}: a ball of {fastest:.0f} m/s is not possible",
            hint="check the unit, and for markers that were swapped",
            path=path,
        )
    try:
        check_over_floor(positions[:, 1], ball, track.name)
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None
    touches = _touches(positions, moved, legs, clip.fps, ball)
    return BallTrack(
        clip.name,
        float(clip.fps),
        positions,
        moved,
        np.ones(len(clip)),
        touches,
        ball,
        captured=True,
    )


def _bridged(positions: Array, present: Array, track: PointTrack, ball: Ball) -> Array:
    positions = positions.copy()
    for begin, end in true_runs(~present):
        if (end - begin) / track.fps > _LONGEST_GAP_S or begin < 2 or end >= len(positions):
            raise FormatError(
                f"{track.name}: the ball is missing in frames {begin} to {end - 1}",
                hint=f"gaps of up to {_LONGEST_GAP_S:g} s between seen frames are bridged; cut the "
                "file there, or fill the gap",
                path=track.source.path or None,
            )
        before = positions[begin - 1]
        state = BallState(before, (before - positions[begin - 2]) * track.fps)
        steps = []
        for _ in range(end - begin + 1):
            state = advanced(state, ball, 1.0 / track.fps)
            steps.append(state.position)
        share = np.linspace(0.0, 1.0, end - begin + 2)[1:, None]
        positions[begin:end] = (steps + share * (positions[end] - steps[-1]))[:-1]
    return positions


def _touches(
    positions: Array, moved: Array, legs: LegPoints, fps: float, ball: Ball
) -> BallTouches:
    """Moments at which the ball's velocity changes beside a foot."""
    gaps = np.linalg.norm(legs.positions - positions[:, None], axis=-1)
    gaps = gaps.reshape(len(gaps), len(legs.feet), -1).min(axis=2) - ball.radius_m - FOOT_RADIUS_M
    step = np.diff(moved, axis=0, append=moved[-1:])
    change = np.sqrt(np.square(step[:, ::2]).sum(axis=1))
    frames, feet, impulses = [], [], []
    for begin, end in true_runs((gaps.min(axis=1) < _NEAR_M) & (change * fps > _KICKED * 10)):
        whole = moved[min(end, len(moved) - 1)] - moved[begin]
        if np.hypot(whole[0], whole[2]) < _KICKED:
            continue
        frame = begin + int(change[begin:end].argmax())
        frames.append(frame)
        feet.append(legs.feet[int(gaps[frame].argmin())])
        impulses.append(ball.mass_kg * whole)
    return BallTouches(
        np.array(frames, np.int64),
        tuple(feet),
        np.array(impulses).reshape(-1, 3),
        np.zeros(len(frames)),
    )
