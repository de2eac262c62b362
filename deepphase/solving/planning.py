"""Plan of a skeleton: the joints to solve for and the points attached to each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, product, starmap
from typing import Any

import numpy as np

from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import ancestors, parse_names, subtree_mask
from deepphase.solving.point_structure import (
    LOWER_SHARE,
    PointStructure,
    clip_of_points,
    facing_of,
)

# Points belong to the head if they are below its highest point by at most this share of its
# height over the shoulders.
_HEAD_SHARE = 0.3
# Weights of shoulders and head in the position of the neck.
_NECK_WEIGHTS = (3, 2)
# Points needed for the rotation of a head; two leave it free to nod.
_MIN_HEAD_POINTS = 3
# Up to this number of points beyond a knee or elbow are markers on two parts of the limb; more
# points form a tree of joints.
_MAX_MARKERS = 4
_SIDES = ("Left", "Right")
_OTHER = dict(zip(_SIDES, _SIDES[::-1], strict=True))


@dataclass(frozen=True)
class JointPlan:
    """The joints of a skeleton to solve for, and their points."""

    structure: PointStructure
    carriers: tuple[int, ...]  # (points,) the joint that each point of the track is attached to
    # (hip, knee, foot, toe or -1) and (shoulder, elbow, hand), left first.
    legs: tuple[tuple[int, ...], ...]
    arms: tuple[tuple[int, ...], ...]
    pairs: tuple[int, ...]  # (joints,) mirror partners; a joint's own index on the middle line
    head: int
    notes: tuple[str, ...]
    loose: tuple[int, ...] = ()

    @property
    def limbs(self) -> list[tuple[int, ...]]:
        """The three joints of legs and then arms, left first."""
        return [limb[:3] for limb in (*self.legs, *self.arms)]

    def is_at(self, point: int, joint: int) -> bool:
        """Whether a joint is where a single point is."""
        return self.structure.points[joint] == (point,)


def plan_joints(
    track: PointTrack, structure: PointStructure, description: Mapping[str, Any] | None = None
) -> JointPlan:
    """Plan the joints of a skeleton for the points of a track: limbs have three joints each."""
    clip = clip_of_points(track, structure=structure)
    roles = find_roles(clip.skeleton, description, clip)
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
    return _Planner(len(track.names), clip, roles, structure).plan()


class _Planner:
    """Chooses the joints, parents first; indices named `old` are those of the structure found."""

    def __init__(self, points: int, clip: Clip, roles: Roles, found: PointStructure) -> None:
        self._old, self._roles, self._found = clip.skeleton, roles, found
        self._positions = joint_positions(clip).astype(np.float64)
        pairs = [pair for part in ("hip", "shoulder") if (pair := roles.both(part))]
        self._turns = facing_of(self._positions, pairs)
        self.names: list[str] = []
        self.parents: list[int] = []
        self.points: list[tuple[int, ...]] = []
        self.of_old: dict[int, int] = {}
        self.carriers = np.full(points, -1)
        self._notes = list(found.notes)
        self._loose: list[int] = []

    def plan(self) -> JointPlan:
        roles, old = self._roles, self._old
        limb_joints: set[int] = set()
        for joint in (*(roles.both("hip") or ()), *(roles.both("shoulder") or ())):
            limb_joints |= set(np.flatnonzero(subtree_mask(old, joint)).tolist())
        trunk = self._trunk(limb_joints)
        legs = self._limbs(("hip", "knee", "foot"), ("UpLeg", "Leg", "Foot"))
        arms = self._limbs(("shoulder", "elbow", "hand"), ("Arm", "ForeArm", "Hand"))
        if not arms:
            self._notes.append("no arms were found: the skeleton has none")
        head = self._head(limb_joints, [arm[0] for arm in arms])
        self._rest(limb_joints, trunk)
        for point, joint in self._found.carried:
            self.carriers[point] = self._above(joint)
        names, points = tuple(self.names), tuple(self.points)
        across = tuple((limbs[0][0], limbs[1][0]) for limbs in (legs, arms) if limbs)
        place = {name: joint for joint, name in enumerate(names)}
        carriers = tuple(np.maximum(self.carriers, 0).tolist())
        carried = tuple(enumerate(carriers)) if self._found.carried else ()
        return JointPlan(
            PointStructure(names, tuple(self.parents), points, across, carried),
            carriers,
            tuple(map(tuple, legs)),
            tuple(map(tuple, arms)),
            tuple(
                place.get(re.sub("^Left|^Right", lambda side: _OTHER[side[0]], name), place[name])
                for name in names
            ),
            head,
            tuple(self._notes),
            tuple(self._loose),
        )

    def _add(self, name: str, parent: int, points: tuple[int, ...], *old: int) -> int:
        """Add a joint, numbered if its name is in use; a single point is attached to it."""
        unique, number = name, 2
        while unique in self.names:
            unique, number = f"{name}{number}", number + 1
        joint = len(self.names)
        self.names.append(unique)
        self.parents.append(parent)
        self.points.append(points)
        self.of_old |= dict.fromkeys(old, joint)
        if len(set(points)) == 1:
            self.carriers[points[0]] = joint
        return joint

    def _points(self, *old: int) -> tuple[int, ...]:
        """The points of joints of the structure; of several joints each once."""
        if len(old) == 1:
            return self._found.points[old[0]]
        return tuple(dict.fromkeys(point for joint in old for point in self._found.points[joint]))

    def _carry(self, old: Iterable[int], joint: int) -> None:
        self.carriers[list(self._points(*old))] = joint

    def _above(self, old: int) -> int:
        """The joint of a joint of the structure, or of its nearest ancestor that has one."""
        return next((self.of_old[o] for o in ancestors(self._old, old) if o in self.of_old), 0)

    def _distance(self, first: int, second: int) -> float:
        vectors = self._positions[:, first] - self._positions[:, second]
        return float(np.median(np.linalg.norm(vectors, axis=1)))

    def _trunk(self, limb_joints: set[int]) -> set[int]:
        """Add the root and the joints between it and arms and head; all between are returned."""
        old, roles = self._old, self._roles
        self._add("Hips", -1, self._found.points[0], 0)
        shoulders: tuple[int, ...] = roles.both("shoulder") or ()
        ends = [*shoulders, *([] if roles.head is None else [roles.head])]
        path = {joint for end in ends for joint in ancestors(old, end)[1:]} - {0}
        sides = [name.side for name in parse_names(old.names)]
        self._spine, spines = 0, 0
        for joint in sorted(path - limb_joints):
            below = [joint in ancestors(old, shoulder) for shoulder in shoulders]
            one_sided = any(below) and not all(below)
            # Collar bones found in line with the spine are points on the chest.
            if sides[joint] and not one_sided:
                continue
            spine = not shoulders or all(below)
            name = "Neck" if not any(below) else f"{_SIDES[below.index(True)]}Shoulder"
            if spine:
                name, spines = f"Spine{spines or ''}", spines + 1
            added = self._add(name, self._above(joint), self._points(joint), joint)
            self._spine = added if spine else self._spine
        if shoulders and spines == 0:
            hips, upper = (
                tuple(point for joint in pair for point in self._found.points[joint])
                for pair in (roles.both("hip") or (), shoulders)
            )
            self._spine = self._add("Spine", 0, hips * 2 * len(upper) + upper * len(hips))
            self._notes.append("no point at the spine: a joint was added there")
        return path

    def _limbs(self, parts: tuple[str, str, str], names: tuple[str, str, str]) -> list[list[int]]:
        """Joints of a pair of limbs, from the trunk outwards; of legs with toes, -1 without."""
        limbs: list[list[int]] = []
        leg = parts[0] == "hip"
        if not (self._roles.both(parts[0]) and self._roles.both(parts[1])):
            return limbs
        for side, upper, middle, (near, end, beyond) in zip(
            _SIDES,
            self._roles.both(parts[0]) or (),
            self._roles.both(parts[1]) or (),
            self._limb_ends(parts, leg),
            strict=True,
        ):
            path = ancestors(self._old, middle)
            between, inner = path[1 : path.index(upper)], path[path.index(upper) + 1 :]
            above = next((self.of_old[joint] for joint in inner if joint in self.of_old), 0)
            parent = above or (0 if leg else self._spine)
            limb = []
            for name, joints in zip(names, ([upper], [middle], end), strict=True):
                parent = self._add(f"{side}{name}", parent, self._points(*joints), joints[0])
                limb.append(parent)
            self._carry(between, limb[0])
            self._carry(near, limb[1])
            if len(end) > 1:
                # Several points of one wrist rotate with the forearm.
                self._carry(end, limb[1])
            if leg:
                limb.append(self._toe(side, end[0], limb[2], beyond))
            else:
                # The joints of a hand, in the hierarchy that was found.
                for joint in beyond:
                    parent = self._above(joint) or limb[2]
                    self._add(f"{side}Finger", parent, self._points(joint), joint)
            limbs.append(limb)
        return limbs

    def _toe(self, side: str, ankle: int, foot: int, beyond: list[int]) -> int:
        """Add the toes at the point of the foot farthest to the front; -1 without points."""
        if not beyond:
            return -1
        vectors = self._positions[:, beyond] - self._positions[:, [ankle]]
        ahead = quaternions.rotate(quaternions.conjugate(self._turns)[:, None], vectors)[..., 2]
        toe = beyond[int(np.argmax(np.median(ahead, axis=0)))]
        joint = self._add(f"{side}ToeBase", foot, self._points(toe), toe)
        self._carry([other for other in beyond if other != toe], foot)
        return joint

    def _limb_ends(
        self, parts: tuple[str, str, str], leg: bool
    ) -> list[tuple[list[int], list[int], list[int]]]:
        """Joints of both limbs between knee and ankle (elbow and wrist), at it and beyond it."""
        roles, far = self._roles, self._distance
        uppers, middles = roles.both(parts[0]) or (), roles.both(parts[1]) or ()
        limbs = [
            sorted(
                np.flatnonzero(subtree_mask(self._old, middle))[1:].tolist(),
                key=lambda joint, middle=middle: (far(middle, joint), joint),  # type: ignore[misc]
            )
            for middle in middles
        ]
        if not all(limbs):
            raise SkeletonError(
                "solving needs a point beyond each knee and elbow",
                hint="use a skeleton description without arms that end at the elbow",
            )
        groups = [[[joint] for joint in limb] for limb in limbs]
        lasts = roles.both(parts[2]) or (-1, -1)
        known = all(last in limb for last, limb in zip(lasts, limbs, strict=True))
        if known and max(map(len, limbs)) > _MAX_MARKERS:
            places = [limb.index(last) for last, limb in zip(lasts, limbs, strict=True)]
        else:
            if not leg and min(map(len, limbs)) >= 3:
                groups = [self._two_groups(limb) for limb in limbs]
            thighs = sum(far(*pair) for pair in zip(uppers, middles, strict=True))

            def share(place: int) -> float:
                lower = sum(
                    np.mean([far(middle, joint) for joint in limb[place]])
                    for middle, limb in zip(middles, groups, strict=True)
                )
                return float(lower) / max(thighs, 1e-9)

            count = min(map(len, groups))
            places = [next((p for p in range(count) if share(p) >= LOWER_SHARE), count - 1)] * 2
        return [
            ([*chain(*limb[:place])], limb[place], [*chain(*limb[place + 1 :])])
            for limb, place in zip(groups, places, strict=True)
        ]

    def _two_groups(self, limb: list[int]) -> list[list[int]]:
        """Points from the elbow outwards, cut where both parts are farthest from each other."""
        cuts = range(1, len(limb))
        gaps = [min(starmap(self._distance, product(limb[:cut], limb[cut:]))) for cut in cuts]
        cut = cuts[int(np.argmax(gaps))]
        return [limb[:cut], limb[cut:]]

    def _head(self, limb_joints: set[int], shoulders: list[int]) -> int:
        """Add the head, and a neck where there is none; -1 without a head."""
        old, head = self._old, self._roles.head
        if head is None or head in limb_joints or head == 0:
            return -1
        same = re.compile(re.escape(old.names[head]) + r"[_ ]?\d+$")
        group = [
            joint
            for joint in np.flatnonzero(subtree_mask(old, head)).tolist()
            if joint == head or (same.match(old.names[joint]) and not old.children(joint))
        ]
        # The group may contain everything above the shoulders; the head is its highest part.
        line = list(self._roles.both("shoulder") or self._roles.both("hip") or ())
        height = np.median(self._positions[..., 1], axis=0)
        top = max(group, key=lambda joint: height[joint])
        room = _HEAD_SHARE * max(float(height[top] - height[line].mean()), 1e-9)
        heads = [top, *(j for j in group if j != top and height[top] - height[j] <= room)]
        for joint in sorted(set(group) - set(heads)):
            # The others belong to the neck or the chest; they are attached to the chest.
            self.of_old[joint] = self._spine
            self._carry([joint], self._spine)
        points, parent = self._points(*heads), self._above(top)
        if shoulders and not self.names[parent].startswith("Neck"):
            upper = tuple(point for joint in shoulders for point in self.points[joint])
            low, high = _NECK_WEIGHTS
            # Repeated points weight the mean: shoulders against head.
            neck = upper * (low * len(points)) + points * (len(upper) * high // 2)
            parent = self._add("Neck", self._spine, neck)
            self._notes.append("no point at the neck: a joint was added there")
            self._loose.append(parent)
        joint = self._add("Head", parent, points, *heads)
        if len(points) < _MIN_HEAD_POINTS:
            self._loose.append(joint)
        self._carry(heads, joint)
        return joint

    def _rest(self, limb_joints: set[int], trunk: set[int]) -> None:
        """Attach points of joints without a role to their nearest ancestor."""
        others = [joint for joint in range(1, len(self._old)) if joint not in limb_joints]
        for joint in [*others, *sorted(limb_joints)]:
            if joint in self.of_old and joint not in limb_joints:
                continue
            more = any(child not in self.of_old for child in self._old.children(joint))
            if more and joint not in trunk | limb_joints:
                name = self._old.names[joint]
                self._add(name, self._above(joint), self._points(joint), joint)
            else:
                free = [point for point in self._points(joint) if self.carriers[point] < 0]
                self.carriers[free] = self._above(joint)
