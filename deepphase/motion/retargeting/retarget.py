"""Retargeting of clips to skeletons of other proportions, hierarchies and rest poses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.easing import smoothstep
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.retargeting.joint_matches import JointMatch, joint_path, match_joints
from deepphase.motion.retargeting.reference_pose import ReferencePose, reference_pose
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton, path_length

_UP = np.array([0.0, 1.0, 0.0])
_LEFT = np.array([1.0, 0.0, 0.0])
# Limbs are brought to their targets in this many steps, each damped near straight limbs.
_REACHES = 6
# Hands that are nearer to each other, to a foot or to the floor than the first share of an arm's
# length are held as near; from the second on they are not. Seconds over which that changes.
_NEAR, _FAR, _HOLD_S = 0.25, 0.5, 0.08
# A limb is stretched up to this share of its length.
_REACHABLE = 0.998


@dataclass(frozen=True, eq=False)
class RetargetedMotion:
    """A clip on another skeleton, and how well it follows the original.

    Parameters
    ----------
    foot_errors
        (frames, feet) metres: distance of each foot from the scaled original; of a quadruped all
        four.
    hand_errors
        (frames, hands) metres: the same of hands while they are held, 0 elsewhere.
    sliding_source, sliding
        m/s: mean speed over the ground of feet in contact, of the scaled original and of the clip.
    """

    clip: Clip
    scale: float
    leg_m: float
    foot_errors: Array
    hand_errors: Array
    sliding_source: float
    sliding: float
    matched: int
    unmatched: tuple[str, ...]


def retarget(clip: Clip, to: Clip | Skeleton) -> RetargetedMotion:
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

    Raises
    ------
    SkeletonError
        If the bodies are of different kinds, legs are missing, the motion has no rotations, or a
        reference pose is missing.
    """
    target, sample = (to.skeleton, to) if isinstance(to, Clip) else (to, None)
    for motion, what in ((clip, "the motion"), (sample, "the target")):
        if motion is not None and not motion.has_rotations:
            raise SkeletonError(
                f"{what} has positions of points without rotations",
                hint="solve it first: deepphase solve",
                path=motion.source.path or None,
            )
    roles, target_roles = find_roles(clip.skeleton, clip=clip), find_roles(target, clip=sample)
    matches = match_joints(clip.skeleton, roles, target, target_roles)
    leg_m = _limb_length(target, target_roles, "hip", "knee", "foot")
    scale = leg_m / _limb_length(clip.skeleton, roles, "hip", "knee", "foot")
    if roles.kind == "quadruped":
        # The shorter pair of legs reaches the ground, too.
        front = "shoulder", "elbow", "hand"
        scale = min(
            scale,
            _limb_length(target, target_roles, *front) / _limb_length(clip.skeleton, roles, *front),
        )
    source_pose = reference_pose(clip.skeleton, roles, clip)
    target_pose = reference_pose(target, target_roles, sample)
    world = global_transforms(clip)[0].astype(np.float64)
    turned = _turned(world, matches, source_pose, target_pose, roles, target_roles, target)
    contacts = foot_contacts(clip, roles)
    goals = _Goals(clip, roles, scale, contacts.floor, source_pose, target_pose, target_roles)
    result = _placed(turned, target, target_roles, goals, clip)
    result, foot_errors, hand_errors = _held(result, target_roles, roles, goals)
    tips, tip_goals = _tips(result, target_roles, roles, goals)
    flags = contacts.flags
    found = {match.joint for match in matches}
    unmatched = tuple(name for joint, name in enumerate(target.names) if joint not in found)
    conventions = Source() if sample is None else sample.source.conventions
    notes = (
        f"retargeted from {clip.source.path or clip.name}: {len(matches)} of {len(target)} joints "
        f"have a counterpart, lengths times {scale:.3f}",
        f"compared in {source_pose.note} of the source and {target_pose.note} of the target",
    )
    result = replace(
        result,
        source=replace(
            conventions,
            path=clip.source.path,
            fps=clip.source.fps,
            notes=notes,
            song=clip.source.song,
            song_start_s=clip.source.song_start_s,
        ),
    )
    return RetargetedMotion(
        result,
        scale,
        leg_m,
        foot_errors,
        hand_errors,
        sliding_speed(tip_goals, flags, clip.fps),
        sliding_speed(tips, flags, clip.fps),
        len(matches),
        unmatched,
    )


