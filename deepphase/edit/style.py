"""Style of one clip on the movement of another, by Gram matrices of hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.body_points import standing_points
from deepphase.edit.editor import MotionEditor
from deepphase.edit.held_feet import with_held_feet
from deepphase.edit.hidden_search import carrier_distances
from deepphase.edit.motion_rows import MotionRows, SampledMotion
from deepphase.edit.repair import with_change
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import low_passed
from deepphase.short_repr import short_repr

MAX_AMOUNT = 1.5
_ITERATIONS, _RATE = 250, 0.05
_SHORTEST_S = 0.5
# Shares of the found change that are tried.
_SHARES = (1.0, 0.6, 0.3, 0.15)
# What the style changes is low-passed, in Hz: the search leaves jitter.
_CHANGE_HZ = 5.0
# Weights beside that of the style, 1: of the distance from the content's hidden units, of squared
# metres that feet in contact move, of changes from frame to frame, and of distances of points from
# their joints: points that leave their bones turn into other rotations.
_CONTENT, _FEET, _SMOOTH, _BONES = 0.02, 20.0, 5e3, 300.0


@dataclass(frozen=True, eq=False)
class StyledMotion:
    """A clip in the style of another.

    Parameters
    ----------
    clip
        The clip, with the root's path and the contacts of the content.
    distance_before, distance_after
        Distance of its Gram matrix from the style's, before and after, as a share of the style's.
    """

    clip: Clip
    distance_before: float
    distance_after: float

    def __repr__(self) -> str:
        moved = f"Gram distance {self.distance_before:.3f} to {self.distance_after:.3f}"
        return short_repr(self, self.clip.name, moved)


def gram_matrix(hidden: Tensor) -> Tensor:
    """(hidden, hidden) mean over time of the products of hidden units (batch, hidden, frames).

    References
    ----------
    Holden 2017 (thesis), equation 5.14. The mean over time makes lengths irrelevant.
    """
    units = hidden.transpose(0, 1).flatten(1)
    return units @ units.T / units.shape[1]


def gram_distance(clip: Clip, styles: Sequence[Clip], editor: MotionEditor) -> float:
    """Distance of a clip's Gram matrix from the mean of the styles', as a share of the latter."""
    goal = torch.stack([gram_matrix(_encoded(each, editor)) for each in styles]).mean(dim=0)
    return float((gram_matrix(_encoded(clip, editor)) - goal).norm() / goal.norm())


def styled(
    content: Clip, styles: Sequence[Clip], editor: MotionEditor, *, amount: float = 1.0
) -> StyledMotion:
    """The movement of a clip in the style of others.

    Adam searches the hidden units for a motion whose Gram matrix is that of the styles and that
    stays near the content. The root's path, its speed and the times of contacts are the content's;
    feet are held in its contacts.

    Parameters
    ----------
    content
        The clip whose movement and timing stay.
    styles
        Clips of one style; of any action and length, best of the same action.
    editor
        The editor of their body.
    amount
        How much of the style: 0 none, 1 all, up to 1.5.

    Raises
    ------
    ParameterError
        If the amount is outside of 0 to 1.5, there is no style, or a clip is under half a second.
    SkeletonError
        If a clip's hierarchy is not the editor's.

    References
    ----------
    Holden 2017 (thesis), equations 5.13 and 5.14, where the search begins at noise.
    """
    if not 0.0 <= amount <= MAX_AMOUNT:
        raise ParameterError(
            f"amount must be from 0 to {MAX_AMOUNT:g}, not {amount:g}",
            hint=f"give 0 to {MAX_AMOUNT:g}",
        )
    if not styles:
        raise ParameterError("no clip of a style is given", hint="give one clip or several")
    content = editor.space.on_hips(content)
    for each in (content, *styles):
        if each.duration < _SHORTEST_S:
            raise ParameterError(
                f"{each.name}: the clip lasts {each.duration:.2f} s, and a style is read from "
                f"{_SHORTEST_S:g} s or more",
                hint="give a longer clip",
            )
    motion = SampledMotion.of_clip(content, editor.space)
    rows = motion.rows
    goal = torch.stack([gram_matrix(_encoded(each, editor)) for each in styles]).mean(dim=0)
    own = gram_matrix(editor.encode(rows))
    before = float((own - goal).norm() / goal.norm())
    found = _searched(rows, editor, own + amount * (goal - own)) if amount else rows
    flags = foot_contacts(content, editor.space.roles_of(content)).flags
    base = motion.clip_of(rows)
    changed, after = content, before
    # Where bones turn in a way that points in space did not show, less is changed.
    for share in _SHARES if amount else ():
        points = rows.points + share * (found.points - rows.points)
        whole = motion.clip_of(replace(rows, points=points))
        tried = with_change(content, base, whole, editor)
        tried = with_held_feet(tried, editor.space, flags)
        distance = gram_distance(tried, styles, editor)
        if distance < before:
            changed, after = tried, distance
            break
    return StyledMotion(replace(changed, name=f"{content.name}_styled"), before, after)


def _encoded(clip: Clip, editor: MotionEditor) -> Tensor:
    return editor.encode(SampledMotion.of_clip(clip, editor.space).rows)


def _searched(rows: MotionRows, editor: MotionEditor, goal: Tensor) -> MotionRows:
    """Rows near the given ones whose Gram matrix is near the goal; root and contacts stay."""
    inputs, known = (each.clone() for each in editor.inputs(rows.array()))
    network, count = editor.network, rows.points[0].size
    with torch.no_grad():
        content = network.encode(inputs, known)
        start = network.decode(content)
    hidden = content.clone().requires_grad_()
    optimizer = torch.optim.Adam([hidden], lr=_RATE * float(content.std()))
    scale = torch.from_numpy(editor.normalisation.scale[:count])
    standing = torch.from_numpy(
        standing_points(
            editor.space.skeleton, editor.space.points, editor.feet, rows.contacts > 0.5
        )
    )
    size, usual = (
        float((gram_matrix(content) - goal).square().sum()),
        float(content.square().mean()),
    )
    given = torch.from_numpy(np.ascontiguousarray(rows.points, np.float32))
    lengths = carrier_distances(editor.space.points)
    own = lengths(given)
    moved = inputs[:, :count]
    for _ in range(_ITERATIONS):
        change = (network.decode(hidden) - start)[:, :count]
        moved = inputs[:, :count] + change
        again = network.encode(torch.cat([moved, inputs[:, count:]], 1), known)
        metres = (change[0, :, : len(rows)].T * scale).reshape(rows.points.shape)
        loss = (
            (gram_matrix(again) - goal).square().sum() / max(size, 1e-12)
            + _CONTENT * (hidden - content).square().mean() / usual
            + _FEET * _mean_square(metres[standing])
            + _SMOOTH * metres.diff(n=2, dim=0).square().mean()
            + _BONES * (lengths(given + metres) - own).square().mean()
        )
        optimizer.zero_grad()
        loss.backward(inputs=[hidden])
        optimizer.step()
    made = moved.detach()[0, :, : len(rows)].T.numpy()
    values: Array = np.concatenate(
        [made, editor.normalised(rows.array())[:, count:]], axis=1, dtype=np.float32
    )
    change = editor.rows(values).points - rows.points
    return replace(rows, points=rows.points + low_passed(change, _CHANGE_HZ, editor.fps))


def _mean_square(values: Tensor) -> Tensor:
    return values.square().sum() / max(values.numel(), 1)
