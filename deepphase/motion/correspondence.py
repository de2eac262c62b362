"""Correspondence of two bodies: joints by roles, paths and names, and poses to compare them in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, end_positions, global_transforms, joint_positions
from deepphase.motion.limbs import rest_clip
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton, ancestors, bone_lengths, parse_names

# Share of the lengths along a path that its ends are apart if it is straight.
_STRAIGHT = 0.99
# Sines: legs of a standing body point down by at least the first, the trunk of a person up by the
# second, and the trunk of a quadruped leaves the ground by at most the third.
_LEGS_DOWN, _TRUNK_UP, _TRUNK_LEVEL = 0.85, 0.8, 0.6
# Both legs of a body that stands at rest are as high, but for a share of the height of its hips.
_LEVEL = 0.05
# Share of the frames, those in which the body is most upright, whose mean is the pose.
_UPRIGHT_SHARE = 0.25
# Percentile of a joint's heights at which it is on the ground, or as near to it as it comes.
_LOW_PERCENT = 5.0
# Roles in the order in which paths between them are matched.
_TRUNK = (("hips", "chest"), ("chest", "neck"), ("neck", "head"), ("chest", "head"))
_LIMBS = (("hips", "hip knee foot toe"), ("chest", "shoulder elbow hand"))


@dataclass(frozen=True)
class JointMatch:
    """Where a joint takes its rotation from."""

    joint: int
    # Joints of the source: the rotation is between theirs, nearer to the second's with a larger
    # share.
    first: int
    second: int
    share: float = 0.0


def match_joints(
    source: Skeleton, source_roles: Roles, target: Skeleton, target_roles: Roles
) -> list[JointMatch]:
    """The target's joints that have counterparts, in their order.

    Joints of one role correspond. Those between two of them (a spine, a collar) lie at the same
    share of the way; all others correspond if they have the same side and name.
    """
    kinds = (source_roles.kind, target_roles.kind)
    if kinds[0] != kinds[1] or "other" in kinds:
        raise SkeletonError(
            "the legs of a body were not found"
            if "other" in kinds
            else f"motion of a {kinds[0]} cannot be put on a {kinds[1]}",
            hint="both bodies must be bipeds or both quadrupeds; a skeleton description corrects "
            "what was found",
        )
    limbs = [
        pairwise([top, *(f"{side}_{part}" for part in parts.split())])
        for side in ("left", "right")
        for top, parts in _LIMBS
    ]
    paths_of_roles = [*_TRUNK, *chain(*limbs)]
    found: dict[int, JointMatch] = {}
    for role in dict.fromkeys(chain(*paths_of_roles)):
        own, other = getattr(target_roles, role), getattr(source_roles, role)
        if own is not None and other is not None:
            found.setdefault(own, JointMatch(own, other, other))
    for upper, lower in paths_of_roles:
        paths = []
        for skeleton, roles in ((target, target_roles), (source, source_roles)):
            ends = getattr(roles, upper), getattr(roles, lower)
            paths.append(joint_path(skeleton, *ends) if None not in ends else [])
        if all(paths):
            stiff = _stiff(target, target_roles, lower, paths[0])
            for match in _along(target, paths[0], source, paths[1])[1:-1]:
                found.setdefault(match.joint, replace(match, share=0.0) if stiff else match)
    if target_roles.tail and source_roles.tail:
        for match in _along(target, list(target_roles.tail), source, list(source_roles.tail)):
            found.setdefault(match.joint, match)
    taken = {match.first for match in found.values()}
    own_names, names = (
        [(name.side, name.key) for name in parse_names(body.names)] for body in (target, source)
    )
    by_name = {name: joint for joint, name in enumerate(names) if joint not in taken}
    for joint, name in enumerate(own_names):
        if name in by_name:
            found.setdefault(joint, JointMatch(joint, by_name[name], by_name[name]))
    return [found[joint] for joint in sorted(found)]


def _stiff(target: Skeleton, roles: Roles, lower: str, path: list[int]) -> bool:
    """Whether the joints on a path down to a role cannot bend it; animals may have a hock."""
    part = lower.partition("_")[2]
    if part in ("knee", "elbow"):
        return True
    if part not in ("foot", "hand", "toe"):
        return False
    bones = target.offsets[path[1:]]
    lengths = np.linalg.norm(bones, axis=1).sum()
    straight = np.linalg.norm(bones.sum(axis=0)) > _STRAIGHT * lengths
    return roles.kind == "biped" or bool(straight)


def joint_path(skeleton: Skeleton, upper: int, lower: int) -> list[int]:
    """Joints from `upper` down to `lower`; empty if one is not above the other."""
    up = ancestors(skeleton, lower)
    return up[: up.index(upper) + 1][::-1] if upper in up and upper != lower else []


def _along(
    target: Skeleton, own: list[int], source: Skeleton, other: list[int]
) -> list[JointMatch]:
    """Matches of the joints on one path, at the same share of the way."""
    if len(own) == len(other):
        return [JointMatch(a, b, b) for a, b in zip(own, other, strict=True)]
    places = _shares(source, other)
    matches = []
    for joint, share in zip(own, _shares(target, own), strict=True):
        place = int(np.clip(np.searchsorted(places, share) - 1, 0, max(len(places) - 2, 0)))
        after = min(place + 1, len(places) - 1)
        span = places[after] - places[place]
        between = float(np.clip((share - places[place]) / span, 0.0, 1.0)) if span > 0 else 0.0
        matches.append(JointMatch(joint, other[place], other[after], between))
    return matches


def _shares(skeleton: Skeleton, path: list[int]) -> Array:
    """Share of the way along a path at each of its joints."""
    lengths = np.concatenate([[0.0], bone_lengths(skeleton)[path[1:]]])
    total = lengths.sum()
    return np.cumsum(lengths) / total if total > 0 else np.linspace(0.0, 1.0, len(path))


@dataclass(frozen=True, eq=False)
class ReferencePose:
    """One pose of a skeleton, upright and facing +Z."""

    rotations: Array  # (joints, 4) and (joints, 3) metres: in the world, the hips above the origin
    positions: Array
    heights: Array  # (joints,) metres: lowest usual height of each joint over the ground
    is_rest: bool
    note: str


def reference_pose(
    skeleton: Skeleton, roles: Roles, clip: Clip | None = None, *, is_target: bool = False
) -> ReferencePose:
    """The rest pose if the body stands in it, else the mean of the clip's most upright poses."""
    rest = rest_clip(skeleton)
    heights = _heights(rest, slice(None))
    sides = [list(pair) for part in _LIMBS[0][1].split() if (pair := roles.both(part))]
    level = np.ptp(heights[sides], axis=1).max(initial=0.0) <= _LEVEL * heights[roles.hips]
    if _stands(rest, roles)[0] and level:
        return _pose(rest, roles, heights, True, "the rest pose")
    if clip is None:
        raise SkeletonError(
            "the body does not stand in its rest pose, which cannot be compared with another's",
            hint="give a clip of the skeleton",
        )
    upright = _stands(clip, roles)
    if is_target and not upright.any():
        raise SkeletonError(
            "the target's file has no standing pose: neither its rest pose nor any frame is one",
            hint="give a clip of the skeleton in which it stands",
            path=clip.source.path or None,
        )
    chosen = np.flatnonzero(upright if upright.any() else ~upright)
    heights = joint_positions(clip)[chosen, roles.hips, 1]
    count = max(1, round(_UPRIGHT_SHARE * len(chosen)))
    frames = chosen[np.argsort(-heights, kind="stable")[:count]]
    facing = quaternions.conjugate(root_trajectory(clip, roles).rotations[frames])
    # Means of world rotations: limbs keep their mean directions whatever the joints above do.
    world = quaternions.multiply(facing[:, None], global_transforms(clip)[0][frames])
    mean = quaternions.mean_rotation(world)
    above = mean[np.maximum(skeleton.parents, 0)]
    local = quaternions.multiply(quaternions.conjugate(above), mean)
    local[0] = mean[0]
    places = np.median(clip.local_positions()[frames], axis=0)
    pose = replace(
        clip,
        rotations=quaternions.normalized(local)[None],
        translations=places[None, clip.translated_joints],
    )
    note = f"the mean of {count} {'upright' if upright.any() else 'high'} frames"
    return _pose(pose, roles, _heights(clip, frames), False, note)


def _stands(clip: Clip, roles: Roles) -> Array:
    """(frames,) whether the legs point down, and the trunk up or, of a quadruped, ahead."""
    positions = joint_positions(clip)
    hips, feet, shoulders = roles.both("hip"), roles.both("foot"), roles.both("shoulder")
    stands = np.ones(len(clip), bool)
    if hips is not None and feet is not None:
        legs = positions[:, list(hips)] - positions[:, list(feet)]
        stands &= (_sine(legs) > _LEGS_DOWN).all(axis=1)
    if shoulders is not None:
        rise = _sine(positions[:, list(shoulders)].mean(axis=1) - positions[:, roles.hips])
        level = np.abs(rise) < _TRUNK_LEVEL
        stands &= level if roles.kind == "quadruped" else rise > _TRUNK_UP
    return stands


def _sine(vectors: Array) -> Array:
    return vectors[..., 1] / np.maximum(np.linalg.norm(vectors, axis=-1), 1e-12)


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
