"""Characters of a controller as a source of runs: which moment each starts with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from controllers.data.initial_states import InitialStates
from controllers.runtime.characters import Characters
from controllers.runtime.controller import Controller
from controllers.runtime.frame import CharacterSettings
from controllers.runtime.obstacles import Obstacles
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.trajectory import TRAJECTORY_POSITION, TrajectoryBlocks, complex_of
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Run

# Metres between neighbours.
APART_M = 1.5
# Characters after the first start with one of this share of moments, those nearest to the goals.
_FITTING = 0.25


@dataclass(frozen=True, eq=False)
class CharacterSource:
    """A controller with the options of a run; see `deepphase.steering.run.RunnerSource`.

    Parameters
    ----------
    controller
        What moves the characters.
    starts
        Moments to start with, one for all or one each. Without them the first character starts
        with the controller's moment whose trajectory is nearest to the goals, the others with
        one of those near to it.
    labels, settings, obstacles
        As `Characters` has them.
    seed
        Random seed for the moments of all characters but the first, and for stochastic networks.
    """

    controller: Controller
    starts: InitialStates | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    settings: CharacterSettings = field(default_factory=CharacterSettings)
    obstacles: Obstacles | None = None
    seed: int = 0

    @property
    def spacing_m(self) -> float:
        """Metres between characters that start side by side."""
        return APART_M

    @property
    def travelling_speed(self) -> float:
        """Median speed in m/s of the training clips' motion that travels; 0 where none does."""
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
            As `Characters` does, and where there are neither one moment nor one for each.
        """
        return Characters(
            self.controller,
            self.moments(goal_source, root_states),
            positions=root_states.positions,
            angles=root_states.angles,
            settings=self.settings,
            seed=self.seed,
            labels=self.labels or None,
            obstacles=self.obstacles,
        )

    def moments(self, goal_source: GoalSource, root_states: RootStates) -> InitialStates:
        """The moment that each character starts with."""
        count, starts, controller = len(root_states.angles), self.starts, self.controller
        if starts is not None:
            if len(starts) not in (1, count):
                raise ParameterError(f"{len(starts)} moments to start with for {count} characters")
            return starts if len(starts) == count else starts.of(np.zeros(count, np.int64))
        known = controller.starts
        wanted = self.labels.get(controller.schema.config.label)
        if wanted is not None:
            known = _with_label(known, controller, wanted)
        order = np.argsort(_misfits(known, controller, goal_source, root_states), kind="stable")
        fitting = order[: max(1, round(_FITTING * len(order)))]
        rows = np.random.default_rng(self.seed).choice(fitting, count)
        rows[0] = order[0]
        return known.of(rows)

    def columns(self, run: Run, character: int) -> Mapping[str, Sequence[object]]:
        """None: all that a controller makes stands in the run."""
        return {}


def _with_label(starts: InitialStates, controller: Controller, value: str) -> InitialStates:
    try:
        return starts.with_label(controller.schema, value)
    except ParameterError:
        # The file keeps only some moments: perhaps none of a known label.
        if value in controller.schema.label_values:
            return starts
        raise


def _misfits(
    starts: InitialStates, controller: Controller, goal_source: GoalSource, root_states: RootStates
) -> Array:
    """(moments,) mean squared metres between each one's trajectory and the first one's goals."""
    schema = controller.schema
    later = np.array([offset for offset in schema.config.later_s if offset > 0.0])
    desired, _ = goal_source.trajectory(root_states, np.arange(1), later)
    ahead = complex_of(desired.reshape(1, -1)) - complex_of(root_states.positions[:1])
    ahead = ahead * np.exp(1j * root_states.angles[0])
    blocks = TrajectoryBlocks(schema.inputs.slices, len(schema.config.later_s))
    went = blocks.read(starts.inputs, TRAJECTORY_POSITION)
    return np.square(np.abs(went[:, -len(later) :] - ahead)).mean(axis=1)