def _limb_length(skeleton: Skeleton, roles: Roles, upper: str, middle: str, last: str) -> float:
    """Metres: mean length of a pair of limbs."""
    joints = [roles.both(part) for part in (upper, middle, last)]
    lengths = [
        path_length(skeleton, pair[0], pair[1])
        for pair in zip(joints[0] or (), joints[2] or (), strict=False)
        if joints[1] is not None
    ]
    if not lengths or min(lengths) <= 0:
        raise SkeletonError(
            f"retargeting needs {upper}s, {middle}s and {last}s of both bodies, but not all were "
            "found",
            hint="name them in a skeleton description",
        )
    return float(np.mean(lengths))


def _turned(
    world: Array,
    matches: list[JointMatch],
    source_pose: ReferencePose,
    target_pose: ReferencePose,
    roles: Roles,
    target_roles: Roles,
    target: Skeleton,
) -> Array:
    """(frames, joints, 4) world rotations of the target, from those of the source.

    Joints turn as their counterparts do, from poses in which limbs and trunk have one direction.
    """
    by_joint = {match.joint: match for match in matches}
    aligned = _aligned(matches, source_pose, target_pose, roles, target_roles, target)
    changes = quaternions.multiply(world, quaternions.conjugate(source_pose.rotations))
    rest = target_pose.rotations
    turned = np.empty((len(world), len(target), 4))
    for joint, parent in enumerate(target.parents.tolist()):
        match = by_joint.get(joint)
        if match is not None:
            change = changes[:, match.first]
            if match.share > 0:
                change = _between(change, changes[:, match.second], match.share)
            turned[:, joint] = quaternions.multiply(change, aligned[joint])
        elif parent < 0:
            turned[:, joint] = quaternions.IDENTITY
        else:
            local = quaternions.multiply(quaternions.conjugate(rest[parent]), rest[joint])
            # Above the hips nothing turns.
            local = quaternions.IDENTITY if joint == target_roles.hips else local
            turned[:, joint] = quaternions.multiply(turned[:, parent], local)
    return turned


def _between(first: Array, second: Array, share: float) -> Array:
    """(frames, 4) normalised linear interpolation on the shorter way."""
    signs = np.where(np.einsum("fc,fc->f", first, second) < 0, -1.0, 1.0)[:, None]
    return quaternions.normalized((1.0 - share) * first + share * signs * second)


def _aligned(
    matches: list[JointMatch],
    source_pose: ReferencePose,
    target_pose: ReferencePose,
    roles: Roles,
    target_roles: Roles,
    target: Skeleton,
) -> Array:
    """(joints, 4) world rotations of the target with its limbs in the source's directions."""
    turns = np.tile(quaternions.IDENTITY, (len(target), 1))
    # At rest heads look ahead; in means of poses they are tilted as much as the neck.
    at_rest = source_pose.is_rest and target_pose.is_rest
    own = _directions(target_pose, target_roles)
    other = _directions(source_pose, roles)
    for name in own.keys() & other.keys():
        turn = _shortest_turn(own[name], other[name])
        for joint in _joints_of(name, target_roles, target, matches):
            if not (at_rest and joint == target_roles.head):
                turns[joint] = turn
    return quaternions.multiply(turns, target_pose.rotations)


def _directions(pose: ReferencePose, roles: Roles) -> dict[str, Array]:
    """Part of the body -> its direction in a pose."""
    positions = pose.positions
    found: dict[str, Array] = {}
    shoulders, hips = roles.both("shoulder"), roles.both("hip")
    if shoulders is not None and hips is not None:
        top = positions[list(shoulders)].mean(axis=0)
        found["trunk"] = top - positions[list(hips)].mean(axis=0)
    if roles.neck is not None and roles.head is not None:
        found["neck"] = positions[roles.head] - positions[roles.neck]
    for side in ("left", "right"):
        for upper, lower in (
            ("hip", "knee"),
            ("knee", "foot"),
            ("foot", "toe"),
            ("shoulder", "elbow"),
            ("elbow", "hand"),
        ):
            ends = getattr(roles, f"{side}_{upper}"), getattr(roles, f"{side}_{lower}")
            if None not in ends:
                found[f"{side}_{upper}"] = positions[ends[1]] - positions[ends[0]]
    return {name: way for name, way in found.items() if np.linalg.norm(way) > 1e-6}


def _joints_of(name: str, roles: Roles, target: Skeleton, matches: list[JointMatch]) -> list[int]:
    """The target's joints that turn with a part of the body: down to the next part."""
    if name == "trunk":
        return [] if roles.chest is None else joint_path(target, roles.hips, roles.chest)[1:]
    if name == "neck":
        assert roles.neck is not None
        assert roles.head is not None
        return joint_path(target, roles.neck, roles.head)
    side, _, part = name.partition("_")
    joint = getattr(roles, name)
    below = {"hip": "knee", "knee": "foot", "shoulder": "elbow"}.get(part)
    stop = None if below is None else getattr(roles, f"{side}_{below}")
    matched = {match.joint for match in matches}
    inside = {joint}
    for each, parent in enumerate(target.parents.tolist()):
        if parent in inside and each != stop and each in matched:
            inside.add(each)
    return sorted(inside)


