"""Poses of a rig from where its joints are, one joint after the other from the hips outwards."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.motion.rig.body import RigBody
from deepphase.motion.rig.solver import RigState, hinge_axis
from deepphase.motion.skeleton import Array

_UP = np.array([0.0, 1.0, 0.0])
# Share of the squared lengths with which a joint stays as its parent is: it decides where points
# say nothing, about the axis of a limb.
_AS_PARENT = 0.02
# Seconds over which the axis of a knee or elbow is averaged, by how clearly it is bent; and the
# share of the body's left in a knee's: straight knees, and those that points bend to the front.
_HINGE_S, _LEFT_SHARE = 0.12, 0.3
# Weight of that axis beside the limb itself.
_HINGE_SHARE = 0.5


def first_guess(body: RigBody, positions: Array, points: Array, fps: float) -> RigState:
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
    return RigState(local, positions[:, 0].copy())


def nearest_rotation(matrices: Array) -> Array:
    """(..., 3, 3) the rotation that fits sums of seen x rest best (Kabsch 1976)."""
    left, _, right = np.linalg.svd(matrices)
    mirrored = np.linalg.det(left @ right) < 0
    left[mirrored, :, 2] *= -1.0
    return left @ right


def _hinges(
    body: RigBody, positions: Array, fps: float
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


def _facing(body: RigBody, positions: Array) -> Array:
    """(frames, 3, 3) rotations about Y that turn +Z to where hips and shoulders face."""
    left = sum(positions[:, one] - positions[:, other] for one, other in body.plan.structure.across)
    front = np.cross(left, _UP)
    front[:, 1] = 0.0
    front /= np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-9)
    across = np.cross(_UP, front)
    return np.stack([across, np.broadcast_to(_UP, front.shape), front], axis=-1)
