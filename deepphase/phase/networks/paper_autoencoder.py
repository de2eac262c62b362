"""The periodic autoencoder as the paper has it, and as its authors released it three times.

Frequency is the power centroid of an FFT, phase a fully connected layer's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder, cycles
from deepphase.phase.networks.spectrum import SpectralLayer


@dataclass(frozen=True)
class PaperVariant:
    """In what the paper's network and the released ones differ.

    Parameters
    ----------
    norm
        "batch", or "time": layer normalisation over the frames of a channel, which erases scale.
    activation
        Behind each normalisation.
    linear_latent
        Whether the second convolution has neither normalisation nor activation.
    phase_norm
        Whether the phase layer's two outputs are batch-normalised.
    released_bins
        FFT bins at j / (time from the first frame to the last), which is 1 / window too high.
    """

    norm: Literal["batch", "time"] = "batch"
    activation: Callable[[Tensor], Tensor] = torch.tanh
    linear_latent: bool = False
    phase_norm: bool = True
    released_bins: bool = False


PAPER = PaperVariant()
RELEASED_V0 = PaperVariant(released_bins=True)
RELEASED_V1 = PaperVariant(activation=nn.functional.elu, released_bins=True)
RELEASED_V2 = PaperVariant(
    norm="time",
    activation=nn.functional.elu,
    linear_latent=True,
    phase_norm=False,
    released_bins=True,
)


class PaperAutoencoder(PeriodicAutoencoder):
    """Starke et al. 2022, eqs. 1 to 7, in one of its variants.

    The only departure is a guard of 1e-8 where a window without power would be 0 / 0.
    """

    def __init__(
        self, signals: int, fps: float, config: NetworkConfig, variant: PaperVariant = PAPER
    ) -> None:
        super().__init__(signals, fps, config)
        self.variant = variant
        norm = TimeNorm if variant.norm == "time" else FrameNorm
        frames = len(self.times)
        size = {TimeNorm: lambda _: frames, FrameNorm: lambda channels: channels}[norm]
        self.encoder_in_norm = norm(size(self.hidden))
        self.encoder_out_norm = (
            nn.Identity() if variant.linear_latent else norm(size(config.channels))
        )
        self.decoder_in_norm = norm(size(self.hidden))
        span = frames - 1 if variant.released_bins else frames
        self.spectrum = SpectralLayer(frames, fps / self.step * frames / span)
        self.phase_head = PhaseHead(config.channels, frames, norm=variant.phase_norm)

    def _encode(self, windows: Tensor) -> Encoding:
        act = self.variant.activation
        hidden = act(self.encoder_in_norm(self.encoder_in(windows)))
        latent = self.encoder_out_norm(self.encoder_out(hidden))
        if not self.variant.linear_latent:
            latent = act(latent)
        found = self.spectrum(latent)
        return Encoding(
            self.phase_head(latent), found.frequency, found.amplitude, found.offset, latent
        )

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
