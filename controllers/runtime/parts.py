"""Parts of characters beside their bodies: labels, ground, a ball."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepphase.arrays import Array
from deepphase.steering.goal_sources import GoalSource


@dataclass(frozen=True, eq=False)
class StepInput:
    """What a part sees before the network's step.

    Parameters
    ----------
    place, angle
        (characters,) complex metres x + i z and (characters,) radians: the roots.
    path, directions
        (characters, samples) complex: the whole trajectory relative to the root, in metres, and
        its facings as unit vectors.
    ahead, ahead_angles
        (characters, future samples, 2) metres and (characters, future samples) radians, world: the
        future trajectory.
    """

    place: Array
    angle: Array
    path: Array
    directions: Array
    ahead: Array
    ahead_angles: Array


@dataclass(frozen=True, eq=False)
class StepResult:
    """What a part sees after the network's step.

    Parameters
    ----------
    outputs
        (characters, dims) raw outputs.
    place, angle
        (characters,) complex metres and (characters,) radians: the roots after the step.
    swinging
        (characters, 2) bool: feet that may be moved because they swing, left first; None if no foot
        may.
    """

    outputs: Array
    place: Array
    angle: Array
    rotations: Array
    translations: Array
    swinging: Array | None


class CharacterPart:
    """Base class of the parts of `Characters`; by default a part changes nothing.

    In every step of the characters the methods are called in the order in which they stand here. A
    part holds the state of all characters, arrays (characters, ...).
    """

    @property
    def spec(self) -> Mapping[str, Any]:
        """Fields of `RunnerSpec` that runs of the characters have."""
        return {}

    def goals(self, goal_source: GoalSource) -> GoalSource:
        """The goals of this step, from those that the characters are given."""
        return goal_source

    def blocks(self, now: StepInput) -> Mapping[str, Array]:
        """Name -> (characters, values): the part's blocks of the network's inputs and gate."""
        return {}

    def level(self, place: Array, angle: Array) -> Array | None:
        """(characters,) metres that bodies stand over 0; None on the flat floor."""
        return None

    @property
    def foot_offsets(self) -> Array | None:
        """(characters, 2, 2) metres, x and z, by which feet are moved before they are locked."""
        return None

    def step(self, made: StepResult) -> Mapping[str, Array]:
        """Advance by one frame; name -> (characters, ...): tracks of the frame."""
        return {}
