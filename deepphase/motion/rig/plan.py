"""Which joints a rig of points has, and which joint carries each point."""

from __future__ import annotations

from dataclasses import dataclass

from deepphase.motion.point_tree import PointStructure


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
