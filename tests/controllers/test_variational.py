"""VINN: what it draws, when, and the divergence of it."""

import itertools

import pytest
import torch

from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.networks.variational import (
    Variational,
    VariationalConfig,
    divergence_from_standard,
)

SUBSETS = [s for n in (1, 2, 3) for s in itertools.combinations((1, 2, 3), n)]


def network(variational=(1,), **changes) -> Variational:
    torch.manual_seed(3)
    config = VariationalConfig(hidden=16, variational=variational, dropout=0.0, **changes)
    return Variational(NetworkDims(11, 1, 7), config)


@pytest.mark.parametrize("variational", SUBSETS)
def test_every_subset_draws_and_learns(variational):
    made = network(variational)
    inputs, gate = torch.randn(5, 11), torch.rand(5, 1)
    assert made(inputs, gate).shape == (5, 7)
    assert not torch.equal(made(inputs, gate), made(inputs, gate))
    (noise,) = made.initial_state(5)
    assert noise.shape == (5, 16 if {1, 2} & set(variational) else 7)
    outputs, divergence = made.sampled(inputs, gate, noise)
    (outputs.square().mean() + divergence.mean()).backward()
    for parameter in made.parameters():
        assert torch.isfinite(parameter.grad).all()
        assert parameter.grad.abs().max() > 0


@pytest.mark.parametrize("variational", SUBSETS)
def test_without_deviations_it_is_one_function(variational):
    made = network(variational)
    with torch.no_grad():
        for number, layer in enumerate((made.layer_in, made.layer_mid, made.layer_out), start=1):
            if number in variational:
                layer.weight[..., layer.outs // 2 :] = 0.0
                layer.bias[..., layer.outs // 2 :] = 0.0
    inputs, gate = torch.randn(5, 11), torch.rand(5, 1)
    torch.testing.assert_close(made(inputs, gate), made(inputs, gate))


def test_it_varies_as_the_deviation_says():
    made = network((3,))
    inputs, gate = torch.randn(1, 11).expand(20_000, 11), torch.full((20_000, 1), 0.3)
    with torch.no_grad():
        found = made(inputs, gate)
        blend = torch.zeros(1, 7)
        mean = made.sampled(inputs[:1], gate[:1], blend)[0]
        deviation = made.sampled(inputs[:1], gate[:1], blend + 1.0)[0] - mean
    torch.testing.assert_close(found.mean(0), mean[0], atol=0.05, rtol=0)
    torch.testing.assert_close(found.std(0), deviation[0].abs(), atol=0.02, rtol=0.03)


def test_the_divergence_is_what_sampling_finds():
    mean, deviation = torch.tensor([0.0, 0.7, -1.2]), torch.tensor([1.0, 0.3, -1.6])
    torch.manual_seed(0)
    drawn = mean + deviation * torch.randn(200_000, 3)
    own = torch.distributions.Normal(mean, deviation.abs()).log_prob(drawn)
    standard = torch.distributions.Normal(0.0, 1.0).log_prob(drawn)
    expected = (own - standard).mean(0)
    torch.testing.assert_close(
        divergence_from_standard(mean, deviation), expected, atol=0.02, rtol=0
    )
