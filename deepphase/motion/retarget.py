"""Retargeting of clips to skeletons of other proportions, hierarchies and rest poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, smoothstep
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, global_transforms, joint_positions
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.correspondence import (
    JointMatch,
    ReferencePose,
    joint_path,
    match_joints,
    reference_pose,
)
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton, path_length

_UP, _LEFT = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
_LEG, _ARM = ("hip", "knee", "foot"), ("shoulder", "elbow", "hand")
_BONES = (*pairwise((*_LEG, "toe")), *pairwise(_ARM))
# Limbs are brought to their targets in this many steps, each damped near straight limbs.
_REACHES = 6
# Hands that are nearer to each other, to a foot or to the floor than the first share of an arm's
# length are held as near; from the second on they are not. Seconds over which that changes.
_NEAR, _FAR, _HOLD_S = 0.25, 0.5, 0.08
# A limb is stretched up to this share of its length.
_REACHABLE = 0.998
# Metres of a lift of the hips that is left out.
_LIFT_M = 1e-3


@dataclass(frozen=True, eq=False)
class RetargetedMotion:
    """A clip on another skeleton, and how well it follows the original."""

    clip: Clip
    scale: float
    leg_m: float
    # (frames, feet) metres: distance of each foot from the scaled original; of a quadruped all
    # four.
    foot_errors: Array
    hand_errors: Array  # (frames, hands) metres: the same of hands while they are held, 0 elsewhere
    # m/s: mean speed over the ground of feet in contact, of the scaled original and of the clip.
    sliding_source: float
    sliding: float
    matched: int
    unmatched: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Body:
    """One of the two bodies, in the pose in which they are compared."""

    skeleton: Skeleton
    roles: Roles
    pose: ReferencePose

    def limb_length(self, parts: tuple[str, str, str]) -> float:
        """Metres: mean length of a pair of limbs."""
        upper, middle, last = (self.roles.both(part) for part in parts)
        lengths = [0.0]
        if upper and middle and last:
            lengths = [path_length(self.skeleton, *ends) for ends in zip(upper, last, strict=True)]
        if min(lengths) <= 0:
            raise SkeletonError(
                f"retargeting needs {parts[0]}s, {parts[1]}s and {parts[2]}s of both bodies, but "
                "not all were found",
                hint="name them in a skeleton description",
            )
        return float(np.mean(lengths))

    def pair(self, part: str) -> list[int]:
        """Left and right joint of a part whose presence was checked."""
        joints = self.roles.both(part)
        assert joints is not None
        return list(joints)


def retarget(clip: Clip, to: Clip | Skeleton, *, like: Clip | None = None) -> RetargetedMotion:
    """Put the motion of a clip on another skeleton of the same kind of body.

    Joints correspond by their roles. In the rest poses, or upright poses of the clips where the
    rest pose is none, limbs and trunk are turned to the same directions; from there every joint
    turns as its counterpart does, so that limbs have the directions of the original. Paths are
    scaled by the leg lengths. Feet, and hands that are at the floor, at a foot or at each other,
    are then brought to the scaled places by inverse kinematics.

    Parameters
    ----------
    clip
        The motion; it needs joint rotations.
    to
        The target: a skeleton, or any clip of it, which is needed if the body does not stand in
        its rest pose. Conventions of its file (unit, axes) are those of the result.
    like
        A clip of the motion's skeleton in which the body stands, by default the motion itself.

    Raises
    ------
    SkeletonError
        If the bodies are of different kinds, legs are missing, the motion has no rotations, or the
        target stands in no pose.
    """
    skeleton, sample = (to.skeleton, to) if isinstance(to, Clip) else (to, None)
    for motion, what in ((clip, "the motion"), (sample, "the target")):
        if motion is not None and not motion.has_rotations:
            raise SkeletonError(
                f"{what} has positions of points without rotations",
                hint="solve it first: deepphase solve",
                path=motion.source.path or None,
            )
    roles, target_roles = find_roles(clip.skeleton, clip=clip), find_roles(skeleton, clip=sample)
    matches = match_joints(clip.skeleton, roles, skeleton, target_roles)
    source = _Body(clip.skeleton, roles, reference_pose(clip.skeleton, roles, like or clip))
    pose = reference_pose(skeleton, target_roles, sample, is_target=True)
    target = _Body(skeleton, target_roles, pose)
    # The shorter pair of a quadruped's legs reaches the ground, too.
    limbs = (_LEG, _ARM) if roles.kind == "quadruped" else (_LEG,)
    scale = min(target.limb_length(limb) / source.limb_length(limb) for limb in limbs)
    contacts = foot_contacts(clip, roles)
    goals = _Goals(clip, source, target, scale, contacts.floor)
    placed = _placed(_turned(clip, source, target, matches), target, goals, clip)
    result, foot_errors, hand_errors = _held(placed, goals)
    # The hips are as far above the ankles as the original's, so that legs bend as much.
    lift = goals.lift(result)
    if abs(lift) > _LIFT_M:
        result, foot_errors, hand_errors = _held(_moved(placed, lift * _UP), goals)
    tips, tip_goals = goals.tips(result)
    found = {match.joint for match in matches}
    conventions = Source() if sample is None else sample.source.conventions
    notes = (
        f"retargeted from {clip.source.path or clip.name}: {len(matches)} of {len(skeleton)} "
        f"joints have a counterpart, lengths times {scale:.3f}",
        f"compared in {source.pose.note} of the source and {target.pose.note} of the target",
    )
    origin: dict[str, Any] = {
        name: getattr(clip.source, name) for name in ("path", "fps", "song", "song_start_s")
    }
    return RetargetedMotion(
        replace(result, source=replace(conventions, notes=notes, **origin)),
        scale,
        target.limb_length(_LEG),
        foot_errors,
        hand_errors,
        sliding_speed(tip_goals, contacts.flags, clip.fps),
        sliding_speed(tips, contacts.flags, clip.fps),
        len(matches),
        tuple(name for joint, name in enumerate(skeleton.names) if joint not in found),
    )


def _turned(clip: Clip, source: _Body, target: _Body, matches: list[JointMatch]) -> Array:
    """(frames, joints, 4) world rotations of the target, which turn as their counterparts do."""
    by_joint = {match.joint: match for match in matches}
    aligned = _aligned(matches, source, target)
    world = global_transforms(clip)[0].astype(np.float64)
    changes = quaternions.multiply(world, quaternions.conjugate(source.pose.rotations))
    rest = target.pose.rotations
    turned = np.tile(quaternions.IDENTITY, (len(world), len(target.skeleton), 1))
    for joint, parent in enumerate(target.skeleton.parents.tolist()):
        match = by_joint.get(joint)
        if match is not None:
            change = changes[:, match.first]
            if match.share > 0:
                # Normalised linear interpolation on the shorter way.
                second = changes[:, match.second]
                signs = np.where(np.vecdot(change, second) < 0, -1.0, 1.0)[:, None]
                blend = (1.0 - match.share) * change + match.share * signs * second
                change = quaternions.normalized(blend)
            turned[:, joint] = quaternions.multiply(change, aligned[joint])
        elif joint == target.roles.hips and parent >= 0:
            # Above the hips nothing turns.
            turned[:, joint] = turned[:, parent]
        elif parent >= 0:
            local = quaternions.multiply(quaternions.conjugate(rest[parent]), rest[joint])
            turned[:, joint] = quaternions.multiply(turned[:, parent], local)
    return turned


def _aligned(matches: list[JointMatch], source: _Body, target: _Body) -> Array:
    """(joints, 4) world rotations of the target with its limbs in the source's directions."""
    turns = np.tile(quaternions.IDENTITY, (len(target.skeleton), 1))
    # At rest heads look ahead; in means of poses they are tilted as much as the neck.
    at_rest = source.pose.is_rest and target.pose.is_rest
    own, other = _directions(target), _directions(source)
    matched = {match.joint for match in matches}
    for name in own.keys() & other.keys():
        turn = _shortest_turn(own[name], other[name])
        for joint in _joints_of(name, target, matched):
            if not (at_rest and joint == target.roles.head):
                turns[joint] = turn
    return quaternions.multiply(turns, target.pose.rotations)


