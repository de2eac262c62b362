"""Constraints on a clip: joints at places, feet that stay, a path of the root."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from deepphase.arrays import Array
from deepphase.edit.bound_editor import BoundEditor
from deepphase.edit.editor import (
    EditedMotion,
    MotionEditor,
    carrier_distances,
    standing_points,
    with_change,
)
from deepphase.edit.grounding import grounded, standing_limbs
from deepphase.edit.held_feet import faded_to, limbs_of_roles, with_held_feet
from deepphase.edit.motion_rows import MotionRows, MotionSpace, SampledMotion
from deepphase.edit.targets import JointTarget
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
)
from deepphase.motion.skeleton import ancestors, path_length, subtree_mask
from deepphase.solving.feet import HOLD_BLEND_S, find_holds, with_tips_at
from deepphase.steering.path import GroundPath

# Seconds over which corrections of targets fade.
_TARGET_FADE_S = 0.3
# Shares of the search's change of the hips' place that are tried, and how near in metres feet in
# contact then have to be.
_HIPS_SHARES, _STANDS_M = (1.0, 0.6, 0.3, 0.0), 0.002
# Of the search of hidden units: steps, Adam's rate, and distances in metres at which it ends.
ITERATIONS, _RATE, _NEAR_M = 250, 0.1, 0.005
# Slopes far below this one are rounding errors and move nothing.
_LEAST_SLOPE = 1e-4
# Seconds around goals in which the motion is searched, where the root stays.
_AROUND_S = 1.5
# On a path: seconds over which turns are smoothed, and m/s from which a way has a direction.
_TURN_S, _TURNS_FROM = 0.3, 0.2
# Weights of squared metres, summed over frames and points: of targets, feet in contact, changes of
# bones, distance from the given motion, and its change from frame to frame.
_TARGET, _FEET, _BONES, _CLOSE, _SMOOTH = 2000.0, 2000.0, 3.0, 0.002, 2.0


def constrained(
    clip: Clip,
    editor: MotionEditor | None = None,
    targets: Sequence[JointTarget] = (),
    *,
    path: GroundPath | None = None,
    feet: bool = False,
) -> EditedMotion:
    """A clip in which joints are at targets, the body follows a path, and feet stay.

    The editor's space of hidden units is searched for a motion near the clip that meets the
    constraints; inverse kinematics of arms and legs removes the rest of the errors. Bones do not
    change. Feet in contact stay where they are in the clip; on another path they are held where
    they come down. Frames two seconds and more from a target stay as they are.

    Parameters
    ----------
    clip
        A clip of the editor's body, a biped; of any body with legs without an editor.
    targets
        Places of hands, feet, or joints below them.
    path
        Places of the root over the seconds of the clip. Without facings in it, the body turns with
        the path.
    feet
        Hold feet still in contacts, also where they slide in the clip.

    Raises SkeletonError if the clip's hierarchy is not the editor's, or the body has no pair of
    legs; ParameterError if a target is of a frame or a joint that the clip does not have, two are
    of one limb at a time, or a path is given without an editor.

    References
    ----------
    Holden 2017 (thesis), equations 5.10 to 5.12.
    """
    if editor is None and path is not None:
        raise ParameterError(
            "a path needs an editor: a body that is moved onto another path steps otherwise",
            hint="give an editor (deepphase train editor), or make motion along the path by "
            "deepphase match run or deepphase control",
        )
    space = MotionSpace.from_clip(clip, clip.fps) if editor is None else editor.space
    clip = space.on_hips(clip)
    if len(clip) < 2:
        raise ParameterError(
            f"{clip.name}: the clip has a single frame, and constraints apply to motion",
            hint="give a clip of two frames or more",
        )
    roles = space.roles_of(clip)
    feet = feet or path is not None
    if editor is not None and roles.kind != "biped":
        raise SkeletonError(
            f"{clip.name}: constraints by an editor need a biped", hint="leave the editor out"
        )
    limbs, legs = _limbs(clip, roles, targets)
    if not targets and not feet:
        return EditedMotion(clip)
    clip = space.with_pose(clip, *space.pose(clip))  # float64
    if editor is None:
        if feet:
            clip, feet = grounded(clip, space, level=False).clip, False
        candidates: Iterable[Clip] = [clip]
    else:
        given = clip if path is None else _on_path(clip, roles, path, editor)
        before, after = _searched(given, clip, editor, targets, on_path=path is not None)
        candidates = (
            with_change(given, before, after, editor, on_path=path is not None, hips_share=share)
            for share in _HIPS_SHARES
        )
    contacts = foot_contacts(clip, roles).flags[:, :legs]
    places, targeted = _target_places(clip, limbs, targets)
    standing = contacts & ~targeted[:, :legs]
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    solver = LimbSolver.from_poses(clip.skeleton, roles, limbs, clip.rotations)
    bends = solver.hinges.bends(clip.rotations)
    # Where feet are in contact, in the clip; on a path they are held where they come down.
    feet_at = joint_positions(clip)[:, limbs.tips[:legs]].astype(np.float64)
    if feet and path is None:
        feet_at += find_holds(clip, roles, leg).shifts
    # Where a moved pelvis takes a leg out of reach of its contact, it moves less.
    for moved in candidates:
        solver.hinges.constrain(moved.rotations, bends)
        if path is not None:
            moved = with_held_feet(moved, space, contacts, like=clip)
        wanted = joint_positions(moved)[:, limbs.tips].astype(np.float64)
        if path is None:
            wanted[:, :legs] = faded_to(wanted[:, :legs], feet_at, contacts, HOLD_BLEND_S, clip.fps)
        wanted = faded_to(wanted, places, targeted, _TARGET_FADE_S, clip.fps)
        made = with_tips_at(moved, roles, limbs, wanted, solver)
        apart = np.linalg.norm(joint_positions(made)[:, limbs.tips] - wanted, axis=-1)[:, :legs]
        if apart[standing].max(initial=0.0) < _STANDS_M:
            break
    positions, distances = joint_positions(made), []
    for target in targets:
        way = positions[target.first : target.last + 1, made.skeleton.index(target.joint)]
        distances.append(np.linalg.norm(way - np.array(target.place), axis=-1).max())
    return EditedMotion(made, np.array(distances))


def _limbs(clip: Clip, roles: Roles, targets: Sequence[JointTarget]) -> tuple[LegChains, int]:
    """Legs, then arms with targets, whose tips are the targets' joints; the number of legs."""
    skeleton = clip.skeleton
    legs = standing_limbs(clip, roles)
    limbs = limbs_of_roles(skeleton, roles)
    tips = limbs.tips.copy()
    tips[: len(legs)] = legs.tips
    taken: dict[int, int] = {}
    for number, target in enumerate(targets):
        limb = _limb_of(target, clip, limbs)
        joint = skeleton.index(target.joint)
        if taken.setdefault(limb, joint) != joint:
            raise ParameterError(
                f"{skeleton.names[taken[limb]]} and {target.joint} are on one limb, and both "
                "have targets",
                hint="give targets to one joint of each limb",
            )
        same = [other for other in targets[:number] if other.joint == target.joint]
        if any(target.first <= each.last and each.first <= target.last for each in same):
            raise ParameterError(
                f"{target.joint} has two targets at frame {target.first}",
                hint="give one target for each joint and frame",
            )
        tips[limb] = joint
    chosen = limbs.last[sorted({*range(len(legs)), *taken})].tolist()
    return replace(limbs, tips=tips).ending_in(chosen), len(legs)


