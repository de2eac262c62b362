"""In-betweening: motion between two clips, and between the keys of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.interpolate import interp1d

from deepphase.arrays import Array
from deepphase.easing import smoothstep
from deepphase.edit.damage import Damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import MotionRows, MotionSpace, integrated_root, root_velocities
from deepphase.edit.repair import repaired
from deepphase.edit.timing import LONGEST_S, PhaseTiming, cycles_of_frames
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory

# Seconds of a clip's end over which its velocity is taken.
_PACE_S = 0.2


def in_between(
    first: Clip,
    second: Clip,
    seconds: float | PhaseTiming,
    editor: MotionEditor,
    *,
    follow: bool = False,
) -> Clip:
    """A clip, motion that leads to another clip, and that clip.

    Parameters
    ----------
    first, second
        Clips of the editor's body; `second` stands at its own place in the world. A clip of one
        frame is a pose. `second` is resampled to the rate of `first`.
    seconds
        Duration from the last frame of `first` to the first frame of `second`; or what
        `phase_timing` gives for these clips. Then the motion between passes its cycles: the
        network corrects a guess of the cycles of both clips.
    follow
        Turn and move `second` so that it begins where the path of `first` leads: at the mean of the
        velocities at the end of `first` and at the beginning of `second`.

    Returns
    -------
    The clip at the rate of `first`, on its bones. Frames of both clips stay as they are.

    Raises SkeletonError if a clip's hierarchy is not the editor's, ParameterError if the duration
    is not positive or longer than the editor can bridge.
    """
    timing = None
    if isinstance(seconds, PhaseTiming):
        timing, seconds = seconds, seconds.seconds
    if not 0 < seconds <= LONGEST_S:
        raise ParameterError(
            f"the time between the clips must be above 0 and at most {LONGEST_S:g} s, not "
            f"{seconds:g} s",
            hint="name keys between them for a longer transition",
        )
    first = editor.space.on_hips(first)
    second = resample(editor.space.on_hips(second), first.fps)
    if follow:
        second = _following(first, second, seconds, editor)
    missing = max(round(seconds * first.fps) - 1, 0)
    passage = None
    if timing is not None and missing:
        passage = phase_passage(first, second, missing, editor.space, timing)
    at = np.concatenate([np.arange(len(first)), len(first) + missing + np.arange(len(second))])
    hips = editor.space.hips
    return _filled(
        first,
        np.concatenate([first.rotations, second.rotations]),
        np.concatenate([clip.local_positions()[:, hips] for clip in (first, second)]),
        at,
        editor,
        passage,
    )


def between_keys(
    clip: Clip,
    keys: Sequence[int],
    editor: MotionEditor,
    *,
    times: Sequence[float] | None = None,
) -> Clip:
    """Motion through key poses of a clip of the editor's body, from the first to the last.

    Parameters
    ----------
    keys
        Rising frames of the clip, two or more, whose poses stay as they are.
    times
        Rising seconds at which the keys stand; those of the clip by default.

    Raises ParameterError if keys or times do not rise, or do not fit the clip.
    """
    frames = np.asarray(keys, np.int64)
    if len(frames) < 2 or (np.diff(frames) <= 0).any():
        raise ParameterError(f"keys must be two or more rising frames, not {frames.tolist()}")
    if frames[0] < 0 or frames[-1] >= len(clip):
        raise ParameterError(
            f"the key at frame {frames[-1] if frames[0] >= 0 else frames[0]} is not in "
            f"the clip, which has frames 0-{len(clip) - 1}",
            hint="give frames of the clip",
        )
    seconds = frames / clip.fps if times is None else np.asarray(times, np.float64)
    if seconds.shape != frames.shape or not np.isfinite(seconds).all():
        raise ParameterError(
            f"every key must have one finite time, but there are {len(frames)} keys and "
            f"{len(seconds)} times"
        )
    at = np.round((seconds - seconds[0]) * clip.fps).astype(np.int64)
    if (np.diff(at) < 1).any():
        raise ParameterError("the times of the keys must rise by a frame or more from key to key")
    if np.diff(at).max() > LONGEST_S * clip.fps:
        raise ParameterError(
            f"two keys are {np.diff(at).max() / clip.fps:.1f} s apart, and at most "
            f"{LONGEST_S:g} s can be filled",
            hint="add a key between them",
        )
    clip = editor.space.on_hips(clip)
    places = clip.local_positions()[frames, editor.space.hips]
    return _filled(clip, clip.rotations[frames], places, at, editor)


def _filled(
    clip: Clip,
    rotations: Array,
    places: Array,
    at: Array,
    editor: MotionEditor,
    passage: Clip | None = None,
) -> Clip:
    """Poses of the hips' places and all joints' rotations at rising frames, and motion between.

    Bones are the constant ones of a clip. A passage is a guess of all frames between the poses.
    """
    # Between the poses nothing is read of the frames.
    held = np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1
    lost = np.setdiff1d(np.arange(at[-1] + 1), at)
    moving = clip.translated_joints
    bones = np.median(clip.local_positions(), axis=0)[moving].astype(np.float64)
    translations = np.tile(bones, (len(held), 1, 1))
    translations[:, np.flatnonzero(moving == editor.space.hips)[0]] = places[held]
    posed = replace(clip, rotations=rotations[held].astype(np.float64), translations=translations)
    guess = None
    if passage is not None:
        turned, moved = posed.rotations.copy(), translations.copy()
        turned[lost], moved[lost] = passage.rotations, passage.translations
        guess = replace(posed, rotations=turned, translations=moved)
    known = np.ones((len(posed), len(editor.space.joints) + 1), np.float32)
    known[lost] = 0
    return repaired(posed, editor, Damage(known, editor.space.joints), guess=guess)


def way_speed(
    first: Clip, second: Clip, seconds: float, editor: MotionEditor
) -> tuple[float, float]:
    """Speed in m/s that the way between two clips needs, and what is fast in the training clips.

    Fast is the mean velocity with four standard deviations.
    """
    start, stop = (
        editor.space.on_hips(clip).local_positions()[at, editor.space.hips, ::2]
        for clip, at in ((first, -1), (second, 0))
    )
    needed = float(np.linalg.norm(stop - start)) / max(seconds, 1e-6)
    root = slice(editor.layout.root.start, editor.layout.root.start + 2)
    usual = np.linalg.norm(editor.normalisation.mean[root])
    fast = usual + 4.0 * float(editor.normalisation.scale[root].max())
    return needed, float(fast * editor.space.size_of(first))


def _following(first: Clip, second: Clip, seconds: float, editor: MotionEditor) -> Clip:
    """The second clip, turned and moved to where the path of the first leads."""
    roots = [root_trajectory(clip, editor.space.roles_of(clip)) for clip in (first, second)]
    count = max(round(_PACE_S * first.fps), 1)
    paces = [root_velocities(root, first.fps) for root in roots]
    pace = 0.5 * (paces[0][-count:].mean(axis=0) + paces[1][:count].mean(axis=0))
    # A path at this pace, one step a frame, beginning at the last frame of the first clip.
    steps = max(round(seconds * first.fps), 1) + 1
    start = roots[0].positions[-1, ::2].astype(np.float64), float(roots[0].angles[-1])
    path = integrated_root(np.tile(pace, (steps, 1)), first.fps, *start)
    turn = path.angles[-1] - roots[1].angles[0]
    about_up = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), turn)[None]
    space = editor.space
    rotations, places = space.pose(second)
    rotations[:, 0] = quaternions.multiply(about_up, rotations[:, 0])
    places = quaternions.rotate(about_up, places - roots[1].positions[0]) + path.positions[-1]
    return space.with_pose(second, rotations, places)


def phase_passage(
    first: Clip, second: Clip, missing: int, space: MotionSpace, timing: PhaseTiming
) -> Clip | None:
    """Frames between two clips in which the last cycle of one becomes the first of the other.

    Poses in root space and velocities of the root are those of the same phase. The root's path is
    moved so that it arrives at the second clip. The clips are of one rate and on the hips, as is
    the result; None if neither has a whole cycle.
    """
    space = replace(space, fps=first.fps)
    clips = (first, second)
    (first_rows, start), (second_rows, stop) = (space.rows(clip) for clip in clips)
    # Share of the passage at each missing frame, and the cycles that have passed there.
    share = np.arange(1, missing + 1) / (missing + 1)
    slow, fast = timing.frequencies
    passed = timing.cycles * (slow * share + 0.5 * (fast - slow) * share**2) / (0.5 * (slow + fast))
    turns = [cycles_of_frames(clip, timing.model, timing.channel) for clip in clips]
    before = _last_cycle(first_rows.array(), turns[0], passed)
    # Backwards in time, the second clip's first cycle is its last one.
    after = _last_cycle(second_rows.array()[::-1], -turns[1][::-1], timing.cycles - passed)
    if before is None and after is None:
        return None
    ease = smoothstep(share)[:, None]
    if before is None or after is None:
        values = after if before is None else before
    else:
        values = before + ease * (after - before)
    assert values is not None
    rows = MotionRows.from_array(values, len(space.points))
    floors = [space.floor(first_rows, first), space.floor(second_rows, second)]
    velocities = np.concatenate([first_rows.velocities[-1:], rows.velocities, rows.velocities[-1:]])
    velocities[:, :2] *= space.size_of(first)
    made = space.clip(rows, first, _arriving(velocities, start, stop, first.fps))
    places = made.translations.copy()
    places[:, -1, 1] += floors[0] + ease[:, 0] * (floors[1] - floors[0])
    return replace(made, translations=places)


def _last_cycle(values: Array, turns: Array, passed: Array) -> Array | None:
    """Values (frames, values) continued by cycles (missing,) beyond the last frame.

    The last cycle is repeated; the difference of its ends is spread over it, so that it closes.
    `turns` (frames,) has the cycles at each frame, of rising phase.
    """
    turns = np.maximum.accumulate(turns) + 1e-9 * np.arange(len(turns))
    if turns[-1] - turns[0] < 1.0:
        return None
    ends = values[0], values[-1]
    at = interp1d(turns, values, axis=0, bounds_error=False, fill_value=ends)
    # Cycles before the end of the clip, from 0 (its last frame) to below 1.
    back = -passed % 1.0
    step = values[-1] - at(turns[-1:] - 1.0)[0]
    return np.asarray(at(turns[-1] - back) + back[:, None] * step)


def _arriving(
    velocities: Array, root: RootTrajectory, after: RootTrajectory, fps: float
) -> RootTrajectory:
    """The way on from a root along velocities, moved so that it arrives at the second clip."""
    velocities = velocities.astype(np.float64)
    turn = after.angles[0] - root.angles[-1]
    start = root.positions[-1, ::2], float(root.angles[-1])
    path = integrated_root(velocities, fps, *start)
    share = np.linspace(0.0, 1.0, len(path.angles))
    ease = smoothstep(share)
    # The angle of the second clip is known up to whole turns.
    off = path.angles[-1] - root.angles[-1] - turn
    off -= 2.0 * np.pi * np.round(off / (2.0 * np.pi))
    velocities[:-1, 2] -= off * np.diff(ease) * fps
    path = integrated_root(velocities, fps, *start)
    away = after.positions[0, ::2] - path.positions[-1, ::2]
    places = path.positions[:, ::2] + ease[:, None] * away
    return RootTrajectory.from_ground(places[1:-1], path.angles[1:-1])
