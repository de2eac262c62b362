"""Raw values in and out of a network."""

import numpy as np
import pytest
import torch

from deepphase.controllers.networks.normalised import normalisation_of
from deepphase.features.layout import Feature, FeatureLayout
from tests.controllers.made_controllers import samples_for, small_controller, walking_store


def test_cycles_stay_and_pieces_add_up():
    layout = FeatureLayout(
        Feature("phase", kind="track", channels=1, unit="cycles"),
        Feature("speed", kind="track", channels=2, unit="m/s", weight=0.1),
    )
    rows = np.random.default_rng(0).uniform(0, 1, (40_000, 3)).astype(np.float32)
    rows[:, 1:] = 5 + 2 * rows[:, 1:]
    found = normalisation_of(layout, np.split(rows, 3_000 * np.arange(1, 13)))
    assert (found.mean[0], found.scale[0]) == (0.0, 1.0)
    np.testing.assert_allclose(found(rows)[:, 0], rows[:, 0])
    np.testing.assert_allclose(found(rows)[:, 1:].mean(), 0, atol=1e-3)
    np.testing.assert_allclose(found(rows)[:, 1:].std(), 0.1, rtol=1e-2)
    assert len(normalisation_of(None, [rows]).mean) == 0


@pytest.mark.parametrize("residual", [0.0, 0.9, 1.0])
def test_a_perfect_network_gives_the_raw_values_back(residual):
    samples = samples_for("pfnn", walking_store(), pose_residual=residual)
    made = small_controller("pfnn", samples, hidden=8)
    inputs, gate, outputs = (
        torch.from_numpy(each[:50]) for each in (samples.inputs, samples.gate, samples.outputs)
    )
    seen = []
    made.network.forward = lambda x, g: seen.append((x, g)) or made.target(outputs, inputs)
    torch.testing.assert_close(made(inputs, gate), outputs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(seen[0][1], gate)
    expected = samples.normalisations()[0](inputs.numpy())
    torch.testing.assert_close(seen[0][0], torch.from_numpy(expected), atol=1e-5, rtol=1e-5)


def test_a_pose_is_predicted_relative_to_a_share_of_the_current_one():
    store = walking_store()
    samples = samples_for("experts", store, pose_residual=0.8)
    whole = samples_for("experts", store, pose_residual=0.0)
    np.testing.assert_array_equal(samples.outputs, whole.outputs)
    made = small_controller("experts", samples, hidden=8)
    inputs, gate = (torch.from_numpy(each[:20]) for each in (samples.inputs, samples.gate))
    made.network.forward = lambda x, g: torch.zeros(len(x), samples.schema.outputs.dims)
    found = made(inputs, gate).numpy()
    rest = samples.normalisations()[2].mean
    inside, outside = samples.schema.inputs.slices, samples.schema.outputs.slices
    for name, block in outside.items():
        expected = np.broadcast_to(rest[block], found[:, block].shape)
        if name in ("joint_position", "joint_velocity", "joint_rotation"):
            expected = expected + 0.8 * samples.inputs[:20, inside[name]]
        np.testing.assert_allclose(found[:, block], expected, atol=1e-5)
    # What is left to predict varies less than the pose, and is normalised by itself.
    block = outside["joint_position"]
    scale, former = (each.normalisations()[2].scale[block][0] for each in (samples, whole))
    assert scale > 2.0 * former
    normalised = made.target(torch.from_numpy(samples.outputs), torch.from_numpy(samples.inputs))
    assert float(normalised[:, block].std(0).mean()) == pytest.approx(1.0, rel=0.01)
