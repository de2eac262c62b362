"""Feet that stay in given contacts, by inverse kinematics."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.editing.motion_rows import MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.limbs import path_length
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.solving.feet import find_holds, with_tips_at

# A foot in a made contact may travel by this share of the leg before the contact is split: it comes
# from networks, and is not a slide that a person made.
_HOLD_SHARE = 0.25
_LEFT = np.array([1.0, 0.0, 0.0])


def with_held_feet(clip: Clip, space: MotionSpace, contacts: Array) -> Clip:
    """A clip whose feet stay in contacts; they keep their orientation, and bones their length.

    Parameters
    ----------
    clip
        A clip of the space's body, a biped or a quadruped.
    space
        The body.
    contacts
        (frames, feet) bool: when each foot is on the floor, left and right, then front paws. A
        body whose feet have no limbs of three joints stays as it is.
    """
    roles = find_roles(clip.skeleton, space.description, clip=clip)
    limbs = LegChains.of_skeleton(clip.skeleton, roles)
    if len(limbs) != contacts.shape[1]:
        return clip
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    holds = find_holds(clip, roles, leg, flags=contacts, hold_share=_HOLD_SHARE)
    left = quaternions.rotate(root_trajectory(clip, roles).rotations, _LEFT)
    return with_tips_at(clip, limbs, holds.tips + holds.shifts, left)
