"""The periodic autoencoder (Starke et al. 2022, section 3)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepphase.phase.configuration import NetworkConfig
from deepphase.phase.convolution import Convolution
from deepphase.phase.spectrum import SpectralLayer, Spectrum


class Encoding(NamedTuple):
    """Phase parameters of a batch of windows, each (batch, channels), and their latent."""

    phase: Tensor  # cycles in [-0.5, 0.5], growing with time
    frequency: Tensor  # Hz
    amplitude: Tensor
    offset: Tensor
    latent: Tensor  # (batch, channels, frames)


class PhaseHead(nn.Module):
    """A fully connected layer a channel, batch normalisation, and the angle of its two outputs.

    One batched product serves all channels. Starke et al. 2022, eq. 4.
    """

    def __init__(self, channels: int, window: int) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(window)
        self.weight = nn.Parameter(torch.empty(channels, window, 2).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels, 1, 2).uniform_(-bound, bound))
        self.norm = nn.BatchNorm1d(2 * channels)

    def forward(self, latent: Tensor) -> Tensor:
        """(time, batch, channels) -> (batch, channels), cycles."""
        vector = torch.baddbmm(self.bias, latent.permute(2, 1, 0).float(), self.weight)
        channels, batch, _ = vector.shape
        vector = self.norm(vector.transpose(0, 1).reshape(batch, 2 * channels))
        x, y = vector.view(batch, channels, 2).unbind(-1)
        # atan2 has no derivative at the origin: a batch of held poses lands there.
        at_origin = (x.square() + y.square()) < 1e-16
        return torch.atan2(y, torch.where(at_origin, torch.ones_like(x), x)) / (2.0 * math.pi)


class PeriodicAutoencoder(nn.Module):
    """Windows of joint velocities -> one sinusoid a phase channel -> the windows again.

    Parameters
    ----------
    signals
        Input channels: three velocities a joint.
    fps
        Frames a second.
    config
        Phase channels, window, kernel.

    Notes
    -----
    Windows are (batch, signals, frames) with their mean over time taken off. A tensor whose
    memory is laid out (frames, batch, signals), as `windows.gather` makes it, is not copied.
    """

    def __init__(self, signals: int, fps: float, config: NetworkConfig | None = None) -> None:
        super().__init__()
        config = NetworkConfig() if config is None else config
        self.config, self.fps, self.signals = config, fps, signals
        window, kernel, phases = config.window(fps), config.kernel(fps), config.channels
        hidden = config.hidden or max(signals // 3, 1)
        self.window = window
        self.encoder_in = Convolution(signals, hidden, kernel, window)
        self.encoder_in_norm = nn.BatchNorm1d(hidden)
        self.encoder_out = Convolution(hidden, phases, kernel, window)
        self.encoder_out_norm = nn.BatchNorm1d(phases)
        self.spectrum = SpectralLayer(window, fps)
        self.phase_head = PhaseHead(phases, window)
        self.decoder_in = Convolution(phases, hidden, kernel, window)
        self.decoder_in_norm = nn.BatchNorm1d(hidden)
        self.decoder_out = Convolution(hidden, signals, kernel, window)
        # Seconds from the middle frame. (The paper spreads linspace(-1, 1) over the window, whose
        # step is window / (window - 1) too long for the frequencies of its own FFT.)
        times = (torch.arange(window) - window // 2) / fps
        self.register_buffer("times", times.float(), persistent=False)

    def encode(self, windows: Tensor) -> Encoding:
        """(batch, signals, frames) -> the phase parameters of the middle frames."""
        latent, phase, spectrum = self._encode(windows.permute(2, 0, 1))
        return Encoding(phase, *spectrum, latent=latent.permute(1, 2, 0))

    def forward(self, windows: Tensor) -> Tensor:
        """(batch, signals, frames) -> their reconstruction through the sinusoids."""
        _, phase, spectrum = self._encode(windows.permute(2, 0, 1))
        return self._decode(self._sinusoids(phase, spectrum)).permute(1, 2, 0)

    def sinusoids(self, encoding: Encoding) -> Tensor:
        """(batch, channels, frames): the fitted latent. Starke et al. 2022, eq. 5."""
        spectrum = Spectrum(encoding.frequency, encoding.amplitude, encoding.offset)
        return self._sinusoids(encoding.phase, spectrum).permute(1, 2, 0)

    def decode(self, latent: Tensor) -> Tensor:
        """(batch, channels, frames) -> (batch, signals, frames)."""
        return self._decode(latent.permute(2, 0, 1)).permute(1, 2, 0)

    # Inside, everything is (frames, batch, channels): see `convolution`.

    def _encode(self, windows: Tensor) -> tuple[Tensor, Tensor, Spectrum]:
        hidden = torch.tanh(_normalised(self.encoder_in_norm, self.encoder_in(windows)))
        latent = torch.tanh(_normalised(self.encoder_out_norm, self.encoder_out(hidden)))
        return latent, self.phase_head(latent), self.spectrum(latent)

    def _sinusoids(self, phase: Tensor, spectrum: Spectrum) -> Tensor:
        turns = spectrum.frequency * self.times[:, None, None] + phase
        return spectrum.amplitude * torch.sin(2.0 * math.pi * turns) + spectrum.offset

    def _decode(self, latent: Tensor) -> Tensor:
        hidden = torch.tanh(_normalised(self.decoder_in_norm, self.decoder_in(latent)))
        return self.decoder_out(hidden)


def _normalised(norm: nn.BatchNorm1d, signal: Tensor) -> Tensor:
    """Batch normalisation over time and batch of (time, batch, channels)."""
    return norm(signal.flatten(0, 1)).view(signal.shape)
