"""Cycles of a motion: what it repeats beside a gap says how it goes on in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array, smoothstep
from deepphase.edit.curves import blended, bridged, bridged_rotations
from deepphase.edit.motion_rows import MotionSpace, integrated_root, root_velocities
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
)

# Seconds of a cycle, seconds beside a gap in which it is looked for, and the fewest of them.
_CYCLE_S, _BESIDE_S, _FEWEST_S = (0.4, 2.0), 2.5, 0.25
# The shortest cycle whose poses are this much further apart than those of the best is taken.
_NEARLY = 1.2
# A motion is periodic if poses a cycle apart are nearer than this share of the spread of all.
_PERIODIC = 0.8


@dataclass(frozen=True, eq=False)
class Cycle:
    """Frames whole cycles before and after those of a gap, and of two frames on both sides."""

    frames: Array
    before: Array
    after: Array
    share: Array  # weight of the frames after it
    error: float  # metres: root mean square distance of joints in poses a cycle apart

    @classmethod
    def found(cls, points: Array, whole: Array, start: int, stop: int, fps: float) -> Cycle | None:
        """The cycle of points (frames, points, 3) in root space around a gap; None without one."""
        beside = round(_BESIDE_S * fps)
        first, last = max(start - beside, 0), min(stop + beside, len(points))
        period, error = _period(
            points[first:last], whole[first:last], start - first, stop - first, fps
        )
        if not period:
            return None
        frames = np.arange(max(start - 2, 0), min(stop + 2, len(whole)))
        # The step from a frame to the next is read as well.
        before, after = (
            np.maximum(np.ceil(each / period), 1).astype(int) * period
            for each in (frames - start + 2, stop - frames)
        )
        before, after = frames - before, frames + after
        reached = [
            (side >= 0) & (side < len(whole)) & whole[np.clip(side, 0, len(whole) - 1)]
            for side in (before, after)
        ]
        if not (reached[0] | reached[1]).all():
            return None
        ramp = smoothstep(np.linspace(0.0, 1.0, len(frames)))
        share = np.where(reached[0] & reached[1], ramp, reached[1])
        before, after = (np.clip(side, 0, len(whole) - 1) for side in (before, after))
        return cls(frames, before, after, share, error)

    def of(self, values: Array) -> Array:
        """Values (frames, ...) of a motion with those of the cycle in the gap and beside it."""
        result, share = values.copy(), self.share.reshape(-1, *(1,) * (values.ndim - 1))
        result[self.frames] = (1.0 - share) * values[self.before] + share * values[self.after]
        return result


def _period(points: Array, whole: Array, start: int, stop: int, fps: float) -> tuple[int, float]:
    """Frames of a cycle, 0 without one, and its error as of `Cycle`."""
    flat = (points - points[whole].mean(axis=0)).reshape(len(points), -1)
    squares = (flat**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2.0 * flat @ flat.T, 0.0) / points.shape[1]
    pairs = whole[:, None] & whole
    across = np.zeros_like(pairs)
    across[:start, stop:] = pairs[:start, stop:]
    shortest, longest = (round(seconds * fps) for seconds in _CYCLE_S)
    errors = np.full(max(longest, shortest) + 1, np.inf)
    for period in range(shortest, min(longest, len(points) - 2) + 1):
        # More cycles than one count where they lead over the gap.
        lags = range(2 * period, min(len(points), stop - start + 2 * period + 1), period)
        values = np.concatenate(
            [np.diagonal(apart, period)[np.diagonal(pairs, period)]]
            + [np.diagonal(apart, lag)[np.diagonal(across, lag)] for lag in lags]
        )
        if len(values) >= _FEWEST_S * fps:
            errors[period] = np.sqrt(values.mean())
    spread = np.sqrt(squares[whole].mean() / points.shape[1])
    if not errors.min() < _PERIODIC * spread:
        return 0, 0.0
    period = int((errors <= _NEARLY * errors.min()).argmax())
    while period < len(errors) - 1 and errors[period + 1] < errors[period]:
        period += 1
    return period, float(errors[period])


def points_in_root_space(clip: Clip, space: MotionSpace) -> tuple[Array, RootTrajectory]:
    """(frames, body joints, 3) metres, and the root trajectory."""
    positions = joint_positions(clip)
    root = root_trajectory(clip, space.roles_of(clip), positions=positions)
    return to_root_space(positions[:, space.points.joints], root), root


def continued(
    clip: Clip, space: MotionSpace, root: RootTrajectory, cycle: Cycle, start: int, stop: int
) -> tuple[Array, Array]:
    """Rotations (frames, body joints, 4) and places (frames, 3) of a clip whose gap goes on."""
    fps, broken = clip.fps, np.zeros(len(clip), bool)
    broken[start:stop] = True
    rotations, places = space.pose(clip)
    rotations[:, 0] = quaternions.multiply(quaternions.conjugate(root.rotations), rotations[:, 0])
    hips = to_root_space(places[:, None], root)[:, 0]
    velocities = root_velocities(root, fps)
    leading = slice(max(start - 1, 0), stop)
    velocities[leading] = cycle.of(velocities)[leading]
    root = bridged_root(root, velocities, broken, fps)
    estimate, share = rotations.copy(), 1.0 - cycle.share[:, None]
    estimate[cycle.frames] = blended(rotations[cycle.before], rotations[cycle.after], share)
    for joint in range(rotations.shape[1]):
        rotations[:, joint] = bridged_rotations(
            estimate[:, joint], rotations[:, joint], broken, fps
        )
    hips = bridged(cycle.of(hips), hips, broken, fps)
    rotations[:, 0] = quaternions.multiply(root.rotations, rotations[:, 0])
    return rotations, from_root_space(hips[:, None], root)[:, 0]


def bridged_root(
    root: RootTrajectory, velocities: Array, broken: Array, fps: float
) -> RootTrajectory:
    """The root where it is not broken (frames,), and along velocities (frames, 3) between."""
    places, angles = root.positions[:, ::2].astype(np.float64), root.angles.astype(np.float64)
    followed = integrated_root(velocities, fps, places[0], float(angles[0]))
    turned = bridged(followed.angles[:, None], angles[:, None], broken, fps)[:, 0]
    # The way is led by the facing that arrives, not by one that has drifted.
    velocities = velocities.copy()
    velocities[:-1, 2] = np.diff(turned) * fps
    followed = integrated_root(velocities, fps, places[0], float(angles[0]))
    return RootTrajectory.from_ground(
        bridged(followed.positions[:, ::2], places, broken, fps), turned
    )
