"""Assembly of a skeleton's joints from points, and of the points attached to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion.skeleton import Skeleton, ancestors, subtree_mask
from deepphase.solving.point_tree import PointStructure

# Points belong to the head if they are below its highest point by at most this share of its
# height over the shoulders.
_HEAD_SHARE = 0.3


def head_joints(
    skeleton: Skeleton, head: int, positions: Array, shoulders: list[int]
) -> tuple[list[int], list[int]]:
    """Joints of the head, the highest first, and joints of its group that do not belong to it.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres.
    """
    same = re.compile(re.escape(skeleton.names[head]) + r"[_ ]?\d+$")
    group = [
        joint
        for joint in np.flatnonzero(subtree_mask(skeleton, head)).tolist()
        if joint == head or (same.match(skeleton.names[joint]) and not skeleton.children(joint))
    ]
    # The group may contain everything above the shoulders; the head is its highest part.
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
# Up to this number of points beyond a knee or elbow are markers on two parts of the limb; more
# points form a tree of joints.
_MAX_MARKERS = 4


def limb_end_joints(
    distal: list[list[int]],
    lengths: list[list[float]],
    uppers: list[float],
    distance: Callable[[int, int], float],
    lasts: tuple[int, int] | None,
    *,
    leg: bool,
) -> list[tuple[list[int], list[int], list[int]]]:
    """Split the distal points of both limbs into those before, at and beyond the ankle or wrist."""
    if any(not limb for limb in distal):
        raise SkeletonError(
            "solving needs a point beyond each knee and elbow",
            hint="use a skeleton description without arms that end at the elbow",
        )
    ordered = [
        [joint for _, joint in sorted(zip(far, limb, strict=True))]
        for far, limb in zip(lengths, distal, strict=True)
    ]
    distances = [
        dict(zip(limb, far, strict=True)) for far, limb in zip(lengths, distal, strict=True)
    ]
    known = lasts is not None and all(
        last in limb for last, limb in zip(lasts, ordered, strict=True)
    )
    if lasts is not None and known and max(map(len, ordered)) > _MAX_MARKERS:
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
            float(np.mean([of_limb[joint] for joint in limb[place]]))
            for of_limb, limb in zip(distances, groups, strict=True)
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
    """Split points from the elbow outwards into two groups at the largest gap."""
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
    """Builder of a skeleton's joints, parents first, and of the points attached to them.

    Attributes
    ----------
    carriers : (points,)
        The joint that each point is attached to; -1 if it is not known yet.
    """

    def __init__(self, found: PointStructure, skeleton: Skeleton, points: int) -> None:
        self._found, self._skeleton = found, skeleton
        self.names: list[str] = []
        self.parents: list[int] = []
        self.points: list[tuple[int, ...]] = []
        self.of_old: dict[int, int] = {}
        self.carriers = np.full(points, -1)

    def add(self, name: str, parent: int, points: tuple[int, ...], *, carried: bool = True) -> int:
        """Add a joint, numbered if its name is in use; a single point is attached to it."""
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
        """Attach points to a joint."""
        self.carriers[list(points)] = joint

    def above(self, old: int) -> int:
        """The new joint of a joint of the structure, or of its nearest ancestor that has one."""
        path = ancestors(self._skeleton, old)
        return next((self.of_old[each] for each in path if each in self.of_old), 0)

    def points_of(self, old: int) -> tuple[int, ...]:
        """The points of a joint of the structure."""
        return self._found.points[old]

    def all_points(self, old: list[int]) -> tuple[int, ...]:
        """The points of several joints of the structure, each once."""
        return tuple(dict.fromkeys(point for joint in old for point in self.points_of(joint)))

    def structure(self, across: tuple[tuple[int, int], ...]) -> PointStructure:
        """The joints as a structure; `across` are (left, right) joints of hips and shoulders."""
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
