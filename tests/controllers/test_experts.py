"""Experts: gating weights, blending, and that their order is of no meaning."""

import torch

from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.networks.experts import Experts, ExpertsConfig
from deepphase.controllers.networks.network import NetworkDims
from deepphase.phase.networks.muon import Muon
from tests.controllers.naive_blend import naive_body


def network(**changes) -> Experts:
    torch.manual_seed(2)
    sizes = {"experts": 5, "gating_hidden": 16, "hidden": 24, "dropout": 0.0, **changes}
    return Experts(NetworkDims(11, 6, 7), ExpertsConfig(**sizes))


def test_gating_weights_sum_to_one():
    weights = network().blend_weights(10.0 * torch.randn(50, 6))
    assert weights.shape == (50, 5)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(50))


def test_outputs_and_gradients_are_those_of_a_weight_matrix_a_sample():
    made = network()
    inputs, gate, goal = torch.randn(32, 11), torch.randn(32, 6), torch.randn(32, 7)
    ours, naive = made(inputs, gate), naive_body(made, inputs, made.blend_weights(gate))
    torch.testing.assert_close(ours, naive, atol=1e-5, rtol=1e-5)
    gradients = [
        torch.autograd.grad((outputs - goal).square().mean(), list(made.parameters()))
        for outputs in (ours, naive)
    ]
    for mine, theirs in zip(*gradients, strict=True):
        assert torch.isfinite(mine).all()
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_muon_treats_the_inputs_of_all_experts_as_rows_of_one_matrix():
    torch.manual_seed(0)
    layer = BlendedLinear(3, 6, 5)
    layer(torch.randn(20, 6), torch.rand(20, 3)).square().sum().backward()
    before = layer.weight.detach().clone()
    assert layer.weight.grad is not None
    # Inputs of unequal gradients, as those of unequal variance have them.
    layer.weight.grad *= torch.logspace(0.0, -2.0, 6)[None, :, None]
    Muon(layer, lr=1e-3, weight_decay=0.0).step()
    change = (before - layer.weight.detach()).transpose(0, 1).flatten(1)
    sizes, unequal = (
        torch.linalg.svdvals(each)
        for each in (change, layer.weight.grad.transpose(0, 1).flatten(1))
    )
    assert unequal.max() > 50.0 * unequal.min()
    assert sizes.max() < 2.0 * sizes.min()
