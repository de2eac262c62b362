"""In-betweening: motion between two clips, and between the keys of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.edit.damage import Damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import integrated_root, root_velocities
from deepphase.edit.repair import repaired
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import root_trajectory

# Longest passage between clips or keys, in seconds; networks see about four seconds.
LONGEST_S = 10.0
# Seconds of a clip's end over which its velocity is taken.
_PACE_S = 0.2


def in_between(
    first: Clip, second: Clip, seconds: float, editor: MotionEditor, *, follow: bool = False
) -> Clip:
    """A clip, motion that leads to another clip, and that clip.

    Parameters
    ----------
    first, second
        Clips of the editor's body; `second` stands at its own place in the world. A clip of one
        frame is a pose. `second` is resampled to the rate of `first`.
    seconds
        Duration from the last frame of `first` to the first frame of `second`.
    follow
        Turn and move `second` so that it begins where the path of `first` leads: at the mean of the
        velocities at the end of `first` and at the beginning of `second`.

    Returns
    -------
    The clip at the rate of `first`, on its bones. Frames of both clips stay as they are.

    Raises SkeletonError if a clip's hierarchy is not the editor's, ParameterError if the duration
    is not positive or longer than the editor can bridge.
    """
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
    at = np.concatenate([np.arange(len(first)), len(first) + missing + np.arange(len(second))])
    hips = editor.space.hips
    return _filled(
        first,
        np.concatenate([first.rotations, second.rotations]),
        np.concatenate([clip.local_positions()[:, hips] for clip in (first, second)]),
        at,
        editor,
    )


def between_keys(
    clip: Clip, keys: Sequence[int], editor: MotionEditor, *, times: Sequence[float] | None = None
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


def _filled(clip: Clip, rotations: Array, places: Array, at: Array, editor: MotionEditor) -> Clip:
    """Poses at rising frames on the constant bones of a clip, and motion between them."""
    # Between the poses nothing is read of the frames.
    held = np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1
    lost = np.setdiff1d(np.arange(at[-1] + 1), at)
    moving = clip.translated_joints
    bones = np.median(clip.local_positions(), axis=0)[moving].astype(np.float64)
    translations = np.tile(bones, (len(held), 1, 1))
    translations[:, np.flatnonzero(moving == editor.space.hips)[0]] = places[held]
    posed = replace(clip, rotations=rotations[held].astype(np.float64), translations=translations)
    known = np.ones((len(posed), len(editor.space.joints) + 1), np.float32)
    known[lost] = 0
    return repaired(posed, editor, Damage(known, editor.space.joints))


def way_speed(
    first: Clip, second: Clip, seconds: float, editor: MotionEditor
) -> tuple[float, float]:
    """Speed in m/s that the way needs, and the training's mean with four deviations."""
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
