"""The autoencoders of Holden et al. 2015 and 2016."""

import pytest
import torch

from tests.studies.editing.paper_networks import manifold, synthesis


@pytest.mark.parametrize("make", [manifold, synthesis])
def test_every_weight_learns(make):
    network = make(10, 8)
    rows = torch.randn(2, 10, 32)
    hidden = network.encode(rows)
    assert hidden.shape == (2, 8, 32 // network.stride)
    restored = network.decode(hidden)
    assert restored.shape == rows.shape
    restored.square().mean().backward()
    assert all(each.grad.abs().sum() > 0 for each in network.parameters())


def test_tied_layers_decode_by_the_transposed_convolution():
    network = synthesis(6, 9).eval()
    rows, hidden = torch.randn(1, 6, 20), torch.randn(1, 9, 10)
    with torch.no_grad():
        network.biases[0].zero_()
        forward = torch.nn.functional.conv1d(rows, network.weights[0], padding=6)
        spread = 0.5 * hidden.repeat_interleave(2, -1)
        # <W x, y> = <x, W^T y> defines the transposed convolution.
        assert torch.allclose(
            (forward * spread).sum(), (rows * network.decode(hidden)).sum(), atol=1e-4
        )
        network.train()
        torch.manual_seed(0)
        drawn = torch.stack([network.decode(hidden) for _ in range(600)]).mean(0)
        network.eval()
        # Values at random slots are half of them at each on average.
        assert (drawn - network.decode(hidden)).abs().max() < 0.25
