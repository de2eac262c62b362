"""Unrolled training in stages, goals in unrolled frames, and their loss terms."""

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_batches import ControllerBatches
from deepphase.controllers.runtime.network_input import TrajectoryBlend, TrajectoryReader
from deepphase.controllers.training import module as training_module
from deepphase.controllers.training.closed_loop import ClipGoals, RootOffset
from deepphase.controllers.training.health import RecordedGoals
from deepphase.controllers.training.module import ControllerModule
from deepphase.features.feature import TRAJECTORY_BLOCKS, pairs
from deepphase.steering.goal_limits import GoalLimits
from deepphase.steering.goal_sources import RootStates
from tests.controllers.made_controllers import data_of, small_controller


def _goals_and_rows(samples, rows):
    goals = ClipGoals(samples.schema)
    inputs = torch.from_numpy(samples.inputs[rows])
    outputs = torch.from_numpy(samples.outputs[rows])
    return goals, inputs, outputs


def test_a_network_that_repeats_the_clip_stays_on_its_root(samples):
    rows = np.array([5, 100])
    goals, inputs, outputs = _goals_and_rows(samples, rows)
    offset = RootOffset(torch.tensor([0.1 + 0.2j, 0.3j]), torch.tensor([0.2, -0.1]))
    after = goals.moved(RootOffset.none(2, inputs.device), outputs, goals.steps(outputs))
    assert float(goals.mean_square([after])) < 1e-12
    # A body elsewhere that makes the same steps in its own axes keeps its distance.
    moved = goals.moved(offset, outputs, goals.steps(outputs))
    turn = outputs[:, samples.schema.outputs.slices["root_turn"]][:, 0] / samples.schema.fps
    assert moved.angle.allclose(offset.angle)
    assert float(turn.abs().max()) > 0


def test_the_seen_trajectory_is_the_clips_from_where_the_body_is(samples):
    rows = np.array([5, 100])
    goals, inputs, _ = _goals_and_rows(samples, rows)
    place, angle = np.array([0.1 + 0.2j, 0.3j]), np.array([0.2, -0.1])
    offset = RootOffset(
        torch.from_numpy(place).to(torch.complex64), torch.from_numpy(angle).float()
    )
    seen = goals.seen(inputs, offset).numpy()
    reader = TrajectoryReader(samples.schema.inputs, samples.schema)
    recorded, own = reader.read(inputs.numpy()), reader.read(seen)
    np.testing.assert_allclose(
        own.places, (recorded.places - place[:, None]) * np.exp(1j * angle)[:, None], atol=1e-5
    )
    np.testing.assert_allclose(own.angles, recorded.angles - angle[:, None], atol=1e-5)
    np.testing.assert_allclose(
        own.velocities, recorded.velocities * np.exp(1j * angle)[:, None], atol=1e-5
    )
    slices = samples.schema.inputs.slices
    kept = [name for name in slices if name not in TRAJECTORY_BLOCKS]
    for name in kept:
        np.testing.assert_array_equal(seen[:, slices[name]], inputs.numpy()[:, slices[name]])


def test_goals_are_blended_as_running_characters_blend_them(samples):
    schema, rows = samples.schema, np.array([5, 100])
    goals, inputs, outputs = _goals_and_rows(samples, rows)
    weights = goals.weights(torch.full((2, 1), 0.5), torch.full((2, 1), 2.0))
    made = goals.blended(outputs, inputs, weights)
    blend = TrajectoryBlend(schema, 0.5, 2.0, GoalLimits.from_top_speed(10.0))
    recorded = TrajectoryReader(schema.inputs, schema).read(inputs.numpy())
    predicted = TrajectoryReader(schema.outputs, schema).read(outputs.numpy())

    class Recorded(RecordedGoals):
        def trajectory(self, root_states, which, offsets_s):
            # Three moments for every sample, as `TrajectoryBlend` asks for velocities.
            count = recorded.places.shape[1]
            step = (recorded.velocities[:, 1:] / schema.fps)[which]
            here = recorded.places[which]
            places = np.concatenate([here, here - step, here + step], axis=1)
            angles = np.tile(recorded.angles[which], (1, 3))
            assert len(offsets_s) == 3 * count
            return pairs(places), angles

    source = Recorded(np.zeros((2, 2, 2)), np.zeros((2, 2)), schema.fps)
    states = RootStates(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    expected, *_ = blend.blended(predicted, source, states)
    found = TrajectoryReader(schema.outputs, schema).read(made.numpy())
    np.testing.assert_allclose(found.places, expected.places, atol=1e-5)
    np.testing.assert_allclose(found.angles, expected.angles, atol=1e-5)
    np.testing.assert_allclose(found.velocities, expected.velocities, atol=1e-5)
    slices = schema.outputs.slices
    for name in slices:
        if name not in TRAJECTORY_BLOCKS:
            assert torch.equal(made[:, slices[name]], outputs[:, slices[name]])


def test_the_root_term_is_the_velocity_error_and_teaches_the_root(samples, monkeypatch):
    changes = {"training.unroll_frames": 2, "training.unroll_goals": True, "network.dropout": 0.0}
    rows = np.arange(len(samples) - 2)
    losses, gradients = [], []
    for weight in (0.0, 2.0):
        monkeypatch.setattr(training_module, "_ROOT_WEIGHT", weight)
        config = ControllerConfig.load("experts", **changes)
        batches = ControllerBatches(data_of(samples, rows, rows[:40]), config)
        controller = small_controller("experts", samples, hidden=8, dropout=0.0)
        module = ControllerModule(batches, controller).train()
        batch = batches.on_after_batch_transfer(torch.tensor([[5, 6], [100, 101]]), 0)
        torch.manual_seed(0)
        loss = module.training_step(batch)
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(controller.network.layer_out.bias.grad.clone())
    assert losses[1] > losses[0]
    changed = (gradients[1] - gradients[0]).abs().sum(0) > 0
    slices = samples.schema.outputs.slices
    assert changed[slices["root_velocity"]].all()
    assert changed[slices["root_turn"]].all()


def test_feet_that_step_as_the_clips_have_no_error_and_those_that_glide_have_theirs(samples):
    rows = np.array([5, 100, 150])
    inputs, outputs = (torch.from_numpy(each[rows]) for each in (samples.inputs, samples.outputs))
    goals = ClipGoals(samples.schema)
    assert float(goals.feet_error(inputs, outputs, inputs, outputs)) < 1e-9
    # Feet on the floor of a body that goes on, and whose pose is still, glide with its root.
    slices = samples.schema.outputs.slices
    still = outputs.clone()
    place = samples.schema.inputs.slices["joint_position"]
    still[:, slices["joint_position"]] = inputs[:, place]
    still[:, slices["root_turn"]] = 0.0
    stands = still.clone()
    stands[:, slices["root_velocity"]] = 0.0
    stands[:, slices["contact"]] = torch.tensor([1.0, 0.0])
    speeds = still[:, slices["root_velocity"]].square().sum(1)
    found = goals.feet_error(inputs, still, inputs, stands)
    assert float(found) == pytest.approx(0.5 * float(speeds.mean()), rel=1e-4)
