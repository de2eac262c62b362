"""Controls of a body rig from clips, by rule, and clips from controls.

The rule stands for an animator who sets all controls of a pose: what it sets is what an inverse
rig function learns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.easing import smoothstep
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import end_positions, global_transforms
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory
from deepphase.rigs.body_rig import BodyRig, RigLimb, roles_of_part
from deepphase.rigs.turns import angles, unit

# Heights of a foot over its rest, as shares of the leg, between which its limb goes from IK to FK.
_LOW, _HIGH = 0.15, 0.4
# Share of the limb's length with which the way of bending at rest counts: it decides where the
# limb is straight.
_REST_BEND = 0.02


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of a rig's body in the space of the character.

    Parameters
    ----------
    positions
        (frames, joints of the rig, 3) metres.
    turns
        (frames, joints of the rig's skeleton, 3, 3) from the rest pose.
    fps
        Frames a second.
    """

    positions: Array
    turns: Array
    placement: RootTrajectory
    fps: float

    @classmethod
    def of_clip(cls, clip: Clip, rig: BodyRig) -> BodyMotion:
        """Motion of a clip with the joints of the rig."""
        known = {name: row for row, name in enumerate(clip.skeleton.names)}
        for name in rig.skeleton.names:
            if name not in known:
                raise SkeletonError(
                    f"the clip has no joint {name!r}, which the rig has",
                    hint="put it on the rig's skeleton: deepphase convert CLIP --to FILE",
                )
        joints = np.array([known[name] for name in rig.skeleton.names])
        ends = _ends_of(clip, rig)
        roles = rig.roles
        if len(clip.skeleton) != len(joints) or (joints != np.arange(len(joints))).any():
            row = dict(enumerate(joints.tolist()))
            roles = roles_of_part(roles, row, find_roles(clip.skeleton, clip=clip).pairs)
        transforms = global_transforms(clip)
        rotations, positions = (each[:, joints].astype(np.float64) for each in transforms)
        tips = end_positions(clip, transforms)[:, ends]
        placement = root_trajectory(clip, roles)
        back = quaternions.conjugate(placement.rotations)[:, None]
        local = quaternions.rotate(
            back, np.concatenate([positions, tips], axis=1) - placement.positions[:, None]
        )
        turned = quaternions.multiply(back, rotations)
        turned = quaternions.multiply(turned, quaternions.conjugate(rig.rest_turns))
        matrices = Rotation.from_quat(turned.reshape(-1, 4)).as_matrix()
        return cls(local, matrices.reshape(*turned.shape[:2], 3, 3), placement, clip.fps)

    def on_ground(self, heights: Array) -> BodyMotion:
        """The same motion with a character whose space is raised to heights (frames,) in metres."""
        up = np.array([0.0, 1.0, 0.0]) * heights[:, None]
        placement = replace(self.placement, positions=self.placement.positions + up)
        return replace(self, positions=self.positions - up[:, None], placement=placement)


def keyed(motion: BodyMotion, rig: BodyRig) -> Array:
    """Controls (frames, controls) of a motion, set by rule.

    The body turns half-way between pelvis and chest, chains share their turn, feet near the ground
    are moved by IK and others by FK, heels lift by the roll. FK and IK controls of a limb are both
    set, so that the blend does not change the pose.
    """
    skeleton, turned = rig.skeleton, motion.turns
    frames = len(turned)
    values = np.repeat(rig.rest[None], frames, axis=0)
    names = {name: row for row, name in enumerate(rig.names)}

    def put(name: str, three: Array) -> None:
        if f"{name}x" in names:
            values[:, names[f"{name}x"] : names[f"{name}x"] + 3] = three

    chest = rig.roles.chest
    body = turned[:, 0] if chest is None else _half_way(turned[:, 0], turned[:, chest])
    put("body.t", motion.positions[:, 0] - rig.rest_hips)
    put("body.r", angles(body, 1))
    put("pelvis.r", angles(_back(body, turned[:, 0]), 1))
    local = {}
    for joint in range(1, len(skeleton)):
        above = body if joint in rig.first_of_spine else turned[:, skeleton.parents[joint]]
        local[joint] = _back(above, turned[:, joint])
    for limb in rig.limbs:
        foot = turned[:, limb.last]
        handle = foot
        if limb.toe is not None:
            roll = np.maximum(angles(foot, 1)[:, 0], 0.0)
            values[:, names[f"{limb.name}.roll"]] = roll
            handle = foot @ _pitch(-roll)
            local[limb.toe] = _pitch(roll) @ local[limb.toe]
            arm = rig.rest_joints[limb.toe] - rig.rest_joints[limb.last]
            shift = np.einsum("fij,fj->fi", handle, arm - np.einsum("fij,j->fi", _pitch(roll), arm))
        else:
            shift = np.zeros((frames, 3))
        put(f"{limb.name}.ik.r", angles(handle, 1))
        ankle = motion.positions[:, limb.last]
        put(f"{limb.name}.ik.t", ankle - shift - rig.rest_joints[limb.last])
        put(f"{limb.name}.pole.t", _pole(limb, motion, rig) - rig.rest_pole(limb))
        values[:, names[f"{limb.name}.blend"]] = _blend(limb, ankle, rig)
    three = {joint: angles(local[joint], rig.twists[joint]) for joint in local}
    for name, chain in rig.chains.items():
        total = np.sum([three[joint] for joint in chain], axis=0)
        put(f"{name}.bend.r", total)
        for joint in chain:
            three[joint] = three[joint] - total / len(chain)
    for joint, each in three.items():
        put(f"{skeleton.names[joint]}.r", each)
    return values


