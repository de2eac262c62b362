"""Fitting of a body: its lengths and the offsets of its points, together with its poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.point_track import PointTrack
from deepphase.solving.body import BodyModel, body_of_offsets, planned_positions, rest_body
from deepphase.solving.planning import JointPlan, plan_joints
from deepphase.solving.point_structure import find_structure
from deepphase.solving.point_tree import PointStructure
from deepphase.solving.pose_solver import PoseSolver, SolverState, hinge_axis

# Relative difference of sizes below which tracks belong to one person.
_SAME_SIZE = 0.03
# Number of tracks that a shared body is fitted to.
_MAX_TRACKS = 12


def solve_body(
    tracks: Sequence[PointTrack],
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> BodyModel:
    """The body shared by tracks of the same points.

    It is fitted to tracks of about the median size; tracks of people of other sizes are ignored.
    """
    if not tracks:
        raise ParameterError("a body needs at least one track")
    first = tracks[0]
    structure = find_structure(first, description) if structure is None else structure
    plan = plan_joints(first, description, structure=structure)
    sizes = np.array([_size(track, plan) for track in tracks])
    order = np.argsort(np.abs(sizes / np.median(sizes) - 1.0), kind="stable")
    near = [index for index in order if abs(sizes[index] / sizes[order[0]] - 1.0) < _SAME_SIZE]
    return fit_body([tracks[index] for index in near[:_MAX_TRACKS]], plan)


def _size(track: PointTrack, plan: JointPlan) -> float:
    check_points(track, len(plan.carriers))
    return rest_body([track], plan).measured


def check_points(track: PointTrack, points: int) -> None:
    """Raise SkeletonError unless a track has this number of points."""
    if len(track.names) != points:
        raise SkeletonError(
            f"{len(track.names)} points, but the shared skeleton has {points}",
            hint="solve files with other points separately",
            path=track.source.path or None,
        )


def scale_to(track: PointTrack, body: BodyModel) -> float:
    """Factor that scales a track's points to a body's size; 1 if the sizes nearly agree."""
    scale = body.measured / max(rest_body([track], body.plan).measured, 1e-9)
    return 1.0 if abs(scale - 1.0) < _SAME_SIZE else scale


_UP = np.array([0.0, 1.0, 0.0])
# Weight of the parent's rotation, as a share of the squared lengths: it decides what the points
# leave open, as the rotation about the axis of a limb.
_AS_PARENT = 0.02
# Seconds over which the axis of a knee or elbow is averaged, weighted by its bend; and the share
# of the body's left in the axis of a knee, for straight knees and for noise that bends them to
# the front.
_HINGE_S, _LEFT_SHARE = 0.12, 0.3
# Weight of that axis beside the limb itself.
_HINGE_SHARE = 0.5


def initial_guess(body: BodyModel, positions: Array, points: Array, fps: float) -> SolverState:
    """Initial poses whose joints have the directions measured in a track.

    Each joint takes the rotation that best aligns its children and points with their measured
    directions: the rigid fit of Kabsch (1976), with a small weight on its parent's rotation, and
    with the hinge axis of knees and elbows.

    Parameters
    ----------
    positions
        (frames, joints, 3) metres: joints as means of their points.
    points
        (frames, points, 3) metres.
    """
    skeleton, plan = body.skeleton, body.plan
    frames = len(positions)
    carriers = np.array(plan.carriers)
    hinges = _hinges(body, positions, fps)
    turns = np.empty((frames, len(skeleton), 3, 3))
    local = np.broadcast_to(np.eye(3), turns.shape).copy()
    facing = _facing(body, positions)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = facing if parent < 0 else turns[:, parent]
        rest = [skeleton.offsets[child] for child in skeleton.children(joint)]
        measured = [positions[:, child] - positions[:, joint] for child in skeleton.children(joint)]
        for point in np.flatnonzero(carriers == joint):
            if np.linalg.norm(body.point_offsets[point]) > 0:
                rest.append(body.point_offsets[point])
                measured.append(points[:, point] - positions[:, joint])
        if not rest:
            turns[:, joint] = above
            continue
        lengths = np.array([vector @ vector for vector in rest])
        moments = _AS_PARENT * lengths.sum() * above
        for vector, direction in zip(rest, measured, strict=True):
            moments = moments + direction[:, :, None] * vector
        for upper, axis, measured_axis in hinges:
            if joint in upper:
                weight = _HINGE_SHARE * lengths.max()
                moments = moments + weight * measured_axis[:, :, None] * axis
        turns[:, joint] = nearest_rotation(moments)
        local[:, joint] = above.swapaxes(1, 2) @ turns[:, joint]
    local[:, 0] = turns[:, 0]
    return SolverState(local, positions[:, 0].copy())


def nearest_rotation(matrices: Array) -> Array:
    """(..., 3, 3) rotation that best fits sums of measured x rest vectors (Kabsch 1976)."""
    left, _, right = np.linalg.svd(matrices)
    mirrored = np.linalg.det(left @ right) < 0
    left[mirrored, :, 2] *= -1.0
    return left @ right


def _hinges(
    body: BodyModel, positions: Array, fps: float
) -> list[tuple[tuple[int, int], Array, Array]]:
    """Upper two joints of each limb, its hinge axis at rest, and (frames, 3) as measured.

    The length of a measured axis is the sine of the bend.
    """
    plan = body.plan
    left_leg, right_leg = plan.legs
    left = positions[:, left_leg[0]] - positions[:, right_leg[0]]
    left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-9)
    found = []
    for chain, knee in [*((leg[:3], True) for leg in plan.legs), *((a, False) for a in plan.arms)]:
        upper, middle, last = chain
        thigh = positions[:, middle] - positions[:, upper]
        shin = positions[:, last] - positions[:, middle]
        size = np.linalg.norm(thigh, axis=1) * np.linalg.norm(shin, axis=1)
        own = np.cross(thigh, shin) / np.maximum(size, 1e-9)[:, None]
        own = gaussian_filter1d(own, _HINGE_S * fps, axis=0, mode="nearest")
        if knee:
            own = own + _LEFT_SHARE * left
        direction = body.skeleton.offsets[last]
        axis = hinge_axis(direction / max(float(np.linalg.norm(direction)), 1e-9))
        found.append(((upper, middle), axis, own))
    return found


def _facing(body: BodyModel, positions: Array) -> Array:
    """(frames, 3, 3) rotations about Y from +Z to the facing of hips and shoulders."""
    left = sum(positions[:, one] - positions[:, other] for one, other in body.plan.structure.across)
    front = np.cross(left, _UP)
    front[:, 1] = 0.0
    front /= np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-9)
    across = np.cross(_UP, front)
    return np.stack([across, np.broadcast_to(_UP, front.shape), front], axis=-1)


# Number of frames, of all tracks together, that lengths are fitted to.
_MAX_FRAMES = 900
_ROUNDS = 4
# Regularization of point offsets and of lengths, relative to the noise of one frame: points lie
# on the skin, near their joints.
_POINT_SHARE = 0.04
_LENGTH_SHARE = 0.005


def fit_body(tracks: Sequence[PointTrack], plan: JointPlan) -> BodyModel:
    """The body that fits the tracks of one person best.

    Alternates between poses at some frames of all tracks, and lengths and point offsets, which
    are a linear least-squares problem. Both sides have equal lengths; limbs are straight at rest.
    """
    body = rest_body(tracks, plan)
    share = max(1, len(tracks))
    samples = []
    for track in tracks:
        step = max(1, -(-len(track) * share // _MAX_FRAMES))
        samples.append(track.positions[::step].astype(np.float64))
    points = np.concatenate(samples)
    # The low rate prevents averaging over frames that are far apart in time.
    whole = PointTrack(tracks[0].names, points, tracks[0].fps)
    positions = planned_positions(whole, plan)
    state = initial_guess(body, positions, points, 1e-3)
    body = _with_extra_points(body, state, points)
    for _ in range(_ROUNDS):
        solver = PoseSolver(body)
        state = solver.solve(state, points, 3)
        body = _refitted(body, solver, state, points)
    return body


def _with_extra_points(body: BodyModel, state: SolverState, points: Array) -> BodyModel:
    """The body with points that are not joints at their median positions."""
    plan = body.plan
    turns, places = PoseSolver(body).forward(state)
    offsets = np.zeros_like(body.point_offsets)
    for point, carrier in enumerate(plan.carriers):
        if plan.structure.points[carrier] != (point,):
            vector = points[:, point] - places[:, carrier]
            local = (turns[:, carrier].swapaxes(1, 2) @ vector[..., None])[..., 0]
            offsets[point] = np.median(local, axis=0)
    return body_of_offsets(plan, body.skeleton.offsets, offsets, body.measured)


def _refitted(body: BodyModel, solver: PoseSolver, state: SolverState, points: Array) -> BodyModel:
    """The body with lengths and point offsets by linear least squares at given rotations."""
    plan, skeleton = body.plan, body.skeleton
    turns, _ = solver.forward(state)
    residual = points - solver.points(state)
    directions = _freedoms(body)
    lengths, count = len(directions), len(plan.carriers)
    frames = len(points)
    parents = skeleton.parents
    unknowns = lengths + 3 * count
    matrix, slope = np.zeros((unknowns, unknowns)), np.zeros(unknowns)
    # Movement of each joint for one unit of each degree of freedom.
    moved = np.zeros((frames, len(skeleton), 3, lengths))
    for joint in range(1, len(skeleton)):
        own = np.stack([freedom.get(joint, np.zeros(3)) for freedom in directions], axis=1)
        moved[:, joint] = moved[:, parents[joint]] + turns[:, parents[joint]] @ own
    for point, carrier in enumerate(plan.carriers):
        rows = np.concatenate([moved[:, carrier], turns[:, carrier]], axis=2).reshape(
            -1, lengths + 3
        )
        columns = np.r_[0:lengths, lengths + 3 * point : lengths + 3 * point + 3]
        matrix[np.ix_(columns, columns)] += rows.T @ rows
        slope[columns] += rows.T @ residual[:, point].reshape(-1)
        if carrier in plan.loose:
            place = slice(lengths + 3 * point, lengths + 3 * point + 3)
            matrix[place, place] += _POINT_SHARE * frames * np.eye(3)
        elif plan.structure.points[carrier] == (point,):
            place = slice(lengths + 3 * point, lengths + 3 * point + 3)
            matrix[place, place] += _POINT_SHARE * frames * np.eye(3)
            slope[place] -= _POINT_SHARE * frames * body.point_offsets[point]
    diagonal = np.arange(unknowns)
    matrix[diagonal, diagonal] += _LENGTH_SHARE * frames
    change = np.linalg.solve(matrix, slope)
    offsets = skeleton.offsets.copy()
    for amount, freedom in zip(change[:lengths], directions, strict=True):
        for joint, direction in freedom.items():
            offsets[joint] += amount * direction
    places = body.point_offsets + change[lengths:].reshape(-1, 3)
    return body_of_offsets(plan, offsets, places, body.measured)


def _freedoms(body: BodyModel) -> list[dict[int, Array]]:
    """Degrees of freedom of the lengths: joint -> direction, both sides of a pair together."""
    plan, skeleton = body.plan, body.skeleton
    straight = {joint for leg in plan.legs for joint in leg[1:3]}
    straight |= {joint for arm in plan.arms for joint in arm[1:]}
    feet = {leg[3] for leg in plan.legs}
    freedoms: list[dict[int, Array]] = []
    mirror = np.array([-1.0, 1.0, 1.0])
    for joint, partner in enumerate(plan.pairs):
        if joint == 0 or partner < joint:
            continue
        offset = skeleton.offsets[joint]
        if joint in straight or joint in plan.loose:
            axes = [offset / max(float(np.linalg.norm(offset)), 1e-9)]
        else:
            axes = list(np.eye(3)[1 if joint in feet or joint == partner else 0 :])
        freedoms.extend(
            {joint: axis, partner: axis * mirror} if partner != joint else {joint: axis}
            for axis in axes
        )
    return freedoms