def _shortest_turn(start: Array, goal: Array) -> Array:
    start, goal = start / np.linalg.norm(start), goal / np.linalg.norm(goal)
    turn = np.append(np.cross(start, goal), 1.0 + start @ goal)
    if turn[3] < 1e-9:
        turn = np.append(np.cross(start, [1.0, 0.0, 0.0] if abs(start[0]) < 0.9 else _UP), 0.0)
    return np.asarray(turn / np.linalg.norm(turn))


class _Goals:
    """Places of the scaled original."""

    def __init__(
        self,
        clip: Clip,
        roles: Roles,
        scale: float,
        floor: float,
        source_pose: ReferencePose,
        target_pose: ReferencePose,
        target_roles: Roles,
    ) -> None:
        self.positions = global_transforms(clip)[1].astype(np.float64)
        self.floor, self.scale, self.fps = floor, scale, clip.fps
        # A joint of the foot is higher over the ground in one skeleton than in another.
        self.rises = {}
        for part in ("foot", "toe", "hand"):
            own, other = target_roles.both(part), roles.both(part)
            if own is not None and other is not None:
                rise = target_pose.heights[list(own)] - scale * source_pose.heights[list(other)]
                self.rises[part] = float(rise.mean()) * _UP
        # Front paws stay under the shoulders of a trunk of another length.
        self.ahead = np.zeros((len(clip), 3))
        if roles.kind == "quadruped":
            trunks = [
                float(np.diff(pose.positions[[hips, chest], 2])[0])
                for pose, hips, chest in (
                    (target_pose, *_trunk_ends(target_roles)),
                    (source_pose, *_trunk_ends(roles)),
                )
            ]
            facing = root_trajectory(clip, roles).directions
            self.ahead = (trunks[0] - scale * trunks[1]) * facing
        hips = roles.both("hip")
        assert hips is not None
        self.hips = self.scaled(self.positions[:, list(hips)].mean(axis=1))
        self.hips += self.rises["foot"]

    def scaled(self, positions: Array) -> Array:
        """(..., 3) metres: places of the original, scaled about a point of the floor."""
        floor = np.array([0.0, self.floor, 0.0])
        return self.scale * (positions - floor) + floor


def _trunk_ends(roles: Roles) -> tuple[int, int]:
    hip, shoulder = roles.left_hip, roles.left_shoulder
    assert hip is not None
    assert shoulder is not None
    return hip, shoulder


def _placed(world: Array, target: Skeleton, roles: Roles, goals: _Goals, clip: Clip) -> Clip:
    """The clip with its hips at the scaled place."""
    parents = target.parents
    local = world.copy()
    local[:, 1:] = quaternions.multiply(quaternions.conjugate(world[:, parents[1:]]), world[:, 1:])
    local = quaternions.sign_continuous(quaternions.normalized(local))
    moving = np.unique([0, roles.hips])
    translations = np.repeat(target.offsets[None, moving], len(world), axis=0)
    translations[:, 0] = 0.0
    result = Clip(
        target, local, translations, clip.fps, moving, clip.labels, clip.source, clip.name
    )
    hips = roles.both("hip")
    assert hips is not None
    middle = global_transforms(result)[1][:, list(hips)].mean(axis=1)
    translations = translations.copy()
    # Joints above the hips neither turn nor move: the hips' translation is in the world.
    translations[:, -1] += goals.hips - middle
    return replace(result, translations=translations)


