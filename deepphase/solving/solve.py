"""Solving of point tracks for clips: a skeleton of constant lengths, rotations, locked feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, grey_opening
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import sliding_speed
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.motion.resample import low_passed
from deepphase.motion.roles import Roles
from deepphase.solving.body import BodyModel, planned_positions
from deepphase.solving.feet import find_holds, reach_holds, toe_positions
from deepphase.solving.fitting import check_points, initial_guess, scale_to, solve_body
from deepphase.solving.point_tree import PointStructure
from deepphase.solving.pose_solver import PoseSolver, SolverState, low_passed_state, quaternions_of

# Gauss-Newton steps from the initial guess, and again close to the smoothed poses; the weight of
# the difference from these in metres per radian, and their cutoff as a share of the given one.
_STEPS, _STEPS_AGAIN = 4, 3
_PRIOR_M, _PRIOR_SHARE = 0.1, 0.5
# Weight of the points of feet that are held, relative to other points.
_FOOT_WEIGHT = 3.0
# Seconds within which some foot is on the floor, and the change of the floor's height that is not
# levelled, as a share of the leg length.
_FLOOR_WINDOW_S, _LEVEL_SHARE = 2.0, 0.05
# Leg lengths per second: drift is slower, and climbing or jumping on a box is faster.
_CLIMB_SHARE = 0.15


@dataclass(frozen=True)
class SolveSettings:
    """Settings of `solve_points`.

    Parameters
    ----------
    smoothing_hz
        Cutoff frequency of the low-pass of points and rotations, Hz; 0 for no smoothing.
    """

    smoothing_hz: float = 6.0
    hold_feet: bool = True
    level_floor: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.smoothing_hz) and self.smoothing_hz >= 0):
            raise ParameterError(
                f"smoothing_hz {self.smoothing_hz} is not possible",
                hint="a number of hertz, 0 for no smoothing",
            )


@dataclass(frozen=True, eq=False)
class FeetMeasures:
    """Contacts in which feet were held, and the corrections.

    Parameters
    ----------
    contacts
        (frames, 2) bool: left and right foot held; all false if feet are not held.
    moved
        (frames, 2) metres: distance by which the feet were moved.
    sliding_before, sliding_after
        m/s: mean speed over the ground of feet in contact, before and after they were held.
    """

    contacts: Array
    moved: Array
    sliding_before: float
    sliding_after: float


@dataclass(frozen=True, eq=False)
class SolvedMotion:
    """A solved clip and its residuals.

    Parameters
    ----------
    points
        (points,) names of the track's points.
    residuals
        (frames, points) metres: distance of each scaled point from its position on the body; in
        gaps that of the bridged position.
    """

    clip: Clip
    body: BodyModel
    points: tuple[str, ...]
    residuals: Array
    feet: FeetMeasures
    scale: float = 1.0


def solve_points(
    motion: PointTrack | Clip,
    body: BodyModel | None = None,
    *,
    description: Mapping[str, Any] | None = None,
    structure: PointStructure | None = None,
    settings: SolveSettings | None = None,
) -> SolvedMotion:
    """Solve for a clip of constant lengths whose joints follow the points of a track."""
    settings = settings or SolveSettings()
    track = track_of(motion)
    if body is None:
        body = solve_body([track], description, structure=structure)
        scale = 1.0
    else:
        check_points(track, len(body.plan.carriers))
        scale = scale_to(track, body)
    raw = track.positions.astype(np.float64) * scale
    notes = [*body.plan.notes]
    if settings.level_floor:
        drift = floor_drift(raw, body, track.fps)
        fastest = float(np.abs(np.diff(drift)).max(initial=0.0)) * track.fps
        if fastest > _CLIMB_SHARE * body.size:
            notes.append(
                f"the ground under the feet changes by {100 * np.ptp(drift):.0f} cm, as fast as on "
                "boxes or stairs: not levelled"
            )
        elif np.ptp(drift) > _LEVEL_SHARE * body.size:
            raw[..., 1] -= drift[:, None]
            notes.append(f"the floor drifts by {100 * np.ptp(drift):.0f} cm in height: levelled")
    points = low_passed(raw, settings.smoothing_hz, track.fps)
    notes.append(f"smoothed to {settings.smoothing_hz:g} Hz" if points is not raw else "unsmoothed")
    solver = PoseSolver(body)
    # Points in gaps do not pull.
    weights = np.ones((1, points.shape[1])) if track.present is None else 1.0 * track.present
    state = _solve_poses(solver, points, weights, track.fps, settings.smoothing_hz)
    clip = Clip(
        skeleton=body.skeleton,
        rotations=quaternions_of(state),
        translations=state.root[:, None],
        fps=track.fps,
        labels=track.labels,
        source=replace(track.source, notes=(*track.source.notes, *notes)),
        name=track.name,
    )
    feet = FeetMeasures(np.zeros((len(track), 2), bool), np.zeros((len(track), 2)), 0.0, 0.0)
    if settings.hold_feet:
        clip, feet = _with_held_feet(solver, state, clip, weights)
        state = SolverState(_matrices(clip), clip.translations[:, 0])
    residuals = np.linalg.norm(solver.points(state) - raw, axis=-1)
    clip = replace(
        clip,
        rotations=clip.rotations.astype(np.float32),
        translations=clip.translations.astype(np.float32),
    )
    return SolvedMotion(clip, body, track.names, residuals.astype(np.float32), feet, scale)


def floor_drift(points: Array, body: BodyModel, fps: float) -> Array:
    """(frames,) metres: apparent height of the floor over its lowest.

    The height from inertial suits drifts over minutes. The floor is the lower envelope of the
    feet: within two seconds one of them is in contact.

    Parameters
    ----------
    points
        (frames, points, 3) metres.
    """
    feet = {joint for leg in body.plan.legs for joint in leg[2:] if joint >= 0}
    of_feet = [point for point, joint in enumerate(body.plan.carriers) if joint in feet]
    low = points[:, of_feet, 1].min(axis=1)
    window = min(len(low), max(1, round(_FLOOR_WINDOW_S * fps)))
    floor = grey_opening(low, window)
    floor = gaussian_filter1d(floor, 0.25 * _FLOOR_WINDOW_S * fps, mode="nearest")
    return floor - floor.min()


def _with_held_feet(
    solver: PoseSolver, state: SolverState, clip: Clip, weights: Array
) -> tuple[Clip, FeetMeasures]:
    """Solve again with the feet held, then correct the legs exactly by inverse kinematics."""
    body, fps = solver.body, clip.fps
    roles = body_roles(body)
    holds = find_holds(clip, roles, body.size)
    targets, weights = solver.points(state), weights.copy()
    for foot, leg in enumerate(body.plan.legs):
        for point, carrier in enumerate(body.plan.carriers):
            if carrier in leg[2:]:
                targets[:, point] += holds.shifts[:, foot]
                weights[:, point] *= _FOOT_WEIGHT
    state = solver.solve(
        state, targets, _STEPS_AGAIN, prior=state, prior_m=_PRIOR_M, weights=weights
    )
    clip = replace(clip, rotations=quaternions_of(state), translations=state.root[:, None])
    clip = reach_holds(clip, roles, holds)
    tips = toe_positions(clip, roles)
    return clip, FeetMeasures(
        holds.contacts,
        np.linalg.norm(tips - holds.tips, axis=-1).astype(np.float32),
        sliding_speed(holds.tips, holds.contacts, fps),
        sliding_speed(tips, holds.contacts, fps),
    )


def track_of(motion: PointTrack | Clip) -> PointTrack:
    """Convert a clip of points back to a track; a track is returned unchanged.

    Raises SkeletonError if the clip has rotations.
    """
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


def body_roles(body: BodyModel) -> Roles:
    """The roles of a body's joints."""
    plan = body.plan
    fields: dict[str, int | None] = {}
    for side, leg in zip(("left", "right"), plan.legs, strict=True):
        for part, joint in zip(("hip", "knee", "foot", "toe"), leg, strict=True):
            fields[f"{side}_{part}"] = None if joint < 0 else joint
    for side, arm in zip(("left", "right"), plan.arms, strict=False):
        for part, joint in zip(("shoulder", "elbow", "hand"), arm, strict=True):
            fields[f"{side}_{part}"] = joint
    head = None if plan.head < 0 else plan.head
    return Roles(hips=0, pairs=np.array(plan.pairs), kind="biped", head=head, **fields)  # type: ignore[arg-type]


def _solve_poses(
    solver: PoseSolver, points: Array, weights: Array, fps: float, smoothing_hz: float
) -> SolverState:
    body = solver.body
    whole = PointTrack(tuple(map(str, range(points.shape[1]))), points, fps)
    positions = planned_positions(whole, body.plan)
    state = solver.solve(
        initial_guess(body, positions, points, fps), points, _STEPS, weights=weights
    )
    if smoothing_hz <= 0:
        return solver.solve(state, points, _STEPS_AGAIN, weights=weights)
    prior = low_passed_state(state, _PRIOR_SHARE * smoothing_hz, fps)
    state = solver.solve(
        prior, points, _STEPS_AGAIN, prior=prior, prior_m=_PRIOR_M, weights=weights
    )
    return low_passed_state(state, smoothing_hz, fps)


def _matrices(clip: Clip) -> Array:
    flat = Rotation.from_quat(clip.rotations.reshape(-1, 4)).as_matrix()
    return flat.reshape(*clip.rotations.shape[:2], 3, 3)
