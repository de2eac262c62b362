"""Rigs that pose the skeleton of a body, and their distances from a motion by parts of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.roles import Roles, body_parts
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.rig_function import RigFunction


class CharacterRig(RigFunction):
    """Rig function whose joints are those of a skeleton, and its end sites.

    Attributes
    ----------
    skeleton
        Hips first. Offsets are those of the rest pose, in which no joint is turned.
    roles
        Of its joints.
    rest_turns
        (joints, 4) rotations that clips of this body have in the rest pose: quaternions in the
        space of the character.
    """

    skeleton: Skeleton
    roles: Roles
    rest_turns: Array

    @abstractmethod
    def for_own_rest(self) -> CharacterRig:
        """The same rig for clips whose rest pose is that of the rig, as its own clips."""

    @abstractmethod
    def transforms(self, values: Array) -> tuple[Array, Array]:
        """Turns and positions.

        Parameters
        ----------
        values : (poses, controls)

        Returns
        -------
        turns : (poses, joints of the skeleton, 3, 3)
            From the rest pose, in the space of the character.
        positions : (poses, joints, 3) metres
            With the end sites.
        """


class PartResidual(NamedTuple):
    """Distances of the joints of a part, metres."""

    part: str
    mean: float
    largest: float


def part_residuals(rig: CharacterRig, errors: Array) -> list[PartResidual]:
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
    row
        Joint -> the same joint in the other skeleton. Joints without one lose their role.
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
