"""Drifted inputs: the motion of a body is scaled, and what it is to do stays the clip's."""

import numpy as np
import torch

from deepphase.controllers.data.controller_batches import FrameBatch
from deepphase.controllers.training.closed_loop import Drift


def batch_of(samples, frames=4):
    rows = torch.arange(0, 40)[:, None] + torch.arange(frames)
    arrays = (samples.inputs, samples.gate, samples.outputs)
    return FrameBatch(*(torch.from_numpy(each)[rows] for each in arrays))


def test_motion_is_scaled_by_one_factor_a_sequence_and_ahead_the_less_the_farther(samples):
    torch.manual_seed(0)
    schema, batch = samples.schema, batch_of(samples)
    made = Drift(schema, 1.0)(batch)
    slices, ahead = schema.inputs.slices, 2 * (len(schema.config.later_s) - 1)
    velocity = slices["joint_velocity"]
    old, new = batch.inputs.double(), made.inputs.double()
    factors = (new[..., velocity] * old[..., velocity]).sum((1, 2))
    factors /= old[..., velocity].square().sum((1, 2))
    assert 0.1 <= factors.min() < 0.3
    assert 1.3 < factors.max() <= 1.5
    expected = old.clone()
    blocks = [slices["trajectory_position"], slices["trajectory_velocity"]]
    for block in (velocity, *(slice(each.start, each.stop - ahead) for each in blocks)):
        expected[..., block] *= factors[:, None, None]
    later = [slice(each.stop - ahead, each.stop) for each in blocks]
    for block in later:
        # In the first frame alone: that of the others is a goal.
        speeds = [
            torch.diff(
                each[:, 0, block].unflatten(1, (-1, 2)), dim=1, prepend=torch.zeros(40, 1, 2)
            )
            if block is later[0]
            else each[:, 0, block].unflatten(1, (-1, 2))
            for each in (old, new)
        ]
        shares = (speeds[1] * speeds[0]).sum(2) / speeds[0].square().sum(2)
        far = (shares - factors[:, None]) / (1.0 - factors[:, None])
        assert (far.diff(dim=1) > -1e-3).all()
        assert (far[:, -1] - 1.0).abs().max() < 1e-3
        assert far[:, 0].min() < 0.1 < 0.5 < far[:, 0].max()
        expected[:, 0, block] = new[:, 0, block]
    np.testing.assert_allclose(new, expected, rtol=1e-4, atol=1e-6)
    ratio = made.gate.norm(dim=2) / batch.gate.norm(dim=2)
    assert (ratio - ratio[:, :1]).abs().max() < 1e-4
    assert (ratio[:, 0] - factors).abs().max() > 0.1
    assert made.outputs is batch.outputs
