"""The least-squares FFT layer against signals whose parameters are known."""

import numpy as np
import pytest
import torch

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.sine_fit_autoencoder import SineFit, SineFitAutoencoder, SineFitLayer

WINDOW, FPS = 121, 60.0
TIMES = (torch.arange(WINDOW) - WINDOW // 2) / FPS


@pytest.fixture(scope="module")
def layer():
    return SineFitLayer(WINDOW, FPS)


def tones(offset=0.0, amplitude=1.0):
    """Frequencies 0.6 to 8 Hz at all phases: (time, tones, 1), frequency, phase."""
    frequency, phase = torch.meshgrid(
        torch.linspace(0.6, 8.0, 75), torch.arange(-0.5, 0.5, 0.025), indexing="ij"
    )
    frequency, phase = frequency.reshape(-1), phase.reshape(-1)
    turns = frequency * TIMES[:, None] + phase
    return (amplitude * torch.sin(2 * np.pi * turns) + offset)[..., None], frequency, phase


def read(layer, latent):
    fit = layer(latent)
    phase = torch.atan2(*fit.direction.flip(0)) / (2 * np.pi)
    return fit.frequency[:, 0], phase[:, 0], fit.amplitude[:, 0], fit.offset[:, 0]


@pytest.mark.parametrize("offset", [0.0, 2.0, -5.0])
def test_pure_tones_are_read_between_the_bins(layer, offset):
    latent, frequency, phase = tones(offset, amplitude=0.7)
    found, turned, amplitude, level = read(layer, latent)
    assert ((found - frequency).abs() / frequency).max() < 0.01
    assert (torch.remainder(turned - phase + 0.5, 1) - 0.5).abs().max() < 0.01
    assert (amplitude - 0.7).abs().max() < 0.01 * 0.7
    assert (level - offset).abs().max() < 0.01 * 0.7


def test_noise_of_a_tenth(layer):
    torch.manual_seed(0)
    latent, frequency, _ = tones()
    found, *_ = read(layer, latent + 0.1 * torch.randn_like(latent))
    assert np.quantile(((found - frequency).abs() / frequency).numpy(), 0.95) < 0.01


def sliding(signal):
    """Windows of a (frames,) signal, one a frame: (time, frames, 1)."""
    return signal.unfold(0, WINDOW, 1).T[..., None]


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [(1.0, 2.0, 1.0), (1.0, 1.4, 1.0), (1.0, 2.0, 0.7), (0.9, 3.0, 1.0), (1.5, 2.2, 0.9)],
)
def test_frequency_of_two_tones_does_not_jump(layer, first, second, ratio):
    time = torch.arange(0, 20, 1 / FPS)
    signal = torch.sin(2 * np.pi * first * time)
    signal += ratio * torch.sin(2 * np.pi * second * time + 1)
    found, *_ = read(layer, sliding(signal))
    assert (found[1:] - found[:-1]).abs().max() < 0.06
    assert found.min() > 0.8 * first
    assert found.max() < 1.2 * second


def test_frequency_of_a_chirp_is_its_own(layer):
    time = torch.arange(0, 10, 1 / FPS)
    signal = torch.sin(2 * np.pi * (0.8 * time + 0.5 * 0.3 * time**2))
    found, *_ = read(layer, sliding(signal))
    middle = time[WINDOW // 2 : -(WINDOW // 2)]
    assert (found - (0.8 + 0.3 * middle)).abs().max() < 0.06
    assert (found[1:] - found[:-1]).abs().max() < 0.02


@pytest.mark.parametrize(("rate", "bound"), [(0.5, 0.03), (-0.5, 0.03), (0.2, 0.012)])
def test_phase_of_a_chirp_is_that_of_the_middle_frame(layer, rate, bound):
    time = torch.arange(0, 4, 1 / FPS)
    turns = (3.0 if rate < 0 else 1.0) * time + 0.5 * rate * time**2
    _, phase, amplitude, _ = read(layer, sliding(torch.sin(2 * np.pi * turns)))
    middle = slice(WINDOW // 2, len(time) - WINDOW // 2)
    error = torch.remainder(phase - turns[middle] + 0.5, 1) - 0.5
    assert error.abs().max() < bound
    # What is fitted over the whole window loses a little where the frequency leaves it.
    assert ((amplitude > 0.85) & (amplitude < 1.02)).all()


@pytest.mark.parametrize("level", [0.0, 3.0, -1e3])
def test_flat_windows_are_calm(layer, level):
    latent = torch.full((WINDOW, 2, 3), level, requires_grad=True)
    fit = layer(latent)
    assert fit.frequency.abs().max() < 1e-3
    assert torch.linalg.vector_norm(fit.direction, dim=0).max() < 1e-3
    assert fit.amplitude.max() < 1e-3
    assert torch.allclose(fit.offset, torch.full((2, 3), level), rtol=1e-5, atol=1e-4)
    sum(part.sum() for part in fit).backward()
    assert torch.isfinite(latent.grad).all()


@pytest.mark.parametrize("part", SineFit._fields)
def test_derivatives(layer, part):
    """By differences, on a tone with a second one beside it."""
    time = TIMES.double()
    tone = torch.sin(2 * np.pi * 1.7 * time) + 0.2 * torch.sin(2 * np.pi * 3.1 * time) + 0.3
    latent = tone.float()[:, None, None].requires_grad_()
    weights = torch.tensor([[[1.0]], [[-2.0]]]) if part == "direction" else 1.0
    (weights * getattr(layer(latent), part)).sum().backward()
    torch.manual_seed(3)
    direction = torch.randn(WINDOW, 1, 1)
    with torch.no_grad():
        ahead, behind = (
            (weights * getattr(layer(latent + sign * 0.02 * direction), part)).sum().item()
            for sign in (1, -1)
        )
    expected = (ahead - behind) / 0.04
    assert (latent.grad * direction).sum().item() == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("band_hz", [10.0, 5.0, None])
def test_training_loss_is_the_error_of_the_reconstruction(band_hz):
    """In fewer coordinates than frames, loss and gradients are the same."""
    torch.manual_seed(0)
    config = NetworkConfig(channels=3, hidden=8, kernel_s=0.7, band_hz=band_hz)
    network = SineFitAutoencoder(6, 60.0, config)
    windows = torch.randn(7, 6, 121).cumsum(2)
    windows -= windows.mean(2, keepdim=True)
    # A held pose, too.
    windows[3] = 0.0
    found = []
    for loss in (network.loss(windows), torch.nn.functional.mse_loss(network(windows), windows)):
        network.zero_grad()
        loss.backward()
        gradients = {name: each.grad.clone() for name, each in network.named_parameters()}
        found.append((loss.detach(), gradients))
    (ours, own), (expected, plain) = found
    assert torch.allclose(ours, expected, rtol=1e-5)
    for name, gradient in plain.items():
        scale = gradient.abs().max().clamp(min=1e-6)
        assert ((own[name] - gradient).abs().max() / scale) < 2e-3, name
