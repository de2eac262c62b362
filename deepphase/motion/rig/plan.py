"""Which joints a rig of points has, and which joint carries each point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import parse_names
from deepphase.motion.limbs import ancestors, below
from deepphase.motion.point_clip import clip_of_points
from deepphase.motion.point_structure import find_structure
from deepphase.motion.point_track import PointTrack
from deepphase.motion.point_tree import PointStructure
from deepphase.motion.rig.limb_ends import limb_ends
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory

# The neck begins so much of the way from the middle of the shoulders to the head.
_NECK_WEIGHTS = (3, 2)
# So many points tell how a head is turned; two leave it free to nod.
_ENOUGH = 3
# Points as high as the highest one, to this share of the way from the shoulders, are the head.
_HEAD_SHARE = 0.3
_LEG_NAMES = ("UpLeg", "Leg", "Foot", "ToeBase")
_ARM_NAMES = ("Arm", "ForeArm", "Hand")
_SIDES = ("Left", "Right")


@dataclass(frozen=True)
class RigPlan:
    """The joints of a rig and what points tell of them.

    Parameters
    ----------
    structure
        The rig's joints; the mean of a joint's points is where it is before anything is fitted.
    carriers
        (points,) the joint that each point of the track is fixed to.
    legs, arms
        Left and right: hip, knee, ankle and toe (-1 where there is none); shoulder, elbow and
        wrist. No arms where none were found.
    pairs
        (joints,) mirror partners; a joint's own index on the middle line.
    head
        The head's joint, -1 where it is not known.
    notes
        What was found how, one sentence each.
    loose
        Joints of neck and head that points tell too little of: they stay near to their rest.
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