def _limb_of(target: JointTarget, clip: Clip, limbs: LegChains) -> int:
    """The limb that ends in a target's joint or above it."""
    skeleton = clip.skeleton
    if target.joint not in skeleton.names:
        raise ParameterError(
            f"there is no joint {target.joint!r}", hint=f"joints: {', '.join(skeleton.names)}"
        )
    if target.last >= len(clip):
        raise ParameterError(
            f"{target.joint}: the target is at frame {target.last}, but the clip has "
            f"frames 0-{len(clip) - 1}",
            hint="give frames of the clip",
        )
    above = ancestors(skeleton, skeleton.index(target.joint))
    for limb, last in enumerate(limbs.last.tolist()):
        if last in above:
            return limb
    below = np.any([subtree_mask(skeleton, last) for last in limbs.last], axis=0)
    ends = ", ".join(skeleton.names[joint] for joint in np.flatnonzero(below))
    raise ParameterError(
        f"{target.joint} cannot have a target, because it is not a hand or foot and has none "
        "above it",
        hint=f"joints that can have targets: {ends}",
    )


def _searched(
    given: Clip, clip: Clip, editor: MotionEditor, targets: Sequence[JointTarget], *, on_path: bool
) -> tuple[Clip, Clip]:
    """The rows' clip before and after the search; `given` is the clip on its path, if any."""
    if isinstance(editor, BoundEditor):
        there = editor.on_trained(given)
        goals = editor.targets_on_trained(given, there, targets)
        whole = editor.on_trained(clip) if on_path else there
        before, after = _searched(there, whole, editor.trained, goals, on_path=on_path)
        return editor.on_body(before), editor.on_body(after)
    space = editor.space
    motion = SampledMotion.from_clip(given, space)
    rows, root, size = motion.rows, motion.root, space.size_of(motion.sampled)
    if on_path:
        rows = replace(rows, contacts=SampledMotion.from_clip(clip, space).rows.contacts)
    frames, points, places = [], [], []
    for target in targets:
        joint = np.searchsorted(space.points.joints, clip.skeleton.index(target.joint))
        at = np.arange(target.first, target.last + 1) * (editor.fps / clip.fps)
        at = np.unique(np.minimum(np.round(at).astype(int), len(rows) - 1))
        frames += at.tolist()
        points += [int(space.points.of_joints[joint])] * len(at)
        places += [target.place] * len(at)
    where, which = np.array(frames, np.int64), np.array(points, np.int64)
    here = RootTrajectory.from_ground(root.positions[where, ::2], root.angles[where])
    world = np.array(places, np.float64).reshape(-1, 1, 3)
    in_root = (to_root_space(world, here)[:, 0] - [0.0, motion.floor, 0.0]) / size
    standing = standing_points(editor, rows.contacts > 0.5)
    # Feet with a target do not stand.
    for foot in editor.feet:
        own = space.points.of_joint(space.skeleton, foot)
        standing[np.ix_(where[own[which]], own)] = False
    path = RootTrajectory.from_ground(root.positions[:, ::2] / size, root.angles)
    found = search(rows, editor, where, which, in_root, standing, path if on_path else None)
    return motion.clip_of(rows), motion.clip_of(found)


