"""The periodic autoencoder as the paper has it, and as its authors released it three times.

Frequency is the power centroid of an FFT, phase a fully connected layer's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError
from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder, cycles


def tanh(values: Tensor) -> Tensor:
    """The hyperbolic tangent within 3e-7; by the sigmoid, of a third of the time, on a CPU."""
    if not values.is_cpu or torch.compiler.is_exporting():
        return torch.tanh(values)
    return torch.sigmoid(2.0 * values).mul(2.0).sub_(1.0)


@dataclass(frozen=True)
class PaperVariant:
    """In what the paper's network and the released ones differ."""

    norm: Literal["batch", "time"] = "batch"
    activation: Callable[[Tensor], Tensor] = tanh
    linear_latent: bool = False  # no normalisation or activation behind the second convolution
    phase_norm: bool = True
    # FFT bins at j / (time from the first frame to the last), which is 1 / window too high.
    released_bins: bool = False


_ELU = PaperVariant(activation=nn.functional.elu, released_bins=True)
VARIANTS = {
    "paper": PaperVariant(),
    "released_v0": PaperVariant(released_bins=True),
    "released_v1": _ELU,
    "released_v2": replace(_ELU, norm="time", linear_latent=True, phase_norm=False),
}


class PaperAutoencoder(PeriodicAutoencoder):
    """Starke et al. 2022, eqs. 1 to 7, in one of its variants.

    The only departure is a guard of 1e-8 where a window without power would be 0 / 0.
    """

    def __init__(
        self, signals: int, fps: float, config: NetworkConfig, variant: PaperVariant
    ) -> None:
        super().__init__(signals, fps, config)
        self.variant = variant
        frames, linear = len(self.times), variant.linear_latent

        def norm(channels: int) -> nn.Module:
            return TimeNorm(frames) if variant.norm == "time" else FrameNorm(channels)

        self.encoder_in_norm = norm(self.hidden)
        self.encoder_out_norm = nn.Identity() if linear else norm(config.channels)
        self.decoder_in_norm = norm(self.hidden)
        span = frames - 1 if variant.released_bins else frames
        self.spectrum = SpectralLayer(frames, fps / self.step * frames / span)
        self.phase_head = PhaseHead(config.channels, frames, norm=variant.phase_norm)

    def _encode(self, windows: Tensor) -> Encoding:
        act = self.variant.activation
        hidden = act(self.encoder_in_norm(self.encoder_in(windows)))
        latent = self.encoder_out_norm(self.encoder_out(hidden))
        if not self.variant.linear_latent:
            latent = act(latent)
        frequency, amplitude, offset = self.spectrum(latent)
        return Encoding(self.phase_head(latent), frequency, amplitude, offset, latent)

    def _decode(self, latent: Tensor) -> Tensor:
        hidden = self.variant.activation(self.decoder_in_norm(self.decoder_in(latent)))
        return self.decoder_out(hidden)


class FrameNorm(nn.BatchNorm1d):
    """Batch normalisation over time and batch of (time, batch, channels)."""

    def forward(self, signal: Tensor) -> Tensor:
        return super().forward(signal.flatten(0, 1)).view(signal.shape)


