"""Feet of a rigged clip that stay where they stand, and above the floor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import Roles

# Of the leg's length: as far as a foot may be from where it is held. A contact in which it goes
# farther is several, or a slide.
_HOLD_SHARE = 0.06
# Of it, too: a foot that stays this level in a contact is held at one height.
_LEVEL_SHARE = 0.03
# Seconds: shorter holds are none, and as long a foot takes to leave or to reach its place.
_SHORTEST_S, _BLEND_S = 0.2, 0.16
# A foot stands on the floor at this share of its lowest heights.
_FLOOR_SHARE = 0.02
_REACHES = 4
_LEFT = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class FootHolds:
    """Where feet shall be so that they stay where they stand.

    Parameters
    ----------
    tips
        (frames, 2, 3) metres: toes, or ankles of feet without, as the motion has them.
    shifts
        (frames, 2, 3) metres: how far each foot is to be moved.
    contacts
        (frames, 2) bool: frames in which it is held.
    """

    tips: Array
    shifts: Array
    contacts: Array


def find_holds(clip: Clip, roles: Roles, size: float) -> FootHolds:
    """Hold each foot of a clip where it stands, from touch-down to lift-off.

    Before and after, what a hold moves the foot by fades in and out. Feet below the floor are
    lifted onto it.

    Parameters
    ----------
    size
        Metres: the length of a leg.
    """
    limbs = LegChains.of_skeleton(clip.skeleton, roles)
    transforms = global_transforms(clip)
    tips = transforms[1][:, limbs.tips]
    flags = foot_contacts(clip, roles, transforms=transforms).flags[:, :2]
    low = np.quantile(tips[..., 1], _FLOOR_SHARE, axis=0)
    floors = np.maximum(low.min(), low - 0.5 * _LEVEL_SHARE * size)
    shifts, contacts = np.zeros_like(tips), np.zeros_like(flags)
    for foot in range(len(limbs)):
        shifts[:, foot], contacts[:, foot] = _shift(tips[:, foot], flags[:, foot], clip.fps, size)
    shifts[..., 1] += np.maximum(floors - tips[..., 1] - shifts[..., 1], 0.0)
    return FootHolds(tips, shifts, contacts)


def reach_holds(clip: Clip, roles: Roles, holds: FootHolds) -> Clip:
    """The clip with its legs bent so that the feet are where they are held.

    Two-joint inverse kinematics of each leg; feet keep their direction in the world.
    """
    solver = LimbSolver(clip.skeleton, LegChains.of_skeleton(clip.skeleton, roles))
    rotations, places = clip.rotations.copy(), clip.local_positions()
    wanted = (holds.tips + holds.shifts).swapaxes(0, 1)
    left = quaternions.rotate(rotations[:, 0], _LEFT)
    for _ in range(_REACHES):
        transforms = solver.transforms(rotations, places)
        now = transforms.positions
        solver.reach(rotations, transforms, now[2] + wanted - now[3], left)
    rotations = quaternions.sign_continuous(quaternions.normalized(rotations))
    return replace(clip, rotations=rotations)


def toe_positions(clip: Clip, roles: Roles) -> Array:
    """(frames, 2, 3) metres: the left and the right toes, or ankles of feet without."""
    limbs = LegChains.of_skeleton(clip.skeleton, roles)
    return global_transforms(clip)[1][:, limbs.tips]


def sliding_speed(feet: Array, contacts: Array, fps: float) -> float:
    """m/s: mean speed over the ground of (frames, feet, 3) positions in contact; 0 without any.

    Speeds are those of steps between two frames of contact.
    """
    both = contacts[1:] & contacts[:-1]
    speed = np.linalg.norm(np.diff(feet[..., ::2], axis=0), axis=-1) * fps
    return float(speed[both].mean()) if both.any() else 0.0


def _shift(tip: Array, flags: Array, fps: float, size: float) -> tuple[Array, Array]:
    """(frames, 3) metres by which a foot is moved, and (frames,) whether it is held."""
    frames = len(tip)
    shift, held = np.zeros((frames, 3)), np.zeros(frames, bool)
    shortest, blend = max(2, round(_SHORTEST_S * fps)), max(2, round(_BLEND_S * fps))
    holds: list[tuple[int, int]] = []
    for start, stop in _runs(flags):
        for first, last in _stays(tip[start:stop, ::2], _HOLD_SHARE * size):
            # From one place to the next a foot takes its time.
            begin = max(start + first, holds[-1][1] + blend if holds else 0)
            if start + last - begin >= shortest:
                holds.append((begin, start + last))
    for start, stop in holds:
        place = np.median(tip[start:stop], axis=0)
        shift[start:stop] = place - tip[start:stop]
        if np.ptp(tip[start:stop, 1]) > _LEVEL_SHARE * size:
            shift[start:stop, 1] = 0.0
        held[start:stop] = True
    # Between holds what each one asks for fades, before the next one is fully there.
    edges = [(0, 0), *holds, (frames, frames)]
    for (_, end), (begin, _) in pairwise(edges):
        gap = np.arange(end, begin)
        width = min(blend, begin - end + 1)
        if end > 0 and len(gap):
            shift[gap] += _fading((gap - end + 1) / width)[:, None] * shift[end - 1]
        if begin < frames and len(gap):
            shift[gap] += _fading((begin - gap) / width)[:, None] * shift[begin]
    return shift, held


def _fading(share: Array) -> Array:
    """From 1 at 0 to 0 at 1, level at both."""
    share = np.clip(share, 0.0, 1.0)
    return 1.0 - share * share * (3.0 - 2.0 * share)


def _runs(flags: Array) -> list[tuple[int, int]]:
    """(start, stop) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.r_[False, flags, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _stays(ground: Array, limit: float) -> list[tuple[int, int]]:
    """(start, stop) of the parts of (frames, 2) in which nothing is farther than `limit` apart."""
    parts, start = [], 0
    low = high = ground[0]
    for frame in range(1, len(ground)):
        low, high = np.minimum(low, ground[frame]), np.maximum(high, ground[frame])
        if np.hypot(*(high - low)) > limit:
            parts.append((start, frame))
            start, low, high = frame, ground[frame], ground[frame]
    return [*parts, (start, len(ground))]
