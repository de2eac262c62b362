"""Motion along paths, of any length at once: footsteps, hidden units, and feet that stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from deepphase.arrays import Array, true_runs
from deepphase.edit.config import no_networks
from deepphase.edit.editor import EditedMotion, MotionEditor
from deepphase.edit.held_feet import with_held_feet
from deepphase.edit.motion_rows import SMOOTHING_S, MotionRows, root_velocities, smoothed_root
from deepphase.edit.networks import PathLimits, PathNetworks
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.limbs import rest_clip
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.steering.path import GroundPath

MARGIN_S = 2.0
"""Seconds of the path's ends that are repeated, more than the networks see."""
# Share by which a path may exceed the speed and the turn of the training clips.
_TOLERANCE = 1.15
# A longer step cycle, in seconds, is standing.
_LONGEST_CYCLE_S = 2.5
# Share of the time on the floor above which a foot without a cycle stands.
_STANDING_SHARE = 0.8
# Duties beyond these make a foot that never leaves the floor, or never comes down.
_DUTIES = (0.1, 0.97)


def motion_on_path(path: GroundPath, editor: MotionEditor) -> EditedMotion:
    """A clip of the editor's body that walks or runs along a path.

    The whole clip is made at once. A frame depends on two seconds of the path around it; where a
    foot comes down depends on all steps before it, too. Feet are held still in contacts.

    Parameters
    ----------
    path
        Places over time; without facings, the body faces where it goes.

    Raises ParameterError if the editor has no path networks (`train_path`), or the path is faster
    than its training clips.

    References
    ----------
    Holden 2017 (thesis), sections 5.6 and 5.7.
    """
    networks, fps = path_networks(editor), editor.fps
    root = root_on(path, fps)
    velocities = root_velocities(root, fps)
    findings = _checked_speed(path, velocities, networks.limits, fps)
    inputs, margin = padded(velocities, editor)
    here = slice(margin, margin + len(root))
    with torch.inference_mode():
        steps = networks.footsteps(inputs) * networks.step_scale[:, None]
        steps += networks.step_mean[:, None]
        footsteps = Footsteps.from_array(steps[0].T.numpy().astype(np.float64), len(editor.feet))
        # The phase is 0 at the first frame of the path, behind the margin.
        before = float(footsteps.rates[1 : margin + 1].sum()) / fps
        contacts = footsteps.contacts(fps, -before)
        flags = torch.from_numpy(2.0 * contacts.T[None].astype(np.float32) - 1.0)
        decoded = editor.network.decode(networks.hidden(inputs, flags))
    rows = decoded[0].T.numpy()
    # The margin's velocities are needed for the sway at the ends.
    swaying = _swaying(editor.rows(rows), root, here, fps)
    clip = made_clip(editor.rows(rows[here]), swaying, path.name, editor)
    clip = with_held_feet(clip, editor.space, contacts[here])
    return EditedMotion(clip, findings=findings)


def path_networks(editor: MotionEditor) -> PathNetworks:
    """The editor's networks. Raises ParameterError where it has none."""
    if editor.path is None:
        raise no_networks("path")
    return editor.path


def padded(rows: Array, editor: MotionEditor) -> tuple[Tensor, int]:
    """(1, values, frames) of rows with repeated ends, and the margin in frames before them."""
    stride = editor.network.stride
    margin = round(MARGIN_S * editor.fps / stride) * stride
    after = margin + -len(rows) % stride
    batch = np.pad(rows, ((margin, after), (0, 0)), mode="edge").T[None]
    return torch.from_numpy(batch.astype(np.float32, order="C")), margin


def made_clip(rows: MotionRows, root: RootTrajectory, name: str, editor: MotionEditor) -> Clip:
    """The clip of rows on the editor's body."""
    return replace(
        editor.space.clip(rows, rest_clip(editor.space.skeleton), root), name=name, labels={}
    )


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
    """The root on its path, frames `here` of the rows, with the sway that smoothing takes away."""
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


