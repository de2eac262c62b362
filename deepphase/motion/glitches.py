"""Capture errors: jumps, stray first or last poses, and flips of joints, which are repaired."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import percentile_filter
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, true_runs
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.skeleton import Skeleton, joint_depths

# A step between two frames jumps where it departs from its neighbours by this share of the body's
# size, and by this factor from the upper quartile of such departures around it. Real blows, kicks
# and gallops stay below a factor of 7 at 30 Hz and above; lost markers begin at 10.
_JUMP_SHARE = 0.015
_JUMP_FACTOR = 9.0
_NOISE_SHARE = 0.0015
_BODY_JUMP_SHARE = 0.02
_SURROUNDINGS_S = 0.2
# The same for rotations, in radians: the turn of a hand moves no other joint.
_JUMP_ANGLE = 0.6
_NOISE_ANGLE = 0.03
# A first or last pose is stray where all joints move in one frame by this share of the body's
# size, and by this factor more than after the time that a filter may have spread it over.
_STRAY_FACTOR = 6.0
_STRAY_SHARE = 0.05
_STRAY_S = 0.07


@dataclass(frozen=True)
class Glitch:
    """Frames that are likely capture errors.

    Parameters
    ----------
    first, last
        Indices of the first and the last frame after a jump; equal for a single frame.
    what
        A joint's name, "whole body", "start of the clip" or "end of the clip".
    """

    first: int
    last: int
    what: str
    sentence: str


def find_glitches(clip: Clip, positions: Array | None = None) -> list[Glitch]:
    """Jumps between frames, and stray poses at a clip's ends, in the order of their frames.

    Parameters
    ----------
    positions
        (frames, joints, 3) metres: the clip's joint positions, if they were computed before.
    """
    positions = joint_positions(clip) if positions is None else positions
    if len(positions) < 4:
        return []
    size = float(np.median(np.linalg.norm(np.ptp(positions, axis=1), axis=-1)))
    if size <= 0:
        return []
    start = _stray_frames(positions, size, clip.fps)
    stop = len(positions) - _stray_frames(positions[::-1], size, clip.fps)
    if stop - start < 1:
        return []
    found = []
    if start:
        found.append(_stray(0, start - 1, "start", "follows"))
    found.extend(_jumps(clip.sliced(start, stop), positions[start:stop], size, start))
    if stop < len(positions):
        found.append(_stray(stop, len(positions) - 1, "end", "precedes"))
    return found


def _stray(first: int, last: int, end: str, rest: str) -> Glitch:
    frames = f"frame {first} is a pose" if first == last else f"frames {first} to {last} are poses"
    return Glitch(first, last, f"{end} of the clip", f"{frames} apart from all that {rest}")


def _stray_frames(positions: Array, size: float, fps: float) -> int:
    """Number of frames at the start that belong to a stray pose or to a filter's transition."""
    longest = max(2, round(_STRAY_S * fps))
    steps = np.linalg.norm(np.diff(positions[: 3 * longest + 1], axis=0), axis=-1).mean(axis=1)
    if len(steps) < longest + 2:
        return 0
    # A stray pose is left within one frame; a fast movement continues.
    far = steps[:longest] > _STRAY_FACTOR * steps[longest:].max()
    if not far[0] or steps[0] < _STRAY_SHARE * size:
        return 0
    return longest if far.all() else int(np.argmin(far))


