"""Fitting of a body: its lengths and the offsets of its points, together with its poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.point_track import PointTrack
from deepphase.motion.skeleton import Skeleton, subtree_mask
from deepphase.solving.planning import JointPlan, plan_joints
from deepphase.solving.point_structure import (
    UP,
    PointStructure,
    clip_of_points,
    facing_of,
    find_structure,
)
from deepphase.solving.pose_solver import BodyModel, PoseSolver, hinge_axis

_MIRROR = np.array([-1.0, 1.0, 1.0])
# Relative difference of sizes below which tracks belong to one person.
_SAME_SIZE = 0.03
# Numbers of tracks that a shared body is fitted to, and of frames of all of them together.
_MAX_TRACKS, _MAX_FRAMES = 12, 900
_ROUNDS = 4
# Share of the frames, those with the lowest toes, in which a foot is assumed to be flat.
_FLAT_SHARE = 0.2
# Regularization of point offsets and of lengths, relative to the noise of one frame: points lie
# on the skin, near their joints.
_POINT_SHARE, _LENGTH_SHARE = 0.04, 0.005
# The joints of standard marker sets are at known places: how much more their lengths are kept.
_STIFF = 200.0
# Weight of the parent's rotation, as a share of the squared lengths: it decides what the points
# leave open, as the rotation about the axis of a limb.
_AS_PARENT = 0.02
# Seconds over which the axis of a knee or elbow is averaged, weighted by its bend; and the share
# of the body's left in the axis of a knee, for straight knees and for noise that bends them to
# the front.
_HINGE_S, _LEFT_SHARE = 0.12, 0.3
# Weight of that axis beside the limb itself.
_HINGE_SHARE = 0.5


def solve_body(
    tracks: Sequence[PointTrack],
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> BodyModel:
    """The body shared by tracks of the same points, fitted to those of about the median size."""
    if not tracks:
        raise ParameterError("a body needs at least one track")
    structure = find_structure(tracks[0], description) if structure is None else structure
    plan = plan_joints(tracks[0], structure, description)
    sizes = np.array([_measured(track, plan) for track in tracks])
    order = np.argsort(np.abs(sizes / np.median(sizes) - 1.0), kind="stable")
    near = [index for index in order if abs(sizes[index] / sizes[order[0]] - 1.0) < _SAME_SIZE]
    return _fit_body([tracks[index] for index in near[:_MAX_TRACKS]], plan)


def scale_to(track: PointTrack, body: BodyModel) -> float:
    """Factor that scales a track's points to a body's size; 1 if the sizes nearly agree."""
    scale = body.measured / max(_measured(track, body.plan), 1e-9)
    return 1.0 if abs(scale - 1.0) < _SAME_SIZE else scale


def _measured(track: PointTrack, plan: JointPlan) -> float:
    """Metres: length of all limbs. Raises SkeletonError for a track of other points."""
    if len(track.names) != len(plan.carriers):
        raise SkeletonError(
            f"{len(track.names)} points, but the shared skeleton has {len(plan.carriers)}",
            hint="solve files with other points separately",
            path=track.source.path or None,
        )
    return _limb_length(_rest_offsets(track, plan), plan)


def _limb_length(offsets: Array, plan: JointPlan) -> float:
    lower = [joint for limb in plan.limbs for joint in limb[1:]]
    return float(np.linalg.norm(offsets[lower], axis=1).sum())


def _rest_offsets(track: PointTrack, plan: JointPlan) -> Array:
    """(joints, 3) metres: mean pose of the trunk, legs straight down, arms sideways."""
    skeleton = clip_of_points(track, structure=plan.structure).skeleton
    offsets = skeleton.offsets.copy()
    lengths = np.linalg.norm(offsets, axis=1)
    positions = plan.structure.joint_positions(track.positions.astype(np.float64))
    for _, knee, ankle, toe in plan.legs:
        offsets[[knee, ankle]] = -lengths[[knee, ankle], None] * UP
        if toe >= 0:
            # A foot that stands is flat and points to the front.
            heights = positions[:, toe, 1]
            low = heights <= np.quantile(heights, _FLAT_SHARE)
            down = float(np.median((positions[:, toe] - positions[:, ankle])[low, 1]))
            down = max(min(down, 0.0), -0.95 * lengths[toe])
            offsets[toe] = (0.0, down, np.sqrt(lengths[toe] ** 2 - down**2))
    for side, (shoulder, *_) in zip((1.0, -1.0), plan.arms, strict=False):
        below = np.flatnonzero(subtree_mask(skeleton, shoulder))[1:]
        offsets[below] = 0.0
        offsets[below, 0] = side * lengths[below]
    return offsets


def _body_of_offsets(
    plan: JointPlan, offsets: Array, point_offsets: Array, measured: float
) -> BodyModel:
    """The body of (joints, 3) rest offsets in metres, which are made symmetric."""
    offsets = 0.5 * (offsets + offsets[list(plan.pairs)] * _MIRROR)
    size = float(np.linalg.norm(offsets[list(plan.legs[0][1:3])], axis=1).sum())
    legs = [[joint for joint in leg if joint >= 0] for leg in plan.legs]
    height = max(0.0, *(-float(offsets[leg, 1].sum()) for leg in legs))
    offsets[0] = (0.0, height, 0.0)
    ankles = [leg[2] for leg in plan.legs]
    # Points on feet, as heels, are ends.
    extra = [
        point
        for point, carrier in enumerate(plan.carriers)
        if carrier in ankles and point_offsets[point].any() and not plan.is_at(point, carrier)
    ]
    skeleton = Skeleton(
        plan.structure.names,
        np.array(plan.structure.parents),
        offsets,
        np.array([plan.carriers[point] for point in extra], np.int64),
        point_offsets[extra],
    )
    return BodyModel(plan, skeleton, point_offsets, size, measured)


def initial_guess(body: BodyModel, points: Array, fps: float) -> Clip:
    """Initial poses whose joints have the directions measured in (frames, points, 3), metres.

    Each joint takes the rigid fit of its children and points (Kabsch 1976), with a small weight on
    its parent's rotation, and with the hinge axis of knees and elbows.
    """
    skeleton, structure = body.skeleton, body.plan.structure
    positions, parents = structure.joint_positions(points), skeleton.parents
    carriers = np.array(body.plan.carriers)
    apart = body.point_offsets.any(axis=1)
    hinges = _hinges(body, positions, fps)
    turns = np.empty((len(points), len(skeleton), 4))
    for joint, parent in enumerate(parents.tolist()):
        turns[:, joint] = facing_of(positions, structure.across) if parent < 0 else turns[:, parent]
        children = skeleton.children(joint)
        own = np.flatnonzero((carriers == joint) & apart)
        rest = np.concatenate([skeleton.offsets[children], body.point_offsets[own]])
        if not len(rest):
            continue
        measured = np.concatenate([positions[:, children], points[:, own]], axis=1)
        measured = measured - positions[:, [joint]]
        squares = np.square(rest).sum(axis=1)
        above = Rotation.from_quat(turns[:, joint]).as_matrix()
        moments = _AS_PARENT * squares.sum() * above + np.einsum("fki,kj->fij", measured, rest)
        for upper, axis, measured_axis in hinges:
            if joint in upper:
                moments += _HINGE_SHARE * squares.max() * measured_axis[:, :, None] * axis
        turns[:, joint] = quaternions.rotation_fit(moments)
    local = turns.copy()
    local[:, 1:] = quaternions.multiply(quaternions.conjugate(turns[:, parents[1:]]), turns[:, 1:])
    return Clip(skeleton, local, positions[:, :1].copy(), fps)


def _hinges(
    body: BodyModel, positions: Array, fps: float
) -> list[tuple[tuple[int, int], Array, Array]]:
    """Upper joints of each limb, hinge axis at rest, and as measured (sine of the bend)."""
    left_leg, right_leg = body.plan.legs
    left = positions[:, left_leg[0]] - positions[:, right_leg[0]]
    left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-9)
    found = []
    for place, (upper, middle, last) in enumerate(body.plan.limbs):
        thigh = positions[:, middle] - positions[:, upper]
        shin = positions[:, last] - positions[:, middle]
        size = np.linalg.norm(thigh, axis=1) * np.linalg.norm(shin, axis=1)
        axis = np.cross(thigh, shin) / np.maximum(size, 1e-9)[:, None]
        axis = gaussian_filter1d(axis, _HINGE_S * fps, axis=0, mode="nearest")
        if place < len(body.plan.legs):
            axis = axis + _LEFT_SHARE * left
        found.append(((upper, middle), hinge_axis(body.skeleton.offsets[last]), axis))
    return found


def _fit_body(tracks: Sequence[PointTrack], plan: JointPlan) -> BodyModel:
    """The body that fits the tracks of one person best.

    Alternates between poses at some frames of all tracks, and lengths and point offsets, which
    are a linear least-squares problem. Both sides have equal lengths; limbs are straight at rest.
    """
    offsets = np.median([_rest_offsets(track, plan) for track in tracks], axis=0)
    at_joints, measured = np.zeros((len(plan.carriers), 3)), _limb_length(offsets, plan)
    body = _body_of_offsets(plan, offsets, at_joints, measured)
    points = np.concatenate(
        [
            track.positions[:: max(1, -(-len(track) * len(tracks) // _MAX_FRAMES))]
            for track in tracks
        ]
    ).astype(np.float64)
    # The low rate prevents averaging over frames that are far apart in time.
    poses = initial_guess(body, points, 1e-3)
    # Points that are not joints are at their median positions.
    turns, places = (found[:, list(plan.carriers)] for found in global_transforms(poses))
    local = quaternions.rotate(quaternions.conjugate(turns), points - places)
    apart = [not plan.is_at(point, carrier) for point, carrier in enumerate(plan.carriers)]
    offsets = np.where(np.array(apart)[:, None], np.median(local, axis=0), 0.0)
    body = _body_of_offsets(plan, body.skeleton.offsets, offsets, measured)
    for _ in range(_ROUNDS):
        solver = PoseSolver(body)
        poses = solver.solve(replace(poses, skeleton=body.skeleton), points, 3)
        body = _refitted(body, poses, points - solver.points(poses))
    return body


def _refitted(body: BodyModel, poses: Clip, residual: Array) -> BodyModel:
    """The body with lengths and point offsets by linear least squares at given rotations.

    `residual` (frames, points, 3) metres is the way from its points to those measured.
    """
    plan, skeleton = body.plan, body.skeleton
    turns = global_transforms(poses)[0][:, :, None]
    freedoms = _freedoms(body)
    frames, lengths = len(poses), len(freedoms)
    unknowns = lengths + 3 * len(plan.carriers)
    matrix, slope = _LENGTH_SHARE * frames * np.eye(unknowns), np.zeros(unknowns)
    if plan.structure.carried:
        matrix[:lengths] *= _STIFF
    # Movement of each joint for one unit of each degree of freedom.
    moved = np.zeros((frames, len(skeleton), lengths, 3))
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        moved[:, joint] = moved[:, parent] + quaternions.rotate(
            turns[:, parent], freedoms[:, joint]
        )
    for point, carrier in enumerate(plan.carriers):
        axes = quaternions.rotate(turns[:, carrier], np.eye(3))
        rows = np.concatenate([moved[:, carrier], axes], axis=1).swapaxes(1, 2)
        rows = rows.reshape(-1, lengths + 3)
        place = lengths + 3 * point + np.arange(3)
        columns = np.r_[0:lengths, place]
        matrix[np.ix_(columns, columns)] += rows.T @ rows
        slope[columns] += rows.T @ residual[:, point].reshape(-1)
        if carrier in plan.loose or plan.is_at(point, carrier):
            matrix[place, place] += _POINT_SHARE * frames
        if carrier not in plan.loose and plan.is_at(point, carrier):
            slope[place] -= _POINT_SHARE * frames * body.point_offsets[point]
    change = np.linalg.solve(matrix, slope)
    offsets = skeleton.offsets + np.tensordot(change[:lengths], freedoms, axes=1)
    places = body.point_offsets + change[lengths:].reshape(-1, 3)
    return _body_of_offsets(plan, offsets, places, body.measured)


def _freedoms(body: BodyModel) -> Array:
    """(freedoms, joints, 3) directions in which joints move; both sides of a pair together."""
    plan, skeleton = body.plan, body.skeleton
    straight = {*plan.loose, *(joint for limb in plan.limbs for joint in limb[1:])}
    feet = {leg[3] for leg in plan.legs}
    freedoms = [np.zeros((0, len(skeleton), 3))]
    for joint, partner in enumerate(plan.pairs):
        if joint == 0 or partner < joint:
            continue
        offset = skeleton.offsets[joint]
        axes = np.eye(3)[1 if joint in feet or joint == partner else 0 :]
        if joint in straight:
            axes = offset[None] / max(float(np.linalg.norm(offset)), 1e-9)
        freedom = np.zeros((len(axes), len(skeleton), 3))
        freedom[:, partner] = axes * _MIRROR
        freedom[:, joint] = axes
        freedoms.append(freedom)
    return np.concatenate(freedoms)
