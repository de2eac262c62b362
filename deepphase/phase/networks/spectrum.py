"""The FFT layer of the periodic autoencoder: frequency, amplitude and offset of a latent window."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError

# Keeps square roots and quotients differentiable on a window without power (a held pose).
_SILENCE = 1e-8


class Spectrum(NamedTuple):
    """What the layer reads off a window, each (batch, channels)."""

    frequency: Tensor
    amplitude: Tensor
    offset: Tensor


class SpectralLayer(nn.Module):
    """Frequency, amplitude and offset of each channel from its discrete Fourier transform.

    Parameters
    ----------
    window
        Frames; odd, so that there is no Nyquist bin to count twice.
    fps
        Frames a second. Bin j lies at j * fps / window.

    Notes
    -----
    The transform is one product with a constant sine and cosine matrix, which is fast at this
    length, differentiates cheaply and exports as a plain operator.

    References
    ----------
    Starke et al. 2022, eq. 3. Frequency is the power-weighted mean of the bins, amplitude the
    root of the summed power (sqrt(2) times the window's standard deviation, by Parseval), offset
    the mean. A window without power has frequency 0 and amplitude 0, not NaN.
    """

    bin_frequencies: Tensor
    transform: Tensor

    def __init__(self, window: int, fps: float) -> None:
        super().__init__()
        if window % 2 == 0 or window < 3:
            raise ParameterError(f"a window of {window} frames: must be odd and at least 3")
        self.window = window
        bins = torch.arange(1, window // 2 + 1, dtype=torch.float64)
        self.register_buffer("bin_frequencies", (bins * fps / window).float(), persistent=False)
        angle = 2.0 * math.pi / window * bins[:, None] * torch.arange(window, dtype=torch.float64)
        matrix = torch.cat([torch.cos(angle), torch.sin(angle)]).float()
        self.register_buffer("transform", matrix, persistent=False)

    def power(self, latent: Tensor) -> Tensor:
        """(time, batch, channels) -> (bins, batch, channels), squared magnitude, DC left out."""
        time, batch, channels = latent.shape
        with torch.autocast(latent.device.type, enabled=False):
            parts = (self.transform @ latent.reshape(time, -1).float()).square()
        return parts.view(2, -1, batch, channels).sum(0)

    def forward(self, latent: Tensor) -> Spectrum:
        """`latent` is (time, batch, channels)."""
        power = self.power(latent)
        total = power.sum(0)
        weighted = torch.einsum("k,kbc->bc", self.bin_frequencies, power)
        # Subtracting the guard's root makes silence exactly 0.
        root = torch.sqrt(total + _SILENCE) - math.sqrt(_SILENCE)
        return Spectrum(
            frequency=weighted / (total + _SILENCE),
            amplitude=2.0 / self.window * root,
            offset=latent.float().mean(0),
        )
