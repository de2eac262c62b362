"""The joints of a rig while they are put together, and the points that each carries."""

from __future__ import annotations

import numpy as np

from deepphase.motion.limbs import ancestors
from deepphase.motion.point_tree import PointStructure
from deepphase.motion.skeleton import Skeleton

SIDES = ("Left", "Right")


class RigJoints:
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
            self._found.sureness,
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
