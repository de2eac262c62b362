"""Which of two mirrored limbs is the left one, and which pairs touch the floor, from motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import end_positions, global_transforms, velocities
from deepphase.motion.limbs import LimbPair, long_bones, path_length, tip_end
from deepphase.motion.skeleton import Array, Skeleton

UP = np.array([0.0, 1.0, 0.0])
GROUND = np.array([1.0, 0.0, 1.0])
# An estimate of the front is believed where the sides agree with it over time to this share.
_AGREEMENT = 0.3
# A trunk whose elevation has a smaller sine than this is a quadruped's: its front is ahead.
_UPRIGHT = 0.6


def rest_clip(skeleton: Skeleton) -> Clip:
    """The rest pose as a clip of one frame."""
    rotations = np.tile(quaternions.IDENTITY, (1, len(skeleton), 1))
    return Clip(skeleton, rotations, skeleton.offsets[None, :1].copy(), 60.0)


def tip_positions(clip: Clip, transforms: tuple[Array, Array], joint: int) -> Array:
    """(frames, 3) metres: the tip of a limb whose last joint is `joint`."""
    end = tip_end(clip.skeleton, joint)
    return transforms[1][:, joint] if end is None else end_positions(clip, transforms)[:, end]


def lowest(limbs: list[LimbPair], clip: Clip | None) -> list[LimbPair]:
    """Those pairs whose tips are, over the clip, about as low as the lowest; all without one."""
    if clip is None or not limbs:
        return limbs
    transforms = global_transforms(clip)
    heights = np.array(
        [
            np.mean([tip_positions(clip, transforms, end)[:, 1] for end in limb.last_joints])
            for limb in limbs
        ]
    )
    allowed = heights.min() + 0.3 * max(limb.length for limb in limbs)
    return [limb for limb, height in zip(limbs, heights, strict=True) if height <= allowed]


def on_same_side(skeleton: Skeleton, first: LimbPair, second: LimbPair, clip: Clip | None) -> bool:
    """Whether the first chains of two pairs of limbs are on one side of the body."""
    positions = global_transforms(clip or rest_clip(skeleton))[1]
    return bool((_across(positions, first) * _across(positions, second)).sum() >= 0)


def first_is_left(
    skeleton: Skeleton, leg: LimbPair, trunk_top: int | None, clip: Clip | None
) -> tuple[bool, str]:
    """Whether a pair of legs' first chain is the left one, and a sentence on what says so.

    The front is where a low trunk points, else where the feet point, else where the body
    travels; left is up x front. Without motion the rest pose is asked, and last its +X.
    """
    for pose, name in ((clip, "motion"), (rest_clip(skeleton), "rest pose")):
        if pose is None:
            continue
        transforms = global_transforms(pose)
        across = _across(transforms[1], leg) * GROUND
        for front, evidence in _fronts(pose, transforms, leg, trunk_top):
            left = np.cross(UP, front)
            agreement = np.einsum("fc,fc->f", across, left)
            scale = (np.linalg.norm(across, axis=1) * np.linalg.norm(left, axis=1)).sum()
            if scale > 0 and abs(agreement.sum()) > _AGREEMENT * scale:
                said = f"left and right told apart by {evidence} in the {name}"
                return bool(agreement.sum() > 0), said
    across = _across(global_transforms(rest_clip(skeleton))[1], leg)
    return bool(across[0, 0] >= 0), "left and right from the rest pose: left is its +X"


def _across(positions: Array, limb: LimbPair) -> Array:
    # The joints nearest the trunk: further out, legs and arms swing more along than they lie
    # across. Those that coincide with the middle line (folded, or helpers) say nothing.
    for first, second in zip(limb.first, limb.second, strict=True):
        across = positions[:, first] - positions[:, second]
        if np.linalg.norm(across, axis=1).mean() > 0.02 * limb.length:
            return across
    return positions[:, limb.first[-1]] - positions[:, limb.second[-1]]


def _fronts(
    clip: Clip, transforms: tuple[Array, Array], leg: LimbPair, trunk_top: int | None
) -> Iterator[tuple[Array, str]]:
    positions = transforms[1]
    hips = positions[:, leg.attachment]
    if trunk_top is not None and trunk_top != leg.attachment:
        trunk = positions[:, trunk_top] - hips
        elevation = trunk[:, 1].sum() / max(np.linalg.norm(trunk, axis=1).sum(), 1e-12)
        if abs(elevation) < _UPRIGHT:
            yield trunk * GROUND, "the direction of the trunk"
    ankle = long_bones(clip.skeleton, leg.first) + 2
    if ankle < len(leg.first):
        feet = sum(
            tip_positions(clip, transforms, chain[-1]) - positions[:, chain[ankle]]
            for chain in (leg.first, leg.second)
        )
        if np.linalg.norm(feet * GROUND, axis=1).mean() > 0.05 * leg.length:
            yield feet * GROUND, "the direction of the feet"
    travel = velocities(hips, clip.fps) * GROUND
    # A body moves about its own leg length in a second when it goes somewhere.
    size = path_length(clip.skeleton, leg.first[0], leg.first[-1])
    if np.linalg.norm(travel.mean(axis=0)) > 0.25 * size:
        yield travel, "the direction of travel"
