"""The frequency-domain convolution against torch's own."""

import pytest
import torch

from deepphase.errors import ParameterError
from deepphase.phase.networks.autoencoder import Convolution

SHAPES = [(6, 3, 121, 121), (3, 7, 25, 121), (5, 4, 1, 31), (2, 2, 31, 31), (72, 24, 121, 121)]


def twin(conv: Convolution) -> torch.nn.Conv1d:
    """Conv1d with the same weights."""
    kernel, ins, outs = conv.weight.shape
    other = torch.nn.Conv1d(ins, outs, kernel, padding=kernel // 2)
    with torch.no_grad():
        other.weight.copy_(conv.weight.permute(2, 1, 0))
        other.bias.copy_(conv.bias)
    return other


@pytest.mark.parametrize("form", ["fourier", "direct"])
@pytest.mark.parametrize(("ins", "outs", "kernel", "window"), SHAPES)
def test_equals_conv1d(ins, outs, kernel, window, form):
    torch.manual_seed(1)
    conv = Convolution(ins, outs, kernel, window, form)
    other = twin(conv)
    signal = torch.randn(window, 4, ins, requires_grad=True)
    copy = signal.detach().permute(1, 2, 0).clone().requires_grad_()
    out, expected = conv(signal), other(copy)
    assert torch.allclose(out.permute(1, 2, 0), expected, atol=1e-5)
    mix = torch.randn_like(expected)
    (out.permute(1, 2, 0) * mix).sum().backward()
    (expected * mix).sum().backward()
    for ours, theirs in [
        (signal.grad.permute(1, 2, 0), copy.grad),
        (conv.weight.grad.permute(2, 1, 0), other.weight.grad),
        (conv.bias.grad, other.bias.grad),
    ]:
        assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max().clamp(min=1.0)


def test_gradient_by_finite_differences():
    conv = Convolution(2, 3, 7, 9, "fourier").double()
    signal = torch.randn(9, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(conv, (signal,), atol=1e-5)


def test_without_gradient_gives_the_same():
    conv = Convolution(4, 3, 15, 31, "fourier")
    signal = torch.randn(31, 5, 4)
    with torch.no_grad():
        silent = conv(signal)
    # In training, the bias is added in the frequency domain.
    assert torch.allclose(silent, conv(signal).detach(), atol=1e-6)


def test_every_second_frame_of_a_slow_signal_is_enough():
    """Both steps against the full convolution, on a signal and a kernel below the band."""
    full = Convolution(1, 1, 31, 121, fps=60.0, band_hz=15.0)
    halved = Convolution(1, 1, 31, 121, fps=60.0, band_hz=15.0, steps=(2, 2))
    halved.load_state_dict(full.state_dict())
    time = torch.arange(121) / 60.0
    signal = (torch.sin(2 * torch.pi * 1.5 * time) * torch.hann_window(121, False))[:, None, None]
    assert torch.allclose(halved(signal[::2]), full(signal)[::2], atol=1e-4)
    with pytest.raises(ParameterError, match="too few"):
        Convolution(1, 1, 31, 121, fps=60.0, band_hz=15.0, steps=(4, 1))
