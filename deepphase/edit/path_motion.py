"""Motion along paths, of any length at once: footsteps, hidden units, and feet that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.control_networks import PathLimits, PathNetworks
from deepphase.edit.editor import MotionEditor
from deepphase.edit.footsteps import Footsteps
from deepphase.edit.held_feet import with_held_feet
from deepphase.edit.motion_rows import MotionRows, root_velocities
from deepphase.edit.smoothed_root import SMOOTHING_S, smoothed_root
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.short_repr import counted, short_repr
from deepphase.steering.path import GroundPath

MARGIN_S = 2.0
"""Seconds of the path's ends that are repeated, more than the networks see."""
# Share by which a path may exceed the speed and the turn of the training clips.
_TOLERANCE = 1.15


@dataclass(frozen=True, eq=False)
class PathMotion:
    """A clip made along a path.

    Parameters
    ----------
    clip
        At the editor's rate, with its travel on the hips.
    contacts
        (frames, feet) bool: when each foot is on the floor.
    footsteps
        The footsteps that these come from.
    root
        The smoothed path that the body follows.
    findings
        Sentences on turns that are faster than those of the training clips.
    """

    clip: Clip
    contacts: Array
    footsteps: Footsteps
    root: RootTrajectory
    findings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, self.clip.name, counted(len(self.clip), "frame"))


def motion_on_path(
    path: GroundPath, editor: MotionEditor, *, start: float = 0.0, feet: bool = True
) -> PathMotion:
    """A clip of the editor's body that walks or runs along a path.

    The whole clip is made at once. A frame depends on two seconds of the path around it; where a
    foot comes down depends on all steps before it, too.

    Parameters
    ----------
    path
        Places over time; without facings, the body faces where it goes.
    editor
        An editor with path networks (`train_path`).
    start
        Phase of the first foot at the first frame, in radians; pi / 2 is the middle of its contact.
    feet
        Hold feet still in contacts by inverse kinematics.

    Raises
    ------
    ParameterError
        If the editor has no path networks, or the path is faster than its training clips.

    References
    ----------
    Holden 2017 (thesis), sections 5.6 and 5.7.
    """
    return motions_on_paths([path], editor, starts=[start], feet=feet)[0]


def motions_on_paths(
    paths: Sequence[GroundPath],
    editor: MotionEditor,
    *,
    starts: Sequence[float] | Array | None = None,
    feet: bool = True,
) -> list[PathMotion]:
    """Clips of many characters, each on its path, in one batch of the networks.

    Parameters
    ----------
    paths
        One for each character.
    editor
        An editor with path networks.
    starts
        (paths,) radians: phase of each character's first foot at its first frame; 0 by default.
    feet
        Hold feet still in contacts.

    Raises
    ------
    ParameterError
        As `motion_on_path`, with the name of the path.
    """
    networks = path_networks(editor)
    if not paths:
        return []
    phases = np.zeros(len(paths)) if starts is None else np.asarray(starts, np.float64)
    if phases.shape != (len(paths),):
        raise ParameterError(
            f"there must be one start for each of the {len(paths)} paths, not {len(phases)}"
        )
    roots = [root_on(path, editor.fps) for path in paths]
    velocities = [root_velocities(root, editor.fps) for root in roots]
    findings = [
        _checked_speed(path, each, networks.limits, editor.fps)
        for path, each in zip(paths, velocities, strict=True)
    ]
    inputs, margin = padded_batch(velocities, editor)
    longest = inputs.shape[-1]
    count = len(editor.feet)
    with torch.inference_mode():
        predicted = networks.footsteps(inputs) * networks.step_scale[:, None]
        predicted += networks.step_mean[:, None]
    steps, flags = [], np.zeros((len(paths), count, longest), np.float32)
    for index, values in enumerate(predicted.numpy().swapaxes(1, 2).astype(np.float64)):
        whole = Footsteps.from_array(values, count)
        # The phase is given at the first frame of the path, behind the margin.
        before = float(whole.rates[1 : margin + 1].sum()) / editor.fps
        contacts = whole.contacts(editor.fps, float(phases[index]) - before)
        flags[index] = 2.0 * contacts.T - 1.0
        steps.append(whole)
    with torch.inference_mode():
        hidden = networks.hidden(inputs, torch.from_numpy(flags))
        decoded = editor.network.decode(hidden).numpy().swapaxes(1, 2)
    made = []
    for index, path in enumerate(paths):
        here = slice(margin, margin + len(roots[index]))
        contacts = flags[index].T[here] > 0
        # The margin's velocities are needed for the sway at the ends.
        root = _swaying(editor.rows(decoded[index]), roots[index], here, editor.fps)
        clip = made_clip(editor.rows(decoded[index][here]), root, path.name, editor)
        if feet:
            clip = with_held_feet(clip, editor.space, contacts)
        made.append(
            PathMotion(clip, contacts, steps[index].sliced(here), roots[index], findings[index])
        )
    return made


