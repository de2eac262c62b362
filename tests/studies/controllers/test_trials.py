"""Trials on controllers of few neurons, and sensitivity where it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.networks.network import ControllerNetwork
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import measured_data
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.made_paths import MADE_PATHS
from deepphase.steering.path import GroundPath
from deepphase.steering.run import start_on_path, start_under_gamepad
from tests.controllers.made_controllers import samples_for, small_controller, walking_store
from tests.controllers.replaying import as_controller
from tests.studies.controllers.phase_sensitivity import phase_sensitivity
from tests.studies.controllers.trials import path_errors, run_variation, survival, trials

SIZES = {
    "pfnn": {"hidden": 16},
    "vinn": {"hidden": 16, "variational": (1, 2)},
    "experts": {"hidden": 16, "gating_hidden": 8, "experts": 3},
    "nn": {"hidden": 16},
}


def controller_of(name: str) -> Controller:
    """Untrained: it makes some pose, and goes on."""
    store = walking_store()
    samples = samples_for(name, store)
    rows = np.linspace(0, len(samples) - 1, 20).astype(int)
    return Controller(
        ControllerConfig.load(name),
        samples.schema,
        small_controller(name, samples, **SIZES[name]),
        store.skeleton,
        InitialStates.of_samples(samples, rows),
        data=measured_data(store, samples.schema),
    )


@pytest.fixture(scope="module")
def pfnn():
    return controller_of("pfnn")


class Circling(ControllerNetwork):
    """Two outputs go round a circle of radius 3 once a cycle, or twice with two channels."""

    def forward(self, inputs, gate):
        angle = 2 * torch.pi * gate[:, :1]
        if gate.shape[1] > 1:
            angle = torch.atan2(gate[:, :1], gate[:, 1:2]) + torch.atan2(gate[:, 2:3], gate[:, 3:4])
        rest = torch.zeros(len(gate), self.dims.outputs - 2).to(gate)
        return torch.cat([3 * torch.sin(angle), 3 * torch.cos(angle), rest], dim=1)


@pytest.mark.parametrize(("name", "norm"), [("pfnn", 3.0), ("experts", 6.0)])
def test_sensitivity_is_the_slope_that_was_made(name, norm):
    store = walking_store()
    samples = samples_for(name, store)
    starts = InitialStates.of_samples(samples, np.arange(5))
    network = Circling(samples.schema.dims)
    made = as_controller(name, samples.schema, network, store.clip(0), starts)
    found = phase_sensitivity(made)
    assert found.norm == pytest.approx(norm, rel=1e-5)
    assert found.per_output == pytest.approx(norm / np.sqrt(samples.schema.dims.outputs), rel=1e-5)
    assert found.states == 5


def test_what_sees_no_phase_is_not_sensitive_to_it():
    with pytest.raises(ParameterError, match="has no phase input"):
        phase_sensitivity(controller_of("nn"))


def test_noise_does_not_count_as_phase():
    vinn = controller_of("vinn")
    assert 0.0 < phase_sensitivity(vinn).norm < 1e3


@pytest.mark.slow
def test_every_path_is_tried_with_every_blending(pfnn):
    found = path_errors(pfnn, characters=2, seconds=1.0, paths=("wave", "circle"))
    assert [(each.path, each.position_bias) for each in found] == [
        (name, bias) for name in ("wave", "circle") for bias in (0.5, 2.0, 5.0)
    ]
    assert all(np.isfinite([each.nearest_cm, each.clock_cm]).all() for each in found)
    assert all(each.nearest_cm <= each.clock_cm + 1e-6 for each in found)


def test_a_long_run_is_told_part_by_part(pfnn):
    whole, parts = survival(pfnn, minutes=0.1, characters=1, part_s=2.5)
    assert len(parts) == 3
    assert np.average([each.speed for each in parts], weights=[5, 5, 2]) == pytest.approx(
        whole.speed, rel=0.1
    )
    assert whole.survived == 1.0
    assert whole.limb_change < 1e-3
    resting = replace(pfnn, data=dict(pfnn.data) | {"travelling_speed": 0.0})
    with pytest.raises(ParameterError, match="travels"):
        survival(resting, minutes=0.1)


def test_only_what_draws_varies_between_runs(pfnn):
    options = {"runs": 4, "seconds": 0.5, "initial_s": 0.5}
    assert run_variation(pfnn, **options).inter_pose is None
    assert run_variation(controller_of("vinn"), **options).inter_pose > 1e-5


def test_characters_begin_with_the_moment_that_goes_as_the_path_does(pfnn):
    block = pfnn.schema.inputs.slices["trajectory_position"]
    chosen = pfnn.starts.inputs[7]
    offsets = np.array(pfnn.schema.config.offsets_s)
    later = offsets >= 0
    way = GroundPath(offsets[later], chosen[block].reshape(-1, 2)[later], np.zeros(later.sum()))
    source = CharacterSource(pfnn)
    character, goal_source = start_on_path(source, way, characters=3)
    assert len(character) == 3
    np.testing.assert_allclose(character.root_states.positions, goal_source.origins, atol=1e-6)
    begun = source.initial_states(goal_source, character.root_states)
    assert (begun.names[0], begun.frames[0]) == (pfnn.starts.names[7], pfnn.starts.frames[7])
    still = Gamepad(np.array([0.0, 1.0]), np.zeros((2, 2)), np.zeros((2, 2)))
    under, _ = start_under_gamepad(source, still, characters=2)
    assert len(under) == 2
    with pytest.raises(ParameterError, match="characters must be at least 1, not 0"):
        start_on_path(source, way, characters=0)
    with pytest.raises(ParameterError, match="2 initial states"):
        start_on_path(CharacterSource(pfnn, pfnn.starts.select([0, 1])), way, characters=3)


@pytest.mark.slow
def test_the_study_has_every_trial(pfnn):
    found = trials(pfnn, minutes=0.05, seconds=0.5, runs=2)
    assert {each["path"] for each in found["paths"]} == set(MADE_PATHS)
    assert found["long_run"]["survived"] == 1.0
    # A network that draws nothing has no variation between runs, rather than one of 0.
    assert found["variation"]["inter_pose"] is None
    assert found["variation"]["smooth"] > 0.0
    assert found["sensitivity"]["states"] == len(pfnn.starts)
