"""Source of runs with a controller: characters and the choice of their initial states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.controllers.ball.running_balls import BallSettings
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.errors import ParameterError
from deepphase.features.feature import TRAJECTORY_POSITION, TrajectoryBlocks, complex_of
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.steering.run import Run
from deepphase.terrain.heightmap import Heightmap

# Metres between neighbours.
SPACING_M = 1.5
# All characters but the first start from this share of the states, those nearest to the goals.
_NEAREST_SHARE = 0.25


@brief_repr
@dataclass(frozen=True, eq=False)
class CharacterSource:
    """A controller with the options of a run; see `deepphase.steering.run.RunnerSource`.

    Parameters
    ----------
    controller
        Controller of the characters.
    starts
        Initial states, one for all characters or one each. By default the first character starts
        from the controller's state whose trajectory is nearest to the goals, the others from random
        ones among the nearest, no two from the same.
    labels, settings, ground, balls
        As in `Characters`.
    seed
        Random seed for the initial states of all characters but the first, and for stochastic
        networks.
    """

    controller: Controller
    starts: InitialStates | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    settings: CharacterSettings = field(default_factory=CharacterSettings)
    seed: int = 0
    ground: Heightmap | None = None
    balls: BallSettings | None = None

    @property
    def spacing_m(self) -> float:
        """Metres between characters that start side by side."""
        return SPACING_M

    @property
    def travelling_speed(self) -> float:
        """Median speed in m/s of the frames of the training clips that travel; 0 if none does."""
        return float(self.data.get("travelling_speed", 0.0))

    @property
    def data(self) -> Mapping[str, Any]:
        """Measures of the training clips."""
        return self.controller.data

    def start(self, goal_source: GoalSource, root_states: RootStates) -> Characters:
        """Characters with these root states.

        Raises
        ------
        ParameterError
            As for `Characters`, and if there are neither one initial state nor one for each.
        """
        return Characters(
            self.controller,
            self.initial_states(goal_source, root_states),
            positions=root_states.positions,
            angles=root_states.angles,
            settings=self.settings,
            seed=self.seed,
            labels=self.labels or None,
            ground=self.ground,
            balls=self.balls,
        )

    def initial_states(self, goal_source: GoalSource, root_states: RootStates) -> InitialStates:
        """The initial state of each character."""
        count, starts, controller = len(root_states.angles), self.starts, self.controller
        if starts is not None:
            if len(starts) not in (1, count):
                raise ParameterError(
                    f"there are {len(starts)} initial states for {count} characters",
                    hint="give one for each character, or one for all",
                )
            return starts if len(starts) == count else starts.select(np.zeros(count, np.int64))
        candidates = controller.starts
        wanted = self.labels.get(controller.schema.config.label)
        if wanted is not None:
            candidates = _with_label(candidates, controller, wanted)
        order = np.argsort(
            _misfits(candidates, controller, goal_source, root_states), kind="stable"
        )
        # No two alike, as long as there are as many.
        nearest = order[1 : max(count, round(_NEAREST_SHARE * len(order)))]
        others = np.random.default_rng(self.seed).permutation(nearest)
        return candidates.select(np.resize([order[0], *others], count))

    def columns(self, run: Run, character: int) -> Mapping[str, Sequence[object]]:
        """No further columns; the run contains all values."""
        return {}


def _with_label(starts: InitialStates, controller: Controller, value: str) -> InitialStates:
    try:
        return starts.with_label(controller.schema, value)
    except ParameterError:
        # The file holds only some states, perhaps none with this value.
        if value in controller.schema.label_values:
            return starts
        raise


def _misfits(
    starts: InitialStates, controller: Controller, goal_source: GoalSource, root_states: RootStates
) -> Array:
    """(states,) mean squared distance of each trajectory from the first character's goals."""
    schema = controller.schema
    later = np.array([offset for offset in schema.config.later_s if offset > 0.0])
    desired, _ = goal_source.trajectory(root_states, np.arange(1), later)
    goals = complex_of(desired.reshape(1, -1)) - complex_of(root_states.positions[:1])
    goals = goals * np.exp(1j * root_states.angles[0])
    blocks = TrajectoryBlocks(schema.inputs.slices, len(schema.config.later_s))
    trajectories = blocks.read(starts.inputs, TRAJECTORY_POSITION)
    return np.square(np.abs(trajectories[:, -len(later) :] - goals)).mean(axis=1)
