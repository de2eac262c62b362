"""Lengths of a body and places of its points, fitted together with its poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.motion.point_track import PointTrack
from deepphase.motion.rig.body import (
    RigBody,
    body_of_offsets,
    planned_positions,
    rest_body,
)
from deepphase.motion.rig.first_guess import first_guess
from deepphase.motion.rig.plan import RigPlan
from deepphase.motion.rig.solver import RigSolver, RigState
from deepphase.motion.skeleton import Array

# Frames that lengths are fitted to, of all tracks together.
_FRAMES = 900
_ROUNDS = 4
# How far a point is from its joint, usually, against the noise of a frame: points lie on the skin.
_POINT_SHARE = 0.04
_LENGTH_SHARE = 0.005


def fitted_body(tracks: Sequence[PointTrack], plan: RigPlan) -> RigBody:
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
    state = first_guess(body, positions, points, 1e-3)
    body = _with_extra_points(body, state, points)
    for _ in range(_ROUNDS):
        solver = RigSolver(body)
        state = solver.solve(state, points, 3)
        body = _refitted(body, solver, state, points)
    return body


def _with_extra_points(body: RigBody, state: RigState, points: Array) -> RigBody:
    """The body with points that no joint stands for where they are on median."""
    plan = body.plan
    turns, places = RigSolver(body).forward(state)
    offsets = np.zeros_like(body.point_offsets)
    for point, carrier in enumerate(plan.carriers):
        if plan.structure.points[carrier] != (point,):
            way = points[:, point] - places[:, carrier]
            seen = (turns[:, carrier].swapaxes(1, 2) @ way[..., None])[..., 0]
            offsets[point] = np.median(seen, axis=0)
    return body_of_offsets(plan, body.skeleton.offsets, offsets, body.measured)


def _refitted(body: RigBody, solver: RigSolver, state: RigState, points: Array) -> RigBody:
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


def _freedoms(body: RigBody) -> list[dict[int, Array]]:
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