def path_networks(editor: MotionEditor) -> PathNetworks:
    """The editor's networks. Raises ParameterError where it has none."""
    if editor.path is None:
        raise ParameterError(
            "the editor has no path networks",
            hint="train them: `deepphase train path STORE --editor EDITOR -o EDITOR`",
        )
    return editor.path


def crowd_paths(path: GroundPath, count: int, spacing: float) -> list[GroundPath]:
    """Copies of a path side by side, in rows."""
    columns = int(np.ceil(np.sqrt(count)))
    return [
        replace(
            path,
            positions=path.positions + spacing * np.array([index % columns, index // columns]),
            name=path.name if count == 1 else f"{path.name}_{index + 1:03d}",
        )
        for index in range(count)
    ]


def padded_batch(rows: Sequence[Array], editor: MotionEditor) -> tuple[Tensor, int]:
    """A batch of rows for control networks, whose ends are repeated beyond what these see.

    Parameters
    ----------
    rows
        (frames, values) of each character.

    Returns
    -------
    batch
        (characters, values, frames)
    margin
        Frames before the first.
    """
    stride = editor.network.stride
    margin = round(MARGIN_S * editor.fps / stride) * stride
    longest = max(map(len, rows)) + 2 * margin
    longest += -longest % stride
    batch = [
        np.pad(each, ((margin, longest - margin - len(each)), (0, 0)), mode="edge").T
        for each in rows
    ]
    return torch.from_numpy(np.stack(batch).astype(np.float32)), margin


def made_clip(rows: MotionRows, root: RootTrajectory, name: str, editor: MotionEditor) -> Clip:
    """The clip of rows on the editor's body."""
    return replace(editor.space.clip(rows, editor.space.rest(), root), name=name, labels={})


def root_on(path: GroundPath, fps: float, frames: int | None = None) -> RootTrajectory:
    """The smoothed root on a path, a frame at its first time and at every step after it.

    Parameters
    ----------
    frames
        Number of frames; those of the path by default.
    """
    if frames is None:
        frames = max(round(path.duration * fps), 1) + 1
    times = path.times[0] + np.arange(frames) / fps
    given = RootTrajectory.from_ground(path.positions_at(times), path.facings_at(times))
    return smoothed_root(given, fps)


def _checked_speed(
    path: GroundPath, velocities: Array, limits: PathLimits, fps: float
) -> tuple[str, ...]:
    """What is beyond the training clips; ParameterError for a speed."""
    speeds, turns = np.linalg.norm(velocities[:, :2], axis=1), np.abs(velocities[:, 2])
    frame = int(speeds.argmax())
    if speeds[frame] > _TOLERANCE * limits.speed:
        raise ParameterError(
            f"{path.name} moves at {speeds[frame]:.1f} m/s at {path.times[0] + frame / fps:.1f} s; "
            f"the training clips move at {limits.speed:.1f} m/s at most",
            hint=f"give --speed {limits.speed:.1f} or less, or train on faster clips",
        )
    frame = int(turns.argmax())
    if turns[frame] <= _TOLERANCE * limits.turn:
        return ()
    return (
        f"{path.name} turns at {np.degrees(turns[frame]):.0f} degrees/s at "
        f"{path.times[0] + frame / fps:.1f} s; the training clips turn at "
        f"{np.degrees(limits.turn):.0f} degrees/s at most",
    )


def _swaying(rows: MotionRows, path: RootTrajectory, here: slice, fps: float) -> RootTrajectory:
    """The root on its path, with the sway of steps that the network's velocities have.

    Parameters
    ----------
    here
        The path's frames among them.
    """
    steps = rows.velocities.astype(np.float64) / fps
    facings = np.pad(path.angles, (here.start, len(rows) - here.stop), mode="edge")
    turns = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), facings)
    travel = quaternions.rotate(turns, np.insert(steps[:, :2], 1, 0.0, axis=1))[:, ::2]
    # Velocities lead to the next frame.
    places, angles = (np.cumsum(each, axis=0) - each for each in (travel, steps[:, 2:]))
    sway = _sway(np.concatenate([places, angles], axis=1), fps)[here]
    return RootTrajectory.from_ground(
        path.positions[:, ::2] + sway[:, :2], path.angles + sway[:, 2]
    )


def _sway(values: Array, fps: float) -> Array:
    """(frames, values) what the smoothing of paths takes away."""
    return values - gaussian_filter1d(values, SMOOTHING_S * fps, axis=0, mode="nearest")