def _directions(body: _Body) -> dict[str, Array]:
    """Part of the body -> its direction in the reference pose."""
    positions, roles = body.pose.positions, body.roles
    found: dict[str, Array] = {}
    shoulders, hips = roles.both("shoulder"), roles.both("hip")
    if shoulders is not None and hips is not None:
        top = positions[list(shoulders)].mean(axis=0)
        found["trunk"] = top - positions[list(hips)].mean(axis=0)
    if roles.neck is not None and roles.head is not None:
        found["neck"] = positions[roles.head] - positions[roles.neck]
    for side in ("left", "right"):
        for upper, lower in _BONES:
            ends = getattr(roles, f"{side}_{upper}"), getattr(roles, f"{side}_{lower}")
            if None not in ends:
                found[f"{side}_{upper}"] = positions[ends[1]] - positions[ends[0]]
    return {name: way for name, way in found.items() if np.linalg.norm(way) > 1e-6}


def _joints_of(name: str, body: _Body, matched: set[int]) -> list[int]:
    """The joints that turn with a part of the body: down to the next part."""
    skeleton, roles = body.skeleton, body.roles
    if name == "trunk":
        return [] if roles.chest is None else joint_path(skeleton, roles.hips, roles.chest)[1:]
    if name == "neck" and roles.neck is not None and roles.head is not None:
        return joint_path(skeleton, roles.neck, roles.head)
    side, _, part = name.partition("_")
    below = {"hip": "knee", "knee": "foot", "shoulder": "elbow"}.get(part)
    stop = None if below is None else getattr(roles, f"{side}_{below}")
    inside = {getattr(roles, name)}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent in inside and joint != stop and joint in matched:
            inside.add(joint)
    return sorted(inside)


