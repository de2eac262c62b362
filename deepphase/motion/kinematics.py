"""Forward kinematics and velocities of joints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton, joint_depths


def global_transforms(clip: Clip) -> tuple[Array, Array]:
    """Rotations (frames, joints, 4) and positions (frames, joints, 3), metres, in the world."""
    # Joints first, so that one depth of the tree is contiguous and done in one step.
    local_rotations = np.ascontiguousarray(clip.rotations.swapaxes(0, 1))
    local_positions = np.ascontiguousarray(clip.local_positions().swapaxes(0, 1))
    rotations, positions = local_rotations.copy(), local_positions.copy()
    parents = clip.skeleton.parents
    depths = joint_depths(clip.skeleton)
    for depth in range(1, depths.max() + 1):
        joints = np.flatnonzero(depths == depth)
        parent_rotations = rotations[parents[joints]]
        rotations[joints] = quaternions.multiply(parent_rotations, local_rotations[joints])
        positions[joints] = positions[parents[joints]] + quaternions.rotate(
            parent_rotations, local_positions[joints]
        )
    return rotations.swapaxes(0, 1), positions.swapaxes(0, 1)


def joint_positions(clip: Clip) -> Array:
    """(frames, joints, 3) metres: the joints in the world."""
    return global_transforms(clip)[1]


def end_positions(clip: Clip, transforms: tuple[Array, Array] | None = None) -> Array:
    """(frames, ends, 3) metres: the end sites in the world."""
    rotations, positions = global_transforms(clip) if transforms is None else transforms
    parents = clip.skeleton.end_parents
    offsets = clip.skeleton.end_offsets.astype(positions.dtype)
    return positions[:, parents] + quaternions.rotate(rotations[:, parents], offsets)


def without_joints(clip: Clip, joints: Collection[int]) -> Clip:
    """The clip without some joints; all others keep their places and turns in the world.

    What hangs from one of them then hangs from the next one above. SkeletonError where no root is
    left, or several.
    """
    skeleton, above = clip.skeleton, {-1: -1}
    kept = [joint for joint in range(len(skeleton)) if joint not in joints]
    row = {joint: place for place, joint in enumerate(kept)} | {-1: -1}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above[joint] = joint if joint in row else above[parent]
    parents = np.array([above[int(skeleton.parents[joint])] for joint in kept], np.int64)
    if np.count_nonzero(parents < 0) != 1:
        raise SkeletonError(
            "no root is left, or several: a skeleton has one",
            hint="keep the joint from which the others hang",
        )
    rotations, positions = clip.rotations[:, kept].copy(), clip.local_positions()[:, kept]
    offsets, rest = skeleton.offsets[kept].copy(), skeleton.rest_positions
    moved = np.flatnonzero(parents != skeleton.parents[kept])
    if len(moved):
        turns, places = global_transforms(clip)
        for place in moved.tolist():
            joint, parent = kept[place], int(parents[place])
            rotations[:, place], positions[:, place] = turns[:, joint], places[:, joint]
            offsets[place] = rest[joint] - (rest[parent] if parent >= 0 else 0.0)
            if parent >= 0:
                back = quaternions.conjugate(turns[:, parent])
                rotations[:, place] = quaternions.multiply(back, turns[:, joint])
                gap = places[:, joint] - places[:, parent]
                positions[:, place] = quaternions.rotate(back, gap)
    translated = {row[joint] for joint in clip.translated_joints.tolist() if joint in row}
    moving = np.array(sorted({0, *moved.tolist(), *translated}), np.int64)
    ends = [end for end, joint in enumerate(skeleton.end_parents.tolist()) if joint in row]
    orders = clip.source.rotation_orders
    return replace(
        clip,
        skeleton=Skeleton(
            tuple(skeleton.names[joint] for joint in kept),
            np.array([row[parent] for parent in parents.tolist()]),
            offsets,
            np.array([row[joint] for joint in skeleton.end_parents[ends].tolist()], np.int64),
            skeleton.end_offsets[ends],
        ),
        rotations=rotations,
        translations=positions[:, moving],
        translated_joints=moving,
        source=replace(
            clip.source, rotation_orders=tuple(orders[joint] for joint in kept) if orders else ()
        ),
    )


def velocities(positions: Array, fps: float) -> Array:
    """Time derivative of (frames, ...) by central differences, of second order at both ends.

    One frame has velocity 0; two frames share their difference.
    """
    if len(positions) < 2:
        return np.zeros_like(positions)
    steps = np.gradient(positions, axis=0, edge_order=2 if len(positions) > 2 else 1)
    return steps * positions.dtype.type(fps)


def derivative_sizes(positions: Array, fps: float, order: int) -> Array:
    """(frames, joints) size of a derivative of (frames, joints, 3): 2, acceleration, or 3, jerk.

    By differences; the outermost frames repeat their neighbour's value.
    """
    if len(positions) <= order:
        raise ParameterError(
            f"a derivative of order {order} needs more than {order} frames, not {len(positions)}"
        )
    differences = np.diff(positions.astype(np.float64), n=order, axis=0) * fps**order
    size = np.linalg.norm(differences, axis=-1)
    before = order // 2
    return np.pad(size, ((before, order - before), (0, 0)), mode="edge")
