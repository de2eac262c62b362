"""Flips of joints: rotations that jump and jump back, as solvers of markers leave them.

A marker that is confused with another one turns a joint away for some frames. An arm that is almost
straight may turn about its own bone by half a circle while the forearm turns back: no joint moves,
but the rotations jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import percentile_filter
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, true_runs
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.skeleton import Skeleton

# A joint jumps where it turns by this angle (radians) from one frame to the next.
_JUMP_ANGLE = 1.0
# A joint that jumps away and back does so by this factor more than in its faster quarter of the
# frames around: blows, throws and wags of a tail speed up over several frames.
_JUMP_FACTOR = 4.0
_SURROUNDINGS_S = 0.2
# Largest share of a jump by which a joint that is back may differ from before; and largest share of
# the turns of a joint about its bone and of those below by which the latter turn in the world.
_BACK_SHARE = 0.5
_LONGEST_S = 0.15
# Smallest share of a jump about the bone that is a turn about it.
_TWIST_SHARE = 0.7
# Differences of positions from frame to frame that are rounding, metres.
_ROUNDING_M = 1e-6
# A turn about a bone is spread over this time before and after.
_SPREAD_S = 0.05


@dataclass(frozen=True)
class Flip:
    """Frames in which a joint was flipped.

    Parameters
    ----------
    joint
        Name of the joint.
    first, last
        The flipped frames.
    angle_degrees
        The largest turn from one frame to the next.
    twist
        Whether the joint turned about its bone and those below turned back.
    """

    joint: str
    first: int
    last: int
    angle_degrees: float
    twist: bool

    @property
    def sentence(self) -> str:
        """Frames, joint and angle in words."""
        one = self.first == self.last
        frames = f"frame {self.first}" if one else f"frames {self.first} to {self.last}"
        about = " about its bone" if self.twist else ""
        return f"{frames}: {self.joint} flipped by {self.angle_degrees:.0f} degrees{about}"


def repair_flips(clip: Clip) -> tuple[Clip, tuple[Flip, ...]]:
    """The clip without flips of joints, and the flips that it had.

    A joint that jumps away and back within 0.15 s is interpolated from the frame before to the
    frame after (slerp), unless joints then move less smoothly. A joint that jumps about its bone
    while all joints below turn back is given a steady turn about the bone, and those below turn
    back by as much: every joint keeps its position. Fast movements, which speed up over several
    frames, are left. A clip without flips is returned as it is.
    """
    if len(clip) < 4 or not clip.has_rotations:
        return clip, ()
    rotations = np.asarray(clip.rotations, np.float64).copy()
    found: list[Flip] = []
    # Parents stand before their children, whose turns back are taken out with theirs.
    for joint in range(len(clip.skeleton)):
        found += _untwisted(rotations, clip.skeleton, joint, clip.fps)
    away: dict[int, list[tuple[int, int, float]]] = {}
    for joint in range(len(clip.skeleton)):
        for first, stop, angle in _jumps_and_back(rotations[:, joint], clip.fps):
            away.setdefault(first, []).append((joint, stop, angle))
    for first, jumps in away.items():
        if _interpolated(rotations, clip, first, jumps):
            found += [
                Flip(clip.skeleton.names[joint], first, stop - 1, angle, False)
                for joint, stop, angle in jumps
            ]
    if not found:
        return clip, ()
    found.sort(key=lambda flip: (flip.first, flip.joint))
    return replace(clip, rotations=rotations.astype(clip.rotations.dtype)), tuple(found)


def _interpolated(
    rotations: Array, clip: Clip, first: int, jumps: list[tuple[int, int, float]]
) -> bool:
    """Interpolate over flips from frame `first` on, in place, where all joints move more smoothly.

    Of a joint whose turn another one below has undone, only the repair would be seen.
    """
    stop = max(each[1] for each in jumps)
    around = slice(max(0, first - 2), stop + 2)
    repaired = rotations[around].copy()
    for joint, end, _ in jumps:
        ends = Rotation.from_quat(rotations[[first - 1, end], joint])
        frames = np.arange(first, end)
        repaired[frames - around.start, joint] = Slerp([first - 1, end], ends)(frames).as_quat()

    def roughness(of: Array) -> float:
        part = clip.sliced(around.start, around.start + len(of))
        places = joint_positions(replace(part, rotations=of))
        return float(np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1).max())

    if roughness(repaired) > roughness(rotations[around]) + _ROUNDING_M:
        return False
    rotations[around] = repaired
    return True


def _jumps_and_back(rotations: Array, fps: float) -> list[tuple[int, int, float]]:
    """First frame, end and angle (degrees) of each flip of a joint (frames, 4)."""
    steps = quaternions.angle_between(rotations[1:], rotations[:-1])
    if not (steps > _JUMP_ANGLE).any():
        return []
    window = 2 * max(2, round(_SURROUNDINGS_S * fps)) + 1
    usual = percentile_filter(steps, 75, size=window, mode="nearest")
    large = (steps > _JUMP_ANGLE) & (steps > _JUMP_FACTOR * usual)
    # Frames after a jump.
    jumps = (np.flatnonzero(large) + 1).tolist()
    longest = max(1, round(_LONGEST_S * fps))
    found: list[tuple[int, int, float]] = []
    for place, first in enumerate(jumps):
        if found and first <= found[-1][1]:
            continue
        for stop in jumps[place + 1 :]:
            if stop - first > longest:
                break
            jump = steps[[first - 1, stop - 1]]
            apart = quaternions.angle_between(rotations[first - 1], rotations[stop])
            if apart < _BACK_SHARE * jump.min():
                found.append((first, stop, float(np.degrees(jump.max()))))
                break
    return found


def _untwisted(rotations: Array, skeleton: Skeleton, joint: int, fps: float) -> list[Flip]:
    """Make jumps of a joint about its bone steady turns, in (frames, joints, 4) in place."""
    below = np.flatnonzero(skeleton.parents == joint)
    bone = skeleton.offsets[below].mean(axis=0) if len(below) else np.zeros(3)
    steps = quaternions.angle_between(rotations[1:, joint], rotations[:-1, joint])
    if not (steps > _JUMP_ANGLE).any() or not np.linalg.norm(bone) > 0:
        return []
    axis = bone / np.linalg.norm(bone)
    own = rotations[:, joint]
    change = quaternions.multiply(quaternions.conjugate(own[:-1]), own[1:])
    twists = _wrapped(2.0 * np.arctan2(change[:, :3] @ axis, change[:, 3]))
    # The joints below turn back, and less in all than the joint and they do each.
    whole = quaternions.multiply(own[:, None], rotations[:, below])
    turns = quaternions.angle_between(whole[1:], whole[:-1]).max(axis=1)
    under = quaternions.angle_between(rotations[1:, below], rotations[:-1, below]).min(axis=1)
    flips = (steps > _JUMP_ANGLE) & (turns < _BACK_SHARE * (steps + under))
    flips &= np.abs(twists) > _TWIST_SHARE * steps
    if not flips.any():
        return []
    spread = max(2, round(_SPREAD_S * fps))
    near = np.convolve(flips, np.ones(2 * spread + 1), "same") > 0
    found = []
    for first, stop in true_runs(near):
        inside = twists[first:stop]
        steady = _wrapped(inside.sum()) / len(inside)
        # The angle by which each frame turns: 0, or whole circles, at the last one.
        angles = np.cumsum(steady - inside)
        frames = slice(first + 1, stop + 1)
        back = quaternions.about_axis(axis, -angles)[:, None]
        rotations[frames, joint] = quaternions.multiply(
            own[frames], quaternions.about_axis(axis, angles)
        )
        rotations[frames, below] = quaternions.multiply(back, rotations[frames, below])
        jumps = first + np.flatnonzero(flips[first:stop])
        angle = float(np.degrees(steps[jumps].max()))
        frame, last = int(jumps[0]) + 1, int(jumps[-1]) + 1
        found.append(Flip(skeleton.names[joint], frame, last, angle, True))
    return found


def _wrapped(angles: Array) -> Array:
    """Radians in [-pi, pi)."""
    return (angles + np.pi) % (2.0 * np.pi) - np.pi
