"""Glitches of captured motion: jumps between frames, and stray poses at a clip's ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import percentile_filter

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.skeleton import joint_depths

# A step between two frames jumps where it departs from its neighbours by this share of the body's
# size, and by this factor from the upper quartile of such departures around it. Real blows, kicks
# and gallops stay below a factor of 7 at 30 Hz and above; lost markers begin at 10.
_JUMP_SHARE, _JUMP_FACTOR = 0.015, 9.0
_NOISE_SHARE, _BODY_JUMP_SHARE = 0.0015, 0.02
SURROUNDINGS_S = 0.2
"""Seconds before and after a frame, with which it is compared."""
# The same for rotations, in radians: the turn of a hand moves no other joint.
_JUMP_ANGLE, _NOISE_ANGLE = 0.6, 0.03
# A first or last pose is stray where all joints move in one frame by this share of the body's
# size, and by this factor more than after the time that a filter may have spread it over.
_STRAY_FACTOR, _STRAY_SHARE, _STRAY_S = 6.0, 0.05, 0.07


@dataclass(frozen=True)
class Glitch:
    """Frames that are likely capture errors."""

    first: int  # Indices of the first and the last frame after a jump; equal for a single frame
    last: int
    what: str  # A joint's name, "whole body", "start of the clip" or "end of the clip"
    sentence: str


def find_glitches(clip: Clip, positions: Array | None = None) -> list[Glitch]:
    """Jumps between frames, and stray poses at a clip's ends, in the order of their frames."""
    positions = joint_positions(clip) if positions is None else positions
    size = body_size(positions)
    if len(positions) < 4 or size <= 0:
        return []
    start = _stray_frames(positions, size, clip.fps)
    stop = len(positions) - _stray_frames(positions[::-1], size, clip.fps)
    if stop - start < 1:
        return []
    found = _jumps(clip.sliced(start, stop), positions[start:stop], size, start)
    for first, last, end, others in (
        (0, start - 1, "start", "follows"),
        (stop, len(positions) - 1, "end", "precedes"),
    ):
        if first <= last:
            poses = "is a pose" if first == last else "are poses"
            sentence = f"{frames_text(first, last)} {poses} apart from all that {others}"
            found.append(Glitch(first, last, f"{end} of the clip", sentence))
    return sorted(found, key=lambda glitch: glitch.first)


def without_stray_ends(clip: Clip, glitches: Sequence[Glitch]) -> tuple[Clip, int, list[str]]:
    """The clip without stray poses at its ends, its first frame, and notes."""
    start, stop, notes = 0, len(clip), []
    for glitch in glitches:
        if glitch.what in ("start of the clip", "end of the clip"):
            notes.append(f"left out: {glitch.sentence}")
        if glitch.what == "start of the clip":
            start = glitch.last + 1
        elif glitch.what == "end of the clip":
            stop = glitch.first
    return clip.sliced(start, stop), start, notes


def body_size(positions: Array) -> float:
    """Metres: median over frames of the diagonal of the box around the joints."""
    return float(np.median(np.linalg.norm(np.ptp(positions, axis=1), axis=-1)))


def frames_text(first: int, last: int) -> str:
    """One or several frames in words."""
    return f"frame {first}" if first == last else f"frames {first} to {last}"


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
    turned = _departures(quaternions.vectors_between(clip.rotations[:-1], clip.rotations[1:]))
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
        # Steps of the run, minus the usual distance of each joint per frame.
        beyond = np.linalg.norm(steps[run[0] + 1 : run[-1] + 2], axis=-1).max(axis=0) - usual
        # A joint that is still for one frame moves less than usual, not more.
        departed = moved[run].max(axis=0)
        beyond = np.where(beyond < 0.5 * departed, departed, beyond)
        if joints_moved.mean() > 0.5:
            what, by = "whole body", f"{100 * np.median(beyond):.0f} cm"
        else:
            joints = np.flatnonzero(joints_moved if joints_moved.any() else joints_turned)
            joint = joints[np.argmin(depth[joints])]
            what, by = clip.skeleton.names[joint], f"{100 * beyond[joint]:.0f} cm"
            if not joints_moved.any():
                by = f"{np.degrees(turned[run][:, joint].max()):.0f} degrees"
        found.append(Glitch(first, last, what, f"{frames_text(first, last)}: {what} jumps by {by}"))
    return found


def _departures(steps: Array) -> Array:
    """(steps - 2, joints) how far each inner step is from the mean of its neighbours."""
    return np.linalg.norm(steps[1:-1] - 0.5 * (steps[:-2] + steps[2:]), axis=-1)


def _outliers(departures: Array, least: float, noise: float, fps: float) -> Array:
    window = 2 * round(SURROUNDINGS_S * fps) + 1
    candidates = (departures > least) & (departures > _JUMP_FACTOR * noise)
    joints = np.flatnonzero(candidates.any(axis=0))
    if joints.size:
        usual = percentile_filter(departures[:, joints], 75, size=(window, 1), mode="nearest")
        candidates[:, joints] &= departures[:, joints] > _JUMP_FACTOR * (usual + noise)
    return candidates
