"""Foot contacts with the floor, from height and speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip, end_positions, global_transforms, velocities
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import path_length

GRAVITY = 9.81
_TRAVEL_WINDOW_S = 0.5
# A contact begins below the first value and ends above the second. Speeds are shares of
# sqrt(g * leg length), at which bodies of all sizes move alike (Alexander and Jayes 1983): 1 is
# 2.8 m/s for an adult. Heights are shares of the leg length.
_ENTER_SPEED, _LEAVE_SPEED = 0.18, 0.25
_ENTER_HEIGHT, _LEAVE_HEIGHT = 0.07, 0.12
# A foot that swings is twice as fast as the body: in fast gaits, whose contacts are few frames long
# and blurred, the speeds rise with this share of the body's.
_TRAVEL_SHARE = 0.3
_SHORTEST_S = 0.05


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of each foot with the floor.

    Parameters
    ----------
    joints
        (feet,) left and right foot; of a quadruped then left and right front foot.
    flags
        (frames, feet) whether the foot is on the floor.
    floor
        Metres: height of the clip's floor, where its lowest points stand.
    """

    joints: tuple[int, ...]
    flags: Array
    floor: float

    def __repr__(self) -> str:
        frames, feet = self.flags.shape
        share = f"{self.flags.mean():.0%} on a floor at {self.floor:.3f} m"
        return short_repr(self, counted(frames, "frame"), f"{feet} feet", share)


def foot_contacts(
    clip: Clip,
    roles: Roles,
    *,
    transforms: tuple[Array, Array] | None = None,
    at_any_height: bool = False,
) -> Contacts:
    """Contacts of the feet with the clip's own floor, from height and speed with hysteresis.

    Ankle, toe and tip of each foot are tested, since a step lands on the heel and leaves by the
    toe: the foot is in contact while any of them is. The floor of each point is its own lowest
    height, so shoes, and paws of any thickness, need no setting.

    Parameters
    ----------
    transforms
        The clip's `global_transforms`, if they were computed before.
    at_any_height
        Whether speed alone decides, for feet on boxes and stairs.

    Raises
    ------
    SkeletonError
        If no pair of feet was found, or the legs have no length.
    """
    feet = roles.both("foot")
    if feet is None:
        raise SkeletonError(
            "contacts need a left and a right foot, but none were found",
            hint="name them in a skeleton description (left_foot, right_foot)",
        )
    transforms = global_transforms(clip) if transforms is None else transforms
    paws = roles.both("hand") if roles.kind == "quadruped" else None
    legs = zip(roles.both("hip") or (), feet, strict=False)
    leg = max((path_length(clip.skeleton, *joints) for joints in legs), default=0.0)
    if leg <= 0:
        raise SkeletonError("contacts need the length of the legs, but it is 0")
    travel = velocities(transforms[1][:, roles.hips, ::2], clip.fps)
    window = min(len(travel), max(1, round(_TRAVEL_WINDOW_S * clip.fps)))
    body_speed = np.linalg.norm(scipy.ndimage.uniform_filter1d(travel, window, axis=0), axis=1)
    flags, floors = [], []
    for part in ("foot", "hand") if paws else ("foot",):
        points = _points_of_pair(clip, transforms, roles, part)
        on_floor, floor = _points_on_floor(points, body_speed, clip.fps, leg, at_any_height)
        flags.append(on_floor.any(axis=1))
        floors.append(floor)
    shortest = max(1, round(_SHORTEST_S * clip.fps))
    contacts = _without_brief(np.concatenate(flags, axis=1), shortest)
    return Contacts((*feet, *(paws or ())), contacts, min(floors))


def sliding_speed(feet: Array, contacts: Array, fps: float) -> float:
    """Mean ground speed, m/s, of (frames, feet, 3) between frames in contact; 0 without any."""
    both = contacts[1:] & contacts[:-1]
    speed = np.linalg.norm(np.diff(feet[..., ::2], axis=0), axis=-1) * fps
    return float(speed[both].mean()) if both.any() else 0.0


def _points_of_pair(clip: Clip, transforms: tuple[Array, Array], roles: Roles, part: str) -> Array:
    """(frames, points, 2 sides, 3) metres: joints and tips of a pair of feet that touch floors."""
    pairs = [roles.both(part), roles.both("toe") if part == "foot" else None]
    points = [transforms[1][:, list(pair)] for pair in pairs if pair]
    ends = roles.both(f"{part}_end")
    if ends:
        points.append(end_positions(clip, transforms)[:, list(ends)])
    return np.stack(points, axis=1)


def _points_on_floor(
    points: Array, body_speed: Array, fps: float, leg: float, at_any_height: bool
) -> tuple[Array, float]:
    heights = points[..., 1]
    low = np.percentile(heights, 5, axis=0)
    # A foot that never comes down uses the floor of the other foot, not its own lowest height.
    pair_floor = low.min(axis=1, keepdims=True)
    enter_height, leave_height = (1e6, 2e6) if at_any_height else (_ENTER_HEIGHT, _LEAVE_HEIGHT)
    floor = np.where(low - pair_floor > 0.5 * enter_height * leg, pair_floor, low)
    height = (heights - floor) / leg
    scale = np.sqrt(GRAVITY * leg)
    speed = np.linalg.norm(velocities(points, fps), axis=-1) / scale
    enter_speed = np.maximum(_ENTER_SPEED, _TRAVEL_SHARE * (body_speed / scale))[:, None, None]
    leave_speed = enter_speed * (_LEAVE_SPEED / _ENTER_SPEED)
    enter = (height < enter_height) & (speed < enter_speed)
    leave = (height > leave_height) | (speed > leave_speed)
    return _with_hysteresis(enter, leave), float(low.min())


def _with_hysteresis(enter: Array, leave: Array) -> Array:
    """Whether `enter` was true more recently than `leave`; at the start the first one counts."""
    frames = np.arange(len(enter)).reshape(-1, *(1,) * (enter.ndim - 1))
    event = enter | leave
    latest = np.maximum.accumulate(np.where(event, frames, -1), axis=0)
    first = np.where(event.any(axis=0), event.argmax(axis=0), 0)
    latest = np.where(latest < 0, first, latest)
    return np.take_along_axis(enter, latest, axis=0)


def _without_brief(flags: Array, frames: int) -> Array:
    if frames <= 1:
        return flags
    # Contacts at a clip's edge may be shorter.
    padded = np.pad(flags, ((frames, frames), (0, 0)), mode="edge")
    window = np.ones((frames, 1), bool)
    closed = scipy.ndimage.binary_closing(padded, window)
    return scipy.ndimage.binary_opening(closed, window)[frames:-frames]