def clip_of_controls(values: Array, rig: BodyRig, placement: RootTrajectory, fps: float) -> Clip:
    """The clip that controls give, on the skeleton of the rig.

    Parameters
    ----------
    values : (frames, controls)
    placement
        Of the character, a frame each.

    Returns
    -------
    Clip whose offsets are those of the rig's rest pose. Limbs that are stretched have moving
    joints.
    """
    turned, positions = rig.transforms(values)
    skeleton = rig.skeleton
    count = len(skeleton)
    rotations = Rotation.from_matrix(turned.reshape(-1, 3, 3)).as_quat().reshape(-1, count, 4)
    above = rotations[:, np.maximum(skeleton.parents, 0)]
    back = quaternions.conjugate(above)
    local = quaternions.multiply(back, rotations)
    local[:, 0] = quaternions.multiply(placement.rotations, rotations[:, 0])
    places = positions[:, :count]
    shifts = quaternions.rotate(back, places - places[:, np.maximum(skeleton.parents, 0)])
    shifts[:, 0] = placement.positions + quaternions.rotate(placement.rotations, places[:, 0])
    moves = np.abs(shifts - skeleton.offsets).max(axis=(0, 2)) > 1e-4
    moves[0] = True
    moving = np.flatnonzero(moves)
    rotations = quaternions.sign_continuous(quaternions.normalized(local))
    return Clip(skeleton, rotations, shifts[:, moving], fps, moving)


def _ends_of(clip: Clip, rig: BodyRig) -> Array:
    known = clip.skeleton
    found = []
    for parent, offset in zip(rig.skeleton.end_parents, rig.skeleton.end_offsets, strict=True):
        name = rig.skeleton.names[parent]
        ends = np.flatnonzero([known.names[each] == name for each in known.end_parents])
        if not len(ends):
            raise SkeletonError(
                f"the clip has no end site at joint {name!r}, which the rig has",
                hint="put it on the rig's skeleton: deepphase convert CLIP --to FILE",
            )
        # Ends keep their distance from the joint, whatever the axes of the joint.
        lengths = np.linalg.norm(known.end_offsets[ends], axis=-1)
        found.append(int(ends[np.argmin(np.abs(lengths - np.linalg.norm(offset)))]))
    return np.array(found, np.int64)


def _half_way(first: Array, second: Array) -> Array:
    ends = Rotation.from_matrix(_back(first, second)).as_rotvec()
    return np.asarray(first @ Rotation.from_rotvec(0.5 * ends).as_matrix())


def _back(above: Array, turned: Array) -> Array:
    return np.asarray(above.swapaxes(-1, -2) @ turned)


def _pitch(angle: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(angle[:, None] * [1.0, 0.0, 0.0]).as_matrix())


def _pole(limb: RigLimb, motion: BodyMotion, rig: BodyRig) -> Array:
    """(frames, 3) point as far from the middle joint as the limb is long, where it bends to."""
    upper, middle, last = (
        motion.positions[:, joint] for joint in (limb.upper, limb.middle, limb.last)
    )
    length = np.linalg.norm(rig.rest_joints[limb.last] - rig.rest_joints[limb.upper])
    out = (middle - upper) / length
    out = out + _REST_BEND * np.einsum("fij,j->fi", motion.turns[:, limb.upper], limb.bend)
    axis = unit((last - upper).T).T
    out = out - (out * axis).sum(axis=-1, keepdims=True) * axis
    return np.asarray(middle + length * unit(out.T).T)


def _blend(limb: RigLimb, ankle: Array, rig: BodyRig) -> Array:
    """(frames,) 1 for a foot near the ground, 0 for hands and feet up in the air."""
    if "leg" not in limb.name:
        return np.zeros(len(ankle))
    rest = rig.rest_joints
    length = np.linalg.norm(rest[limb.last] - rest[limb.upper])
    share = ((ankle[:, 1] - rest[limb.last, 1]) / length - _LOW) / (_HIGH - _LOW)
    return np.asarray(1.0 - smoothstep(np.clip(share, 0.0, 1.0)))