def search(
    rows: MotionRows,
    editor: MotionEditor,
    frames: Array,
    points: Array,
    places: Array,
    standing: Array,
    root: RootTrajectory | None,
) -> MotionRows:
    """Rows near the given ones with points (goals,) at places (goals, 3), by Adam on hidden units.

    Points that are `standing` (frames, points) stay as in the rows; with a root, in the world.
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


def _on_path(clip: Clip, roles: Roles, path: GroundPath, editor: MotionEditor) -> Clip:
    """The clip with its root on a path, turned by what the path turns more than its own way."""
    root = root_trajectory(clip, roles)
    times = np.arange(len(clip)) / clip.fps
    places = path.positions_at(times)
    if path.facings is None:
        angles = root.angles + turns_between(root.positions[:, ::2], places, clip.fps)
    else:
        angles = path.facings_at(times)
    new = RootTrajectory.from_ground(places, angles)
    rotations, places = editor.space.pose(clip)
    turns = quaternions.multiply(new.rotations, quaternions.conjugate(root.rotations))
    rotations[:, 0] = quaternions.multiply(turns, rotations[:, 0])
    moved = from_root_space(to_root_space(places[:, None], root), new)
    return editor.space.with_pose(clip, rotations, moved[:, 0])


def turns_between(own: Array, other: Array, fps: float) -> Array:
    """(frames,) radians from a way (frames, 2) to another; where either rests, as beside."""
    toward, there = (
        gaussian_filter1d(np.gradient(way, 1.0 / fps, axis=0), _TURN_S * fps, axis=0) @ [1j, 1.0]
        for way in (own, other)
    )
    both = gaussian_filter1d(there * toward.conj(), _TURN_S * fps)
    moving = np.flatnonzero(np.abs(both) > _TURNS_FROM**2)
    if not len(moving):
        return np.zeros(len(own))
    turns = np.interp(np.arange(len(own)), moving, np.unwrap(np.angle(both[moving])))
    return gaussian_filter1d(turns, _TURN_S * fps, mode="nearest")


def _target_places(
    clip: Clip, limbs: LegChains, targets: Sequence[JointTarget]
) -> tuple[Array, Array]:
    """(frames, limbs, 3) metres: the targets of tips, and (frames, limbs) where there are any."""
    places = np.zeros((len(clip), len(limbs), 3))
    known = np.zeros((len(clip), len(limbs)), bool)
    for target in targets:
        limb = limbs.tips.tolist().index(clip.skeleton.index(target.joint))
        here = slice(target.first, target.last + 1)
        places[here, limb], known[here, limb] = target.place, True
    return places, known
