"""Style of one clip on the movement of another, by Gram matrices of hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array, brief_repr
from deepphase.edit.bound_editor import BoundEditor
from deepphase.edit.editor import MotionEditor, carrier_distances, standing_points, with_change
from deepphase.edit.held_feet import with_held_feet
from deepphase.edit.motion_rows import MotionRows, SampledMotion
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import low_passed, low_passed_rotations

MAX_AMOUNT = 1.5
_ITERATIONS, _RATE, _SHORTEST_S = 250, 0.05, 0.5
# Shares of the found change that are tried.
_SHARES = (1.0, 0.6, 0.3, 0.15)
# What the style changes is low-passed, in Hz: the search, rotations and holds leave jitter.
_CHANGE_HZ = 5.0
# Weights beside that of the style, 1: of the distance from the content's hidden units, of squared
# metres that feet in contact move, of changes from frame to frame, and of distances of points from
# their joints: points that leave their bones turn into other rotations.
_CONTENT, _FEET, _SMOOTH, _BONES = 0.02, 20.0, 5e3, 300.0


@brief_repr
@dataclass(frozen=True, eq=False)
class StyledMotion:
    """A clip in the style of another."""

    clip: Clip  # with the root's path and the contacts of the content
    # Distance of its Gram matrix from the style's, before and after, as a share of the style's
    distance_before: float
    distance_after: float


def gram_matrix(hidden: Tensor) -> Tensor:
    """(hidden, hidden) mean products of hidden units over time (Holden 2017, equation 5.14)."""
    units = hidden.transpose(0, 1).flatten(1)
    return units @ units.T / units.shape[1]


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
    amount
        How much of the style: 0 none, 1 all, up to 1.5.

    Raises ParameterError if the amount is outside of 0 to 1.5, there is no style, or a clip is
    under half a second; SkeletonError if a clip's hierarchy is not the editor's.

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
    for clip in (content, *styles):
        if clip.duration < _SHORTEST_S:
            raise ParameterError(
                f"{clip.name}: the clip lasts {clip.duration:.2f} s, and a style is read from "
                f"{_SHORTEST_S:g} s or more",
                hint="give a longer clip",
            )
    if isinstance(editor, BoundEditor):
        return _styled_on_trained(content, styles, editor, amount)
    motion = SampledMotion.from_clip(content, editor.space)
    rows = motion.rows
    goal = torch.stack([_clip_matrix(style, editor) for style in styles]).mean(dim=0)
    own = gram_matrix(editor.encode(rows))

    def distance(matrix: Tensor) -> float:
        return float((matrix - goal).norm() / goal.norm())

    before = after = distance(own)
    changed = content
    # Where bones turn in a way that points in space did not show, less is changed.
    if amount:
        change = _searched(rows, editor, own + amount * (goal - own))
        flags = foot_contacts(content, editor.space.roles_of(content)).flags
        base = motion.clip_of(rows)
        for share in _SHARES:
            whole = motion.clip_of(replace(rows, points=rows.points + share * change))
            tried = with_change(content, base, whole, editor)
            tried = _held(content, tried, editor, flags)
            after = distance(_clip_matrix(tried, editor))
            if after < before:
                changed = tried
                break
        else:
            after = before
    return StyledMotion(replace(changed, name=f"{content.name}_styled"), before, after)


def _styled_on_trained(
    content: Clip, styles: Sequence[Clip], editor: BoundEditor, amount: float
) -> StyledMotion:
    """What the style changes on the body of the trained editor, on the body of the content."""
    own = editor.on_trained(content)
    made = styled(
        own, [editor.on_trained(style) for style in styles], editor.trained, amount=amount
    )
    clip = with_change(content, editor.on_body(own), editor.on_body(made.clip), editor)
    flags = foot_contacts(content, editor.space.roles_of(content)).flags
    clip = _held(content, clip, editor, flags) if amount else content
    return replace(made, clip=replace(clip, name=f"{content.name}_styled"))


def _held(content: Clip, changed: Clip, editor: MotionEditor, contacts: Array) -> Clip:
    """The content with a low-passed change, and its feet in contacts (frames, feet)."""
    space, fps = editor.space, content.fps
    (own, places), (new, moved) = space.pose(content), space.pose(changed)
    turns = quaternions.multiply(new, quaternions.conjugate(own))
    turns = quaternions.multiply(low_passed_rotations(turns, _CHANGE_HZ, fps), own)
    places = places + low_passed(moved - places, _CHANGE_HZ, fps)
    clip = space.with_pose(content, quaternions.sign_continuous(turns), places)
    return with_held_feet(clip, space, contacts, _CHANGE_HZ, content)


def _clip_matrix(clip: Clip, editor: MotionEditor) -> Tensor:
    return gram_matrix(editor.encode(SampledMotion.from_clip(clip, editor.space).rows))


def _searched(rows: MotionRows, editor: MotionEditor, goal: Tensor) -> Array:
    """(frames, points, 3) metres: the change that brings the Gram matrix to the goal."""
    inputs, known = (tensor.clone() for tensor in editor.inputs(rows.array()))
    network, count = editor.network, rows.points[0].size
    with torch.no_grad():
        content = network.encode(inputs, known)
        start = network.decode(content)
    hidden = content.clone().requires_grad_()
    optimizer = torch.optim.Adam([hidden], lr=_RATE * float(content.std()))
    scale = torch.from_numpy(editor.normalisation.scale[:count])
    standing = torch.from_numpy(standing_points(editor, rows.contacts > 0.5))
    size = float((gram_matrix(content) - goal).square().sum())
    usual = float(content.square().mean())
    given = torch.from_numpy(np.ascontiguousarray(rows.points, np.float32))
    lengths = carrier_distances(editor)
    own = lengths(given)
    metres = torch.zeros(rows.points.shape)
    for _ in range(_ITERATIONS):
        change = (network.decode(hidden) - start)[:, :count]
        metres = (change[0, :, : len(rows)].T * scale).reshape(rows.points.shape)
        again = network.encode(torch.cat([inputs[:, :count] + change, inputs[:, count:]], 1), known)
        loss = (
            (gram_matrix(again) - goal).square().sum() / max(size, 1e-12)
            + _CONTENT * (hidden - content).square().mean() / usual
            + _FEET * metres[standing].square().sum() / max(metres[standing].numel(), 1)
            + _SMOOTH * metres.diff(n=2, dim=0).square().mean()
            + _BONES * (lengths(given + metres) - own).square().mean()
        )
        optimizer.zero_grad()
        loss.backward(inputs=[hidden])
        optimizer.step()
    return low_passed(metres.detach().numpy().astype(np.float64), _CHANGE_HZ, editor.fps)
