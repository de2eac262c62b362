"""Motion along paths, of any length at once: footsteps, hidden units, and feet that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.editor import MotionEditor
from deepphase.edit.footsteps import Footsteps
from deepphase.edit.grounding import with_held_feet
from deepphase.edit.motion_rows import SMOOTHING_S, MotionRows, root_velocities, smoothed_root
from deepphase.edit.networks import PathLimits, PathNetworks
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
    root
        The smoothed path that the body follows.
    findings
        Sentences on turns that are faster than those of the training clips.
    """

    clip: Clip
    contacts: Array
    root: RootTrajectory
    findings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, self.clip.name, counted(len(self.clip), "frame"))


def motion_on_path(path: GroundPath, editor: MotionEditor, *, feet: bool = True) -> PathMotion:
    """A clip of the editor's body that walks or runs along a path.

    The whole clip is made at once. A frame depends on two seconds of the path around it; where a
    foot comes down depends on all steps before it, too.

    Parameters
    ----------
    path
        Places over time; without facings, the body faces where it goes.
    editor
        An editor with path networks (`train_path`).
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
    return motions_on_paths([path], editor, feet=feet)[0]


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
        (paths,) radians: phase of each character's first foot at its first frame, where pi / 2 is
        the middle of its contact; 0 by default.
    feet
        Hold feet still in contacts.

    Raises
    ------
    ParameterError
        As `motion_on_path`, with the name of the path.
    """
    networks, fps = path_networks(editor), editor.fps
    if not paths:
        return []
    phases = np.zeros(len(paths)) if starts is None else np.asarray(starts, np.float64)
    if phases.shape != (len(paths),):
        raise ParameterError(
            f"there must be one start for each of the {len(paths)} paths, not {len(phases)}"
        )
    roots = [root_on(path, fps) for path in paths]
    velocities = [root_velocities(root, fps) for root in roots]
    findings = [
        _checked_speed(path, own, networks.limits, fps)
        for path, own in zip(paths, velocities, strict=True)
    ]
    inputs, margin = padded_batch(velocities, editor)
    with torch.inference_mode():
        steps = networks.footsteps(inputs) * networks.step_scale[:, None]
        steps += networks.step_mean[:, None]
    contacts = []
    for values, phase in zip(steps.numpy().swapaxes(1, 2).astype(np.float64), phases, strict=True):
        footsteps = Footsteps.from_array(values, len(editor.feet))
        # The phase is given at the first frame of the path, behind the margin.
        before = float(footsteps.rates[1 : margin + 1].sum()) / fps
        contacts.append(footsteps.contacts(fps, float(phase) - before))
    flags = torch.from_numpy(np.stack(contacts).astype(np.float32)).transpose(1, 2)
    with torch.inference_mode():
        hidden = networks.hidden(inputs, 2.0 * flags - 1.0)
        decoded = editor.network.decode(hidden).numpy().swapaxes(1, 2)
    motions = []
    for index, (path, root) in enumerate(zip(paths, roots, strict=True)):
        here = slice(margin, margin + len(root))
        # The margin's velocities are needed for the sway at the ends.
        swaying = _swaying(editor.rows(decoded[index]), root, here, fps)
        clip = made_clip(editor.rows(decoded[index][here]), swaying, path.name, editor)
        if feet:
            clip = with_held_feet(clip, editor.space, contacts[index][here])
        motions.append(PathMotion(clip, contacts[index][here], root, findings[index]))
    return motions


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
    """A batch (characters, values, frames) of rows (frames, values), and its margin in frames.

    The ends of the rows are repeated beyond what the networks see.
    """
    stride = editor.network.stride
    margin = round(MARGIN_S * editor.fps / stride) * stride
    longest = max(map(len, rows)) + 2 * margin
    longest += -longest % stride
    batch = [
        np.pad(own, ((margin, longest - margin - len(own)), (0, 0)), mode="edge").T for own in rows
    ]
    return torch.from_numpy(np.stack(batch).astype(np.float32)), margin


def made_clip(rows: MotionRows, root: RootTrajectory, name: str, editor: MotionEditor) -> Clip:
    """The clip of rows on the editor's body."""
    return replace(editor.space.clip(rows, editor.space.rest(), root), name=name, labels={})


def root_on(path: GroundPath, fps: float, frames: int | None = None) -> RootTrajectory:
    """The smoothed root on a path, a frame at its first time and at every step after it."""
    if frames is None:
        frames = max(round(path.duration * fps), 1) + 1
    times = path.times[0] + np.arange(frames) / fps
    root = RootTrajectory.from_ground(path.positions_at(times), path.facings_at(times))
    return smoothed_root(root, fps)


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

    The path's frames are `here` among those of the rows. Sway is what the smoothing of paths takes
    away.
    """
    steps = rows.velocities.astype(np.float64) / fps
    facings = np.pad(path.angles, (here.start, len(rows) - here.stop), mode="edge")
    turns = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), facings)
    travel = quaternions.rotate(turns, np.insert(steps[:, :2], 1, 0.0, axis=1))[:, ::2]
    moves = np.column_stack([travel, steps[:, 2]])
    # Velocities lead to the next frame.
    ways = np.cumsum(moves, axis=0) - moves
    sway = (ways - gaussian_filter1d(ways, SMOOTHING_S * fps, axis=0, mode="nearest"))[here]
    return RootTrajectory.from_ground(
        path.positions[:, ::2] + sway[:, :2], path.angles + sway[:, 2]
    )
