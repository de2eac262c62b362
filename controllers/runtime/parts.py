"""Parts of characters beside their bodies: labels, ground, a ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.body_pose import CharacterFeet
from deepphase.controllers.runtime.roots import history_times, past_frames
from deepphase.controllers.schema.config import TRAJECTORY_HEIGHT
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.features.feature import pairs
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.springs import damping_share
from deepphase.terrain.heightmap import SIDES, Heightmap, ground_level, trajectory_heights


@dataclass(frozen=True, eq=False)
class StepInput:
    """What a part sees before the network's step."""

    # place, angle: (characters,) complex metres x + i z and (characters,) radians: the roots.
    place: Array
    angle: Array
    # path, directions: (characters, samples) complex: the whole trajectory relative to the root, in
    # metres, and its facings as unit vectors.
    path: Array
    directions: Array
    # ahead, ahead_angles: (characters, future samples, 2) metres and (characters, future samples)
    # radians, world: the future trajectory.
    ahead: Array
    ahead_angles: Array


@dataclass(frozen=True, eq=False)
class StepResult:
    """What a part sees after the network's step."""

    outputs: Array  # (characters, dims) raw outputs
    # place, angle: (characters,) complex metres and (characters,) radians: the roots after the
    # step.
    place: Array
    angle: Array
    rotations: Array
    translations: Array
    # (characters, 2) bool: feet that may be moved because they swing, left first; None if no foot
    # may.
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


class FlatGround(CharacterPart):
    """The floor of controllers with heights, all of which are 0."""

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`: the heights."""
        count, samples = now.path.shape
        return {TRAJECTORY_HEIGHT: np.zeros((count, SIDES * samples), np.float32)}


class UnevenGround(CharacterPart):
    """Ground whose heights the network sees."""

    def __init__(self, ground: Heightmap, feet: CharacterFeet) -> None:
        self._ground, self._feet = ground, feet

    @property
    def spec(self) -> dict[str, Any]:
        return {"ground": self._ground, "soles": self._feet.soles}

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`: heights of the ground along the trajectory."""
        turn = np.exp(-1j * now.angle)[:, None]
        found = trajectory_heights(
            self._ground,
            pairs(now.place[:, None] + now.path * turn),
            pairs(now.directions * turn),
            self.level(now.place, now.angle),
        )
        return {TRAJECTORY_HEIGHT: found.reshape(len(now.place), -1)}

    def level(self, place: Array, angle: Array) -> Array:
        """As `CharacterPart.level`: `ground_level` at the roots."""
        directions = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
        return ground_level(self._ground, pairs(place), directions)


class DesiredLabels(CharacterPart):
    """The label of each character, which approaches the desired one.

    `inputs` (characters, dims) raw inputs of the initial states. `halflife_s`: half-life of a
    change in seconds; 0 changes it at once.
    """

    def __init__(self, schema: ControllerSchema, inputs: Array, halflife_s: float) -> None:
        self._name, self._values = schema.config.label, schema.label_values
        self._share = 1.0
        if halflife_s > 0:
            self._share = damping_share(halflife_s, 1.0 / schema.fps)
        self._later = len(schema.config.later_s)
        self.current = np.zeros((len(inputs), 0), np.float32)
        if self._name:
            block = inputs[:, schema.inputs.slices[self._name]]
            every = block.reshape(len(inputs), len(schema.config.offsets_s), -1)
            self.current = np.array(every[:, -self._later], np.float32)
        self._nearest = past_frames(schema)
        self._history = np.repeat(self.current[None], len(history_times(schema)), axis=0)
        self._now = len(self._history) - 1
        self._goals = self.current.copy()
        self._last: list[Mapping[str, str]] | None = None

    def set_goals(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Set the desired labels of each character; characters without one keep their label."""
        if labels == self._last:
            return
        self._last = list(labels)
        for character, desired in enumerate(labels):
            for name, value in desired.items():
                if name != self._name:
                    raise ParameterError(
                        f"the goals have the label {name!r}, the controller "
                        + (f"{self._name!r}" if self._name else "none"),
                        hint="use a label that the controller was trained with",
                    )
                if value not in self._values:
                    raise ParameterError(
                        f"{name} {value!r} is not among the controller's labels",
                        hint=f"known: {', '.join(self._values)}",
                    )
                self._goals[character] = 0.0
                self._goals[character, self._values.index(value)] = 1.0

    @property
    def goal_values(self) -> Sequence[str]:
        """(characters,) desired values; empty texts without a label."""
        if not self._values:
            return ("",) * len(self._goals)
        return [self._values[label] for label in self._goals.argmax(axis=1).tolist()]

    def goals(self, goal_source: GoalSource) -> GoalSource:
        """As `CharacterPart.goals`; takes over the desired labels."""
        self.set_goals(goal_source.labels())
        return goal_source

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`; the label goes on towards the desired one."""
        if not self._values:
            return {}
        self.current = self.current + np.float32(self._share) * (self._goals - self.current)
        count, values = self.current.shape
        past = self._history[(self._now + self._nearest) % len(self._history)].swapaxes(0, 1)
        later = np.broadcast_to(self.current[:, None], (count, self._later, values))
        return {self._name: np.concatenate([past, later], axis=1).reshape(count, -1)}

    def step(self, made: StepResult) -> dict[str, Array]:
        """As `CharacterPart.step`: the track of the desired values."""
        if not self._values:
            return {}
        self._now = (self._now + 1) % len(self._history)
        self._history[self._now] = self.current
        return {"desired_label": np.array(self.goal_values)}


def labels_of_each(labels: Mapping[str, str | Sequence[str]], count: int) -> list[dict[str, str]]:
    """The labels of each character, from one value for all or a value for each."""
    for name, value in labels.items():
        if not isinstance(value, str) and len(value) != count:
            raise ParameterError(
                f"there are {len(value)} values of {name} for {count} characters",
                hint="give one value for each character, or one text for all",
            )
    return [
        {name: value if isinstance(value, str) else value[i] for name, value in labels.items()}
        for i in range(count)
    ]
