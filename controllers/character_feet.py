"""Feet of running characters, held where they stand."""

from __future__ import annotations

import numpy as np

from controllers.schema import ControllerSchema
from deepphase.motion.foot_ik import Limbs, LimbSolver
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.steering.foot_lock import FootLock

Array = np.ndarray
_IN_CONTACT = 0.5


class CharacterFeet:
    """Holds the feet that the network has in contact.

    Parameters
    ----------
    skeleton, schema
        Whose limbs and feet.
    characters
        How many.
    """

    def __init__(self, skeleton: Skeleton, schema: ControllerSchema, characters: int) -> None:
        roles = find_roles(skeleton, description=dict(schema.body))
        every = Limbs.of_skeleton(skeleton, roles)
        columns = {skeleton.index(name): column for column, name in enumerate(schema.feet)}
        known = np.array([int(last) in columns for last in every.last], bool)
        limbs = Limbs(
            *(getattr(every, name)[known] for name in ("upper", "middle", "last", "tips", "bends"))
        )
        self._columns = np.array([columns[int(last)] for last in limbs.last], np.int64)
        self._lock = FootLock(LimbSolver(skeleton, limbs), characters)

    def hold(
        self,
        rotations: Array,
        local_positions: Array,
        contacts: Array,
        angles: Array,
        seconds: float,
    ) -> None:
        """Change the local rotations (characters, joints, 4) so that feet in contact stay.

        Parameters
        ----------
        local_positions : (characters, joints, 3)
            Metres.
        contacts : (characters, feet)
            In [0, 1].
        angles : (characters,)
            Radians: the facing.
        seconds
            Since the frame before.
        """
        left = np.stack([np.cos(angles), np.zeros_like(angles), -np.sin(angles)], axis=1)
        touching = contacts[:, self._columns] > _IN_CONTACT
        self._lock.apply(rotations, local_positions, touching, left, seconds)