def plan_rig(
    track: PointTrack,
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> RigPlan:
    """The joints that a rig of a track's points has.

    Limbs have three joints each; of several points on a forearm, a hand or a head the rig has one
    joint, which carries them. Where no point is at the spine or the neck, a joint is put there.

    Parameters
    ----------
    description
        A skeleton description: see :func:`find_structure`.
    structure
        The hierarchy, where it is known already.

    Raises
    ------
    SkeletonError
        Where no two legs of hip, knee and foot are found, or the body is no biped.
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
            f"a rig needs two legs, and of {len(clip.skeleton)} points none is found to be the "
            + " or the ".join(lacking),
            hint="name the points in a skeleton description (left_hip, left_knee, left_foot, ...)",
            path=clip.source.path or None,
        )
    if roles.kind == "quadruped":
        raise SkeletonError(
            "points of a quadruped, and rigs are made of people only",
            hint="a skeleton description with 'kind: biped' says otherwise",
            path=clip.source.path or None,
        )


class _Planner:
    """Collects joints, parents first; indices `old` are of the structure found."""

    def __init__(
        self, track: PointTrack, clip: Clip, roles: Roles, structure: PointStructure
    ) -> None:
        self._old, self._roles, self._structure = clip.skeleton, roles, structure
        self._positions = clip.translations.astype(np.float64).copy()
        for joint, parent in enumerate(self._old.parents.tolist()[1:], start=1):
            self._positions[:, joint] += self._positions[:, parent]
        self._front = root_trajectory(clip, roles, self._positions).directions
        self._points = len(track.names)
        self._names: list[str] = []
        self._parents: list[int] = []
        self._joint_points: list[tuple[int, ...]] = []
        self._joint_of: dict[int, int] = {}
        self._carriers = np.full(self._points, -1)
        self._notes = list(structure.notes)
        self._loose: list[int] = []
        self._between: set[int] = set()

    def plan(self) -> RigPlan:
        roles, old = self._roles, self._old
        limb_joints: set[int] = set()
        for part in ("hip", "shoulder"):
            for joint in roles.both(part) or ():
                limb_joints |= set(np.flatnonzero(below(old, joint)).tolist())
        self._trunk(limb_joints)
        legs = self._limbs("hip", "knee", "foot", _LEG_NAMES)
        arms: list[list[int]] = []
        if roles.both("shoulder") and roles.both("elbow"):
            arms = self._limbs("shoulder", "elbow", "hand", _ARM_NAMES)
        else:
            self._notes.append("no arms were found: the rig has none")
        head = self._heads(limb_joints, [arm[0] for arm in arms])
        self._rest(limb_joints)
        for point in np.flatnonzero(self._carriers < 0):
            self._carriers[point] = 0
        across = [tuple(leg[0] for leg in legs)]
        if arms:
            across.append(tuple(arm[0] for arm in arms))
        structure = PointStructure(
            tuple(self._names),
            tuple(self._parents),
            tuple(self._joint_points),
            tuple((pair[0], pair[1]) for pair in across),
            self._structure.sureness,
        )
        return RigPlan(
            structure,
            tuple(self._carriers.tolist()),
            tuple((leg[0], leg[1], leg[2], leg[3] if len(leg) > 3 else -1) for leg in legs),
            tuple((arm[0], arm[1], arm[2]) for arm in arms),
            _pairs(self._names),
            head,
            tuple(self._notes),
            tuple(self._loose),
        )

    def _add(self, name: str, parent: int, points: tuple[int, ...], *, carried: bool = True) -> int:
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}{number}", number + 1
        joint = len(self._names)
        self._names.append(unique)
        self._parents.append(parent)
        self._joint_points.append(points)
        if carried and len(set(points)) == 1:
            self._carry(points, joint)
        return joint

    def _carry(self, points: tuple[int, ...], joint: int) -> None:
        self._carriers[list(points)] = joint

    def _parent(self, old: int) -> int:
        """The rig's joint that is or is nearest above a joint of the structure."""
        path = ancestors(self._old, old)
        return next((self._joint_of[each] for each in path if each in self._joint_of), 0)

    def _of(self, old: int) -> tuple[int, ...]:
        return self._structure.points[old]

    def _trunk(self, limb_joints: set[int]) -> None:
        """The root and all joints between it and the arms and the head."""
        old, roles = self._old, self._roles
        self._joint_of[0] = self._add("Hips", -1, self._of(0))
        shoulders: tuple[int, ...] = roles.both("shoulder") or ()
        ends = [*shoulders, *([] if roles.head is None else [roles.head])]
        path = {joint for end in ends for joint in ancestors(old, end)[1:]} - {0}
        self._between = path
        sides = [name.side for name in parse_names(old.names)]
        one_sided = {
            joint
            for joint in path
            if any(below(old, joint)[list(shoulders)])
            and not all(below(old, joint)[list(shoulders)])
        }
        # Collar bones that were found in one line with the spine are points on the chest.
        middle = [
            joint for joint in sorted(path - limb_joints) if not sides[joint] or joint in one_sided
        ]
        neck = [joint for joint in middle if not any(below(old, joint)[list(shoulders)])]
        number = 0
        for joint in middle:
            if shoulders and joint in neck:
                name = "Neck"
            elif shoulders and joint in one_sided:
                left = bool(below(old, joint)[shoulders[0]])
                name = "LeftShoulder" if left else "RightShoulder"
            else:
                name, number = f"Spine{number or ''}", number + 1
            self._joint_of[joint] = self._add(name, self._parent(joint), self._of(joint))
        if shoulders and number == 0:
            hips = tuple(p for hip in roles.both("hip") or () for p in self._of(hip))
            upper = tuple(p for shoulder in shoulders for p in self._of(shoulder))
            self._spine = self._add("Spine", 0, hips * 2 * len(upper) + upper * len(hips))
            self._notes.append("no point stands at the spine: a joint was put there")
        else:
            spines = [joint for joint, name in enumerate(self._names) if "Spine" in name]
            self._spine = spines[-1] if spines else 0

    def _limbs(self, upper: str, middle: str, last: str, names: tuple[str, ...]) -> list[list[int]]:
        """Joints of a pair of limbs, from the trunk outwards."""
        roles, old = self._roles, self._old
        uppers, middles = roles.both(upper) or (), roles.both(middle) or ()
        lasts = roles.both(last)
        distal = [np.flatnonzero(below(old, joint))[1:].tolist() for joint in middles]
        lengths = [
            [self._distance(joint, each) for each in limb]
            for joint, limb in zip(middles, distal, strict=True)
        ]
        thighs = [self._distance(*pair) for pair in zip(uppers, middles, strict=True)]
        groups = limb_ends(distal, lengths, thighs, self._distance, lasts, leg=names is _LEG_NAMES)
        limbs = []
        for side in range(2):
            parent = self._spine
            inner = ancestors(old, uppers[side])[1:]
            known = [self._joint_of[each] for each in inner if each in self._joint_of]
            if names is _LEG_NAMES:
                parent = known[0] if known else 0
            elif known and known[0] != 0:
                parent = known[0]
            chain = []
            near, end, beyond = groups[side]
            for name, points, joint in zip(
                names[:3],
                (self._of(uppers[side]), self._of(middles[side]), self._all(end)),
                (uppers[side], middles[side], end[0]),
                strict=True,
            ):
                parent = self._add(f"{_SIDES[side]}{name}", parent, points)
                self._joint_of[joint] = parent
                chain.append(parent)
            path = ancestors(old, middles[side])
            between = path[1 : path.index(uppers[side])]
            self._carry(self._all(between), chain[0])
            self._carry(self._all(near), chain[1])
            if len(end) > 1:
                # A wrist of several points: they turn with the forearm.
                self._carry(self._all(end), chain[1])
            if names is _LEG_NAMES:
                chain.append(self._toe(side, end[0], chain[2], beyond))
            else:
                self._tree(side, beyond, chain[2])
            limbs.append(chain)
        return limbs

    def _toe(self, side: int, ankle: int, foot: int, beyond: list[int]) -> int:
        """The joint of the toes: the point of a foot that is farthest to the front, else -1."""
        if not beyond:
            return -1
        way = self._positions[:, beyond] - self._positions[:, [ankle]]
        ahead = np.median(np.einsum("fpc,fc->fp", way, self._front), axis=0)
        toe = beyond[int(np.argmax(ahead))]
        joint = self._add(f"{_SIDES[side]}ToeBase", foot, self._of(toe))
        self._joint_of[toe] = joint
        self._carry(self._all([each for each in beyond if each != toe]), foot)
        return joint

    def _tree(self, side: int, beyond: list[int], above: int) -> None:
        """What is beyond a wrist hangs as it was found; single points turn with the hand."""
        for joint in beyond:
            self._joint_of[joint] = self._add(
                f"{_SIDES[side]}Finger", self._parent(joint) or above, self._of(joint)
            )

    def _heads(self, limb_joints: set[int], shoulders: list[int]) -> int:
        old, head = self._old, self._roles.head
        if head is None or head in limb_joints or head == 0:
            return -1
        same = re.compile(re.escape(old.names[head]) + r"[_ ]?\d+$")
        group = [
            joint
            for joint in np.flatnonzero(below(old, head)).tolist()
            if joint == head or (same.match(old.names[joint]) and not old.children(joint))
        ]
        # The group may hold all that is above the shoulders; the head is where it is highest.
        heights = np.median(self._positions[:, group, 1], axis=0)
        top = group[int(np.argmax(heights))]
        shoulder_line = np.median(self._positions[:, self._shoulders(), 1], axis=0).mean()
        room = _HEAD_SHARE * max(float(heights.max() - shoulder_line), 1e-9)
        heads = [
            joint for joint, y in zip(group, heights, strict=True) if heights.max() - y <= room
        ]
        for joint in sorted(set(group) - set(heads)):
            # The rest is of the neck or the chest: with the chest, where it keeps its distance.
            self._joint_of[joint] = self._spine
            self._carry(self._of(joint), self._spine)
        others = [joint for joint in heads if joint != top]
        head = top
        points = self._all([head, *others])
        parent = self._parent(head)
        if shoulders and not self._names[parent].startswith("Neck"):
            upper = tuple(point for joint in shoulders for point in self._joint_points[joint])
            low, high = _NECK_WEIGHTS
            # Means over points with repetition: so much of the shoulders, so much of the head.
            neck = upper * (low * len(points)) + points * (len(upper) * high // 2)
            parent = self._add("Neck", self._spine, neck, carried=False)
            self._notes.append("no point stands at the neck: a joint was put there")
            self._loose.append(parent)
        joint = self._add("Head", parent, points)
        if len(points) < _ENOUGH:
            self._loose.append(joint)
        for each in (head, *others):
            self._joint_of[each] = joint
        self._carry(points, joint)
        return joint

    def _rest(self, limb_joints: set[int]) -> None:
        """All joints of the structure that have no role: points on what they hang from."""
        old = self._old
        for joint in range(1, len(old)):
            if joint in self._joint_of or joint in limb_joints:
                continue
            free = [point for point in self._of(joint) if self._carriers[point] < 0]
            more = any(child not in self._joint_of for child in old.children(joint))
            if more and joint not in self._between:
                self._joint_of[joint] = self._add(
                    old.names[joint], self._parent(joint), self._of(joint)
                )
            else:
                self._carry(tuple(free), self._parent(joint))
        for joint in sorted(limb_joints):
            free = [point for point in self._of(joint) if self._carriers[point] < 0]
            self._carry(tuple(free), self._parent(joint))

    def _shoulders(self) -> list[int]:
        return list(self._roles.both("shoulder") or self._roles.both("hip") or ())

    def _all(self, joints: list[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(point for joint in joints for point in self._of(joint)))

    def _distance(self, first: int, second: int) -> float:
        way = self._positions[:, first] - self._positions[:, second]
        return float(np.median(np.linalg.norm(way, axis=1)))


def _pairs(names: list[str]) -> tuple[int, ...]:
    def partner(name: str) -> str:
        for side, other in (_SIDES, _SIDES[::-1]):
            if name.startswith(side):
                return other + name[len(side) :]
        return name

    return tuple(
        names.index(partner(name)) if partner(name) in names else joint
        for joint, name in enumerate(names)
    )
