"""Lengths of a body and places of its points, fitted together with its poses."""

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

# Bodies this near in size are one person's.
_SAME_SIZE = 0.03
# As many tracks as a shared body is fitted to.
_TRACKS_FITTED = 12


def solve_body(
    tracks: Sequence[PointTrack],
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> BodyModel:
    """The body that tracks of the same points share.

    Tracks of people of other sizes have no say: of the median size, and near it, some are taken.

    Parameters
    ----------
    description
        A skeleton description: see :func:`deepphase.motion.point_structure.find_structure`.
    structure
        The hierarchy, where it is known; by default the first track's.

    Raises
    ------
    SkeletonError
        Where tracks are of different points, or no two legs are found in them.
    """
    if not tracks:
        raise ParameterError("a body of no tracks")
    for track in tracks:
        check_points(track, len(tracks[0].names))
    structure = find_structure(tracks[0], description) if structure is None else structure
    plan = plan_joints(tracks[0], description, structure=structure)
    sizes = np.array([rest_body([track], plan).measured for track in tracks])
    order = np.argsort(np.abs(sizes / np.median(sizes) - 1.0), kind="stable")
    near = [index for index in order if abs(sizes[index] / sizes[order[0]] - 1.0) < _SAME_SIZE]
    return fit_body([tracks[index] for index in near[:_TRACKS_FITTED]], plan)


def check_points(track: PointTrack, points: int) -> None:
    """Raise SkeletonError unless a track has so many points."""
    if len(track.names) != points:
        raise SkeletonError(
            f"{len(track.names)} points, and the skeleton to share is of {points}",
            hint="rig files of other points by themselves",
            path=track.source.path or None,
        )


def scale_to(track: PointTrack, body: BodyModel) -> float:
    """Times that a track's points are enlarged to be of a body's size; 1 where they nearly are."""
    scale = body.measured / max(rest_body([track], body.plan).measured, 1e-9)
    return 1.0 if abs(scale - 1.0) < _SAME_SIZE else scale


_UP = np.array([0.0, 1.0, 0.0])
# Share of the squared lengths with which a joint stays as its parent is: it decides where points
# say nothing, about the axis of a limb.
_AS_PARENT = 0.02
# Seconds over which the axis of a knee or elbow is averaged, by how clearly it is bent; and the
# share of the body's left in a knee's: straight knees, and those that points bend to the front.
_HINGE_S, _LEFT_SHARE = 0.12, 0.3
# Weight of that axis beside the limb itself.
_HINGE_SHARE = 0.5


def initial_guess(body: BodyModel, positions: Array, points: Array, fps: float) -> SolverState:
    """The state whose joints point where the track's do.

    Each joint turns so that what hangs from it has the directions that are seen: the rigid fit of
    Kabsch (1976), with its parent's rotation counting a little, and for knees and elbows with the
    axis about which they bend.

    Parameters
    ----------
    positions
        (frames, joints, 3) metres: where points alone have the joints.
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
        seen = [positions[:, child] - positions[:, joint] for child in skeleton.children(joint)]
        for point in np.flatnonzero(carriers == joint):
            if np.linalg.norm(body.point_offsets[point]) > 0:
                rest.append(body.point_offsets[point])
                seen.append(points[:, point] - positions[:, joint])
        if not rest:
            turns[:, joint] = above
            continue
        lengths = np.array([vector @ vector for vector in rest])
        sums = _AS_PARENT * lengths.sum() * above
        for vector, way in zip(rest, seen, strict=True):
            sums = sums + way[:, :, None] * vector
        for upper, axis, shown in hinges:
            if joint in upper:
                sums = sums + _HINGE_SHARE * lengths.max() * shown[:, :, None] * axis
        turns[:, joint] = nearest_rotation(sums)
        local[:, joint] = above.swapaxes(1, 2) @ turns[:, joint]
    local[:, 0] = turns[:, 0]
    return SolverState(local, positions[:, 0].copy())


def nearest_rotation(matrices: Array) -> Array:
    """(..., 3, 3) the rotation that fits sums of seen x rest best (Kabsch 1976)."""
    left, _, right = np.linalg.svd(matrices)
    mirrored = np.linalg.det(left @ right) < 0
    left[mirrored, :, 2] *= -1.0
    return left @ right


def _hinges(
    body: BodyModel, positions: Array, fps: float
) -> list[tuple[tuple[int, int], Array, Array]]:
    """Of every limb its two joints, the axis at rest and as seen: (frames, 3), by its clearness."""
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
    """(frames, 3, 3) rotations about Y that turn +Z to where hips and shoulders face."""
    left = sum(positions[:, one] - positions[:, other] for one, other in body.plan.structure.across)
    front = np.cross(left, _UP)
    front[:, 1] = 0.0
    front /= np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-9)
    across = np.cross(_UP, front)
    return np.stack([across, np.broadcast_to(_UP, front.shape), front], axis=-1)


# Frames that lengths are fitted to, of all tracks together.
_FRAMES = 900
_ROUNDS = 4
# How far a point is from its joint, usually, against the noise of a frame: points lie on the skin.
_POINT_SHARE = 0.04
_LENGTH_SHARE = 0.005


def fit_body(tracks: Sequence[PointTrack], plan: JointPlan) -> BodyModel:
    """The body that fits the tracks of one person best.

    Poses are fitted to some frames of all, then all lengths and places of points at once, which
    is linear, and so on. Lengths are those of both sides; limbs stay straight at rest.
    """
    body = rest_body(tracks, plan)
    share = max(1, len(tracks))
    samples = []
    for track in tracks:
        step = max(1, -(-len(track) * share // _FRAMES))
        samples.append(track.positions[::step].astype(np.float64))
    points = np.concatenate(samples)
    # Frames apart in time: nothing is averaged over neighbours.
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
    """The body with points that no joint stands for where they are on median."""
    plan = body.plan
    turns, places = PoseSolver(body).forward(state)
    offsets = np.zeros_like(body.point_offsets)
    for point, carrier in enumerate(plan.carriers):
        if plan.structure.points[carrier] != (point,):
            way = points[:, point] - places[:, carrier]
            seen = (turns[:, carrier].swapaxes(1, 2) @ way[..., None])[..., 0]
            offsets[point] = np.median(seen, axis=0)
    return body_of_offsets(plan, body.skeleton.offsets, offsets, body.measured)


def _refitted(body: BodyModel, solver: PoseSolver, state: SolverState, points: Array) -> BodyModel:
    """Lengths and places of points by linear least squares at given rotations."""
    plan, skeleton = body.plan, body.skeleton
    turns, _ = solver.forward(state)
    residual = points - solver.points(state)
    directions = _freedoms(body)
    lengths, count = len(directions), len(plan.carriers)
    frames = len(points)
    parents = skeleton.parents
    unknowns = lengths + 3 * count
    matrix, slope = np.zeros((unknowns, unknowns)), np.zeros(unknowns)
    # What one unit of each freedom moves each joint by.
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
    """How lengths may change: joint -> direction of its offset, both sides of a pair together."""
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
