"""The periodic autoencoder against its plain form, and on input that breaks the plain form."""

from dataclasses import replace

import pytest
import torch

from deepphase.phase.config import NetworkConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.networks.sine_fit_autoencoder import (
    SineFitAutoencoder,
    needed_channels,
    with_channels,
)
from tests.phase.released_form import PlainAutoencoder


@pytest.fixture
def networks():
    torch.manual_seed(3)
    ours = make_autoencoder(12, 60.0, NetworkConfig("paper", channels=3, window_s=1.0))
    for module in ours.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2.0)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.1)
    plain = PlainAutoencoder(12, 3, ours.window)
    plain.take_weights(ours)
    return ours, plain


@pytest.mark.parametrize("training", [True, False])
def test_equals_the_plain_form(networks, training):
    ours, plain = (network.train(training) for network in networks)
    windows = torch.randn(16, 12, ours.window)
    assert torch.allclose(ours(windows), plain(windows), atol=2e-5)
    encoding, expected = ours.encode(windows), plain.encode(windows)
    for name, reference in zip(encoding._fields, expected, strict=False):
        value = getattr(encoding, name)
        if name == "phase":
            assert (torch.remainder(value - reference + 0.5, 1) - 0.5).abs().max() < 1e-4
        else:
            assert torch.allclose(value, reference, atol=1e-4, rtol=1e-4), name


def test_ten_steps_equal_the_plain_form(networks):
    ours, plain = networks
    windows = torch.randn(8, 12, ours.window)
    optimizer = torch.optim.SGD([*ours.parameters(), *plain.parameters()], 0.01)
    for _ in range(10):
        plain.take_weights(ours)
        losses = [network.loss(windows) for network in networks]
        assert abs(losses[0] - losses[1]) < 1e-5
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
    for conv, theirs in [(ours.encoder_in, plain.conv1), (ours.decoder_out, plain.deconv2)]:
        difference = conv.weight.grad.permute(2, 1, 0) - theirs.weight.grad
        assert difference.abs().max() < 1e-4 * theirs.weight.grad.abs().max() + 1e-7


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("level", [0.0, 1.0, 1e6])
def test_flat_windows_give_no_nan(networks, training, level):
    ours = networks[0].train(training)
    windows = torch.full((4, 12, ours.window), level)
    assert all(torch.isfinite(part).all() for part in ours.encode(windows))
    ours(windows).square().mean().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in ours.parameters())


def test_a_network_of_some_channels_gives_what_they_give():
    torch.manual_seed(0)
    config = NetworkConfig("sine_fit", channels=4, hidden=6, kernel_s=0.5, band_hz=10.0)
    network = SineFitAutoencoder(9, 60.0, config).eval()
    network.requires_grad_(False)
    windows = torch.randn(8, 9, network.window)
    windows = windows - windows.mean(2, keepdim=True)
    # It explains nothing yet.
    assert needed_channels(network, windows, 0.01) == [0, 1, 2, 3]
    kept = [0, 2]
    fewer = SineFitAutoencoder(9, 60.0, replace(config, channels=len(kept)))
    fewer.load_state_dict(with_channels(network.state_dict(), kept))
    latent = network.sinusoids(network.encode(windows))
    latent[:, [1, 3]] = 0.0
    torch.testing.assert_close(fewer.eval()(windows), network.decode(latent))