def _held(
    result: Clip, roles: Roles, source_roles: Roles, goals: _Goals
) -> tuple[Clip, Array, Array]:
    """Limbs at their goals, and what remains: of feet, of hands that are held."""
    # The arms of a person, too.
    four = replace(roles, kind="quadruped")
    limbs = LegChains.from_skeleton(result.skeleton, four)
    solver = LimbSolver(result.skeleton, limbs)
    rotations, places = result.rotations.copy(), result.local_positions()
    hands = {joint for joint in (roles.left_hand, roles.right_hand) if joint is not None}
    of_hands = np.array([last in hands for last in limbs.last.tolist()], bool)
    transforms = solver.transforms(rotations, places)
    wanted, weights, on_tip = [], [], []
    for limb, last in enumerate(limbs.last.tolist()):
        side = "left" if last in (roles.left_foot, roles.left_hand) else "right"
        is_hand = bool(of_hands[limb])
        tip = not is_hand and None not in (
            getattr(roles, f"{side}_toe"),
            getattr(source_roles, f"{side}_toe"),
        )
        on_tip.append(tip)
        now = transforms.positions[3 if tip else 2, limb]
        goal, weight = _limb_goal(side, is_hand, tip, now, roles, source_roles, goals)
        wanted.append(goal)
        weights.append(weight)
    targets = np.stack(wanted) if wanted else np.zeros((0, len(result), 3))
    tips = np.array(on_tip, bool)[:, None, None]
    left = quaternions.rotate(global_transforms(result)[0][:, roles.hips], _left(result, roles))
    for _ in range(_REACHES):
        transforms = solver.transforms(rotations, places)
        upper, _, last, tip = transforms.positions
        at = np.where(tips, targets + last - tip, targets)
        way = at - upper
        length = np.linalg.norm(way, axis=-1, keepdims=True)
        most = _REACHABLE * transforms.lengths[..., None]
        at = upper + way * np.minimum(1.0, most / np.maximum(length, 1e-9))
        solver.reach(rotations, transforms, at, left)
        rotations = quaternions.normalized(rotations)
    transforms = solver.transforms(rotations, places)
    reached = np.where(tips, transforms.positions[3], transforms.positions[2])
    errors = np.linalg.norm(reached - targets, axis=-1).T
    result = replace(result, rotations=quaternions.sign_continuous(rotations))
    held = np.stack(weights, axis=1) if weights else np.zeros((len(result), 0))
    feet = ~of_hands if roles.kind == "biped" else np.ones(len(limbs), bool)
    return result, errors[:, feet], (errors * held)[:, ~feet]


def _left(result: Clip, roles: Roles) -> Array:
    """(3,) the direction from the right hip to the left one in the hips' frame."""
    hips = roles.both("hip")
    assert hips is not None
    rotations, positions = global_transforms(result.sliced(0, 1))
    across = positions[0, hips[0]] - positions[0, hips[1]]
    local = quaternions.rotate(quaternions.conjugate(rotations[0, roles.hips]), across)
    length = float(np.linalg.norm(local))
    return local / length if length > 1e-9 else _LEFT


def _limb_goal(
    side: str,
    is_hand: bool,
    tip: bool,
    now: Array,
    roles: Roles,
    source_roles: Roles,
    goals: _Goals,
) -> tuple[Array, Array]:
    """(frames, 3) metres where the end of a limb belongs, and (frames,) how firmly."""
    part = "hand" if is_hand else "toe" if tip else "foot"
    joint = getattr(source_roles, f"{side}_{part}")
    frames = len(now)
    if joint is None:
        return now, np.zeros(frames)
    place = goals.positions[:, joint]
    goal = goals.scaled(place)
    if not is_hand or roles.kind == "quadruped":
        goal = goal + goals.rises[part]
        return (goal + goals.ahead if is_hand else goal), np.ones(frames)
    others = [
        goals.positions[:, each]
        for each in (
            getattr(source_roles, f"{'right' if side == 'left' else 'left'}_hand"),
            source_roles.left_foot,
            source_roles.right_foot,
        )
        if each is not None
    ]
    arm = np.linalg.norm(
        np.diff(
            goals.positions[
                :,
                [getattr(source_roles, f"{side}_{each}") for each in ("shoulder", "elbow", "hand")],
            ],
            axis=1,
        ),
        axis=-1,
    ).sum(axis=1)
    distances = [np.linalg.norm(place - other, axis=-1) for other in others]
    distances.append(place[:, 1] - goals.floor)
    nearest = np.min(distances, axis=0) / np.maximum(arm, 1e-9)
    weight = smoothstep(np.clip((_FAR - nearest) / (_FAR - _NEAR), 0.0, 1.0))
    weight = gaussian_filter1d(weight, _HOLD_S * goals.fps, mode="nearest")
    return now + weight[:, None] * (goal - now), weight


def _tips(result: Clip, roles: Roles, source_roles: Roles, goals: _Goals) -> tuple[Array, Array]:
    """(frames, feet, 3) of the clip and of the scaled original: toes if both have them, paws."""
    part = "toe" if roles.both("toe") and source_roles.both("toe") else "foot"
    own, other = roles.both(part), source_roles.both(part)
    assert own is not None
    assert other is not None
    positions = global_transforms(result)[1]
    tips, scaled = positions[:, list(own)], goals.scaled(goals.positions[:, list(other)])
    if roles.kind == "quadruped":
        own, other = roles.both("hand"), source_roles.both("hand")
        assert own is not None
        assert other is not None
        tips = np.concatenate([tips, positions[:, list(own)]], axis=1)
        scaled = np.concatenate([scaled, goals.scaled(goals.positions[:, list(other)])], axis=1)
    return tips, scaled
