"""Feet that stay in contacts: of whole motions, and in gaps that were filled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, smoothstep, true_runs
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.resample import low_passed
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, path_length
from deepphase.solving.feet import (
    HOLD_BLEND_S,
    faded_corrections,
    find_holds,
    hips_drop,
    with_tips_at,
)
from deepphase.steering.foot_lock import within_reach

# A foot in a made contact may travel by this share of the leg before the contact is split: it comes
# from networks, and is not a slide that a person made.
_HOLD_SHARE = 0.25
# Of legs in contact, the longest, as a share of their length; and seconds in which hips come down.
_MOST_STRETCHED, _DROP_S = 0.99, 0.17
# In leg lengths: a foot that stands before and after a gap has made a step if it went further.
_STEP = 0.08


def limbs_of_roles(skeleton: Skeleton, roles: Roles) -> LegChains:
    """Left and right leg, then left and right arm, as far as a body has them; tips are the last."""
    limbs = LegChains.from_skeleton(skeleton, replace(roles, kind="quadruped"))
    return replace(limbs, tips=limbs.last)


def faded_to(tips: Array, places: Array, known: Array, blend_s: float, fps: float) -> Array:
    """Tips (frames, limbs, 3) at places where these are known (frames, limbs), faded to there."""
    shifts = np.where(known[..., None], places - tips, 0.0)
    for limb, own in enumerate(known.T):
        faded_corrections(shifts[:, limb], true_runs(own), max(2, round(blend_s * fps)))
    return tips + shifts


def with_held_feet(
    clip: Clip,
    space: MotionSpace,
    contacts: Array,
    cutoff_hz: float = 0.0,
    like: Clip | None = None,
) -> Clip:
    """A clip whose feet stay in contacts (frames, feet), by moves below a frequency, 0 for any.

    Its hinges bend as in the clip that it is `like`, whose feet are as high in contacts; the hips
    are lowered where legs are too short for that. By default both are as in the clip itself.
    """
    roles = space.roles_of(clip)
    rotations, limbs = clip.rotations.copy(), LegChains.from_skeleton(clip.skeleton, roles)
    poses = rotations if like is None else like.rotations
    solver = LimbSolver.from_poses(clip.skeleton, roles, limbs, poses)
    solver.hinges.constrain(rotations)
    clip = replace(clip, rotations=rotations)
    if len(limbs) != contacts.shape[1]:
        return clip
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    holds = find_holds(clip, roles, leg, flags=contacts, hold_share=_HOLD_SHARE)
    if like is not None:
        given = joint_positions(like)[:, limbs.tips]
        levels = faded_to(holds.tips, given, contacts, HOLD_BLEND_S, clip.fps) - holds.tips
        lowest = given[..., 1].min(axis=0) - holds.tips[..., 1]
        holds.shifts[..., 1] = np.maximum(levels[..., 1], lowest)
    transforms = solver.transforms(clip.rotations, clip.local_positions())
    upper, _, last, _ = transforms.positions
    targets = last + low_passed(holds.shifts, cutoff_hz, clip.fps).swapaxes(0, 1)
    if like is not None:
        rotations, places = space.pose(clip)
        reach = np.where(contacts.T, _MOST_STRETCHED * transforms.lengths, np.inf)
        places[:, 1] -= hips_drop(upper, targets, reach, max(1, round(_DROP_S * clip.fps)))
        clip = space.with_pose(clip, rotations, places)
    else:
        # Knees that straighten within a frame or two pop.
        targets = within_reach(upper, last, targets, transforms.lengths)
    moved = targets - last
    return with_tips_at(clip, roles, limbs, holds.tips + moved.swapaxes(0, 1), solver)


def with_gaps_held(clip: Clip, space: MotionSpace, contacts: Array, broken: Array) -> Clip:
    """A clip whose feet stay where they were made, `broken` (frames, joints + 1), in contacts or
    low and slow."""
    roles = space.roles_of(clip)
    limbs = LegChains.from_skeleton(clip.skeleton, roles)
    if len(limbs) != contacts.shape[1]:
        return clip
    transforms = global_transforms(clip)
    stands = foot_contacts(clip, roles, transforms=transforms).flags
    contacts = contacts | (stands & np.asarray(broken.any(axis=1))[:, None])
    tips = transforms[1][:, limbs.tips]
    shifts, turned = np.zeros_like(tips), np.zeros(clip.rotations.shape[:2], bool)
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    blend = max(2, round(HOLD_BLEND_S * clip.fps))
    for foot, chain in enumerate(np.stack([limbs.upper, limbs.middle, limbs.last], axis=1)):
        made = np.asarray(broken[:, np.searchsorted(space.points.joints, chain) + 1].all(axis=1))
        turned[:, chain] = made[:, None]
        shifts[:, foot] = _gap_shift(tips[:, foot], contacts[:, foot], made, blend, _STEP * leg)
    if not np.abs(shifts).max(initial=0.0):
        return clip
    held = with_tips_at(clip, roles, limbs, tips + shifts)
    # Of the two signs of a quaternion, that of the clip, which is continuous with whole frames.
    sign = np.where((held.rotations * clip.rotations).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    rotations = clip.rotations.astype(np.float64)
    return replace(clip, rotations=np.where(turned[..., None], sign * held.rotations, rotations))


def _gap_shift(tip: Array, contact: Array, made: Array, blend: int, step: float) -> Array:
    """(frames, 3) correction of a made tip, free between places more than a step apart."""
    shift, holds = np.zeros_like(tip), [*true_runs(~made)]
    known, standing = np.flatnonzero(~made), np.flatnonzero(contact & ~made)
    for start, stop in true_runs(contact & made):
        before = tip[start - 1] if start and contact[start - 1] else None
        after = tip[stop] if stop < len(tip) and contact[stop] else None
        # A foot that is known not to stand comes down and leaves in time.
        beside = np.searchsorted(known, start)
        if before is None and beside:
            start = max(start, known[beside - 1] + 1 + blend)
        if after is None and beside < len(known):
            stop = min(stop, known[beside] - blend)
        if start >= stop:
            continue
        parts = [(start, stop)]
        if before is None and after is None:
            place = np.median(tip[start:stop], axis=0)
            # The toes are as high as where the foot stands beside the gap, if that is near.
            if len(standing):
                level = np.interp(0.5 * (start + stop), standing, tip[standing, 1])
                place[1] = level if abs(level - place[1]) < step else place[1]
            places = place[None]
        elif before is None or after is None:
            places = np.array([place for place in (before, after) if place is not None])
        elif np.linalg.norm(after - before) < step:
            share = np.arange(1, stop - start + 1)[:, None] / (stop - start + 1)
            places = before + (after - before) * smoothstep(share)
        else:
            third = max((stop - start) // 3, 1)
            parts = [(start, start + third), (stop - third, stop)]
            places = np.repeat([before, after], [stop - start - third, third], axis=0)
        for first, last in parts:
            own = places if len(places) == 1 else places[first - start : last - start]
            shift[first:last] = own - tip[first:last]
        holds += parts
    faded_corrections(shift, sorted(holds), blend)
    # No foot goes lower than where it is not made.
    if not made.all():
        shift[:, 1] = np.maximum(shift[:, 1], tip[~made, 1].min() - tip[:, 1])
    return np.where(made[:, None], shift, 0.0)
