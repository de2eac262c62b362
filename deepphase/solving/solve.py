"""A clip with rotations out of a point track: one skeleton of constant lengths, clean feet."""

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
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.motion.resample import low_passed
from deepphase.motion.roles import Roles
from deepphase.solving.body import BodyModel, planned_positions
from deepphase.solving.feet import find_holds, reach_holds, sliding_speed, toe_positions
from deepphase.solving.fitting import check_points, initial_guess, scale_to, solve_body
from deepphase.solving.point_tree import PointStructure
from deepphase.solving.pose_solver import PoseSolver, SolverState, low_passed_state, quaternions_of

# Steps towards the points from the first guess, and again near the smoothed poses; the metres
# that count as much as a radian off these, and the share of the cutoff that they are smoothed to.
_STEPS, _STEPS_AGAIN = 4, 3
_PRIOR_M, _PRIOR_SHARE = 0.1, 0.5
# Points of feet count so many times as much while feet are held.
_FOOT_WEIGHT = 3.0
# Seconds within which a foot stands on the floor, and of the leg's length: what the floor's height
# may seem to change without being levelled.
_FLOOR_WINDOW_S, _LEVEL_SHARE = 2.0, 0.05


@dataclass(frozen=True)
class SolveSettings:
    """How points become a clip.

    Parameters
    ----------
    smoothing_hz
        What is faster in points and rotations is taken for noise; 0 for no smoothing.
    hold_feet
        Whether feet are held where they stand.
    level_floor
        Whether a floor whose height drifts is levelled; one that stays is left alone.
    """

    smoothing_hz: float = 6.0
    hold_feet: bool = True
    level_floor: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.smoothing_hz) and self.smoothing_hz >= 0):
            raise ParameterError(
                f"smoothing_hz {self.smoothing_hz}", hint="a number of hertz, 0 for no smoothing"
            )


@dataclass(frozen=True, eq=False)
class FeetMeasures:
    """Feet that were held where they stand, and what that took.

    Parameters
    ----------
    contacts
        (frames, 2) bool: where the left and the right foot are held; all false where feet are not.
    moved
        (frames, 2) metres: how far the feet were moved.
    sliding_before, sliding_after
        m/s: mean speed over the ground of feet in contact, before and after they were held.
    """

    contacts: Array
    moved: Array
    sliding_before: float
    sliding_after: float


@dataclass(frozen=True, eq=False)
class SolvedMotion:
    """A clip of a rig and how well it fits its points.

    Parameters
    ----------
    clip
        The motion: only its root is translated. At the track's rate, with its labels and source.
    body
        The body that it is of.
    points
        (points,) names of the track's points.
    residuals
        (frames, points) metres: from each point, times `scale`, to its place on the body.
    feet
        How the feet were held.
    scale
        Times that all points were enlarged to be of the body's size; 1 for a body of their own.
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
    """A clip of constant lengths whose joints follow the points of a track.

    Parameters
    ----------
    motion
        A point track, or the clip that a reader made of one.
    body
        The body to use, as of :func:`solve_body`; None for one that is fitted to this track. Points
        of a person of another size are enlarged or shrunk as a whole, their way too.
    description, structure
        As :func:`solve_body`; not asked where a body is given.
    settings
        How much is smoothed and whether feet are held.

    Raises
    ------
    SkeletonError
        Where the clip has rotations already, the points are others than the body's, or no two
        legs are found.
    """
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
        if np.ptp(drift) > _LEVEL_SHARE * body.size:
            raw[..., 1] -= drift[:, None]
            notes.append(f"the floor drifts by {100 * np.ptp(drift):.0f} cm in height: levelled")
    points = low_passed(raw, settings.smoothing_hz, track.fps)
    notes.append(f"smoothed to {settings.smoothing_hz:g} Hz" if points is not raw else "unsmoothed")
    solver = PoseSolver(body)
    state = _solved(solver, points, track.fps, settings.smoothing_hz)
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
        clip, feet = _with_held_feet(solver, state, clip)
        state = SolverState(_matrices(clip), clip.translations[:, 0])
    residuals = np.linalg.norm(solver.points(state) - raw, axis=-1)
    clip = replace(
        clip,
        rotations=clip.rotations.astype(np.float32),
        translations=clip.translations.astype(np.float32),
    )
    return SolvedMotion(clip, body, track.names, residuals.astype(np.float32), feet, scale)


def floor_drift(points: Array, body: BodyModel, fps: float) -> Array:
    """(frames,) metres: how much higher than at its lowest the floor seems to be.

    Inertial suits lose their height over minutes. The floor is the lower envelope of the feet:
    within two seconds one of them stands.

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
    solver: PoseSolver, state: SolverState, clip: Clip
) -> tuple[Clip, FeetMeasures]:
    """The whole body follows feet that are held, and then the legs reach exactly."""
    body, fps = solver.body, clip.fps
    roles = body_roles(body)
    holds = find_holds(clip, roles, body.size)
    targets, weights = solver.points(state), np.ones(len(body.plan.carriers))
    for foot, leg in enumerate(body.plan.legs):
        for point, carrier in enumerate(body.plan.carriers):
            if carrier in leg[2:]:
                targets[:, point] += holds.shifts[:, foot]
                weights[point] = _FOOT_WEIGHT
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
    """The track that a clip of points is of; a track passes through.

    Raises SkeletonError where the clip has rotations.
    """
    if isinstance(motion, PointTrack):
        return motion
    if motion.has_rotations:
        raise SkeletonError(
            "a motion with rotations needs no rig",
            hint="point tracks are rigged: positions of points without rotations",
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


def _solved(solver: PoseSolver, points: Array, fps: float, smoothing_hz: float) -> SolverState:
    body = solver.body
    whole = PointTrack(tuple(map(str, range(points.shape[1]))), points, fps)
    positions = planned_positions(whole, body.plan)
    state = solver.solve(initial_guess(body, positions, points, fps), points, _STEPS)
    if smoothing_hz <= 0:
        return solver.solve(state, points, _STEPS_AGAIN)
    prior = low_passed_state(state, _PRIOR_SHARE * smoothing_hz, fps)
    state = solver.solve(prior, points, _STEPS_AGAIN, prior=prior, prior_m=_PRIOR_M)
    return low_passed_state(state, smoothing_hz, fps)


def _matrices(clip: Clip) -> Array:
    flat = Rotation.from_quat(clip.rotations.reshape(-1, 4)).as_matrix()
    return flat.reshape(*clip.rotations.shape[:2], 3, 3)
