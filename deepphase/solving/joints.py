"""The joints of a rig while they are put together, and the points that each carries."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion.limbs import ancestors, subtree_mask
from deepphase.motion.skeleton import Skeleton
from deepphase.solving.point_tree import PointStructure

# Points as high as the highest one, to this share of the way from the shoulders, are the head.
_HEAD_SHARE = 0.3


def head_joints(
    skeleton: Skeleton, head: int, positions: Array, shoulders: list[int]
) -> tuple[list[int], list[int]]:
    """The joints that are the head, the highest first, and those of its group that are not.

    Parameters
    ----------
    head
        The joint that was found to be it; joints of its name and a number are of its group.
    positions : (frames, joints, 3)
        Metres.
    """
    same = re.compile(re.escape(skeleton.names[head]) + r"[_ ]?\d+$")
    group = [
        joint
        for joint in np.flatnonzero(subtree_mask(skeleton, head)).tolist()
        if joint == head or (same.match(skeleton.names[joint]) and not skeleton.children(joint))
    ]
    # The group may hold all that is above the shoulders; the head is where it is highest.
    heights = np.median(positions[:, group, 1], axis=0)
    top = group[int(np.argmax(heights))]
    shoulder_line = np.median(positions[:, shoulders, 1], axis=0).mean()
    room = _HEAD_SHARE * max(float(heights.max() - shoulder_line), 1e-9)
    near = [joint for joint, y in zip(group, heights, strict=True) if heights.max() - y <= room]
    heads = [top, *(joint for joint in near if joint != top)]
    return heads, sorted(set(group) - set(heads))


# A lower leg or arm is at least this share of the upper one: what is nearer to the knee or elbow
# is a second point on it.
_LOWER_SHARE = 0.55
# Up to so many points beyond a knee or elbow are markers of two parts; more are a tree of joints.
_FEW = 4


def limb_end_joints(
    distal: list[list[int]],
    lengths: list[list[float]],
    uppers: list[float],
    distance: Callable[[int, int], float],
    lasts: tuple[int, int] | None,
    *,
    leg: bool,
) -> list[tuple[list[int], list[int], list[int]]]:
    """Of both limbs what lies before the ankle or wrist, the points that are it, what is beyond."""
    if any(not limb for limb in distal):
        raise SkeletonError(
            "a rig needs a point beyond each knee and elbow",
            hint="leave out arms that end at the elbow by a skeleton description",
        )
    ordered = [
        [joint for _, joint in sorted(zip(far, limb, strict=True))]
        for far, limb in zip(lengths, distal, strict=True)
    ]
    policy = [dict(zip(limb, far, strict=True)) for far, limb in zip(lengths, distal, strict=True)]
    known = lasts is not None and all(
        last in limb for last, limb in zip(lasts, ordered, strict=True)
    )
    if lasts is not None and known and max(map(len, ordered)) > _FEW:
        return [
            (
                limb[: limb.index(last)],
                [last],
                limb[limb.index(last) + 1 :],
            )
            for limb, last in zip(ordered, lasts, strict=True)
        ]
    groups = [[[joint] for joint in limb] for limb in ordered]
    if not leg and min(map(len, ordered)) >= 3:
        groups = [_two_groups(limb, distance) for limb in ordered]
    places = min(map(len, groups))

    def share(place: int) -> float:
        far = sum(
            float(np.mean([way[joint] for joint in limb[place]]))
            for way, limb in zip(policy, groups, strict=True)
        )
        return far / max(sum(uppers), 1e-9)

    last_place = next((p for p in range(places) if share(p) >= _LOWER_SHARE), places - 1)
    return [
        (
            [joint for group in limb[:last_place] for joint in group],
            limb[last_place],
            [joint for group in limb[last_place + 1 :] for joint in group],
        )
        for limb in groups
    ]


def _two_groups(limb: list[int], distance: Callable[[int, int], float]) -> list[list[int]]:
    """Points from the elbow outwards in two groups, whose nearest points are farthest apart."""
    groups = [[joint] for joint in limb]
    while len(groups) > 2:
        gaps = [
            min(distance(one, other) for one in near for other in far)
            for near, far in pairwise(groups)
        ]
        place = int(np.argmin(gaps))
        groups[place : place + 2] = [groups[place] + groups[place + 1]]
    return groups


SIDES = ("Left", "Right")


class JointBuilder:
    """Collects joints, parents first.

    Parameters
    ----------
    found
        The structure that the rig is made of: its joints are called `old` here.
    skeleton
        The same as a skeleton.
    points
        How many the track has.

    Attributes
    ----------
    names, parents
        Of the rig's joints so far.
    points
        Those whose mean each joint is at before anything is fitted.
    of_old
        A joint of the structure -> the rig's that stands for it.
    carriers : (points,)
        The joint that each point is fixed to; -1 where that is not known yet.
    """

    def __init__(self, found: PointStructure, skeleton: Skeleton, points: int) -> None:
        self._found, self._skeleton = found, skeleton
        self.names: list[str] = []
        self.parents: list[int] = []
        self.points: list[tuple[int, ...]] = []
        self.of_old: dict[int, int] = {}
        self.carriers = np.full(points, -1)

    def add(self, name: str, parent: int, points: tuple[int, ...], *, carried: bool = True) -> int:
        """A joint more, numbered where its name is taken; it carries its point if it has one."""
        unique, number = name, 2
        while unique in self.names:
            unique, number = f"{name}{number}", number + 1
        joint = len(self.names)
        self.names.append(unique)
        self.parents.append(parent)
        self.points.append(points)
        if carried and len(set(points)) == 1:
            self.carry(points, joint)
        return joint

    def carry(self, points: tuple[int, ...], joint: int) -> None:
        """Fix points to a joint."""
        self.carriers[list(points)] = joint

    def above(self, old: int) -> int:
        """The rig's joint that is or is nearest above a joint of the structure."""
        path = ancestors(self._skeleton, old)
        return next((self.of_old[each] for each in path if each in self.of_old), 0)

    def points_of(self, old: int) -> tuple[int, ...]:
        """The points of a joint of the structure."""
        return self._found.points[old]

    def all_points(self, old: list[int]) -> tuple[int, ...]:
        """The points of several, each once."""
        return tuple(dict.fromkeys(point for joint in old for point in self.points_of(joint)))

    def structure(self, across: tuple[tuple[int, int], ...]) -> PointStructure:
        """What was put together; `across` are pairs of joints that tell left from right."""
        return PointStructure(
            tuple(self.names),
            tuple(self.parents),
            tuple(self.points),
            across,
            self._found.confidence,
        )

    def partners(self) -> tuple[int, ...]:
        """(joints,) mirror partners by name; a joint's own index on the middle line."""
        return tuple(
            self.names.index(other) if (other := _other_side(name)) in self.names else joint
            for joint, name in enumerate(self.names)
        )


def _other_side(name: str) -> str:
    for side, other in (SIDES, SIDES[::-1]):
        if name.startswith(side):
            return other + name[len(side) :]
    return name
