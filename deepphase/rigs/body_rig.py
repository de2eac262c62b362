"""Rigs of people and animals, made from a skeleton by the roles of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.array_file import array_part
from deepphase.formats.reading import checked_skeleton
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.correspondence import reference_pose
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, ancestors, subtree_mask
from deepphase.rigs.matrices import (
    across,
    apply,
    cross,
    dot,
    frame,
    orthonormal,
    pitch,
    product,
    turns,
    unit,
)
from deepphase.rigs.rig_limbs import (
    RigLimb,
    rest_bends,
    rig_chains,
    rig_joint_names,
    rig_limbs,
    roles_of_part,
    twist_axes,
)

# An end site nearer to its joint is not a joint of the rig, metres.
_MIN_END = 0.005
# Longest reach of an IK limb without stretch, and its shortest beyond the difference of its
# segments, as shares of its length: beyond, the knee would jump.
_LONGEST, _SHORTEST = 0.9995, 0.01
_AXES = "xyz"
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
# Poses at a time, so that what one step reads is still in the cache.
_BATCH = 1024
# Radians between which the FK of legs bends.
_BENDS = np.array([-0.1, 2.8])
# Step of finite differences, in radians, metres or shares.
_STEP = 1e-4


@dataclass(frozen=True)
class Control:
    """One number that an animator sets.

    `rest`, `lower` and `upper` are its value in the rest pose, and the limits.
    """

    name: str  # unique in its rig, such as "LeftArm.rx"
    unit: str = "rad"  # or "m", or "1" (a share or factor)
    rest: float = 0.0
    lower: float = -np.pi
    upper: float = np.pi


class BodyRig:
    """Rig of a body: FK of all joints, IK of the limbs with pole vectors, blend and stretch.

    Controls, of which several do the same in other ways:

    - `body.t`, `body.r`: place and turn of the whole body; `pelvis.r` turns the legs alone.
    - `JOINT.r`: turn of a joint against its parent, from the rest pose.
    - `spine.bend`, `neck.bend`, `tail.bend`: turns shared by all joints of the chain.
    - `LIMB.ik.t`, `LIMB.ik.r`: place and turn of hand or foot in the space of the character;
      `LIMB.pole.t`: the point that elbow or knee are turned to; `LIMB.blend`: 0 for FK, 1 for IK;
      `LIMB.stretch`: share to which an IK limb grows where it does not reach; `LIMB.roll`: the
      heel lifted about the toes.

    It is a function of the controls, whose values are the positions of the joints in the space of
    the character: metres, Y up, on the ground below the hips and along the facing, both of which
    are the placement of the character and no controls.

    Its parts: a skeleton, hips first, in whose rest pose no joint is turned, with roles; the hips
    (3,) of the rest pose in the space of the character; for each limb a unit vector to where it
    bends at rest; the rotations (joints, 4) that clips of this body have in the rest pose, in the
    space of the character. Clips with other rest poses fit the same rig.

    Attributes
    ----------
    controls, names
        With unique names.
    joints
        Names of the joints, then of the end sites.
    rest, lower, upper
        (controls,) values of the rest pose, and the limits.

    References
    ----------
    Holden 2017, section 3.4.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        roles: Roles,
        rest_hips: Array,
        bends: Mapping[str, Array],
        rest_turns: Array,
    ) -> None:
        self.skeleton, self.roles, self.bends = skeleton, roles, bends
        self.rest_turns, self.rest_hips = rest_turns, rest_hips
        self.rest_joints = skeleton.rest_positions - skeleton.offsets[0] + rest_hips
        self.limbs = rig_limbs(skeleton, roles, bends)
        # Joints that move something: the others have no controls.
        carrying = {*skeleton.parents.tolist(), *skeleton.end_parents.tolist()}
        self.chains = rig_chains(skeleton, roles, carrying)
        self.twists = twist_axes(skeleton)
        # Joints on the hips that turn with the body and not with the pelvis.
        hips = {limb.upper for limb in self.limbs} & {roles.left_hip, roles.right_hip}
        legs = {ancestors(skeleton, joint)[-2] for joint in hips}
        self.first_of_spine = frozenset(skeleton.children(0)) - legs - set(roles.tail[:1])
        self.controls = tuple(self._controls(carrying))
        self.joints = rig_joint_names(skeleton)
        self.names = tuple(control.name for control in self.controls)
        self.rest, self.lower, self.upper = np.array(
            [(control.rest, control.lower, control.upper) for control in self.controls]
        ).T
        self._place = {name: row for row, name in enumerate(self.names)}
        self._turning = self._turning_by_twist()

    def __repr__(self) -> str:
        return short_repr(
            self, counted(len(self.controls), "control"), counted(len(self.joints), "joint")
        )

    def index(self, name: str) -> int:
        """Index of the control of a name. Raises ParameterError if there is none."""
        if name not in self.names:
            raise ParameterError(
                f"there is no control {name!r} in this rig",
                hint="its `names` lists those that it has; keys of another rig do not fit",
            )
        return self.names.index(name)

    @classmethod
    def from_clip(cls, clip: Clip, description: Mapping[str, Any] | None = None) -> BodyRig:
        """The rig of a clip's skeleton.

        Parameters
        ----------
        description
            A skeleton description (`load_description`), where roles are not found by names.

        Raises SkeletonError if the body has no legs, or does not stand in any frame.
        """
        body = clip.skeleton
        roles = find_roles(body, description, clip=clip)
        if roles.both("hip") is None or roles.both("foot") is None:
            raise SkeletonError(
                "a rig needs a body with two legs",
                hint="name its joints in a skeleton description (deepphase prepare "
                "--skeleton-description), and give the store",
            )
        pose = reference_pose(body, roles, clip)
        joints = np.flatnonzero(subtree_mask(body, roles.hips))
        row = {joint: place for place, joint in enumerate(joints.tolist())}
        lengths = np.linalg.norm(body.end_offsets, axis=-1)
        ends = np.flatnonzero(np.isin(body.end_parents, joints) & (lengths > _MIN_END))
        end_parents = body.end_parents[ends]
        end_offsets = quaternions.rotate(pose.rotations[end_parents], body.end_offsets[ends])
        tips = pose.positions[end_parents] + end_offsets
        ground = min(float(pose.positions[joints, 1].min()), float(tips[:, 1].min(initial=1e9)))
        heads = pose.positions[joints] - [0.0, ground, 0.0]
        parents = np.array([row.get(int(body.parents[joint]), -1) for joint in joints])
        skeleton = Skeleton(
            tuple(body.names[joint] for joint in joints),
            parents,
            np.where(parents[:, None] < 0, 0.0, heads - heads[parents]),
            np.array([row[joint] for joint in end_parents.tolist()], np.int64),
            tips - pose.positions[end_parents],
        )
        pairs = np.array(
            [row.get(int(roles.pairs[joint]), row[joint]) for joint in joints.tolist()]
        )
        own = roles_of_part(roles, row, pairs)
        rest_turns = np.asarray(pose.rotations[joints], np.float64)
        return cls(skeleton, own, heads[0], rest_bends(skeleton, own), rest_turns)

    def parts(self) -> tuple[dict[str, dict[str, Array]], dict[str, Any]]:
        """Arrays and header of its file, for `from_parts`."""
        skeleton = {name: getattr(self.skeleton, name) for name in _SKELETON}
        own = {
            "pairs": np.asarray(self.roles.pairs, np.int64),
            "rest_hips": self.rest_hips,
            "rest_turns": self.rest_turns,
        }
        named = vars(self.roles).items()
        return {"skeleton": skeleton, "rig": own}, {
            "kind": "body",
            "names": list(self.skeleton.names),
            "roles": {name: value for name, value in named if isinstance(value, int | str)},
            "tail": list(map(int, self.roles.tail)),
            "bends": {name: bend.tolist() for name, bend in self.bends.items()},
        }

    @classmethod
    def from_parts(cls, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> BodyRig:
        """The rig of a file; ValueError, KeyError or TypeError if its parts do not fit."""
        skeleton = checked_skeleton(
            Skeleton(tuple(header["names"]), **array_part(arrays, "skeleton"))
        )
        joints = len(skeleton)
        shapes = {"pairs": (joints,), "rest_hips": (3,), "rest_turns": (joints, 4)}
        own = array_part(arrays, "rig", shapes)
        named = {name: joint for name, joint in header["roles"].items() if name != "kind"}
        for joint in (*named.values(), *header["tail"], *own["pairs"].tolist()):
            if not 0 <= int(joint) < joints:
                raise ValueError(f"joint {joint} does not exist")
        roles = Roles(pairs=own["pairs"], tail=tuple(header["tail"]), **header["roles"])
        bends = {name: np.array(bend, float).reshape(3) for name, bend in header["bends"].items()}
        return cls(skeleton, roles, own["rest_hips"], bends, own["rest_turns"])

    def for_own_rest(self) -> BodyRig:
        """The same rig for clips whose rest pose is that of the rig, as its own clips."""
        still = np.tile(quaternions.IDENTITY, (len(self.skeleton), 1))
        return BodyRig(self.skeleton, self.roles, self.rest_hips, self.bends, still)

    def _controls(self, carrying: set[int]) -> list[Control]:
        reach = 2.0 * float(np.ptp(self.rest_joints, axis=0).max())

        def moved(name: str) -> list[Control]:
            return [Control(f"{name}.t{axis}", "m", 0.0, -reach, reach) for axis in _AXES]

        def turned(name: str) -> list[Control]:
            return [Control(f"{name}.r{axis}") for axis in _AXES]

        controls = [*moved("body"), *turned("body"), *turned("pelvis")]
        for name in self.chains:
            controls += turned(f"{name}.bend")
        bends = {}
        for limb in self.limbs:
            if (hinge := self._hinge(limb)) is not None:
                upper, middle, last = self.rest_joints[[limb.upper, limb.middle, limb.last]]
                own = np.arccos(np.clip(dot(unit(middle - upper), unit(last - middle)), -1.0, 1.0))
                bends[limb.middle] = np.sort(np.sign(hinge[0]) * (_BENDS - own)).tolist()
        for joint, name in enumerate(self.skeleton.names):
            if joint and joint in carrying:
                controls += turned(name)
                if joint in bends:
                    controls[-3] = Control(f"{name}.rx", "rad", 0.0, *bends[joint])
        for limb in self.limbs:
            controls += moved(f"{limb.name}.ik")
            if limb.last in carrying:
                controls += turned(f"{limb.name}.ik")
            controls += moved(f"{limb.name}.pole")
            shares = (f"{limb.name}.blend", f"{limb.name}.stretch")
            controls += [Control(name, "1", 0.0, 0.0, 1.0) for name in shares]
            if limb.toe is not None:
                controls.append(Control(f"{limb.name}.roll"))
        return controls

    def _turning_by_twist(self) -> list[tuple[list[int], Array]]:
        """For each axis of twist: the joints, and (joints, 3) columns of their controls."""
        groups = []
        for twist in range(3):
            rows = {
                joint: [self._place[f"{name}.r{axis}"] for axis in _AXES]
                for joint, name in enumerate(self.skeleton.names)
                if self.twists[joint] == twist and f"{name}.rx" in self._place
            }
            groups.append((list(rows), np.array(list(rows.values()), np.int64).reshape(-1, 3)))
        return groups

    def evaluate(self, values: Array) -> Array:
        """Positions (poses, joints, 3) in metres of values (poses, controls).

        Raises ParameterError if the values have another shape.
        """
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != len(self.controls):
            raise ParameterError(
                f"values must be (poses, {len(self.controls)} controls), not {values.shape}",
                hint="give a row of all controls for each pose",
            )
        positions = np.empty((len(values), len(self.joints), 3))
        for start in range(0, len(values), _BATCH):
            part = values[start : start + _BATCH]
            positions[start : start + _BATCH] = self.transforms(part)[1]
        return positions

    def jacobian(
        self, values: Array, columns: Array | None = None, *, positions: Array | None = None
    ) -> Array:
        """Derivatives (poses, 3 joints, columns) of the positions, by finite differences."""
        columns = np.arange(len(self.controls)) if columns is None else columns
        moves = _STEP * np.eye(len(self.controls))[columns]
        moved = self.evaluate((values[:, None] + moves).reshape(-1, len(self.controls)))
        places = self.evaluate(values) if positions is None else positions
        change = moved.reshape(len(values), len(columns), -1) - places.reshape(len(values), 1, -1)
        return np.asarray(change.swapaxes(1, 2) / _STEP)

    def transforms(self, values: Array) -> tuple[Array, Array]:
        """Turns and positions of values (poses, controls).

        Returns
        -------
        turns : (poses, joints of the skeleton, 3, 3)
            From the rest pose, in the space of the character.
        positions : (poses, joints, 3) metres
            With the end sites.
        """
        # Poses last, see `deepphase.rigs.matrices`.
        values = np.ascontiguousarray(values.T, np.float64)
        skeleton = self.skeleton
        local = self._local_turns(values)
        turned = np.empty_like(local)
        positions = np.empty((len(self.joints), 3, values.shape[1]))
        body = turns(self._three(values, "body.r"), 1)
        positions[0] = self.rest_hips[:, None] + self._three(values, "body.t")
        turned[0] = product(body, turns(self._three(values, "pelvis.r"), 1))
        limbs = {limb.upper: limb for limb in self.limbs}
        in_limb = {joint for limb in self.limbs for joint in limb.chain}
        for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
            if joint in limbs:
                self._pose_limb(limbs[joint], values, local, turned, positions)
            elif joint not in in_limb:
                above = body if joint in self.first_of_spine else turned[parent]
                turned[joint] = product(above, local[joint])
                offset = apply(turned[parent], skeleton.offsets[joint][:, None])
                positions[joint] = positions[parent] + offset
        ends = zip(skeleton.end_parents.tolist(), skeleton.end_offsets, strict=True)
        for row, (parent, end) in enumerate(ends, start=len(skeleton)):
            positions[row] = positions[parent] + apply(turned[parent], end[:, None])
        return turned.transpose(3, 0, 1, 2), positions.transpose(2, 0, 1)

    def _local_turns(self, values: Array) -> Array:
        """(joints, 3, 3, poses) FK turns of the joints against their parents."""
        local = np.zeros((len(self.skeleton), 3, 3, values.shape[1]), values.dtype)
        local[:, [0, 1, 2], [0, 1, 2]] = 1.0
        chain_of = {joint: name for name, chain in self.chains.items() for joint in chain}
        for twist, (joints, columns) in enumerate(self._turning):
            if not joints:
                continue
            angles = values[columns]
            for row, joint in enumerate(joints):
                if joint in chain_of:
                    name = chain_of[joint]
                    bend = self._three(values, f"{name}.bend.r")
                    angles[row] += 1.0 / len(self.chains[name]) * bend
            local[joints] = np.moveaxis(turns(angles.swapaxes(0, 1), twist), 2, 0)
        for limb in self.limbs:
            if limb.toe is not None:
                back = pitch(-values[self._place[f"{limb.name}.roll"]])
                local[limb.toe] = product(back, local[limb.toe])
        return local

    def _three(self, values: Array, name: str) -> Array:
        first = self._place[f"{name}x"]
        return values[first : first + 3]

    def _pose_limb(
        self, limb: RigLimb, values: Array, local: Array, turned: Array, places: Array
    ) -> None:
        """Turns and places of a limb's joints, from those of the joint above."""
        upper, middle, last = limb.upper, limb.middle, limb.last
        parent = int(self.skeleton.parents[upper])
        offsets, rest = self.skeleton.offsets[..., None], self.rest_joints
        start = places[parent] + apply(turned[parent], offsets[upper])
        blend = values[self._place[f"{limb.name}.blend"]]
        stretch = values[self._place[f"{limb.name}.stretch"]]
        target, handle = self._handle(limb, values)
        one = float(np.linalg.norm(rest[middle] - rest[upper]))
        two = float(np.linalg.norm(rest[last] - rest[middle]))
        way = target - start
        distance = np.sqrt(dot(way, way) + 1e-18)
        longest = _LONGEST * (one + two)
        growth = 1.0 + stretch * np.maximum(distance / longest - 1.0, 0.0)
        shortest = abs(one - two) + _SHORTEST * (one + two)
        reach = np.maximum(np.minimum(distance, longest * growth), shortest)
        axis = unit(way)
        pole = self.rest_pole(limb)[:, None] + self._three(values, f"{limb.name}.pole.t") - start
        bend, hinge = unit(across(pole, axis)), self._hinge(limb)
        if hinge is not None:
            # A pole behind a knee is mirrored: it turns to the knee's side without a jump.
            ahead = unit(cross(axis, apply(turned[parent], hinge[:, None])))
            bend = unit(bend - 2.0 * np.minimum(dot(bend, ahead), 0.0) * ahead)
        side = cross(axis, bend)
        first, second = one * growth, two * growth
        cosine = (first**2 + reach**2 - second**2) / (2.0 * first * reach)
        sine = np.sqrt(np.maximum(1.0 - cosine**2, 0.0))
        ahead = cosine * axis + sine * bend
        onward = unit(reach * axis - first * ahead)
        rest_first, rest_second = self._rest_frames(limb)
        inverse = product(frame(ahead, side), rest_first.T[..., None])
        forward = turned[parent]
        places[upper] = start
        growth = 1.0 + blend * (growth - 1.0)
        for row, joint in enumerate(limb.chain):
            forward = product(forward, local[joint])
            if joint == middle:
                inverse = product(frame(onward, side), rest_second.T[..., None])
            elif joint == last:
                inverse = handle
            turned[joint] = orthonormal(blend * inverse + (1.0 - blend) * forward)
            if row:
                above = limb.chain[row - 1]
                places[joint] = places[above] + growth * apply(turned[above], offsets[joint])

    def _hinge(self, limb: RigLimb) -> Array | None:
        """(3,) unit axis about which a leg bends; None of arms, whose upper parts roll."""
        upper, last = self.rest_joints[[limb.upper, limb.last]]
        return unit(cross(limb.bend, last - upper)) if "leg" in limb.name else None

    def _handle(self, limb: RigLimb, values: Array) -> tuple[Array, Array]:
        """Place and turn of the last joint that the IK controls of a limb ask for."""
        last, rest = limb.last, self.rest_joints
        target = rest[last][:, None] + self._three(values, f"{limb.name}.ik.t")
        if f"{limb.name}.ik.rx" not in self._place:
            return target, np.eye(3)[..., None]
        handle = turns(self._three(values, f"{limb.name}.ik.r"), 1)
        if limb.toe is None:
            return target, handle
        # The handle turns the foot about the ankle; the roll, about the toes.
        roll = pitch(values[self._place[f"{limb.name}.roll"]])
        arm = (rest[limb.toe] - rest[last])[:, None]
        return target + apply(handle, arm - apply(roll, arm)), product(handle, roll)

    def rest_pole(self, limb: RigLimb) -> Array:
        """(3,) metres: the pole of a limb in the rest pose."""
        rest = self.rest_joints
        length = np.linalg.norm(rest[limb.last] - rest[limb.upper])
        return np.asarray(rest[limb.middle] + length * limb.bend)

    def _rest_frames(self, limb: RigLimb) -> tuple[Array, Array]:
        """(3, 3) frames of both segments of a limb at rest: along, to the bend and aside."""
        upper, middle, last = self.rest_joints[[limb.upper, limb.middle, limb.last]]
        axis = unit(last - upper)
        side = cross(axis, unit(across(limb.bend, axis)))
        return frame(unit(middle - upper), side), frame(unit(last - middle), side)