def _jumps(clip: Clip, positions: Array, size: float, start: int) -> list[Glitch]:
    if len(positions) < 4:
        return []
    steps = np.diff(positions, axis=0)
    moved = _departures(steps)
    moves = _outliers(moved, _JUMP_SHARE * size, _NOISE_SHARE * size, clip.fps)
    # Half of all joints never depart from their course at once, so no comparison with the
    # neighbouring frames is needed; at 30 Hz, jumps there and back would fill them.
    moves |= (np.median(moved, axis=1) > _BODY_JUMP_SHARE * size)[:, None]
    turned = _departures(_rotation_steps(clip.rotations))
    turns = _outliers(turned, _JUMP_ANGLE, _NOISE_ANGLE, clip.fps)
    # A departure at step k shows in its neighbours at half its size: two steps are one jump.
    flagged = np.flatnonzero((moves | turns).any(axis=1))
    if flagged.size == 0:
        return []
    usual = np.median(np.linalg.norm(steps, axis=-1), axis=0)
    depth = joint_depths(clip.skeleton)
    found = []
    for run in np.split(flagged, np.flatnonzero(np.diff(flagged) > 2) + 1):
        joints_moved, joints_turned = moves[run].any(axis=0), turns[run].any(axis=0)
        first, last = int(run[0]) + 2 + start, int(run[-1]) + 2 + start
        frames = f"frame {first}" if first == last else f"frames {first} to {last}"
        # Steps of the run, minus the usual distance of each joint per frame.
        beyond = np.linalg.norm(steps[run[0] + 1 : run[-1] + 2], axis=-1).max(axis=0) - usual
        # A joint that is still for one frame moves less than usual, not more.
        departed = moved[run].max(axis=0)
        beyond = np.where(beyond < 0.5 * departed, departed, beyond)
        if joints_moved.mean() > 0.5:
            what = "whole body"
            by = f"{100 * np.median(beyond):.0f} cm"
        else:
            joints = np.flatnonzero(joints_moved if joints_moved.any() else joints_turned)
            joint = joints[np.argmin(depth[joints])]
            what = clip.skeleton.names[joint]
            by = f"{100 * beyond[joint]:.0f} cm"
            if not joints_moved.any():
                by = f"{np.degrees(turned[run][:, joint].max()):.0f} degrees"
        found.append(Glitch(first, last, what, f"{frames}: {what} jumps by {by}"))
    return found


def _departures(steps: Array) -> Array:
    """(steps - 2, joints) how far each inner step is from the mean of its neighbours."""
    return np.linalg.norm(steps[1:-1] - 0.5 * (steps[:-2] + steps[2:]), axis=-1)


def _outliers(departures: Array, least: float, noise: float, fps: float) -> Array:
    window = 2 * round(_SURROUNDINGS_S * fps) + 1
    candidates = (departures > least) & (departures > _JUMP_FACTOR * noise)
    joints = np.flatnonzero(candidates.any(axis=0))
    if joints.size == 0:
        return candidates
    usual = percentile_filter(departures[:, joints], 75, size=(window, 1), mode="nearest")
    candidates[:, joints] &= departures[:, joints] > _JUMP_FACTOR * (usual + noise)
    return candidates


def _rotation_steps(rotations: Array) -> Array:
    """(frames - 1, joints, 3) radians: rotation vectors from each frame to the next, in place."""
    steps = quaternions.multiply(rotations[1:], quaternions.conjugate(rotations[:-1]))
    steps = np.where(steps[..., 3:] < 0, -steps, steps)
    sine = np.linalg.norm(steps[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, steps[..., 3:])
    return steps[..., :3] * np.where(sine > 1e-8, angle / np.maximum(sine, 1e-8), 2.0)


# A joint jumps where it turns by this angle (radians) from one frame to the next.
_FLIP_ANGLE = 1.0
# A joint that jumps away and back does so by this factor more than in its faster quarter of the
# frames around: blows, throws and wags of a tail speed up over several frames.
_FLIP_FACTOR = 4.0
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
    first, last
        The flipped frames.
    angle_degrees
        The largest turn from one frame to the next.
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
    stop = max(jump[1] for jump in jumps)
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
    if not (steps > _FLIP_ANGLE).any():
        return []
    window = 2 * max(2, round(_SURROUNDINGS_S * fps)) + 1
    usual = percentile_filter(steps, 75, size=window, mode="nearest")
    large = (steps > _FLIP_ANGLE) & (steps > _FLIP_FACTOR * usual)
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
    if not (steps > _FLIP_ANGLE).any() or not np.linalg.norm(bone) > 0:
        return []
    axis = bone / np.linalg.norm(bone)
    own = rotations[:, joint]
    change = quaternions.multiply(quaternions.conjugate(own[:-1]), own[1:])
    twists = _wrapped(2.0 * np.arctan2(change[:, :3] @ axis, change[:, 3]))
    # The joints below turn back, and less in all than the joint and they do each.
    whole = quaternions.multiply(own[:, None], rotations[:, below])
    turns = quaternions.angle_between(whole[1:], whole[:-1]).max(axis=1)
    under = quaternions.angle_between(rotations[1:, below], rotations[:-1, below]).min(axis=1)
    flips = (steps > _FLIP_ANGLE) & (turns < _BACK_SHARE * (steps + under))
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
