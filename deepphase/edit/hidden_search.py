"""Search in the space of hidden units for a motion that meets constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import MotionRows
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory

ITERATIONS = 250
# Adam's rate, and distances in metres at which the search ends.
_RATE, _NEAR_M = 0.1, 0.005
# Slopes far below this one are rounding errors and move nothing.
_LEAST_SLOPE = 1e-4
# Seconds around goals in which the motion is searched, where the root stays.
_AROUND_S = 1.5
# Weights of squared metres, summed over frames and points: of targets, feet in contact, changes of
# bones, distance from the given motion, and its change from frame to frame.
_TARGET, _FEET, _BONES, _CLOSE, _SMOOTH = 2000.0, 2000.0, 3.0, 0.002, 2.0


@dataclass(frozen=True, eq=False)
class PointGoals:
    """What points of the rows have to meet, in metres of the editor's body."""

    # (goals,) a frame and a point, and (goals, 3) its place there in root space
    frames: Array
    points: Array
    places: Array
    # (frames, points) bool: points of feet in contact
    standing: Array
    # If given, standing points do not move in the world, with the root on this trajectory.
    # Otherwise they are where they are in the rows.
    root: RootTrajectory | None = None


def search(rows: MotionRows, editor: MotionEditor, goals: PointGoals) -> MotionRows:
    """Rows near the given ones that meet goals, by Adam on the hidden units.

    What the hidden units change is added to the rows, so that details which the autoencoder does
    not have stay, and frames beyond its reach stay as they are.

    Holden 2017 (thesis), equations 5.10 to 5.12, has constraints of positions and bones in hidden
    space. That the motion stays near the given one is ours.
    """
    hidden = editor.encode(rows).clone().requires_grad_()
    points = torch.from_numpy(np.ascontiguousarray(rows.points, np.float32))
    start = editor.network.decode(hidden).detach()
    optimizer = torch.optim.Adam([hidden], lr=_RATE, eps=_LEAST_SLOPE)
    scale = torch.from_numpy(editor.normalisation.scale[: points[0].numel()])
    near = _near(rows, editor, goals, hidden.shape[-1])
    bones, slides = carrier_distances(editor), _slides(points, goals)
    lengths = bones(points)
    at = torch.from_numpy(goals.frames), torch.from_numpy(goals.points)
    places = torch.from_numpy(goals.places.astype(np.float32))
    steps = 0
    while True:
        change = (editor.network.decode(hidden) - start)[0, : len(scale), : len(rows)]
        apart = (change.T * scale).reshape(points.shape)
        moved = points + apart
        miss, slid = moved[at] - places, slides(moved)
        errors = torch.cat([miss, slid]).detach().norm(dim=-1)
        if steps == ITERATIONS or not errors.numel() or errors.max() < _NEAR_M:
            return replace(rows, points=moved.detach().numpy())
        loss = (
            _TARGET * miss.square().sum()
            + _FEET * slid.square().sum()
            + _BONES * (bones(moved) - lengths).square().sum()
            + _CLOSE * apart.square().sum()
            + _SMOOTH * apart.diff(dim=0).square().sum()
        )
        steps += 1
        optimizer.zero_grad()
        loss.backward(inputs=[hidden])
        assert hidden.grad is not None
        hidden.grad *= near
        optimizer.step()


def _near(rows: MotionRows, editor: MotionEditor, goals: PointGoals, count: int) -> Tensor:
    """(hidden frames,) 1 where the motion is searched, else 0."""
    if goals.root is not None:
        return torch.ones(count)
    middles = (np.arange(count) + 0.5) * editor.network.stride
    apart = np.abs(middles[:, None] - goals.frames).min(axis=1, initial=np.inf)
    return torch.from_numpy((apart < _AROUND_S * editor.fps).astype(np.float32))


def _slides(points: Tensor, goals: PointGoals) -> Callable[[Tensor], Tensor]:
    """A function of points (frames, points, 3): how far those that stand move (standing, 3)."""
    root, standing = goals.root, torch.from_numpy(goals.standing)
    if root is None:
        return lambda moved: (moved - points)[standing]
    both = standing[1:] & standing[:-1]
    angles = torch.from_numpy(root.angles.astype(np.float32))
    cosine, sine = angles.cos()[:, None], angles.sin()[:, None]
    origin = torch.from_numpy(root.positions.astype(np.float32))[:, None]

    def steps(moved: Tensor) -> Tensor:
        x, y, z = moved.unbind(-1)
        world = torch.stack([cosine * x + sine * z, y, cosine * z - sine * x], -1) + origin
        return world.diff(dim=0)[both]

    return steps


def carrier_distances(editor: MotionEditor) -> Callable[[Tensor], Tensor]:
    """A function of points (frames, points, 3): their distances from the joints that carry them."""
    carried, above = editor.space.points.arms()
    return lambda points: (points[:, carried] - points[:, above]).norm(dim=-1)


def standing_points(editor: MotionEditor, contacts: Array) -> Array:
    """(frames, points) bool: points of feet that are in contact (frames, feet)."""
    points = editor.space.points
    standing = np.zeros((len(contacts), len(points)), bool)
    for column, foot in enumerate(editor.feet):
        standing[:, points.of_joint(editor.space.skeleton, foot)] |= contacts[:, column, None]
    return standing


def with_change(
    clip: Clip,
    before: Clip,
    after: Clip,
    editor: MotionEditor,
    *,
    on_path: bool = False,
    hips_share: float = 1.0,
) -> Clip:
    """The clip with what changed between two others, and a share of the change of the hips' place.

    On a path, the hips do not change over the ground.
    """
    space = editor.space
    own, old, new = (space.pose(version) for version in (clip, before, after))
    turns = quaternions.multiply(new[0], quaternions.conjugate(old[0]))
    moved = hips_share * (new[1] - old[1])
    if on_path:
        moved[:, ::2] = 0.0
    rotations = quaternions.sign_continuous(quaternions.multiply(turns, own[0]))
    return space.with_pose(clip, rotations, own[1] + moved)
