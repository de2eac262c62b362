"""Foot locking: feet keep their place during contacts and stay above the floor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from deepphase.arrays import Array, smoothstep, true_runs
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import Roles

# Largest travel of a foot in a contact that was captured, as a share of the leg length.
_HOLD_SHARE = 0.06
# Largest change of height, as the same share, at which a foot is held at one height.
_LEVEL_SHARE = 0.03
HOLD_BLEND_S = 0.16
"""Seconds of the blend before and after a hold."""
_SHORTEST_S = 0.2
# Quantile of a foot's heights at which it is on the floor.
_FLOOR_SHARE = 0.02
_REACHES = 4


@dataclass(frozen=True, eq=False)
class FootHolds:
    """Corrections that keep feet in place during contacts."""

    # (feet,) toes, or ankles of feet without toes; left and right, then front paws of a quadruped.
    joints: Array
    tips: Array  # (frames, feet, 3) metres: these joints before the correction
    shifts: Array  # (frames, feet, 3) metres: correction of each foot
    contacts: Array  # (frames, feet) bool: frames in which each foot is held


def find_holds(
    clip: Clip,
    roles: Roles,
    size: float,
    *,
    flags: Array | None = None,
    hold_share: float = _HOLD_SHARE,
) -> FootHolds:
    """Corrections that hold each foot in place from touch-down to lift-off, faded in and out.

    Contacts are `flags` (frames, feet), or those of the clip. A contact with more travel than this
    share of the leg length `size` is split: it is several contacts, or a slide.
    """
    limbs = LegChains.from_skeleton(clip.skeleton, roles)
    transforms = global_transforms(clip)
    tips = transforms[1][:, limbs.tips]
    if flags is None:
        flags = foot_contacts(clip, roles, transforms=transforms).flags[:, : len(limbs)]
    low = np.quantile(tips[..., 1], _FLOOR_SHARE, axis=0)
    floors = np.maximum(low.min(), low - 0.5 * _LEVEL_SHARE * size)
    shifts, contacts = np.zeros_like(tips), np.zeros_like(flags)
    for foot in range(len(limbs)):
        shifts[:, foot], contacts[:, foot] = _shift(
            tips[:, foot], flags[:, foot], clip.fps, size, hold_share
        )
    shifts[..., 1] += np.maximum(floors - tips[..., 1] - shifts[..., 1], 0.0)
    return FootHolds(limbs.tips, tips, shifts, contacts)


def with_tips_at(
    clip: Clip, roles: Roles, limbs: LegChains, wanted: Array, solver: LimbSolver | None = None
) -> Clip:
    """The clip with tips at places (frames, limbs, 3); last joints do not turn in the world.

    Hinges bend as the solver of these limbs has them, by default as in the clip.
    """
    solver = solver or LimbSolver.from_poses(clip.skeleton, roles, limbs, clip.rotations)
    rotations, places = clip.rotations.copy(), clip.local_positions()
    for _ in range(_REACHES):
        transforms = solver.transforms(rotations, places)
        now = transforms.positions
        solver.reach(rotations, transforms, now[2] + wanted.swapaxes(0, 1) - now[3])
    return replace(clip, rotations=quaternions.sign_continuous(quaternions.normalized(rotations)))


def hips_drop(upper: Array, targets: Array, reach: Array, width: int) -> Array:
    """(frames,) metres by which hips come down so that limbs reach, smooth over `width` frames.

    `upper` and `targets` (limbs, frames, 3) metres are where limbs begin and shall end; `reach`
    (limbs, frames) metres, infinite where a limb need not.
    """
    across = np.linalg.norm((targets - upper)[..., ::2], axis=-1)
    top = targets[..., 1] + np.sqrt(np.maximum(reach**2 - across**2, 0.0))
    drop = np.maximum(upper[..., 1] - top, 0.0).max(axis=0)
    return np.asarray(gaussian_filter1d(maximum_filter1d(drop, 2 * width + 1), 0.5 * width))


def _shift(
    tip: Array, flags: Array, fps: float, size: float, hold_share: float
) -> tuple[Array, Array]:
    """(frames, 3) correction of a foot in metres, and (frames,) bool whether it is held."""
    shift, held = np.zeros((len(tip), 3)), np.zeros(len(tip), bool)
    shortest, blend = max(2, round(_SHORTEST_S * fps)), max(2, round(HOLD_BLEND_S * fps))
    holds: list[tuple[int, int]] = []
    for start, stop in true_runs(flags):
        for first, last in _stays(tip[start:stop, ::2], hold_share * size):
            # Leave time for the blend from one held position to the next.
            begin = max(start + first, holds[-1][1] + blend if holds else 0)
            if start + last - begin >= shortest:
                holds.append((begin, start + last))
    for start, stop in holds:
        shift[start:stop] = np.median(tip[start:stop], axis=0) - tip[start:stop]
        if np.ptp(tip[start:stop, 1]) > _LEVEL_SHARE * size:
            shift[start:stop, 1] = 0.0
        held[start:stop] = True
    return faded_corrections(shift, holds, blend), held


def faded_corrections(shift: Array, holds: list[tuple[int, int]], blend: int) -> Array:
    """Continue corrections (frames, 3), 0 outside of holds, in place: between holds, they fade."""
    frames = len(shift)
    for (_, end), (begin, _) in pairwise([(0, 0), *holds, (frames, frames)]):
        gap = np.arange(end, begin)
        width = min(blend, begin - end + 1)
        for frame, away in ((end - 1, gap - end + 1), (begin, begin - gap)):
            if len(gap) and 0 <= frame < frames:
                # 1 at the hold, 0 a blend away, with slope 0 at both.
                share = 1.0 - smoothstep(np.clip(away / width, 0.0, 1.0))
                shift[gap] += share[:, None] * shift[frame]
    return shift


def _stays(ground: Array, limit: float) -> list[tuple[int, int]]:
    """(start, stop) of the parts of (frames, 2) positions whose extent is at most `limit`."""
    parts, start = [], 0
    low = high = ground[0]
    for frame in range(1, len(ground)):
        low, high = np.minimum(low, ground[frame]), np.maximum(high, ground[frame])
        if np.hypot(*(high - low)) > limit:
            parts.append((start, frame))
            start, low, high = frame, ground[frame], ground[frame]
    return [*parts, (start, len(ground))]
