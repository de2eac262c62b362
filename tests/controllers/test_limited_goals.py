"""Goals beyond what the training clips can do: characters live, come back, and it is counted."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.network_input import (
    blended_angles,
    blended_positions,
    desired_weights,
)
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import values_by_name
from deepphase.evaluation.run_measures import measure
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout, start_on_path
from tests.steering.absurd_goals import AbsurdGoals, every_kind


@pytest.fixture(scope="module")
def controller() -> Controller:
    return Controller.load(CONTROLLER)


def started(controller: Controller, count: int):
    source = CharacterSource(controller)
    path = made_path("wave", source.travelling_speed, 10.0)
    return start_on_path(source, path, characters=count)


def test_characters_come_back_from_absurd_goals(controller):
    sizes, frames = every_kind()
    characters, goals = started(controller, len(sizes))
    run = rollout(characters, AbsurdGoals(goals, sizes, frames), 3.5)
    speeds = np.linalg.norm(np.diff(run.positions, axis=1), axis=-1) * run.fps
    assert run.alive.all()
    assert speeds.max() < 2.0 * controller.data["top_speed"]
    assert speeds[:, -60:].max() < 1.5 * controller.data["top_speed"]
    # A goal may lie to the side for some frames after, where the clips do not go.
    longer = run.limited[:, :100].sum(axis=1) - frames
    assert ((longer >= 0) & (longer <= 15)).all()
    measures = values_by_name(measure(run, controller.data))
    assert measures["limited_goals"] == pytest.approx(run.limited.mean())
    assert measures["limited_goals"] > 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_goals_that_are_not_finite_are_refused(controller, value):
    characters, goals = started(controller, 1)
    with pytest.raises(ParameterError, match="not finite"):
        rollout(characters, AbsurdGoals(goals, [value], [1], begin=0), 0.1)


def test_blending_goes_from_the_prediction_to_the_wish():
    weights = desired_weights(6, 2.0)
    assert weights[-1] == 1.0
    assert (np.diff(weights) > 0).all()
    assert (desired_weights(6, 0.5)[:-1] < weights[:-1]).all()
    predicted = np.stack([np.zeros(4), np.arange(1, 5.0)], 1)
    desired = np.stack([np.arange(1, 5.0), np.zeros(4)], 1)
    blended = blended_positions(predicted, desired, 1.0)
    np.testing.assert_allclose(blended[0], 0.75 * predicted[0] + 0.25 * desired[0])
    np.testing.assert_allclose(blended[-1] - blended[-2], [1.0, 0.0])
    np.testing.assert_allclose(blended_positions(predicted, predicted, 0.7), predicted)
    turned = blended_angles(np.full(2, 3.0), np.full(2, -3.0), 1.0)
    np.testing.assert_allclose(turned, [np.pi, 2 * np.pi - 3.0])
    with pytest.raises(ParameterError):
        desired_weights(0, 1.0)
