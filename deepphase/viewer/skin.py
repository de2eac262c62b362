"""The skin of a body in the player: its skeleton, its roles and its rotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.roles import Roles
from deepphase.viewer.checks import check_array

# Fields of `Roles` that are not indices of joints.
_NO_JOINT = ("pairs", "kind", "tail", "notes")


@dataclass(frozen=True, eq=False)
class Skin:
    """The joints that the surface of a body follows: the first ones of an actor's positions.

    Parameters
    ----------
    parents
        (joints,) parent of each joint, -1 for a root; parents stand before their children.
    rotations
        (frames, joints, 4) unit quaternions (x, y, z, w): rotations of the joints in the world.
    kind
        "biped", "quadruped" or "other", as of `Roles`.
    roles
        Role -> index of its joint, as in "left_knee".
    """

    parents: Array
    rotations: Array
    kind: str
    roles: Mapping[str, int]
    tail: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        joints = len(self.parents)
        check_array("rotations", self.rotations, "frames", joints, 4)
        if any(not 0 <= joint < joints for joint in (*self.roles.values(), *self.tail)):
            raise ParameterError(
                f"a role has a joint that is not one of {joints}",
                hint="take the roles of this skeleton",
            )

    @classmethod
    def of_joints(
        cls, parents: Array, rotations: Array, roles: Roles, joints: Sequence[int] | None = None
    ) -> Skin:
        """The skin of a skeleton with rotations in the world, or of some joints in their order."""
        chosen = range(len(parents)) if joints is None else joints
        place = {int(joint): new for new, joint in enumerate(chosen)}
        by_role = {
            name: place[joint]
            for name, joint in vars(roles).items()
            if name not in _NO_JOINT and not name.endswith("_end") and joint in place
        }
        return cls(
            np.array([place.get(int(parents[joint]), -1) for joint in place]),
            rotations[:, list(place)],
            roles.kind,
            by_role,
            tuple(place[joint] for joint in roles.tail if joint in place),
        )
