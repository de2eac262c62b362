"""Controls of a body rig from clips, by rule, and clips from controls.

The rule stands for an animator who sets all controls of a pose: what it sets is what an inverse
rig function learns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array, smoothstep
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, end_positions, global_transforms
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.matrices import across, angles, unit
from deepphase.rigs.rig_limbs import RigLimb, roles_of_part
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground

# Heights of a foot over its rest, as shares of the leg, between which its limb goes from IK to FK.
_LOW, _HIGH = 0.15, 0.4
# Share of the limb's length with which the way of bending at rest counts: it decides where the
# limb is straight.
_REST_BEND = 0.02
# Joints that lie elsewhere at rest by more than this share of their lengths are of another body.
_OTHER_BODY = 0.02


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of a rig's body in the space of the character."""

    positions: Array  # (frames, joints of the rig, 3) metres
    turns: Array  # (frames, joints of the rig's skeleton, 3, 3) from the rest pose
    placement: RootTrajectory
    fps: float

    @classmethod
    def from_clip(cls, clip: Clip, rig: BodyRig) -> BodyMotion:
        """Motion of a clip with the joints of the rig."""
        missing = sorted(set(rig.skeleton.names) - set(clip.skeleton.names))
        ends = _ends(clip, rig)
        if missing or (ends < 0).any():
            what = f"joint {missing[0]!r}" if missing else "end site at one of the joints"
            raise SkeletonError(
                f"the clip has no {what}, which the rig has",
                hint="put it on the rig's skeleton: deepphase convert CLIP --to FILE",
            )
        joints = np.array([clip.skeleton.index(name) for name in rig.skeleton.names])
        roles = rig.roles
        if len(clip.skeleton) != len(joints) or (joints != np.arange(len(joints))).any():
            row = dict(enumerate(joints.tolist()))
            roles = roles_of_part(roles, row, find_roles(clip.skeleton, clip=clip).pairs)
        transforms = global_transforms(clip)
        rotations, positions = (part[:, joints].astype(np.float64) for part in transforms)
        placement = root_trajectory(clip, roles)
        back = quaternions.conjugate(placement.rotations)[:, None]
        positions = np.concatenate([positions, end_positions(clip, transforms)[:, ends]], axis=1)
        local = quaternions.rotate(back, positions - placement.positions[:, None])
        turned = quaternions.multiply(back, rotations)
        turned = quaternions.multiply(turned, quaternions.conjugate(rig.rest_turns))
        matrices = Rotation.from_quat(turned.reshape(-1, 4)).as_matrix()
        return cls(local, matrices.reshape(*turned.shape[:2], 3, 3), placement, clip.fps)

    def on_ground(self, heights: Array) -> BodyMotion:
        """The same motion with a character whose space is raised to heights (frames,) in metres."""
        up = np.array([0.0, 1.0, 0.0]) * heights[:, None]
        placement = replace(self.placement, positions=self.placement.positions + up)
        return replace(self, positions=self.positions - up[:, None], placement=placement)


def motion_on_rig(clip: Clip, rig: BodyRig, ground: Heightmap | None = None) -> BodyMotion:
    """The motion of a clip on the body of a rig; clips of other bodies are retargeted.

    On a `ground` the motion is laid onto it, and the placement of the character has heights. Raises
    SkeletonError if it is another kind of body, or has no feet to stand on the ground.
    """
    fitting = _rig_of_clip(clip, rig)
    if fitting is None:
        clip, fitting = retarget(clip, rig.skeleton).clip, rig.for_own_rest()
    if ground is None:
        return BodyMotion.from_clip(clip, fitting)
    laid = lay_on_ground(clip, ground)
    return BodyMotion.from_clip(laid.clip, fitting).on_ground(laid.lift)


def _rig_of_clip(clip: Clip, rig: BodyRig) -> BodyRig | None:
    """The rig with the rest pose of a clip; None if the clip has another body."""
    if not set(rig.skeleton.names) <= set(clip.skeleton.names):
        return None
    rows = [clip.skeleton.index(name) for name in rig.skeleton.names[1:]]
    offsets, own = clip.skeleton.offsets[rows], rig.skeleton.offsets[1:]
    # Clips that controls gave are at rest as the rig is, and not as the clip that the rig was made
    # of.
    turned = quaternions.rotate(rig.rest_turns[rig.skeleton.parents[1:]], offsets)
    rested, made = (np.linalg.norm(values - own, axis=1).sum() for values in (offsets, turned))
    if min(rested, made) > _OTHER_BODY * np.linalg.norm(own, axis=1).sum():
        return None
    return rig.for_own_rest() if rested < made else rig


def _ends(clip: Clip, rig: BodyRig) -> Array:
    """End sites of the clip by those of the rig; -1 where the clip lacks one."""
    skeleton, found = clip.skeleton, []
    lengths = np.linalg.norm(skeleton.end_offsets, axis=-1)
    names = np.array(skeleton.names)[skeleton.end_parents]
    for parent, offset in zip(rig.skeleton.end_parents, rig.skeleton.end_offsets, strict=True):
        ends = np.flatnonzero(names == rig.skeleton.names[parent])
        # Ends keep their distance from the joint, whatever the axes of the joint.
        off = np.abs(lengths[ends] - np.linalg.norm(offset))
        found.append(int(ends[np.argmin(off)]) if len(ends) else -1)
    return np.array(found, np.int64)