class TimeNorm(nn.Module):
    """Layer normalisation over time of (time, batch, channels), with an affine map a time step."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(window, 1, 1))
        self.bias = nn.Parameter(torch.zeros(window, 1, 1))

    def forward(self, signal: Tensor) -> Tensor:
        centred = signal - signal.mean(0)
        scale = torch.rsqrt(centred.square().mean(0) + 1e-5)
        return centred * scale * self.weight + self.bias


class PhaseHead(nn.Module):
    """A fully connected layer a channel, batch normalisation, and the angle of its two outputs.

    One batched product serves all channels. Starke et al. 2022, eq. 4.
    """

    def __init__(self, channels: int, window: int, *, norm: bool = True) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(window)
        self.weight = nn.Parameter(torch.empty(channels, window, 2).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels, 1, 2).uniform_(-bound, bound))
        self.norm = nn.BatchNorm1d(2 * channels) if norm else nn.Identity()

    def forward(self, latent: Tensor) -> Tensor:
        """(time, batch, channels) -> (batch, channels), cycles."""
        vector = torch.baddbmm(self.bias, latent.permute(2, 1, 0).float(), self.weight)
        channels, batch, _ = vector.shape
        vector = self.norm(vector.transpose(0, 1).reshape(batch, 2 * channels))
        x, y = vector.view(batch, channels, 2).unbind(-1)
        return cycles(y, x)


# Keeps square roots and quotients differentiable on a window without power (a held pose).
_SILENCE = 1e-8


class SpectralLayer(nn.Module):
    """Frequency, amplitude and offset of each channel from its discrete Fourier transform.

    Starke et al. 2022, eq. 3. Frequency is the power-weighted mean of the bins, amplitude the
    root of the summed power (sqrt(2) times the window's standard deviation, by Parseval), offset
    the mean. A window without power has frequency 0 and amplitude 0, not NaN. The transform is one
    product with a constant matrix, which differentiates cheaply and exports as a plain operator.
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

    def forward(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Frequency, amplitude, offset (batch, channels) of `latent` (time, batch, channels)."""
        power = self.power(latent)
        total = power.sum(0)
        weighted = torch.einsum("k,kbc->bc", self.bin_frequencies, power)
        # Subtracting the guard's root makes silence exactly 0.
        root = torch.sqrt(total + _SILENCE) - math.sqrt(_SILENCE)
        return weighted / (total + _SILENCE), 2.0 / self.window * root, latent.float().mean(0)


class EmbeddingAutoencoder(PeriodicAutoencoder):
    """The autoencoder's convolutions around two numbers a channel that nothing ties to a sinusoid.

    What comes out of the fully connected layer is the manifold itself: its pairs of numbers are
    given as amplitude and phase, so that `PhaseParameters.manifold` is the embedding. They have no
    frequency and no offset: nothing in the embedding says how time goes on. ("conv + FC" in Starke
    et al. 2022, section 5.1, figs. 6 and 7.)
    """

    def __init__(self, signals: int, fps: float, config: NetworkConfig) -> None:
        super().__init__(signals, fps, config)
        frames, values = len(self.times), 2 * config.channels
        self.encoder_in_norm = FrameNorm(self.hidden)
        self.decoder_in_norm = FrameNorm(self.hidden)
        self.squeeze = nn.Linear(frames * config.channels, values)
        self.expand = nn.Linear(values, frames * config.channels)

    def forward(self, windows: Tensor) -> Tensor:
        """(batch, signals, frames) -> their reconstruction through the embedding."""
        embedding = self._embedding(self._latent(windows.permute(2, 0, 1)))
        return self._decode(self._expanded(embedding)).permute(1, 2, 0)

    def _latent(self, windows: Tensor) -> Tensor:
        hidden = nn.functional.elu(self.encoder_in_norm(self.encoder_in(windows)))
        return self.encoder_out(hidden)

    def _embedding(self, latent: Tensor) -> Tensor:
        """(frames, batch, channels) -> (batch, 2 * channels)."""
        return self.squeeze(latent.transpose(0, 1).flatten(1))

    def _expanded(self, embedding: Tensor) -> Tensor:
        """The inverse shape of `_embedding`."""
        latent = self.expand(embedding)
        return latent.view(len(latent), len(self.times), -1).transpose(0, 1)

    def _encode(self, windows: Tensor) -> Encoding:
        latent = self._latent(windows).float()
        pairs = self._embedding(latent).float().view(latent.shape[1], -1, 2)
        sine, cosine = pairs.unbind(-1)
        amplitude = torch.sqrt(sine.square() + cosine.square())
        still = torch.zeros_like(amplitude)
        return Encoding(cycles(sine, cosine), still, amplitude, still, latent)

    def _sinusoids(self, encoding: Encoding) -> Tensor:
        """The latent that the decoder sees, which is not a sinusoid here."""
        turns = 2.0 * torch.pi * encoding.phase
        pairs = torch.stack([torch.sin(turns), torch.cos(turns)], -1)
        return self._expanded((pairs * encoding.amplitude[..., None]).flatten(1))

    def _decode(self, latent: Tensor) -> Tensor:
        hidden = nn.functional.elu(self.decoder_in_norm(self.decoder_in(latent)))
        return self.decoder_out(hidden)
