"""Search in the space of hidden units for a motion that meets constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.body_points import BodyPoints
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import MotionRows
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
    """What points of the rows have to meet.

    Parameters
    ----------
    frames, points
        (goals,) index of a frame and of a point.
    places
        (goals, 3) where the point is there, in root space, in metres of the editor's body.
    standing
        (frames, points) bool: points of feet in contact.
    root
        If given, standing points do not move in the world, with the root on this trajectory in
        metres of the editor's body. Otherwise they are where they are in the rows.
    """

    frames: Array
    points: Array
    places: Array
    standing: Array
    root: RootTrajectory | None = None


@dataclass(frozen=True, eq=False)
class FoundMotion:
    """What a search has found.

    Parameters
    ----------
    distances
        (goals,) metres of the editor's body between goals and their points.
    """

    rows: MotionRows
    distances: Array
    iterations: int


def search(rows: MotionRows, editor: MotionEditor, goals: PointGoals) -> FoundMotion:
    """Rows near the given ones that meet goals, by Adam on the hidden units.

    What the hidden units change is added to the rows, so that details which the autoencoder does
    not have stay, and frames beyond its reach stay as they are.

    References
    ----------
    Holden 2017 (thesis), equations 5.10 to 5.12: constraints of positions and bones, in hidden
    space. That the motion stays near the given one is ours.
    """
    hidden = editor.encode(rows).clone().requires_grad_()
    points = torch.from_numpy(np.ascontiguousarray(rows.points, np.float32))
    start = editor.network.decode(hidden).detach()
    loss = _Loss(points, editor, goals)
    optimizer = torch.optim.Adam([hidden], lr=_RATE, eps=_LEAST_SLOPE)
    scale = torch.from_numpy(editor.normalisation.scale[: points[0].numel()])
    near = _near(rows, editor, goals, hidden.shape[-1])
    moved, steps = points, 0
    while True:
        change = (editor.network.decode(hidden) - start)[0, : len(scale), : len(rows)]
        moved = points + (change.T * scale).reshape(points.shape)
        total, farthest = loss(moved)
        if farthest < _NEAR_M or steps == ITERATIONS:
            break
        steps += 1
        optimizer.zero_grad()
        total.backward(inputs=[hidden])
        assert hidden.grad is not None
        hidden.grad *= near
        optimizer.step()
    made = moved.detach().numpy()
    apart = np.linalg.norm(made[goals.frames, goals.points] - goals.places, axis=-1)
    return FoundMotion(replace(rows, points=made), apart, steps)


def _near(rows: MotionRows, editor: MotionEditor, goals: PointGoals, count: int) -> Tensor:
    """(hidden frames,) 1 where the motion is searched, else 0."""
    if goals.root is not None:
        return torch.ones(count)
    middles = (np.arange(count) + 0.5) * editor.network.stride
    apart = np.abs(middles[:, None] - goals.frames).min(axis=1, initial=np.inf)
    return torch.from_numpy((apart < _AROUND_S * editor.fps).astype(np.float32))


def carrier_distances(body: BodyPoints) -> Callable[[Tensor], Tensor]:
    """A function of points (frames, points, 3): their distances from the joints that carry them."""
    carried, above = body.arms()
    return lambda points: (points[:, carried] - points[:, above]).norm(dim=-1)


class _Loss:
    """The weighted errors of points (frames, points, 3), and the farthest of goals and feet."""

    def __init__(self, points: Tensor, editor: MotionEditor, goals: PointGoals) -> None:
        self._given = points
        self._at = torch.from_numpy(goals.frames), torch.from_numpy(goals.points)
        self._places = torch.from_numpy(goals.places.astype(np.float32))
        self._bones = carrier_distances(editor.space.points)
        self._lengths = self._bones(points)
        self._root = goals.root
        standing = goals.standing
        if self._root is None:
            self._standing = torch.from_numpy(standing)
        else:
            self._standing = torch.from_numpy(standing[1:] & standing[:-1])
            angles = torch.from_numpy(self._root.angles.astype(np.float32))
            self._cosine, self._sine = angles.cos()[:, None], angles.sin()[:, None]
            places = self._root.positions.astype(np.float32)
            self._origin = torch.from_numpy(places)[:, None]

    def __call__(self, points: Tensor) -> tuple[Tensor, float]:
        apart = points - self._given
        miss = points[self._at] - self._places
        if self._root is None:
            slid = apart[self._standing]
        else:
            slid = self._world(points).diff(dim=0)[self._standing]
        total = (
            _TARGET * miss.square().sum()
            + _FEET * slid.square().sum()
            + _BONES * (self._bones(points) - self._lengths).square().sum()
            + _CLOSE * apart.square().sum()
            + _SMOOTH * apart.diff(dim=0).square().sum()
        )
        errors = torch.cat([miss, slid]).detach().norm(dim=-1)
        return total, float(errors.max()) if errors.numel() else 0.0

    def _world(self, points: Tensor) -> Tensor:
        x, y, z = points.unbind(-1)
        turned = [self._cosine * x + self._sine * z, y, self._cosine * z - self._sine * x]
        return torch.stack(turned, -1) + self._origin
