"""Noise on the trajectory among the inputs of a training."""

import numpy as np
import pytest
import torch

from controllers.config import ControllerConfig, ControllerTraining
from controllers.data.controller_batches import ControllerBatches
from controllers.runtime.future_trajectory import TrajectoryReader
from controllers.training.module import ControllerModule
from controllers.training.path_noise import PathNoise
from deepphase.errors import ParameterError
from deepphase.features.trajectory import TRAJECTORY_BLOCKS, TRAJECTORY_DIRECTION
from tests.controllers.made_controllers import (
    data_of,
    samples_for,
    small_controller,
    walking_store,
)

# Goals and weights of other tests.
_PLAIN = {
    "training.unroll_after": 0.0,
    "training.unroll_goals": False,
    "training.pose_noise": 0.0,
    "training.made_stops": 0.0,
}


@pytest.fixture(scope="module")
def samples():
    return samples_for("experts", walking_store())


def _changed(samples, noise, frames=1, copies=1):
    rows = np.tile(np.asarray(samples.inputs[40]), (copies, frames, 1))
    torch.manual_seed(0)
    return rows, PathNoise(samples.schema, noise).changed(torch.from_numpy(rows)).numpy()


def test_a_changed_path_is_longer_or_shorter_on_an_arc(samples):
    rows, changed = _changed(samples, 0.2, copies=4000)
    reader = TrajectoryReader(samples.schema.inputs, samples.schema)
    before, after = reader.read(rows[:, 0]), reader.read(changed[:, 0])
    factor = np.abs(after.places) / np.abs(before.places)
    # One factor for the whole of a path and its velocities.
    np.testing.assert_allclose(factor, factor[:, :1].repeat(factor.shape[1], 1), rtol=1e-4)
    np.testing.assert_allclose(
        np.abs(after.velocities), factor[:, :1] * np.abs(before.velocities), rtol=1e-4
    )
    assert np.log(factor[:, 0]).std() == pytest.approx(0.2, rel=0.05)
    assert abs(np.log(factor[:, 0]).mean()) < 0.02
    later = np.array([each for each in samples.schema.config.later_s if each > 0.0])
    turning = (after.angles - before.angles) / later
    np.testing.assert_allclose(turning, turning[:, :1].repeat(len(later), 1), atol=1e-4)
    assert turning[:, 0].std() == pytest.approx(0.4, rel=0.05)
    # The place lies on the side to which the facing turns.
    moved = np.angle(after.places[:, -1] / before.places[:, -1])
    np.testing.assert_allclose(moved, -0.5 * (after.angles - before.angles)[:, -1], atol=1e-4)


def test_only_trajectories_change_and_alike_in_all_frames_of_a_row(samples):
    rows, changed = _changed(samples, 0.2, frames=3, copies=2)
    np.testing.assert_allclose(changed[:, 0], changed[:, 2], atol=1e-6)
    assert np.abs(changed[0, 0] - changed[1, 0]).max() > 1e-3
    slices = samples.schema.inputs.slices
    for name, block in slices.items():
        same = np.array_equal(changed[..., block], rows[..., block])
        assert same != (name in TRAJECTORY_BLOCKS), name
    facing = changed[..., slices[TRAJECTORY_DIRECTION]].reshape(-1, 2)
    np.testing.assert_allclose(np.linalg.norm(facing, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("unroll_frames", [1, 3])
def test_training_has_the_noise_and_measurement_has_none(samples, unroll_frames, monkeypatch):
    changes = {"training.path_noise": 0.3, "training.unroll_frames": unroll_frames}
    config = ControllerConfig.load("experts", **changes, **_PLAIN)
    controller = small_controller("experts", samples, hidden=8)
    rows = np.flatnonzero(samples.following(np.arange(len(samples))) >= unroll_frames)[:64]
    batches = ControllerBatches(data_of(samples, rows, rows), config)
    module = ControllerModule(batches, controller)
    seen, outputs = [], controller.network.training_outputs

    def recorded(inputs, gate):
        seen.append(inputs.detach().numpy())
        return outputs(inputs, gate)

    monkeypatch.setattr(controller.network, "training_outputs", recorded)
    sequences = rows[:, None] + np.arange(unroll_frames) if unroll_frames > 1 else rows
    module.training_step(batches.on_after_batch_transfer(torch.from_numpy(sequences), 0))
    raw = (torch.from_numpy(np.asarray(each[rows])) for each in (samples.inputs, samples.gate))
    clean = controller.normalised(*raw)[0].numpy()
    assert len(seen) == unroll_frames
    assert np.abs(seen[0] - clean).max() > 0.1
    module.on_validation_epoch_start()
    seen.clear()
    measured = batches.validation_batch(torch.from_numpy(rows))
    module.validation_step(batches.on_after_batch_transfer(measured, 0))
    np.testing.assert_array_equal(seen[0], clean)


def test_a_negative_noise_is_refused():
    with pytest.raises(ParameterError, match="path_noise"):
        ControllerTraining(path_noise=-0.1)
