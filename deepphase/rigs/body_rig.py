"""Rigs of people and animals, made from a skeleton by the roles of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.formats.array_file import array_part
from deepphase.formats.reading import checked_skeleton
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.retargeting.reference_pose import reference_pose
from deepphase.motion.roles import Roles, body_parts, find_roles
from deepphase.motion.skeleton import Skeleton, ancestors, subtree_mask
from deepphase.rigs.rig_function import Control, RigFunction
from deepphase.rigs.turns import apply, cross, dot, frame, orthonormal, pitch, product, turns, unit

# An end site nearer to its joint is not a joint of the rig, metres.
_MIN_END = 0.005
# Longest reach of an IK limb without stretch, and its shortest beyond the difference of its
# segments, as shares of its length: beyond, the knee would jump.
_LONGEST, _SHORTEST = 0.9995, 0.01
# A middle joint that is further from the line between the ends, as a share of the limb, shows the
# way in which the limb bends.
_BENT = 0.02
_AXES = "xyz"
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
# Poses at a time, so that what one step reads is still in the cache.
_BATCH = 1024


@dataclass(frozen=True, eq=False)
class RigLimb:
    """Arm or leg with forward and inverse kinematics.

    Parameters
    ----------
    name
        Such as "left_leg".
    bend
        (3,) unit vector: to where the middle joint bends at rest.
    """

    name: str
    chain: tuple[int, ...]
    middle: int
    last: int
    toe: int | None
    bend: Array

    @property
    def upper(self) -> int:
        """First joint of the chain."""
        return self.chain[0]


class BodyRig(RigFunction):
    """Rig of a body: FK of all joints, IK of the limbs with pole vectors, blend and stretch.

    Controls, of which several do the same in other ways:

    - `body.t`, `body.r`: place and turn of the whole body; `pelvis.r` turns the legs alone.
    - `JOINT.r`: turn of a joint against its parent, from the rest pose.
    - `spine.bend`, `neck.bend`, `tail.bend`: turns shared by all joints of the chain.
    - `LIMB.ik.t`, `LIMB.ik.r`: place and turn of hand or foot in the space of the character;
      `LIMB.pole.t`: the point that elbow or knee are turned to; `LIMB.blend`: 0 for FK, 1 for IK;
      `LIMB.stretch`: share to which an IK limb grows where it does not reach; `LIMB.roll`: the
      heel lifted about the toes.

    Parameters
    ----------
    skeleton
        Hips first. Offsets are those of the rest pose, in which no joint is turned.
    roles
        Of its joints.
    rest_hips
        (3,) metres: the hips of the rest pose in the space of the character.
    bends
        Limb -> (3,) unit vector to where it bends at rest.
    rest_turns
        (joints, 4) rotations that clips of this body have in the rest pose: quaternions in the
        space of the character. Clips with other rest poses fit the same rig.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        roles: Roles,
        rest_hips: Array,
        bends: Mapping[str, Array],
        rest_turns: Array,
    ) -> None:
        self.skeleton, self.roles = skeleton, roles
        self.rest_turns = np.asarray(rest_turns, np.float64)
        self.rest_hips = np.asarray(rest_hips, np.float64)
        rest = skeleton.offsets.copy()
        rest[0] = self.rest_hips
        for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
            rest[joint] += rest[parent]
        self.rest_joints = rest
        self.bends = {name: np.asarray(bend, np.float64) for name, bend in bends.items()}
        self.limbs = _limbs(skeleton, roles, self.bends)
        self.chains = _chains(skeleton, roles)
        self.twists = _twists(skeleton)
        super().__init__(self._controls(), self._joint_names())
        self._place = {name: row for row, name in enumerate(self.names)}

    @classmethod
    def from_clip(cls, clip: Clip, description: Mapping[str, Any] | None = None) -> BodyRig:
        """The rig of a clip's skeleton.

        Parameters
        ----------
        description
            A skeleton description (`load_description`), where roles are not found by names.

        Raises
        ------
        SkeletonError
            If the body has no legs, or does not stand in any frame.
        """
        given = clip.skeleton
        roles = find_roles(given, description, clip=clip)
        if roles.both("hip") is None or roles.both("foot") is None:
            raise SkeletonError(
                "a rig needs a body with two legs",
                hint="name its joints in a skeleton description (deepphase prepare "
                "--skeleton-description), and give the store",
            )
        pose = reference_pose(given, roles, clip)
        joints = np.flatnonzero(subtree_mask(given, roles.hips))
        row = {int(joint): place for place, joint in enumerate(joints)}
        tips = pose.positions[given.end_parents] + quaternions.rotate(
            pose.rotations[given.end_parents], given.end_offsets
        )
        lengths = np.linalg.norm(given.end_offsets, axis=-1)
        ends = [
            end
            for end, parent in enumerate(given.end_parents.tolist())
            if parent in row and lengths[end] > _MIN_END
        ]
        ground = min(float(pose.positions[joints, 1].min()), float(tips[ends, 1].min(initial=1e9)))
        heads = pose.positions[joints] - [0.0, ground, 0.0]
        parents = np.array([row.get(int(given.parents[joint]), -1) for joint in joints])
        offsets = heads - np.where(parents[:, None] < 0, 0.0, heads[parents])
        offsets[0] = 0.0
        skeleton = Skeleton(
            tuple(given.names[joint] for joint in joints),
            parents,
            offsets,
            np.array([row[int(given.end_parents[end])] for end in ends], np.int64),
            (tips - pose.positions[given.end_parents])[ends],
        )
        pairs = [row.get(int(roles.pairs[joint]), place) for place, joint in enumerate(joints)]
        own = roles_of_part(roles, row, np.array(pairs))
        return cls(skeleton, own, heads[0], _bends(skeleton, own), pose.rotations[joints])

    def parts(self) -> tuple[dict[str, dict[str, Array]], dict[str, Any]]:
        """Arrays and header of its file, for `from_parts`."""
        skeleton = {name: getattr(self.skeleton, name) for name in _SKELETON}
        own = {
            "pairs": np.asarray(self.roles.pairs, np.int64),
            "rest_hips": self.rest_hips,
            "rest_turns": self.rest_turns,
        }
        roles = {
            name: value
            for name, value in vars(self.roles).items()
            if isinstance(value, int | str) and value is not None
        }
        return {"skeleton": skeleton, "rig": own}, {
            "kind": "body",
            "names": list(self.skeleton.names),
            "roles": roles,
            "tail": [int(joint) for joint in self.roles.tail],
            "bends": {name: bend.tolist() for name, bend in self.bends.items()},
        }

    @classmethod
    def from_parts(cls, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> BodyRig:
        """The rig of a file; ValueError, KeyError or TypeError if its parts do not fit."""
        if header["kind"] != "body":
            raise ValueError(f"a rig of kind {header['kind']!r}")
        skeleton = checked_skeleton(
            Skeleton(tuple(header["names"]), **array_part(arrays, "skeleton"))
        )
        joints = len(skeleton)
        roles = dict(header["roles"])
        for name, joint in roles.items():
            if name != "kind" and not 0 <= int(joint) < joints:
                raise ValueError(f"no joint {joint} for {name}")
        tail = tuple(int(joint) for joint in header["tail"])
        if any(not 0 <= joint < joints for joint in tail):
            raise ValueError("a tail of joints that do not exist")
        shapes = {"pairs": (joints,), "rest_hips": (3,), "rest_turns": (joints, 4)}
        own = array_part(arrays, "rig", shapes)
        pairs = own["pairs"]
        if not ((pairs >= 0) & (pairs < joints)).all():
            raise ValueError("pairs of joints that do not exist")
        found = Roles(pairs=pairs, tail=tail, **roles)
        bends = {name: np.array(bend, float).reshape(3) for name, bend in header["bends"].items()}
        return cls(skeleton, found, own["rest_hips"], bends, own["rest_turns"])

    def for_own_rest(self) -> BodyRig:
        """The same rig for clips whose rest pose is that of the rig, as its own clips."""
        still = np.tile(quaternions.IDENTITY, (len(self.skeleton), 1))
        return BodyRig(self.skeleton, self.roles, self.rest_hips, self.bends, still)

    def _joint_names(self) -> list[str]:
        ends = [f"{self.skeleton.names[joint]}_end" for joint in self.skeleton.end_parents]
        taken = [*self.skeleton.names]
        for name in ends:
            taken.append(name if name not in taken else f"{name}{len(taken)}")
        return taken

    def _controls(self) -> list[Control]:
        size = float(np.ptp(self.rest_joints, axis=0).max())
        controls = [
            *_moved("body", size),
            *_turned("body"),
            *_turned("pelvis"),
        ]
        for name in self.chains:
            controls += _turned(f"{name}.bend")
        carried = set(self.skeleton.parents.tolist()) | set(self.skeleton.end_parents.tolist())
        for joint, name in enumerate(self.skeleton.names):
            if joint and joint in carried:
                controls += _turned(name)
        for limb in self.limbs:
            controls += _moved(f"{limb.name}.ik", size)
            if limb.last in carried:
                controls += _turned(f"{limb.name}.ik")
            controls += _moved(f"{limb.name}.pole", size)
            controls.append(Control(f"{limb.name}.blend", "1", 0.0, 0.0, 1.0))
            controls.append(Control(f"{limb.name}.stretch", "1", 0.0, 0.0, 1.0))
            if limb.toe is not None:
                controls.append(Control(f"{limb.name}.roll"))
        return controls

    @cached_property
    def _turning(self) -> list[tuple[Array, Array]]:
        """For each axis of twist: the joints, and (joints, 3) columns of their controls."""
        groups = []
        for twist in range(3):
            joints = [
                joint
                for joint, name in enumerate(self.skeleton.names)
                if self.twists[joint] == twist and f"{name}.rx" in self._place
            ]
            columns = [
                [self._place[f"{self.skeleton.names[joint]}.r{axis}"] for axis in _AXES]
                for joint in joints
            ]
            groups.append((np.array(joints, np.int64), np.array(columns, np.int64).reshape(-1, 3)))
        return groups

    def _positions(self, values: Array) -> Array:
        positions = np.empty((len(values), len(self.joints), 3), _kind(values))
        for start in range(0, len(values), _BATCH):
            part = values[start : start + _BATCH]
            positions[start : start + _BATCH] = self.transforms(part)[1]
        return positions

    def transforms(self, values: Array) -> tuple[Array, Array]:
        """Turns and positions of values (poses, controls).

        Returns
        -------
        turns : (poses, joints of the skeleton, 3, 3)
            From the rest pose, in the space of the character.
        positions : (poses, joints, 3) metres
            With the end sites.
        """
        kind, poses = _kind(values), len(values)
        # Poses last, see `deepphase.rigs.turns`.
        values = np.ascontiguousarray(values.T, kind)
        skeleton = self.skeleton
        local = np.zeros((len(skeleton), 3, 3, poses), kind)
        local[:, [0, 1, 2], [0, 1, 2]] = 1.0
        added = {joint: name for name, chain in self.chains.items() for joint in chain}
        for twist, (joints, columns) in enumerate(self._turning):
            angles = values[columns]
            for row, joint in enumerate(joints.tolist()):
                if joint in added:
                    share = 1.0 / len(self.chains[added[joint]])
                    angles[row] += share * self._three(values, f"{added[joint]}.bend.r")
            if len(joints):
                local[joints] = np.moveaxis(turns(angles.swapaxes(0, 1), twist), 2, 0)
        for limb in self.limbs:
            if limb.toe is not None:
                back = pitch(-values[self._place[f"{limb.name}.roll"]])
                local[limb.toe] = product(back, local[limb.toe])
        turned = np.empty_like(local)
        positions = np.empty((len(self.joints), 3, poses), kind)
        body = turns(self._three(values, "body.r"), 1)
        positions[0] = self.rest_hips[:, None] + self._three(values, "body.t")
        turned[0] = product(body, turns(self._three(values, "pelvis.r"), 1))
        in_limb = {joint: limb for limb in self.limbs for joint in limb.chain}
        for joint in range(1, len(skeleton)):
            if joint in in_limb:
                limb = in_limb[joint]
                if joint == limb.upper:
                    self._pose_limb(limb, values, local, turned, positions)
                continue
            parent = int(skeleton.parents[joint])
            above = body if joint in self.first_of_spine else turned[parent]
            turned[joint] = product(above, local[joint])
            offset = apply(turned[parent], skeleton.offsets[joint][:, None])
            positions[joint] = positions[parent] + offset
        ends = zip(skeleton.end_parents.tolist(), skeleton.end_offsets, strict=True)
        for row, (parent, end) in enumerate(ends, start=len(skeleton)):
            positions[row] = positions[parent] + apply(turned[parent], end[:, None])
        return turned.transpose(3, 0, 1, 2), positions.transpose(2, 0, 1)

    @cached_property
    def first_of_spine(self) -> frozenset[int]:
        """Joints on the hips that turn with the body and not with the pelvis."""
        legs = {
            ancestors(self.skeleton, limb.upper)[-2]
            for limb in self.limbs
            if limb.name.endswith("leg") and "front" not in limb.name
        }
        tail = set(self.roles.tail[:1])
        return frozenset(set(self.skeleton.children(0)) - legs - tail)

    def _three(self, values: Array, name: str) -> Array:
        first = self._place[f"{name}x"]
        return values[first : first + 3]

    def _pose_limb(
        self, limb: RigLimb, values: Array, local: Array, turned: Array, places: Array
    ) -> None:
        """Turns and places of a limb's joints, from those of the joint above."""
        upper, middle, last = limb.upper, limb.middle, limb.last
        parent = int(self.skeleton.parents[upper])
        offsets = self.skeleton.offsets[..., None]
        start = places[parent] + apply(turned[parent], offsets[upper])
        blend = values[self._place[f"{limb.name}.blend"]]
        rest = self.rest_joints
        target, handle = self._handle(limb, values)
        one = float(np.linalg.norm(rest[middle] - rest[upper]))
        two = float(np.linalg.norm(rest[last] - rest[middle]))
        way = target - start
        distance = np.sqrt(dot(way, way) + 1e-18)
        longest = _LONGEST * (one + two)
        stretch = values[self._place[f"{limb.name}.stretch"]]
        growth = 1.0 + stretch * np.where(distance.real > longest, distance / longest - 1.0, 0.0)
        reach = np.where(distance.real > (longest * growth).real, longest * growth, distance)
        shortest = abs(one - two) + _SHORTEST * (one + two)
        reach = np.where(reach.real < shortest, shortest, reach)
        axis = unit(way)
        pole = self.rest_pole(limb)[:, None] + self._three(values, f"{limb.name}.pole.t") - start
        bend = unit(pole - dot(pole, axis) * axis)
        side = cross(axis, bend)
        first, second = one * growth, two * growth
        cosine = (first**2 + reach**2 - second**2) / (2.0 * first * reach)
        sine = np.sqrt(np.where(cosine.real**2 < 1.0, 1.0 - cosine**2, 0.0))
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
        rest = self.rest_joints
        axis = unit(rest[limb.last] - rest[limb.upper])
        bend = unit(limb.bend - dot(limb.bend, axis) * axis)
        side = cross(axis, bend)
        first = unit(rest[limb.middle] - rest[limb.upper])
        second = unit(rest[limb.last] - rest[limb.middle])
        return frame(first, side), frame(second, side)


def _bends(skeleton: Skeleton, roles: Roles) -> dict[str, Array]:
    """Limb -> (3,) unit vector to where it bends in the reference pose."""
    bends = {}
    rest = skeleton.offsets.copy()
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        rest[joint] += rest[parent]
    for name, (upper, middle, last) in _limb_joints(roles).items():
        line = rest[last] - rest[upper]
        length = float(np.linalg.norm(line))
        out = rest[middle] - rest[upper]
        out -= (out @ line) / (line @ line) * line
        if np.linalg.norm(out) < _BENT * length:
            # Knees bend forward, elbows backward.
            out = np.array([0.0, 0.0, 1.0 if "leg" in name else -1.0])
            out -= (out @ line) / (line @ line) * line
        bends[name] = unit(out)
    return bends


def _limb_joints(roles: Roles) -> dict[str, tuple[int, int, int]]:
    """Limb -> upper, middle and last joint, of those that have all three."""
    front = "front_leg" if roles.kind == "quadruped" else "arm"
    hind = "hind_leg" if roles.kind == "quadruped" else "leg"
    found = {}
    for limb, parts in ((hind, ("hip", "knee", "foot")), (front, ("shoulder", "elbow", "hand"))):
        for side in ("left", "right"):
            joints = [getattr(roles, f"{side}_{part}") for part in parts]
            if None not in joints and len(set(joints)) == 3:
                found[f"{side}_{limb}"] = (joints[0], joints[1], joints[2])
    return found


def _limbs(skeleton: Skeleton, roles: Roles, bends: Mapping[str, Array]) -> tuple[RigLimb, ...]:
    limbs = []
    for name, (upper, middle, last) in _limb_joints(roles).items():
        chain = ancestors(skeleton, last)
        chain = chain[: chain.index(upper) + 1][::-1]
        side = name.partition("_")[0]
        toe = getattr(roles, f"{side}_toe") if name.endswith(("hind_leg", f"{side}_leg")) else None
        if toe is not None and int(skeleton.parents[toe]) != last:
            toe = None
        limbs.append(RigLimb(name, tuple(chain), middle, last, toe, bends[name]))
    return tuple(limbs)


def _chains(skeleton: Skeleton, roles: Roles) -> dict[str, tuple[int, ...]]:
    """Chains of two joints or more that bend together: spine, neck and tail."""
    chains = {}
    for name, first, last in (
        ("spine", roles.spine, roles.chest),
        ("neck", roles.neck, roles.head),
        ("tail", *((roles.tail[0], roles.tail[-1]) if roles.tail else (None, None))),
    ):
        if first is None or last is None or first == last:
            continue
        path = ancestors(skeleton, last)
        if first in path:
            chains[name] = tuple(path[: path.index(first) + 1][::-1])
    carried = set(skeleton.parents.tolist()) | set(skeleton.end_parents.tolist())
    kept = {name: tuple(j for j in chain if j in carried) for name, chain in chains.items()}
    return {name: chain for name, chain in kept.items() if len(chain) > 1}


def _twists(skeleton: Skeleton) -> tuple[int, ...]:
    """Axis of each joint that is nearest to the line to its child or end."""
    axes = []
    for joint in range(len(skeleton)):
        ways = [skeleton.offsets[child] for child in skeleton.children(joint)]
        ways += list(skeleton.end_offsets[skeleton.end_parents == joint])
        way = np.sum(ways, axis=0) if ways else np.array([0.0, 1.0, 0.0])
        axes.append(int(np.argmax(np.abs(way))))
    return tuple(axes)


def _kind(values: Array) -> np.dtype[Any]:
    return values.dtype if values.dtype.kind == "c" else np.dtype(np.float64)


def _moved(name: str, size: float) -> list[Control]:
    reach = 2.0 * size
    return [Control(f"{name}.t{axis}", "m", 0.0, -reach, reach) for axis in _AXES]


def _turned(name: str) -> list[Control]:
    return [Control(f"{name}.r{axis}") for axis in _AXES]


class PartResidual(NamedTuple):
    """Distances of the joints of a part, metres."""

    part: str
    mean: float
    largest: float


def part_residuals(rig: BodyRig, errors: Array) -> list[PartResidual]:
    """Mean and largest distance of each part of the body.

    Parameters
    ----------
    errors : (frames, joints) metres
        As in `RigSolution`.
    """
    of_joint = body_parts(rig.skeleton, rig.roles)
    parts = np.array([*of_joint, *(of_joint[joint] for joint in rig.skeleton.end_parents)])
    return [
        PartResidual(part, float(own.mean()), float(own.max()))
        for part in dict.fromkeys(parts.tolist())
        for own in [errors[:, parts == part]]
    ]


def roles_of_part(roles: Roles, row: Mapping[int, int], pairs: Array) -> Roles:
    """Roles of a skeleton's joints as those of another skeleton that has some of them.

    Parameters
    ----------
    pairs
        (joints,) the pairs of the other skeleton.
    """
    fields = {
        name: row.get(value)
        for name, value in vars(roles).items()
        if isinstance(value, int) and not name.endswith("_end")
    }
    tail = tuple(row[joint] for joint in roles.tail if joint in row)
    return Roles(pairs=pairs, kind=roles.kind, tail=tail, **fields)  # type: ignore[arg-type]
