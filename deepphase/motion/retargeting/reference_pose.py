"""Reference poses, in which the joints of two skeletons are compared: upright, facing +Z."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import end_positions, global_transforms
from deepphase.motion.limbs import rest_clip
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton

# Sines: legs of a standing body point down by at least the first, the trunk of a person up by the
# second, and the trunk of a quadruped leaves the ground by at most the third.
_LEGS_DOWN, _TRUNK_UP, _TRUNK_LEVEL = 0.85, 0.8, 0.6
# Share of the frames, those in which the body is most upright, whose mean is the pose.
_UPRIGHT_SHARE = 0.25
# Percentile of a joint's heights at which it is on the ground, or as near to it as it comes.
_LOW_PERCENT = 5.0


@dataclass(frozen=True, eq=False)
class ReferencePose:
    """One pose of a skeleton.

    Parameters
    ----------
    rotations, positions
        (joints, 4) and (joints, 3) metres: in the world, the hips above the origin.
    heights
        (joints,) metres: lowest usual height of each joint over the ground.
    """

    rotations: Array
    positions: Array
    heights: Array
    is_rest: bool
    note: str


def reference_pose(skeleton: Skeleton, roles: Roles, clip: Clip | None = None) -> ReferencePose:
    """The rest pose if the body stands in it, else the mean of the clip's most upright poses.

    In many files the rest pose is not a pose: all offsets point along one axis, and the rotations
    of every frame bend the joints into place.
    """
    rest = rest_clip(skeleton)
    if _stands(rest, roles)[0]:
        return _pose(rest, roles, _heights(rest, slice(None)), True, "the rest pose")
    if clip is None:
        raise SkeletonError(
            "the body does not stand in its rest pose, which cannot be compared with another's",
            hint="give a clip of the skeleton",
        )
    upright = _stands(clip, roles)
    if not upright.any():
        upright[:] = True
    chosen = np.flatnonzero(upright)
    heights = global_transforms(clip)[1][chosen, roles.hips, 1]
    count = max(1, round(_UPRIGHT_SHARE * len(chosen)))
    frames = chosen[np.argsort(-heights, kind="stable")[:count]]
    facing = quaternions.conjugate(root_trajectory(clip, roles).rotations[frames])
    mean = _mean_pose(clip, frames, facing)
    return _pose(mean, roles, _heights(clip, frames), False, f"the mean of {count} upright frames")


def _stands(clip: Clip, roles: Roles) -> Array:
    """(frames,) whether the legs point down, and the trunk up or, of a quadruped, ahead."""
    positions = global_transforms(clip)[1]
    hips, feet, shoulders = roles.both("hip"), roles.both("foot"), roles.both("shoulder")
    stands = np.ones(len(clip), bool)
    if hips is not None and feet is not None:
        for hip, foot in zip(hips, feet, strict=True):
            stands &= _sine(positions[:, hip] - positions[:, foot]) > _LEGS_DOWN
    if shoulders is not None:
        trunk = positions[:, list(shoulders)].mean(axis=1) - positions[:, roles.hips]
        rise = _sine(trunk)
        level = np.abs(rise) < _TRUNK_LEVEL
        stands &= level if roles.kind == "quadruped" else rise > _TRUNK_UP
    return stands


def _sine(vectors: Array) -> Array:
    return vectors[..., 1] / np.maximum(np.linalg.norm(vectors, axis=-1), 1e-12)


def _mean_pose(clip: Clip, frames: Array, facing: Array) -> Clip:
    """The mean of poses as a clip of one frame, facing +Z."""
    # Means of world rotations: limbs keep their mean directions whatever the joints above do.
    world = global_transforms(clip)[0][frames]
    mean = quaternions.mean_rotation(quaternions.multiply(facing[:, None], world))
    above = mean[np.maximum(clip.skeleton.parents, 0)]
    local = quaternions.multiply(quaternions.conjugate(above), mean)
    local[0] = mean[0]
    return replace(
        clip,
        rotations=quaternions.normalized(local)[None],
        translations=np.median(clip.local_positions()[frames], axis=0)[
            None, clip.translated_joints
        ],
    )


def _heights(clip: Clip, frames: Array | slice) -> Array:
    # Of upright frames alone: a dog that sits has its hocks on the ground.
    transforms = global_transforms(clip)
    low = np.percentile(transforms[1][frames, :, 1], _LOW_PERCENT, axis=0)
    ends = np.percentile(end_positions(clip, transforms)[frames, :, 1], _LOW_PERCENT, axis=0)
    return np.asarray(low - min(float(low.min()), float(ends.min(initial=np.inf))))


def _pose(clip: Clip, roles: Roles, heights: Array, is_rest: bool, note: str) -> ReferencePose:
    facing = quaternions.conjugate(root_trajectory(clip, roles, smoothing_s=0.0).rotations[0])
    rotations, positions = (array[0] for array in global_transforms(clip))
    return ReferencePose(
        quaternions.multiply(facing, rotations),
        quaternions.rotate(facing, positions - positions[roles.hips] * [1.0, 0.0, 1.0]),
        heights,
        is_rest,
        note,
    )
