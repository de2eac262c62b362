"""The FFT layer: an FFT, Parseval, silence."""

import numpy as np
import pytest
import torch

from deepphase.phase.networks.paper_autoencoder import SpectralLayer


class ByFft(SpectralLayer):
    def power(self, latent):
        return torch.fft.rfft(latent, dim=0)[1:].abs().square()


def test_values_and_gradients_are_those_of_an_fft():
    latent = torch.randn(121, 16, 5, requires_grad=True)
    found = []
    for kind in (SpectralLayer, ByFft):
        parts = kind(121, 60.0)(latent)
        found.append([*parts, *torch.autograd.grad(sum(p.square().sum() for p in parts), latent)])
    for ours, reference in zip(*found, strict=True):
        assert torch.allclose(ours, reference, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("cycles", [1, 2, 5, 17])
def test_whole_cycles_are_read_exactly(cycles):
    frequency = cycles * 60 / 121
    latent = 0.7 * torch.sin(2 * np.pi * (cycles * torch.arange(121) / 121 + 0.13)) + 0.2
    out = torch.cat(SpectralLayer(121, 60.0)(latent[:, None, None]), 1)[0].tolist()
    assert out == pytest.approx([frequency, 0.7, 0.2], rel=5e-5)


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_flat_window_is_silent_and_has_a_gradient(level):
    latent = torch.full((121, 2, 3), level, requires_grad=True)
    frequency, amplitude, offset = SpectralLayer(121, 60.0)(latent)
    assert amplitude.abs().max() < 1e-4
    assert frequency.abs().max() < 30.0
    assert torch.allclose(offset, torch.full((2, 3), level))
    (frequency.sum() + amplitude.sum() + offset.sum()).backward()
    assert torch.isfinite(latent.grad).all()