def _shortest_turn(start: Array, goal: Array) -> Array:
    start, goal = start / np.linalg.norm(start), goal / np.linalg.norm(goal)
    turn = np.append(np.cross(start, goal), 1.0 + start @ goal)
    if turn[3] < 1e-9:
        turn = np.append(np.cross(start, _LEFT if abs(start[0]) < 0.9 else _UP), 0.0)
    return np.asarray(turn / np.linalg.norm(turn))


class _Goals:
    """Places of the scaled original."""

    def __init__(
        self, clip: Clip, source: _Body, target: _Body, scale: float, floor: float
    ) -> None:
        self.source, self.target = source, target
        self.positions = joint_positions(clip).astype(np.float64)
        self.floor, self.scale, self.fps = floor, scale, clip.fps
        # A joint of the foot is higher over the ground in one skeleton than in another.
        self.rises = {}
        for part in ("foot", "toe", "hand"):
            own, other = target.roles.both(part), source.roles.both(part)
            if own is not None and other is not None:
                heights = target.pose.heights[list(own)] - scale * source.pose.heights[list(other)]
                self.rises[part] = float(heights.mean()) * _UP
        # Front paws stay under the shoulders of a trunk of another length.
        self.ahead = np.zeros((len(clip), 3))
        if source.roles.kind == "quadruped":
            own_trunk, trunk = (
                body.pose.positions[body.pair("shoulder")[0], 2]
                - body.pose.positions[body.pair("hip")[0], 2]
                for body in (target, source)
            )
            facing = root_trajectory(clip, source.roles).directions
            self.ahead = (own_trunk - scale * trunk) * facing
        self.hips = self.scaled(self.positions[:, source.pair("hip")].mean(axis=1))
        self.hips += self.rises["foot"]

    def scaled(self, positions: Array) -> Array:
        """(..., 3) metres: places of the original, scaled about a point of the floor."""
        floor = self.floor * _UP
        return self.scale * (positions - floor) + floor

    def of_limb(self, side: str, part: str, now: Array) -> tuple[Array, Array]:
        """(frames, 3) metres where the end of a limb belongs, and (frames,) how firmly."""
        roles = self.source.roles
        joint = getattr(roles, f"{side}_{part}")
        if joint is None:
            return now, np.zeros(len(now))
        place = self.positions[:, joint]
        goal = self.scaled(place)
        if part != "hand" or roles.kind == "quadruped":
            goal = goal + self.rises[part]
            return (goal + self.ahead if part == "hand" else goal), np.ones(len(now))
        arm = [getattr(roles, f"{side}_{name}") for name in _ARM]
        bones = np.linalg.norm(np.diff(self.positions[:, arm], axis=1), axis=-1)
        other_hand = roles.right_hand if side == "left" else roles.left_hand
        distances = [place[:, 1] - self.floor] + [
            np.linalg.norm(place - self.positions[:, other], axis=-1)
            for other in (other_hand, roles.left_foot, roles.right_foot)
            if other is not None
        ]
        nearest = np.min(distances, axis=0) / np.maximum(bones.sum(axis=1), 1e-9)
        weight = smoothstep(np.clip((_FAR - nearest) / (_FAR - _NEAR), 0.0, 1.0))
        weight = gaussian_filter1d(weight, _HOLD_S * self.fps, mode="nearest")
        return now + weight[:, None] * (goal - now), weight

    def lift(self, result: Clip) -> float:
        """Metres by which the ankles, whose toes are held, are above their scaled places."""
        own, other = (body.pair("foot") for body in (self.target, self.source))
        goals = self.scaled(self.positions[:, other]) + self.rises["foot"]
        return float(np.median((joint_positions(result)[:, own] - goals)[..., 1]))

    def tips(self, result: Clip) -> tuple[Array, Array]:
        """(frames, feet, 3) of a clip and of the scaled original: toes if both have them, paws."""
        source, target = self.source, self.target
        parts = ["toe" if target.roles.both("toe") and source.roles.both("toe") else "foot"]
        if target.roles.kind == "quadruped":
            parts.append("hand")
        own, other = ([j for part in parts for j in body.pair(part)] for body in (target, source))
        return joint_positions(result)[:, own], self.scaled(self.positions[:, other])