@dataclass(frozen=True, eq=False)
class Footsteps:
    """Contacts of feet as square waves of a phase that grows along a path.

    Equations 5.6 to 5.9 of Holden 2017 (thesis), where the rate pi / L makes half of the steps.
    """

    # (frames,) rad/s: how fast the phase of the steps grows, 2 pi / L for a cycle of L seconds from
    # a foot's touch-down to its next one; 0 while standing
    rates: Array
    duties: Array  # (frames, feet) share of a cycle in which each foot is on the floor
    # (frames, feet) radians: how far each foot's phase is ahead of that of the first
    offsets: Array
    # (frames,) bool: whether the contacts determine these; a foot in the air has no cycle
    known: Array

    @classmethod
    def from_contacts(cls, contacts: Array, fps: float) -> Footsteps:
        """Of contacts (frames, feet) bool: the phase is pi / 2 in the middle of a contact."""
        frames, feet = contacts.shape
        phases = np.full((frames, feet), np.nan)
        rates, duties = np.full((frames, feet), np.nan), np.full((frames, feet), np.nan)
        for foot in range(feet):
            on = contacts[:, foot]
            if on.mean() > _STANDING_SHARE:
                rates[:, foot], duties[:, foot] = 0.0, 1.0
            downs = [start for start, _ in true_runs(on) if start > 0]
            for first, last in pairwise(downs):
                here, cycle = slice(first, last), (last - first) / fps
                duty = float(on[here].mean())
                if cycle > _LONGEST_CYCLE_S:
                    rates[here, foot], duties[here, foot] = 0.0, 1.0
                    continue
                rates[here, foot], duties[here, foot] = 2.0 * np.pi / cycle, duty
                along = np.arange(last - first) / (last - first)
                phases[here, foot] = 2.0 * np.pi * along + np.pi * (0.5 - duty)
            _continued(phases[:, foot], rates[:, foot], duties[:, foot], fps)
        known = np.isfinite(rates).all(axis=1)
        offsets = phases - phases[:, :1]
        usual = np.angle(np.nan_to_num(np.exp(1j * offsets)).sum(axis=0))
        return cls(
            np.where(known, rates.mean(axis=1), 0.0),
            np.where(known[:, None], duties, 1.0),
            np.where(np.isnan(offsets), usual, offsets),
            known,
        )

    def array(self) -> Array:
        """(frames, 1 + feet + 2 (feet - 1)): rates, duties, cosines and sines of the offsets."""
        ahead = self.offsets[:, 1:]
        return np.column_stack([self.rates, self.duties, np.cos(ahead), np.sin(ahead)])

    @classmethod
    def from_array(cls, values: Array, feet: int) -> Footsteps:
        """From what `array` returns."""
        cosines, sines = values[:, 1 + feet : 2 * feet], values[:, 2 * feet :]
        offsets = np.column_stack([np.zeros(len(values)), np.arctan2(sines, cosines)])
        rates = np.maximum(values[:, 0], 0.0)
        return cls(rates, values[:, 1 : 1 + feet], offsets, np.ones(len(values), bool))

    def contacts(self, fps: float, start: float = 0.0) -> Array:
        """(frames, feet) bool: the square waves, from a phase of the first foot on in radians."""
        grown = np.cumsum(self.rates) / fps
        phases = (start + grown - grown[:1])[:, None] + self.offsets
        duties = np.clip(self.duties, *_DUTIES)
        return np.asarray(np.sin(phases) > np.cos(np.pi * duties))


def _continued(phases: Array, rates: Array, duties: Array, fps: float) -> None:
    """Continue one foot's cycles (frames,) before the first and after the last, in place."""
    has = np.flatnonzero(np.isfinite(rates))
    if not has.size:
        return
    first, last = int(has[0]), int(has[-1])
    for edge, outside in ((first, slice(0, first)), (last, slice(last + 1, len(rates)))):
        rates[outside], duties[outside] = rates[edge], duties[edge]
        steps = np.arange(len(rates))[outside] - edge
        phases[outside] = phases[edge] + steps * rates[edge] / fps
