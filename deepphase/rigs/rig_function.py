"""Rig functions: joints of a character as a function of the controls of its rig."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.short_repr import counted, short_repr

# Poses that one call of a Jacobian evaluates at once.
_BATCH = 16_384


@dataclass(frozen=True)
class Control:
    """One number that an animator sets.

    Parameters
    ----------
    name
        Unique in its rig, such as "LeftArm.rx".
    unit
        "rad", "m", or "1" (a share or factor).
    rest, lower, upper
        Value in the rest pose, and the limits.
    """

    name: str
    unit: str = "rad"
    rest: float = 0.0
    lower: float = -np.pi
    upper: float = np.pi


class RigFunction(ABC):
    """Positions of joints as a function of controls, which may be slow and unknown inside.

    Positions are in the space of the character: metres, Y up, on the ground below the hips and
    along the facing, both of which are the placement of the character and no controls.

    Attributes
    ----------
    controls, names
        With unique names.
    joints
        Names of the joints.
    rest, lower, upper
        (controls,) values of the rest pose, and the limits.

    References
    ----------
    Holden 2017, section 3.4.
    """

    def __init__(self, controls: Sequence[Control], joints: Sequence[str]) -> None:
        self.controls, self.joints = tuple(controls), tuple(joints)
        self.names = tuple(control.name for control in self.controls)
        self.rest, self.lower, self.upper = np.array(
            [(control.rest, control.lower, control.upper) for control in self.controls]
        ).T
        if len(set(self.names)) < len(self.names):
            raise ParameterError("two controls have the same name", hint="give each its own name")

    def __repr__(self) -> str:
        return short_repr(
            self, counted(len(self.controls), "control"), counted(len(self.joints), "joint")
        )

    def index(self, name: str) -> int:
        """Index of the control of a name. Raises ParameterError if there is none."""
        if name not in self.names:
            raise ParameterError(
                f"there is no control {name!r} in this rig",
                hint="its `names` lists those that it has; keys of another rig do not fit",
            )
        return self.names.index(name)

    def evaluate(self, values: Array) -> Array:
        """Positions (poses, joints, 3) in metres of values (poses, controls).

        Raises ParameterError if the values have another shape.
        """
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != len(self.controls):
            raise ParameterError(
                f"values must be (poses, {len(self.controls)} controls), not {values.shape}",
                hint="give a row of all controls for each pose",
            )
        return self._positions(values)

    @abstractmethod
    def _positions(self, values: Array) -> Array:
        """(poses, joints, 3) of values (poses, controls)."""

    def jacobian(
        self,
        values: Array,
        columns: Array | None = None,
        *,
        step: float = 1e-4,
        positions: Array | None = None,
    ) -> Array:
        """Derivative (poses, 3 joints, columns) of the positions, by finite differences.

        Parameters
        ----------
        values : (poses, controls)
        columns
            Indices of the controls; all by default.
        step
            In the units of the controls.
        positions : (poses, joints, 3), optional
            Of the values: then differences are taken ahead only, by half as many evaluations, else
            on both sides.
        """
        values = np.asarray(values, np.float64)
        columns = np.arange(len(self.controls)) if columns is None else np.asarray(columns)
        moves = np.zeros((len(columns), values.shape[1]))
        moves[np.arange(len(columns)), columns] = step
        found = np.empty((len(values), 3 * len(self.joints), len(columns)))
        count = max(1, _BATCH // max(2 * len(columns), 1))

        def moved(poses: Array, moves: Array) -> Array:
            both = poses[:, None] + moves
            joints = self.evaluate(both.reshape(-1, values.shape[1]))
            return joints.reshape(*both.shape[:2], -1)

        for start in range(0, len(values), count):
            poses = values[start : start + count]
            ahead = moved(poses, moves)
            if positions is None:
                change = (ahead - moved(poses, -moves)) / (2.0 * step)
            else:
                base = positions[start : start + count].reshape(len(poses), 1, -1)
                change = (ahead - base) / step
            found[start : start + count] = change.swapaxes(1, 2)
        return found