def _placed(world: Array, target: _Body, goals: _Goals, clip: Clip) -> Clip:
    """The clip with its hips at the scaled place."""
    skeleton = target.skeleton
    local = world.copy()
    above = quaternions.conjugate(world[:, skeleton.parents[1:]])
    local[:, 1:] = quaternions.multiply(above, world[:, 1:])
    local = quaternions.sign_continuous(quaternions.normalized(local))
    moving = np.unique([0, target.roles.hips])
    translations = np.repeat(skeleton.offsets[None, moving], len(world), axis=0)
    translations[:, 0] = 0.0
    result = Clip(
        skeleton, local, translations, clip.fps, moving, clip.labels, clip.source, clip.name
    )
    # Joints above the hips neither turn nor move: the hips' translation is in the world.
    middle = joint_positions(result)[:, target.pair("hip")].mean(axis=1)
    return _moved(result, goals.hips - middle)


def _moved(clip: Clip, way: Array) -> Clip:
    """The clip with the translation of its hips, the last one, moved by (frames, 3) metres."""
    translations = clip.translations.copy()
    translations[:, -1] += way
    return replace(clip, translations=translations)


def _held(result: Clip, goals: _Goals) -> tuple[Clip, Array, Array]:
    """Limbs at their goals, and what remains: of feet, of hands that are held."""
    roles, source_roles = goals.target.roles, goals.source.roles
    # The arms of a person, too.
    limbs = LegChains.from_skeleton(result.skeleton, replace(roles, kind="quadruped"))
    solver = LimbSolver.from_poses(result.skeleton, roles, limbs, result.rotations)
    rotations, places = result.rotations.copy(), result.local_positions()
    transforms = solver.transforms(rotations, places)
    wanted, held = np.zeros((len(limbs), len(result), 3)), np.zeros((len(result), len(limbs)))
    parts = []
    for limb, last in enumerate(limbs.last.tolist()):
        side = "left" if last in (roles.left_foot, roles.left_hand) else "right"
        part = "hand" if last in (roles.left_hand, roles.right_hand) else "foot"
        toes = getattr(roles, f"{side}_toe"), getattr(source_roles, f"{side}_toe")
        if part == "foot" and None not in toes:
            part = "toe"
        now = transforms.positions[3 if part == "toe" else 2, limb]
        wanted[limb], held[:, limb] = goals.of_limb(side, part, now)
        parts.append(part)
    tips = np.array([part == "toe" for part in parts], bool)[:, None, None]
    for _ in range(_REACHES):
        transforms = solver.transforms(rotations, places)
        _, _, last, tip = transforms.positions
        at = transforms.within_reach(np.where(tips, wanted + last - tip, wanted), _REACHABLE)
        solver.reach(rotations, transforms, at)
        rotations = quaternions.normalized(rotations)
    transforms = solver.transforms(rotations, places)
    reached = np.where(tips, transforms.positions[3], transforms.positions[2])
    errors = np.linalg.norm(reached - wanted, axis=-1).T
    result = replace(result, rotations=quaternions.sign_continuous(rotations))
    feet = np.array([part != "hand" or roles.kind == "quadruped" for part in parts], bool)
    return result, errors[:, feet], (errors * held)[:, ~feet]
