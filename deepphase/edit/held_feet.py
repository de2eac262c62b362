"""Limbs that reach places, and feet that stay in given contacts, by inverse kinematics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.easing import smoothstep
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import path_length
from deepphase.solving.feet import HOLD_BLEND_S, faded_corrections, find_holds, with_tips_at

# A foot in a made contact may travel by this share of the leg before the contact is split: it comes
# from networks, and is not a slide that a person made.
_HOLD_SHARE = 0.25
_LEFT = np.array([1.0, 0.0, 0.0])


def limbs_of_roles(roles: Roles) -> LegChains:
    """Left and right leg, then left and right arm, as far as a body has them; tips are the last."""
    rows = []
    for parts, bend in ((("hip", "knee", "foot"), 1), (("shoulder", "elbow", "hand"), -1)):
        for side in ("left", "right"):
            joints = [getattr(roles, f"{side}_{part}") for part in parts]
            if None not in joints and joints[0] != 0:
                rows.append([*joints, joints[2], bend])
    upper, middle, last, tips, bends = np.array(rows, np.int64).reshape(-1, 5).T
    return LegChains(upper, middle, last, tips, bends.astype(float))


def with_limbs_at(clip: Clip, roles: Roles, limbs: LegChains, wanted: Array) -> Clip:
    """The clip with the tips of limbs at places (frames, limbs, 3) in metres."""
    left = quaternions.rotate(root_trajectory(clip, roles).rotations, _LEFT)
    return with_tips_at(clip, limbs, wanted, left)


def with_held_feet(clip: Clip, space: MotionSpace, contacts: Array) -> Clip:
    """A clip whose feet stay in contacts; they keep their orientation, and bones their length.

    Parameters
    ----------
    contacts
        (frames, feet) bool: when each foot is on the floor, left and right, then front paws. A
        body whose feet have no limbs of three joints stays as it is.
    """
    roles = space.roles_of(clip)
    limbs = LegChains.from_skeleton(clip.skeleton, roles)
    if len(limbs) != contacts.shape[1]:
        return clip
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    holds = find_holds(clip, roles, leg, flags=contacts, hold_share=_HOLD_SHARE)
    return with_limbs_at(clip, roles, limbs, holds.tips + holds.shifts)


def with_gaps_held(clip: Clip, space: MotionSpace, contacts: Array, broken: Array) -> Clip:
    """A clip whose feet stay in contacts where they were made, and as they are elsewhere.

    A contact that begins or ends in a whole frame stays at the place that it has there; one that
    does both goes from one place to the other.

    Parameters
    ----------
    contacts
        (frames, feet) bool, as in `with_held_feet`.
    broken
        (frames, body joints + 1) bool: where the place of the hips and the rotations of the joints
        were made.
    """
    roles = space.roles_of(clip)
    limbs = LegChains.from_skeleton(clip.skeleton, roles)
    if len(limbs) != contacts.shape[1]:
        return clip
    depends = space.points.groups()
    place = {int(joint): index for index, joint in enumerate(space.points.joints)}
    tips = global_transforms(clip)[1][:, limbs.tips]
    shifts, made = np.zeros_like(tips), np.zeros_like(contacts)
    blend = max(2, round(HOLD_BLEND_S * clip.fps))
    for foot, last in enumerate(limbs.last.tolist()):
        above = depends[place[last] + 1].copy()
        above[0] = True
        made[:, foot] = broken[:, above].any(axis=1)
        shifts[:, foot] = _gap_shift(tips[:, foot], contacts[:, foot], made[:, foot], blend)
    if not np.abs(shifts).max(initial=0.0):
        return clip
    held = with_limbs_at(clip, roles, limbs, tips + shifts)
    # Of the two signs of a quaternion, that of the clip, which is continuous with whole frames.
    sign = np.where((held.rotations * clip.rotations).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    rotations = clip.rotations.astype(np.float64)
    for foot, made_here in enumerate(made.T):
        chain = [int(each[foot]) for each in (limbs.upper, limbs.middle, limbs.last)]
        here = np.ix_(made_here, chain)
        rotations[here] = (sign * held.rotations)[here]
    return replace(clip, rotations=rotations)


def _gap_shift(tip: Array, contact: Array, made: Array, blend: int) -> Array:
    """(frames, 3) correction in metres of a foot's tip (frames, 3), 0 where it was not made."""
    shift, holds = np.zeros_like(tip), [*true_runs(~made)]
    for start, stop in true_runs(contact & made):
        before = tip[start - 1] if start and contact[start - 1] else None
        after = tip[stop] if stop < len(tip) and contact[stop] else None
        if before is None and after is None:
            place = np.median(tip[start:stop], axis=0)
        elif before is None or after is None:
            place = after if before is None else before
        else:
            share = np.arange(1, stop - start + 1)[:, None] / (stop - start + 1)
            place = before + (after - before) * smoothstep(share)
        shift[start:stop] = place - tip[start:stop]
        holds.append((start, stop))
    return np.where(made[:, None], faded_corrections(shift, sorted(holds), blend), 0.0)
