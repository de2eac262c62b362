"""Rig functions: joints of a character as a function of the controls of its rig."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.short_repr import counted, short_repr

UNITS = ("rad", "m", "1")
# Step of finite differences, in radians, metres or shares.
STEP = 1e-4
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

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ParameterError(
                f"control {self.name!r} has the unknown unit {self.unit!r}",
                hint=f"units are {', '.join(UNITS)}",
            )
        if not self.lower <= self.rest <= self.upper:
            raise ParameterError(
                f"control {self.name!r} rests at {self.rest}, outside of its limits "
                f"{self.lower} to {self.upper}",
                hint="give a rest value between the limits",
            )


class RigFunction(ABC):
    """Positions of joints as a function of controls, which may be slow and unknown inside.

    Positions are in the space of the character: metres, Y up, on the ground below the hips and
    along the facing, both of which are the placement of the character and no controls.

    Parameters
    ----------
    controls
        With unique names.
    joints
        Names of the joints.

    References
    ----------
    Holden 2017, section 3.4.
    """

    def __init__(self, controls: Sequence[Control], joints: Sequence[str]) -> None:
        self.controls, self.joints = tuple(controls), tuple(joints)
        names = self.names
        if not names or not self.joints:
            raise ParameterError(
                f"a rig needs a control and a joint, but has {len(names)} and {len(self.joints)}",
                hint="name at least one of each",
            )
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ParameterError(
                f"controls occur twice: {', '.join(twice)}", hint="give each control its own name"
            )

    def __repr__(self) -> str:
        return short_repr(
            self, counted(len(self.controls), "control"), counted(len(self.joints), "joint")
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(controls,) names."""
        return tuple(control.name for control in self.controls)

    @cached_property
    def rest(self) -> Array:
        """(controls,) values of the rest pose."""
        return np.array([control.rest for control in self.controls])

    @cached_property
    def lower(self) -> Array:
        """(controls,) lower limits."""
        return np.array([control.lower for control in self.controls])

    @cached_property
    def upper(self) -> Array:
        """(controls,) upper limits."""
        return np.array([control.upper for control in self.controls])

    def index(self, name: str) -> int:
        """Index of the control of a name. Raises ParameterError if there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ParameterError(
                f"there is no control {name!r} in this rig",
                hint="its `names` lists those that it has; keys of another rig do not fit",
            ) from None

    def evaluate(self, values: Array) -> Array:
        """Positions of the joints.

        Parameters
        ----------
        values : (poses, controls)

        Returns
        -------
        (poses, joints, 3) metres.

        Raises
        ------
        ParameterError
            If the values are not (poses, controls).
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
        step: float = STEP,
        positions: Array | None = None,
    ) -> Array:
        """Derivative of the positions by the controls, by finite differences.

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

        Returns
        -------
        (poses, 3 joints, columns)
        """
        values = np.asarray(values, np.float64)
        columns = np.arange(len(self.controls)) if columns is None else np.asarray(columns)
        found = np.empty((len(values), 3 * len(self.joints), len(columns)))
        count = max(1, _BATCH // max(2 * len(columns), 1))
        moves = np.zeros((len(columns), values.shape[-1]))
        moves[np.arange(len(columns)), columns] = step
        for start in range(0, len(values), count):
            part = slice(start, min(start + count, len(values)))
            ahead = self._moved(values[part], moves)
            if positions is None:
                change = (ahead - self._moved(values[part], -moves)) / (2.0 * step)
            else:
                base = np.asarray(positions[part]).reshape(ahead.shape[0], 1, -1)
                change = (ahead - base) / step
            found[part] = change.swapaxes(1, 2)
        return found

    def _moved(self, values: Array, moves: Array) -> Array:
        """(poses, moves, 3 joints) positions of values (poses, controls) after each move."""
        both = values[:, None] + moves
        joints = self.evaluate(both.reshape(-1, values.shape[-1]))
        return joints.reshape(*both.shape[:2], -1)
