"""Every network in JavaScript against PyTorch: one step, and short runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.apps.live.assets import controller_asset
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.errors import ParameterError
from tests.controllers.made_controllers import samples_for, small_controller, walking_store
from tests.live.node import ask_node, needs_node, python_run, wandering
from tests.live.test_controller_parity import largest_distance, positions_in, positions_of

SIZES = {
    **{name: {"experts": 3, "hidden": 24} for name in ("experts", "mann", "lmp", "no_phase")},
    **{name: {"hidden": 24} for name in ("nn", "nn_phase")},
    "pfnn": {"hidden": 24, "spline": "natural"},
}


@pytest.fixture(scope="module")
def store():
    return walking_store()


def untrained(name: str, store, samples: ControllerSamples | None = None, **sizes) -> Controller:
    """A controller with random weights, whose outputs stay near those of the data."""
    samples = samples or samples_for(name, store)
    controller = small_controller(name, samples, **(SIZES.get(name, {}) | sizes))
    with torch.no_grad():
        for parameter in controller.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    starts = InitialStates.from_samples(samples, np.arange(0, len(samples.inputs), 40))
    config = ControllerConfig.load(
        name, **{f"network.{key}": value for key, value in (SIZES.get(name, {}) | sizes).items()}
    )
    return Controller(config, samples.schema, controller, store.clip(0).skeleton, starts)


def rows_of(controller: Controller, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw inputs and gates about the start states."""
    generator = np.random.default_rng(0)
    starts = controller.starts
    picked = generator.integers(0, len(starts), count)
    inputs = starts.inputs[picked] * generator.uniform(0.8, 1.2, (count, 1)).astype(np.float32)
    return inputs, starts.gate[picked]


def same_steps(controller: Controller, folder) -> None:
    """One step in JavaScript is within 1e-5 of the scale of Python's outputs."""
    inputs, gate = rows_of(controller, 5)
    network = controller.network
    torch.manual_seed(3)
    state, expected, shares = network.network.initial_state(1), [], []
    with torch.inference_mode():
        for row in range(len(inputs)):
            x = torch.from_numpy(inputs[row : row + 1])
            g = torch.from_numpy(gate[row : row + 1])
            outputs, state = network.step(x, g, state)
            expected.append(outputs[0].numpy())
            blend = controller.network.blend_weights(g)
            shares.append(None if blend is None else blend[0].numpy())
    rows = [{"inputs": i, "gate": g} for i, g in zip(inputs, gate, strict=True)]
    asset = controller_asset(controller)
    found = ask_node(folder, asset, "network", rows=rows)
    scale = np.abs(expected).max()
    for step, outputs, blend in zip(found, expected, shares, strict=True):
        assert np.abs(np.array(step["outputs"]) - outputs).max() < 1e-5 * scale
        if blend is None:
            assert step["blend"] is None
        else:
            assert step["blend"] == pytest.approx(blend.tolist(), abs=1e-5)


@needs_node
@pytest.mark.parametrize("name", SIZES)
def test_one_step_is_python_s(name, store, tmp_path):
    same_steps(untrained(name, store), tmp_path)


@needs_node
def test_another_spline_is_python_s(store, tmp_path):
    same_steps(untrained("pfnn", store, spline="catmull_rom", points=5), tmp_path)


@needs_node
@pytest.mark.parametrize("name", ["mann", "pfnn"])
def test_a_second_of_every_gate_is_python_s(name, store, tmp_path):
    controller = untrained(name, store)
    made, goals = python_run(CharacterSource(controller), wandering(60, 1), 60)
    asset = controller_asset(controller)
    frames = ask_node(tmp_path, asset, "run", goals=goals, options={"goal": goals[0]})
    assert largest_distance(positions_of(controller, made), positions_in(frames)) < 1e-3


@needs_node
@pytest.mark.slow
def test_controllers_that_know_the_ground_s_heights_walk_on_a_flat_floor(store, tmp_path):
    schema = samples_for("no_phase", store).schema
    config = replace(schema.config, heights=True)
    schema = schema_of_store(store, "goal", config, channels=2, tracks=None)
    controller = untrained("no_phase", store, ControllerSamples.read(store, schema, None))
    # Starts upon hills.
    inputs = controller.starts.inputs.copy()
    inputs[:, schema.inputs.slices["trajectory_height"]] = 0.5
    starts = replace(controller.starts, inputs=inputs)
    controller = replace(controller, starts=starts)
    made, goals = python_run(CharacterSource(controller), wandering(30, 1), 30)
    asset = controller_asset(controller)
    frames = ask_node(tmp_path, asset, "run", goals=goals, options={"goal": goals[0]})
    assert largest_distance(positions_of(controller, made), positions_in(frames)) < 1e-3


def test_networks_without_a_javascript_form_are_refused(store):
    samples = samples_for("gp", store)
    controller = small_controller("gp", samples)
    starts = InitialStates.from_samples(samples, np.arange(3))
    gp = Controller(
        ControllerConfig.load("gp"), samples.schema, controller, store.clip(0).skeleton, starts
    )
    with pytest.raises(ParameterError, match="has no JavaScript form"):
        controller_asset(gp)
