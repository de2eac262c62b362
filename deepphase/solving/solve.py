"""Solving of point tracks for clips: a skeleton of constant lengths, rotations, locked feet."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d, grey_opening

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip, in_float32, joint_positions
from deepphase.motion.contacts import sliding_speed
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.point_track import PointTrack
from deepphase.motion.resample import low_passed, low_passed_clip
from deepphase.motion.roles import find_roles
from deepphase.solving.feet import find_holds, with_tips_at
from deepphase.solving.fitting import initial_guess, scale_to, solve_body
from deepphase.solving.pose_solver import BodyModel, PoseSolver

# Cutoff of the low-pass of points and rotations.
_SMOOTHING_HZ = 6.0
# Gauss-Newton steps from the initial guess, and again close to the smoothed poses, whose cutoff is
# this share of that above.
_STEPS, _STEPS_AGAIN, _PRIOR_SHARE = 4, 3, 0.5
# Weight of the points of feet that are held, relative to other points.
_FOOT_WEIGHT = 3.0
# Seconds within which some foot is on the floor, and the change of the floor's height that is not
# levelled, as a share of the leg length.
_FLOOR_WINDOW_S, _LEVEL_SHARE = 2.0, 0.05
# Leg lengths per second: drift is slower, and climbing or jumping on a box is faster.
_CLIMB_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class FeetMeasures:
    """Contacts in which feet were held, and the corrections."""

    contacts: Array  # (frames, 2) bool: left and right foot held; all false if feet are not held
    moved: Array  # (frames, 2) metres: distance by which the feet were moved
    # m/s: mean speed over the ground of feet in contact, before and after they were held.
    sliding_before: float
    sliding_after: float


@dataclass(frozen=True, eq=False)
class SolvedMotion:
    """A solved clip and its residuals."""

    clip: Clip
    body: BodyModel
    points: tuple[str, ...]  # (points,) names of the track's points
    # (frames, points) metres: distance of each scaled point from its position on the body; in gaps
    # that of the bridged position.
    residuals: Array
    feet: FeetMeasures
    scale: float = 1.0


def solve_points(motion: PointTrack | Clip, body: BodyModel | None = None) -> SolvedMotion:
    """Solve for a clip of constant lengths whose joints follow the points of a track.

    A track of another size is scaled to a body that is given.
    """
    track, scale = track_of(motion), 1.0
    if body is None:
        body = solve_body([track])
    else:
        scale = scale_to(track, body)
    raw = track.positions.astype(np.float64) * scale
    notes = [*body.plan.notes, *_level(raw, body, track.fps)]
    points = low_passed(raw, _SMOOTHING_HZ, track.fps)
    notes.append(f"smoothed to {_SMOOTHING_HZ:g} Hz" if points is not raw else "unsmoothed")
    solver = PoseSolver(body)
    # Points in gaps do not pull.
    weights = np.ones((1, points.shape[1])) if track.present is None else 1.0 * track.present
    poses = solver.solve(initial_guess(body, points, track.fps), points, _STEPS, weights=weights)
    prior = low_passed_clip(poses, _PRIOR_SHARE * _SMOOTHING_HZ)
    poses = solver.solve(prior, points, _STEPS_AGAIN, prior=prior, weights=weights)
    poses, feet = _with_held_feet(solver, low_passed_clip(poses, _SMOOTHING_HZ), weights)
    residuals = np.linalg.norm(solver.points(poses) - raw, axis=-1).astype(np.float32)
    source = replace(track.source, notes=(*track.source.notes, *notes))
    clip = in_float32(replace(poses, labels=track.labels, source=source, name=track.name))
    return SolvedMotion(clip, body, track.names, residuals, feet, scale)


def _level(points: Array, body: BodyModel, fps: float) -> list[str]:
    """Take the drift of the floor, the lower envelope of the feet, out of points; returns notes."""
    feet = {joint for leg in body.plan.legs for joint in leg[2:] if joint >= 0}
    of_feet = [point for point, joint in enumerate(body.plan.carriers) if joint in feet]
    low = points[:, of_feet, 1].min(axis=1)
    window = min(len(low), max(1, round(_FLOOR_WINDOW_S * fps)))
    floor = grey_opening(low, window)
    floor = gaussian_filter1d(floor, 0.25 * _FLOOR_WINDOW_S * fps, mode="nearest")
    drift, cm = floor - floor.min(), f"{100 * np.ptp(floor):.0f} cm"
    if np.abs(np.diff(drift)).max(initial=0.0) * fps > _CLIMB_SHARE * body.size:
        how = "as fast as on boxes or stairs: not levelled"
        return [f"the ground under the feet changes by {cm}, {how}"]
    if np.ptp(drift) > _LEVEL_SHARE * body.size:
        points[..., 1] -= drift[:, None]
        return [f"the floor drifts by {cm} in height: levelled"]
    return []


def _with_held_feet(solver: PoseSolver, poses: Clip, weights: Array) -> tuple[Clip, FeetMeasures]:
    """Solve again with the feet held, then correct the legs exactly by inverse kinematics."""
    body = solver.body
    roles = find_roles(body.skeleton)
    holds = find_holds(poses, roles, body.size)
    targets, weights = solver.points(poses), weights.copy()
    for foot, leg in enumerate(body.plan.legs):
        points = np.isin(body.plan.carriers, leg[2:])
        targets[:, points] += holds.shifts[:, [foot]]
        weights[:, points] *= _FOOT_WEIGHT
    poses = solver.solve(poses, targets, _STEPS_AGAIN, prior=poses, weights=weights)
    limbs = LegChains.from_skeleton(poses.skeleton, roles)
    poses = with_tips_at(poses, roles, limbs, holds.tips + holds.shifts)
    tips = joint_positions(poses)[:, holds.joints]
    return poses, FeetMeasures(
        holds.contacts,
        np.linalg.norm(tips - holds.tips, axis=-1).astype(np.float32),
        sliding_speed(holds.tips, holds.contacts, poses.fps),
        sliding_speed(tips, holds.contacts, poses.fps),
    )


def track_of(motion: PointTrack | Clip) -> PointTrack:
    """Convert a clip of points back to a track; SkeletonError if the clip has rotations."""
    if isinstance(motion, PointTrack):
        return motion
    if motion.has_rotations:
        raise SkeletonError(
            "the motion has joint rotations already",
            hint="give a point track: positions of points without rotations",
            path=motion.source.path or None,
        )
    parents = motion.skeleton.parents
    return PointTrack(
        names=motion.skeleton.names,
        positions=joint_positions(motion),
        fps=motion.fps,
        edges=np.stack([parents[1:], np.arange(1, len(parents))], axis=1),
        labels=motion.labels,
        source=motion.source,
        name=motion.name,
    )