def keyed(motion: BodyMotion, rig: BodyRig) -> Array:
    """Controls (frames, controls) of a motion, set by rule: feet near the ground follow IK."""
    skeleton, turned, rest = rig.skeleton, motion.turns, rig.rest_joints
    values = np.repeat(rig.rest[None], len(turned), axis=0)
    columns = {name: row for row, name in enumerate(rig.names)}

    def put(name: str, three: Array) -> None:
        if f"{name}x" in columns:
            values[:, columns[f"{name}x"] : columns[f"{name}x"] + 3] = three

    pelvis, chest = turned[:, 0], rig.roles.chest
    body = pelvis
    if chest is not None:
        between = Rotation.from_matrix(_back(pelvis, turned[:, chest])).as_rotvec()
        body = pelvis @ Rotation.from_rotvec(0.5 * between).as_matrix()
    put("body.t", motion.positions[:, 0] - rig.rest_hips)
    put("body.r", angles(body, 1))
    put("pelvis.r", angles(_back(body, pelvis), 1))
    local = {}
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        above = body if joint in rig.first_of_spine else turned[:, parent]
        local[joint] = _back(above, turned[:, joint])
    for limb in rig.limbs:
        handle, ankle = turned[:, limb.last], motion.positions[:, limb.last]
        target = ankle - rest[limb.last]
        if limb.toe is not None:
            roll = np.maximum(angles(handle, 1)[:, 0], 0.0)
            values[:, columns[f"{limb.name}.roll"]] = roll
            handle = handle @ _pitch(-roll)
            local[limb.toe] = _pitch(roll) @ local[limb.toe]
            arm = rest[limb.toe] - rest[limb.last]
            shift = arm - np.einsum("fij,j->fi", _pitch(roll), arm)
            target = target - np.einsum("fij,fj->fi", handle, shift)
        put(f"{limb.name}.ik.r", angles(handle, 1))
        put(f"{limb.name}.ik.t", target)
        put(f"{limb.name}.pole.t", _pole(limb, motion, rig) - rig.rest_pole(limb))
        values[:, columns[f"{limb.name}.blend"]] = _blend(limb, ankle, rig)
    three = {joint: angles(turns, rig.twists[joint]) for joint, turns in local.items()}
    for name, chain in rig.chains.items():
        total = np.sum([three[joint] for joint in chain], axis=0)
        put(f"{name}.bend.r", total)
        for joint in chain:
            three[joint] = three[joint] - total / len(chain)
    for joint, own in three.items():
        put(f"{skeleton.names[joint]}.r", own)
    return values


def clip_of_controls(values: Array, rig: BodyRig, placement: RootTrajectory, fps: float) -> Clip:
    """The clip that controls (frames, controls) give, with a placement of the character a frame.

    It is on the skeleton of the rig, in its rest pose. Limbs that are stretched have moving joints.
    """
    turned, positions = rig.transforms(values)
    skeleton = rig.skeleton
    count, parents = len(skeleton), np.maximum(skeleton.parents, 0)
    rotations = Rotation.from_matrix(turned.reshape(-1, 3, 3)).as_quat().reshape(-1, count, 4)
    back = quaternions.conjugate(rotations[:, parents])
    local = quaternions.multiply(back, rotations)
    local[:, 0] = quaternions.multiply(placement.rotations, rotations[:, 0])
    places = positions[:, :count]
    shifts = quaternions.rotate(back, places - places[:, parents])
    shifts[:, 0] = placement.positions + quaternions.rotate(placement.rotations, places[:, 0])
    moves = np.abs(shifts - skeleton.offsets).max(axis=(0, 2)) > 1e-4
    moves[0] = True
    moving = np.flatnonzero(moves)
    rotations = quaternions.sign_continuous(quaternions.normalized(local))
    return Clip(skeleton, rotations, shifts[:, moving], fps, moving)


def _back(above: Array, turned: Array) -> Array:
    return np.asarray(above.swapaxes(-1, -2) @ turned)


def _pitch(angle: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(angle[:, None] * [1.0, 0.0, 0.0]).as_matrix())


def _pole(limb: RigLimb, motion: BodyMotion, rig: BodyRig) -> Array:
    """(frames, 3) point as far from the middle joint as the limb is long, where it bends to."""
    joints = [limb.upper, limb.middle, limb.last]
    upper, middle, last = motion.positions[:, joints].transpose(1, 2, 0)
    length = np.linalg.norm(rig.rest_joints[limb.last] - rig.rest_joints[limb.upper])
    out = (middle - upper) / length
    out = out + _REST_BEND * np.einsum("fij,j->if", motion.turns[:, limb.upper], limb.bend)
    return np.asarray((middle + length * unit(across(out, unit(last - upper)))).T)


def _blend(limb: RigLimb, ankle: Array, rig: BodyRig) -> Array:
    """(frames,) 1 for a foot near the ground, 0 for hands and feet up in the air."""
    if "leg" not in limb.name:
        return np.zeros(len(ankle))
    rest = rig.rest_joints
    length = np.linalg.norm(rest[limb.last] - rest[limb.upper])
    share = ((ankle[:, 1] - rest[limb.last, 1]) / length - _LOW) / (_HIGH - _LOW)
    return np.asarray(1.0 - smoothstep(np.clip(share, 0.0, 1.0)))
