"""A guess of the motion between two clips: their cycles, continued by a phase that goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.easing import smoothstep
from deepphase.editing.motion_rows import MotionRows, MotionSpace, integrated_root
from deepphase.editing.phase_timing import PhaseTiming, cycles_of_frames
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory


def phase_passage(
    first: Clip,
    second: Clip,
    missing: int,
    space: MotionSpace,
    timing: PhaseTiming,
) -> Clip | None:
    """Frames between two clips in which the last cycle of one becomes the first of the other.

    Poses in root space and velocities of the root are those of the same phase. The root's path is
    moved so that it arrives at the second clip.

    Parameters
    ----------
    first, second
        Clips of the body at one rate, on the hips.
    missing
        Frames between them.
    space
        The body.
    timing
        By `phase_timing`.

    Returns
    -------
    A clip of the missing frames, its travel on the hips; None if neither clip has a whole cycle.
    """
    space = replace(space, fps=first.fps)
    clips = (first, second)
    read = [space.rows(clip) for clip in clips]
    # Share of the passage at each missing frame, and the cycles that have passed there.
    share = np.arange(1, missing + 1) / (missing + 1)
    start, stop = timing.frequencies
    passed = timing.cycles * (start * share + 0.5 * (stop - start) * share**2)
    passed /= 0.5 * (start + stop)
    turns = [cycles_of_frames(clip, timing.model, timing.channel) for clip in clips]
    before = _last_cycle(read[0][0].array(), turns[0], passed)
    # Backwards in time, the second clip's first cycle is its last one.
    after = _last_cycle(read[1][0].array()[::-1], -turns[1][::-1], timing.cycles - passed)
    if before is None and after is None:
        return None
    ease = smoothstep(share)[:, None]
    if before is None or after is None:
        values = after if before is None else before
    else:
        values = before + ease * (after - before)
    assert values is not None
    rows = MotionRows.from_array(values, len(space.points))
    floors = [space.floor(own, clip) for (own, _), clip in zip(read, clips, strict=True)]
    root = _arriving(rows, read[0], read[1][1], space.size_of(first), first.fps)
    made = space.clip(rows, first, root)
    places = made.translations.copy()
    places[:, -1, 1] += floors[0] + ease[:, 0] * (floors[1] - floors[0])
    return replace(made, translations=places)


def _last_cycle(values: Array, turns: Array, passed: Array) -> Array | None:
    """Values (frames, values) continued by cycles (missing,) beyond the last frame.

    The last cycle is repeated; the difference of its ends is spread over it, so that it closes.

    Parameters
    ----------
    turns
        (frames,) cycles at each frame, of rising phase.
    """
    turns = np.maximum.accumulate(turns) + 1e-9 * np.arange(len(turns))
    if turns[-1] - turns[0] < 1.0:
        return None
    frames = np.arange(len(turns))

    def at(cycles: Array) -> Array:
        places = np.interp(cycles, turns, frames)
        low = np.minimum(places.astype(int), len(values) - 2)
        part = (places - low)[:, None]
        mixed: Array = (1.0 - part) * values[low] + part * values[low + 1]
        return mixed

    # Cycles before the end of the clip, from 0 (its last frame) to below 1.
    back = -passed % 1.0
    step = values[-1] - at(turns[-1:] - 1.0)[0]
    return at(turns[-1] - back) + back[:, None] * step


def _arriving(
    rows: MotionRows,
    before: tuple[MotionRows, RootTrajectory],
    after: RootTrajectory,
    size: float,
    fps: float,
) -> RootTrajectory:
    """The root along the rows' velocities, moved so that it arrives at the second clip."""
    velocities = np.concatenate([before[0].velocities[-1:], rows.velocities]).astype(np.float64)
    velocities[:, :2] *= size
    velocities = np.concatenate([velocities, velocities[-1:]])
    root = before[1]
    turn = after.angles[0] - root.angles[-1]
    path = integrated_root(velocities, fps, root.positions[-1, ::2], float(root.angles[-1]))
    share = np.linspace(0.0, 1.0, len(path.angles))
    ease = smoothstep(share)
    # The angle of the second clip is known up to whole turns.
    off = path.angles[-1] - root.angles[-1] - turn
    off -= 2.0 * np.pi * np.round(off / (2.0 * np.pi))
    velocities[:-1, 2] -= off * np.diff(ease) * fps
    path = integrated_root(velocities, fps, root.positions[-1, ::2], float(root.angles[-1]))
    away = after.positions[0, ::2] - path.positions[-1, ::2]
    places = path.positions[:, ::2] + ease[:, None] * away
    return RootTrajectory.of_ground(places[1:-1], path.angles[1:-1])
