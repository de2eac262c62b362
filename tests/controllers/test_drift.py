"""Drifted inputs: the motion of a body is scaled, and what it is to do stays the clip's."""

import numpy as np
import pytest
import torch

from deepphase.controllers.data.controller_batches import FrameBatch
from deepphase.controllers.training.drift import Drift
from tests.controllers.made_controllers import samples_for, walking_store


@pytest.fixture(scope="module")
def samples():
    return samples_for("experts", walking_store())


def batch_of(samples, frames=4):
    rows = torch.arange(0, 40)[:, None] + torch.arange(frames)
    arrays = (samples.inputs, samples.gate, samples.outputs)
    return FrameBatch(*(torch.from_numpy(each)[rows] for each in arrays))


def test_motion_up_to_now_is_scaled_by_one_factor_a_sequence(samples):
    torch.manual_seed(0)
    schema, batch = samples.schema, batch_of(samples)
    made = Drift(schema, 1.0)(batch)
    slices, later = schema.inputs.slices, 2 * len(schema.config.later_s)
    velocity = slices["joint_velocity"]
    old, new = batch.inputs.double(), made.inputs.double()
    factors = (new[..., velocity] * old[..., velocity]).sum((1, 2))
    factors /= old[..., velocity].square().sum((1, 2))
    assert 0.2 <= factors.min() < 0.4
    assert 1.1 < factors.max() <= 1.3
    expected = old.clone()
    scaled = [
        velocity,
        slice(slices["trajectory_position"].start, slices["trajectory_position"].stop - later + 2),
        slice(slices["trajectory_velocity"].start, slices["trajectory_velocity"].stop - later + 2),
    ]
    for block in scaled:
        expected[..., block] *= factors[:, None, None]
    np.testing.assert_allclose(new, expected, rtol=1e-4, atol=1e-6)
    ratio = made.gate.norm(dim=2) / batch.gate.norm(dim=2)
    assert (ratio - ratio[:, :1]).abs().max() < 1e-4
    assert (ratio[:, 0] - factors).abs().max() > 0.1
    assert made.outputs is batch.outputs


def test_a_share_of_the_sequences_is_scaled(samples):
    torch.manual_seed(0)
    batch = batch_of(samples, frames=1)
    changed = (Drift(samples.schema, 0.25)(batch).inputs != batch.inputs).any(dim=(1, 2))
    assert 0.1 < changed.double().mean() < 0.4
