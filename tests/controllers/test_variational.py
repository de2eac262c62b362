"""VINN: what it draws, when, and the divergence of it."""

import torch

from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.networks.variational import (
    Variational,
    VariationalConfig,
    divergence_from_standard,
)


def network(variational=(1,), **changes) -> Variational:
    torch.manual_seed(3)
    config = VariationalConfig(hidden=16, variational=variational, dropout=0.0, **changes)
    return Variational(NetworkDims(11, 1, 7), config)


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
