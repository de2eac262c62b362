"""Body models: a skeleton of constant lengths, its rest pose and the points attached to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.point_track import PointTrack
from deepphase.motion.skeleton import Skeleton
from deepphase.solving.planning import JointPlan
from deepphase.solving.point_structure import clip_of_points
from deepphase.solving.point_tree import joint_positions_of

_DOWN, _FRONT = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
_MIRROR = np.array([-1.0, 1.0, 1.0])
# Share of the frames, those with the lowest toes, in which a foot is assumed to be flat.
_FLAT_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class BodyModel:
    """A skeleton of constant lengths and the points attached to it.

    Parameters
    ----------
    point_offsets
        (points, 3) metres: position of each point in the frame of its carrier joint.
    """

    plan: JointPlan
    skeleton: Skeleton
    point_offsets: Array
    size: float
    measured: float


def planned_positions(track: PointTrack, plan: JointPlan) -> Array:
    """(frames, joints, 3) metres: joints of a plan as means of their points."""
    return joint_positions_of(track.positions.astype(np.float64), plan.structure)


def rest_body(tracks: Sequence[PointTrack], plan: JointPlan) -> BodyModel:
    """The body of median lengths of one or several tracks of the same points.

    Points that are not joints are placed at their carriers; fitting finds their positions.
    """
    offsets = np.median([_rest_offsets(track, plan) for track in tracks], axis=0)
    return body_of_offsets(
        plan, offsets, np.zeros((len(plan.carriers), 3)), _limb_lengths(plan, offsets)
    )


def body_of_offsets(
    plan: JointPlan, offsets: Array, point_offsets: Array, measured: float
) -> BodyModel:
    """The body of (joints, 3) rest offsets in metres, which are made symmetric."""
    offsets = symmetric(offsets, plan.pairs)
    size = float(np.linalg.norm(offsets[list(plan.legs[0][1:3])], axis=1).sum())
    offsets[0] = (0.0, _hips_height(offsets, plan), 0.0)
    extra = [
        point
        for point, carrier in enumerate(plan.carriers)
        if carrier in {leg[2] for leg in plan.legs}
        and np.linalg.norm(point_offsets[point]) > 0
        and (point,) != plan.structure.points[carrier]
    ]
    skeleton = Skeleton(
        plan.structure.names,
        np.array(plan.structure.parents),
        offsets,
        np.array([plan.carriers[point] for point in extra], np.int64),
        point_offsets[extra],
    )
    return BodyModel(plan, skeleton, point_offsets, size, measured)


def symmetric(offsets: Array, pairs: Sequence[int]) -> Array:
    """(joints, 3) offsets averaged over both sides."""
    return 0.5 * (offsets + offsets[list(pairs)] * _MIRROR)


def _limb_lengths(plan: JointPlan, offsets: Array) -> float:
    joints = [joint for leg in plan.legs for joint in leg[1:3]]
    joints += [joint for arm in plan.arms for joint in arm[1:]]
    return float(np.linalg.norm(offsets[joints], axis=1).sum())


def _hips_height(offsets: Array, plan: JointPlan) -> float:
    down = 0.0
    for hip, knee, ankle, toe in plan.legs:
        chain = [hip, knee, ankle, *([] if toe < 0 else [toe])]
        down = max(down, -float(offsets[chain, 1].sum()))
    return down


def _rest_offsets(track: PointTrack, plan: JointPlan) -> Array:
    """(joints, 3) metres: mean pose of the trunk, legs straight down, arms sideways."""
    offsets = clip_of_points(track, structure=plan.structure).skeleton.offsets.copy()
    lengths = np.linalg.norm(offsets, axis=1)
    for _, knee, ankle, toe in plan.legs:
        for joint in (knee, ankle):
            offsets[joint] = lengths[joint] * _DOWN
        if toe >= 0:
            offsets[toe] = _flat_foot(planned_positions(track, plan), ankle, toe, lengths[toe])
    parents = plan.structure.parents
    for side, (shoulder, *_) in zip((1.0, -1.0), plan.arms, strict=False):
        under = {shoulder}
        for joint, parent in enumerate(parents):
            if parent in under:
                under.add(joint)
                offsets[joint] = (side * lengths[joint], 0.0, 0.0)
    return offsets


def _flat_foot(positions: Array, ankle: int, toe: int, length: float) -> Array:
    """(3,) metres from ankle to toe of a foot that stands and points to the front."""
    heights = positions[:, toe, 1]
    low = heights <= np.quantile(heights, _FLAT_SHARE)
    down = min(float(np.median((positions[:, toe] - positions[:, ankle])[low, 1])), 0.0)
    down = max(down, -0.95 * length)
    return np.array([0.0, down, np.sqrt(length**2 - down**2)])
