"""Curves through what is known of a motion, estimates that are moved to continue it, and cycles:
what a motion repeats beside a gap says how it goes on in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, smoothstep, true_runs
from deepphase.edit.motion_rows import MotionSpace, integrated_root, root_velocities
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
)

# Seconds over which a difference of velocity at the edge of a restored stretch fades.
_FADE_S = 0.1
# The curve: length and noise of its covariance, chosen on other clips than those reported; the part
# of a clip that is computed at once, and what is read on both sides of it, in seconds.
_LENGTH_S, _NOISE = 0.2, 1e-6
_PART_S, _BESIDE_S = 1.6, 0.8


def straight(values: Array, known: Array) -> Array:
    """Values (frames, values) interpolated linearly where they are not known (frames,)."""
    has = np.flatnonzero(known)
    if not len(has):
        return values.copy()
    frames = np.arange(len(values))
    lines = np.stack([np.interp(frames, has, own) for own in values[has].T], axis=1)
    return np.where(known[:, None], values, lines)


def slerped(rotations: Array, known: Array) -> Array:
    """As `straight`, for quaternions (frames, 4), by spherical interpolation."""
    has, lost = np.flatnonzero(known), np.flatnonzero(~known)
    result = rotations.copy()
    if len(has) == 1:
        result[:] = rotations[has[0]]
    elif len(has) and len(lost):
        between = Slerp(has, Rotation.from_quat(rotations[has]))
        result[lost] = between(np.clip(lost, has[0], has[-1])).as_quat()
    return result


def curve(values: Array, known: Array, fps: float) -> Array:
    """(frames, values) a smooth curve through the known values.

    It is the mean of a Gaussian process with a Matern kernel of order 5/2 around a straight line
    (Rasmussen and Williams 2006, equations 2.25 and 4.17), computed for a few seconds at a time.
    """
    result, has = values.copy(), np.flatnonzero(known)
    if len(has) < 4:
        return result
    part, beside = round(_PART_S * fps), round(_BESIDE_S * fps)
    for start in range(int(has[0]), int(has[-1]) + 1, part):
        lost = np.arange(start, min(start + part, int(has[-1]) + 1))
        lost = lost[~known[lost]]
        if not lost.size:
            continue
        near = has[(has >= start - beside) & (has < start + part + beside)]
        if len(near) < 4:
            near = np.sort(has[np.argsort(np.abs(has - start), kind="stable")[:8]])
        line = np.stack([np.ones(len(near)), near - start], axis=1)
        slope = np.linalg.lstsq(line, values[near], rcond=None)[0]
        kernel = _matern(near[:, None] - near, fps) + _NOISE * np.eye(len(near))
        weights = cho_solve(cho_factor(kernel), values[near] - line @ slope)
        trend = np.stack([np.ones(len(lost)), lost - start], axis=1) @ slope
        result[lost] = trend + _matern(lost[:, None] - near, fps) @ weights
    return result


def rotation_curves(rotations: Array, known: Array, fps: float) -> Array:
    """(frames, joints, 4) smooth curves through the known rotations (frames, joints)."""
    curves = rotations.copy()
    for joint in np.flatnonzero(~known.all(axis=0)):
        has, values = known[:, joint], rotations[:, joint].copy()
        values[has] = quaternions.sign_continuous(values[has])
        curves[:, joint] = quaternions.normalized(curve(values, has, fps))
    return curves


def _matern(frames: Array, fps: float) -> Array:
    """Matern covariance of order 5/2 at distances in frames."""
    scaled = np.sqrt(5.0) * np.abs(frames) / (_LENGTH_S * fps)
    return np.asarray((1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled))


def mixed(rotations: Sequence[Array], weights: Sequence[Array | float]) -> Array:
    """(frames, joints, 4) means of several rotations, with weights (frames, 1 or joints)."""
    mean = np.zeros_like(rotations[0])
    for own, weight in zip(rotations, weights, strict=True):
        sign = np.where((own * rotations[0]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        mean += np.asarray(weight)[..., None] * sign * own
    return quaternions.normalized(mean)


def blended(first: Array, second: Array, weights: Array) -> Array:
    """(frames, joints, 4) means of rotations, with weights (frames, joints) of the first."""
    return mixed([first, second], [weights, 1.0 - weights])


def bridged(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """`own` values (frames, values) with estimates that continue them where `broken` (frames,)."""
    result = own.copy()
    result[broken] = estimate[broken] + _offsets(own - estimate, broken, fps)[broken]
    return result


def bridged_rotations(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """As `bridged`, for quaternions (frames, 4)."""
    result = own.copy()
    if broken.any():
        apart = quaternions.vectors_between(estimate, own)
        turns = quaternions.from_rotation_vectors(_offsets(apart, broken, fps)[broken])
        result[broken] = quaternions.multiply(turns, estimate[broken])
    return quaternions.sign_continuous(result)


def eased(line: tuple[Array, Array], broken: Array, fps: float) -> tuple[Array, Array]:
    """Lines, rotations (frames, joints, 4) and places, over stretches at the velocities of both
    ends."""
    turns, places = line
    ahead = quaternions.normalized(_extended(turns, broken))
    joints = range(turns.shape[1])
    turns = np.stack([bridged_rotations(ahead[:, j], turns[:, j], broken, fps) for j in joints], 1)
    return turns, bridged(_extended(places, broken), places, broken, fps)


def _extended(line: Array, broken: Array) -> Array:
    """Values that go on along the lines over broken stretches for a frame beside them."""
    ahead = line.copy()
    for first, stop in true_runs(broken):
        for beside, edge, inner in ((first - 2, first - 1, first), (stop + 1, stop, stop - 1)):
            if 0 <= beside < len(line) and not broken[beside]:
                ahead[beside] = 2.0 * line[edge] - line[inner]
    return ahead


def _offsets(apart: Array, broken: Array, fps: float) -> Array:
    """(frames, values) differences at whole frames, continued over broken stretches."""
    offsets = apart.copy()
    frames = len(broken)
    for first, stop in true_runs(broken):
        here = slice(first, stop)
        if first == 0 or stop == frames:
            offsets[here] = apart[stop] if stop < frames else apart[first - 1] if first else 0.0
            continue
        length = stop - first + 1
        share = (np.arange(1, length) / length)[:, None]
        offsets[here] = apart[first - 1] + (apart[stop] - apart[first - 1]) * smoothstep(share)
        for edge, inner, away in ((first - 1, first - 2, share), (stop, stop + 1, 1.0 - share)):
            if 0 <= inner < frames and not broken[inner]:
                slope = apart[edge] - apart[inner]
                fade = np.exp(-away * length / (_FADE_S * fps))
                offsets[here] += slope * length * away * (1.0 - away) ** 2 * fade
    return offsets


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
