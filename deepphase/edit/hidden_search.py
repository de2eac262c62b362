"""Search in the space of hidden units for a motion that meets constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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


def search(
    rows: MotionRows,
    editor: MotionEditor,
    frames: Array,
    points: Array,
    places: Array,
    standing: Array,
    root: RootTrajectory | None,
) -> MotionRows:
    """Rows near the given ones whose points are at places, by Adam on the hidden units.

    Goals are (goals,) frames and points and their places (goals, 3) in root space, in metres of the
    editor's body. Points of feet in contact, `standing` (frames, points), stay where they are in
    the rows; or do not move in the world, with the root on a trajectory of the editor's body.

    What the hidden units change is added to the rows, so that details which the autoencoder does
    not have stay, and frames beyond its reach stay as they are.

    Holden 2017 (thesis), equations 5.10 to 5.12, has constraints of positions and bones in hidden
    space. That the motion stays near the given one is ours.
    """
    hidden = editor.encode(rows).clone().requires_grad_()
    given = torch.from_numpy(np.ascontiguousarray(rows.points, np.float32))
    start = editor.network.decode(hidden).detach()
    optimizer = torch.optim.Adam([hidden], lr=_RATE, eps=_LEAST_SLOPE)
    scale = torch.from_numpy(editor.normalisation.scale[: given[0].numel()])
    # Where the root stays, the motion is searched around goals: (hidden frames,) 1, else 0.
    middles = (np.arange(hidden.shape[-1]) + 0.5) * editor.network.stride
    apart_from = np.abs(middles[:, None] - frames).min(axis=1, initial=np.inf)
    around = (apart_from < _AROUND_S * editor.fps) | (root is not None)
    near = torch.from_numpy(around.astype(np.float32))
    bones, slides = carrier_distances(editor), _slides(given, standing, root)
    lengths = bones(given)
    at = torch.from_numpy(frames), torch.from_numpy(points)
    goals = torch.from_numpy(places.astype(np.float32))
    steps = 0
    while True:
        change = (editor.network.decode(hidden) - start)[0, : len(scale), : len(rows)]
        apart = (change.T * scale).reshape(given.shape)
        moved = given + apart
        miss, slid = moved[at] - goals, slides(moved)
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


def _slides(
    given: Tensor, standing_points: Array, root: RootTrajectory | None
) -> Callable[[Tensor], Tensor]:
    """A function of points (frames, points, 3): how far those that stand move (standing, 3)."""
    standing = torch.from_numpy(standing_points)
    if root is None:
        return lambda moved: (moved - given)[standing]
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
