"""Plan of a skeleton: the joints to solve for and the points attached to each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import parse_names
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import ancestors, subtree_mask
from deepphase.solving.joints import SIDES, JointBuilder, head_joints, limb_end_joints
from deepphase.solving.point_structure import clip_of_points, find_structure
from deepphase.solving.point_tree import PointStructure


@dataclass(frozen=True)
class JointPlan:
    """The joints of a skeleton to solve for, and their points.

    Parameters
    ----------
    carriers
        (points,) the joint that each point of the track is attached to.
    pairs
        (joints,) mirror partners; a joint's own index on the middle line.
    """

    structure: PointStructure
    carriers: tuple[int, ...]
    legs: tuple[tuple[int, int, int, int], ...]
    arms: tuple[tuple[int, int, int], ...]
    pairs: tuple[int, ...]
    head: int
    notes: tuple[str, ...]
    loose: tuple[int, ...] = ()

    @property
    def hinges(self) -> tuple[tuple[int, int], ...]:
        """(joint, its child) of knees and then elbows, left first."""
        knees = tuple((leg[1], leg[2]) for leg in self.legs)
        return knees + tuple((arm[1], arm[2]) for arm in self.arms)


# Weights of shoulders and head in the position of the neck.
_NECK_WEIGHTS = (3, 2)
# Points needed for the rotation of a head; two leave it free to nod.
_MIN_HEAD_POINTS = 3
_LEG_NAMES = ("UpLeg", "Leg", "Foot", "ToeBase")
_ARM_NAMES = ("Arm", "ForeArm", "Hand")


def plan_joints(
    track: PointTrack,
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> JointPlan:
    """Plan the joints of a skeleton for the points of a track.

    Limbs have three joints each; several points on a forearm, a hand or a head share one joint.
    Without a point at the spine or the neck, a joint is added there.
    """
    structure = find_structure(track, description) if structure is None else structure
    clip = clip_of_points(track, description, structure=structure)
    roles = find_roles(clip.skeleton, description, clip)
    _check_roles(roles, clip)
    return _Planner(track, clip, roles, structure).plan()


def _check_roles(roles: Roles, clip: Clip) -> None:
    lacking = [part for part in ("hip", "knee", "foot") if roles.both(part) is None]
    if lacking:
        raise SkeletonError(
            f"solving needs two legs, but none of {len(clip.skeleton)} points was found to be the "
            + " or the ".join(lacking),
            hint="name the points in a skeleton description (left_hip, left_knee, left_foot, ...)",
            path=clip.source.path or None,
        )
    if roles.kind == "quadruped":
        raise SkeletonError(
            "points of a quadruped; only bipeds can be solved",
            hint="if it is a biped, write 'kind: biped' in a skeleton description",
            path=clip.source.path or None,
        )


class _Planner:
    """Chooses the joints; indices named `old` belong to the structure that was found."""

    def __init__(
        self, track: PointTrack, clip: Clip, roles: Roles, structure: PointStructure
    ) -> None:
        self._old, self._roles, self._structure = clip.skeleton, roles, structure
        self._positions = clip.translations.astype(np.float64).copy()
        for joint, parent in enumerate(self._old.parents.tolist()[1:], start=1):
            self._positions[:, joint] += self._positions[:, parent]
        self._front = root_trajectory(clip, roles, self._positions).directions
        self._joints = JointBuilder(structure, clip.skeleton, len(track.names))
        self._notes = list(structure.notes)
        self._loose: list[int] = []
        self._between: set[int] = set()

    def plan(self) -> JointPlan:
        roles, old = self._roles, self._old
        limb_joints: set[int] = set()
        for part in ("hip", "shoulder"):
            for joint in roles.both(part) or ():
                limb_joints |= set(np.flatnonzero(subtree_mask(old, joint)).tolist())
        self._trunk(limb_joints)
        legs = self._limbs("hip", "knee", "foot", _LEG_NAMES)
        arms: list[list[int]] = []
        if roles.both("shoulder") and roles.both("elbow"):
            arms = self._limbs("shoulder", "elbow", "hand", _ARM_NAMES)
        else:
            self._notes.append("no arms were found: the skeleton has none")
        head = self._heads(limb_joints, [arm[0] for arm in arms])
        self._rest(limb_joints)
        for point in np.flatnonzero(self._joints.carriers < 0):
            self._joints.carriers[point] = 0
        across = [tuple(leg[0] for leg in legs)]
        if arms:
            across.append(tuple(arm[0] for arm in arms))
        structure = self._joints.structure(tuple((pair[0], pair[1]) for pair in across))
        return JointPlan(
            structure,
            tuple(self._joints.carriers.tolist()),
            tuple((leg[0], leg[1], leg[2], leg[3] if len(leg) > 3 else -1) for leg in legs),
            tuple((arm[0], arm[1], arm[2]) for arm in arms),
            self._joints.partners(),
            head,
            tuple(self._notes),
            tuple(self._loose),
        )

    def _trunk(self, limb_joints: set[int]) -> None:
        """The root and all joints between it and the arms and the head."""
        old, roles = self._old, self._roles
        self._joints.of_old[0] = self._joints.add("Hips", -1, self._joints.points_of(0))
        shoulders: tuple[int, ...] = roles.both("shoulder") or ()
        ends = [*shoulders, *([] if roles.head is None else [roles.head])]
        path = {joint for end in ends for joint in ancestors(old, end)[1:]} - {0}
        self._between = path
        sides = [name.side for name in parse_names(old.names)]
        one_sided = {
            joint
            for joint in path
            if any(subtree_mask(old, joint)[list(shoulders)])
            and not all(subtree_mask(old, joint)[list(shoulders)])
        }
        # Collar bones found in line with the spine are points on the chest.
        middle = [
            joint for joint in sorted(path - limb_joints) if not sides[joint] or joint in one_sided
        ]
        neck = [joint for joint in middle if not any(subtree_mask(old, joint)[list(shoulders)])]
        number = 0
        for joint in middle:
            if shoulders and joint in neck:
                name = "Neck"
            elif shoulders and joint in one_sided:
                left = bool(subtree_mask(old, joint)[shoulders[0]])
                name = "LeftShoulder" if left else "RightShoulder"
            else:
                name, number = f"Spine{number or ''}", number + 1
            self._joints.of_old[joint] = self._joints.add(
                name, self._joints.above(joint), self._joints.points_of(joint)
            )
        if shoulders and number == 0:
            hips = tuple(p for hip in roles.both("hip") or () for p in self._joints.points_of(hip))
            upper = tuple(p for shoulder in shoulders for p in self._joints.points_of(shoulder))
            self._spine = self._joints.add("Spine", 0, hips * 2 * len(upper) + upper * len(hips))
            self._notes.append("no point at the spine: a joint was added there")
        else:
            spines = [joint for joint, name in enumerate(self._joints.names) if "Spine" in name]
            self._spine = spines[-1] if spines else 0

    def _limbs(self, upper: str, middle: str, last: str, names: tuple[str, ...]) -> list[list[int]]:
        """Joints of a pair of limbs, from the trunk outwards."""
        roles, old = self._roles, self._old
        uppers, middles = roles.both(upper) or (), roles.both(middle) or ()
        lasts = roles.both(last)
        distal = [np.flatnonzero(subtree_mask(old, joint))[1:].tolist() for joint in middles]
        lengths = [
            [self._distance(joint, each) for each in limb]
            for joint, limb in zip(middles, distal, strict=True)
        ]
        thighs = [self._distance(*pair) for pair in zip(uppers, middles, strict=True)]
        groups = limb_end_joints(
            distal, lengths, thighs, self._distance, lasts, leg=names is _LEG_NAMES
        )
        limbs = []
        for side in range(2):
            parent = self._spine
            inner = ancestors(old, uppers[side])[1:]
            known = [self._joints.of_old[each] for each in inner if each in self._joints.of_old]
            if names is _LEG_NAMES:
                parent = known[0] if known else 0
            elif known and known[0] != 0:
                parent = known[0]
            chain = []
            near, end, beyond = groups[side]
            for name, points, joint in zip(
                names[:3],
                (
                    self._joints.points_of(uppers[side]),
                    self._joints.points_of(middles[side]),
                    self._joints.all_points(end),
                ),
                (uppers[side], middles[side], end[0]),
                strict=True,
            ):
                parent = self._joints.add(f"{SIDES[side]}{name}", parent, points)
                self._joints.of_old[joint] = parent
                chain.append(parent)
            path = ancestors(old, middles[side])
            between = path[1 : path.index(uppers[side])]
            self._joints.carry(self._joints.all_points(between), chain[0])
            self._joints.carry(self._joints.all_points(near), chain[1])
            if len(end) > 1:
                # Several points of one wrist rotate with the forearm.
                self._joints.carry(self._joints.all_points(end), chain[1])
            if names is _LEG_NAMES:
                chain.append(self._toe(side, end[0], chain[2], beyond))
            else:
                self._tree(side, beyond, chain[2])
            limbs.append(chain)
        return limbs

    def _toe(self, side: int, ankle: int, foot: int, beyond: list[int]) -> int:
        """Add the toes at the point of the foot farthest to the front; -1 without points."""
        if not beyond:
            return -1
        vectors = self._positions[:, beyond] - self._positions[:, [ankle]]
        forward = np.median(np.einsum("fpc,fc->fp", vectors, self._front), axis=0)
        toe = beyond[int(np.argmax(forward))]
        joint = self._joints.add(f"{SIDES[side]}ToeBase", foot, self._joints.points_of(toe))
        self._joints.of_old[toe] = joint
        self._joints.carry(self._joints.all_points([each for each in beyond if each != toe]), foot)
        return joint

    def _tree(self, side: int, beyond: list[int], above: int) -> None:
        """Add the joints beyond a wrist in the hierarchy that was found."""
        for joint in beyond:
            self._joints.of_old[joint] = self._joints.add(
                f"{SIDES[side]}Finger",
                self._joints.above(joint) or above,
                self._joints.points_of(joint),
            )

    def _heads(self, limb_joints: set[int], shoulders: list[int]) -> int:
        old, head = self._old, self._roles.head
        if head is None or head in limb_joints or head == 0:
            return -1
        heads, rest = head_joints(old, head, self._positions, self._shoulders())
        for joint in rest:
            # The others belong to the neck or the chest; they are attached to the chest.
            self._joints.of_old[joint] = self._spine
            self._joints.carry(self._joints.points_of(joint), self._spine)
        points = self._joints.all_points(heads)
        parent = self._joints.above(heads[0])
        if shoulders and not self._joints.names[parent].startswith("Neck"):
            upper = tuple(point for joint in shoulders for point in self._joints.points[joint])
            low, high = _NECK_WEIGHTS
            # Repeated points weight the mean: shoulders against head.
            neck = upper * (low * len(points)) + points * (len(upper) * high // 2)
            parent = self._joints.add("Neck", self._spine, neck, carried=False)
            self._notes.append("no point at the neck: a joint was added there")
            self._loose.append(parent)
        joint = self._joints.add("Head", parent, points)
        if len(points) < _MIN_HEAD_POINTS:
            self._loose.append(joint)
        for each in heads:
            self._joints.of_old[each] = joint
        self._joints.carry(points, joint)
        return joint

    def _rest(self, limb_joints: set[int]) -> None:
        """Attach points of joints without a role to their nearest ancestor."""
        old = self._old
        for joint in range(1, len(old)):
            if joint in self._joints.of_old or joint in limb_joints:
                continue
            free = [
                point for point in self._joints.points_of(joint) if self._joints.carriers[point] < 0
            ]
            more = any(child not in self._joints.of_old for child in old.children(joint))
            if more and joint not in self._between:
                self._joints.of_old[joint] = self._joints.add(
                    old.names[joint], self._joints.above(joint), self._joints.points_of(joint)
                )
            else:
                self._joints.carry(tuple(free), self._joints.above(joint))
        for joint in sorted(limb_joints):
            free = [
                point for point in self._joints.points_of(joint) if self._joints.carriers[point] < 0
            ]
            self._joints.carry(tuple(free), self._joints.above(joint))

    def _shoulders(self) -> list[int]:
        return list(self._roles.both("shoulder") or self._roles.both("hip") or ())

    def _distance(self, first: int, second: int) -> float:
        vectors = self._positions[:, first] - self._positions[:, second]
        return float(np.median(np.linalg.norm(vectors, axis=1)))
