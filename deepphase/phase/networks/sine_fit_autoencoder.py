"""Our own periodic autoencoder: it sees amplitude, and is right between the bins of an FFT."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder, cycles
from deepphase.phase.networks.sine_fit import SineFitLayer

# m/s: windows that move less than this are as good as still.
_STILL = 1e-3
# How far the phase layer may move the point (cos 2 pi phase, sin 2 pi phase). Unbounded, it buys
# reconstruction with a phase that no longer advances as its frequency says.
_MOST_TURN = 0.1


class SineFitAutoencoder(PeriodicAutoencoder):
    """DeepPhase's parts with a least-squares FFT layer, blind to nothing but noise.

    - A window is divided by its own root mean square before the encoder and its latent multiplied
      by it behind: twice the movement has twice the amplitude and the same phase and frequency,
      and a held pose is zero.
    - The decoder is given the sinusoids alone, divided by their own root mean square in the same
      way; nothing passes beside the bottleneck.
    - The sinusoids come from `SineFitLayer`. The fully connected phase layer turns the fitted
      phase a little by what it reads off the latent; it begins at no turn. Without it
      (`phase_layer` False) the fitted phase is final.
    """

    def __init__(
        self, signals: int, fps: float, config: NetworkConfig, *, phase_layer: bool = True
    ) -> None:
        super().__init__(signals, fps, config)
        frames = len(self.times)
        self.spectrum = SineFitLayer(frames, fps / self.step)
        self.phase_layer = PhaseCorrection(config.channels, frames) if phase_layer else None

    def constants(self) -> dict[str, float]:
        """Numbers of the encoder by name, for programs in other languages; m/s and Hz."""
        return {**self.spectrum.constants(), "still": _STILL, "most_turn": _MOST_TURN}

    def _encode(self, windows: Tensor) -> Encoding:
        power = windows.square().mean((0, 2))[:, None]
        hidden = self.encoder_in(windows / torch.sqrt(power + _STILL**2)[None])
        # 1e-6 m/s stands for no movement at all: a root has no derivative at 0.
        scale = torch.sqrt(power + 1e-12)
        latent = self.encoder_out(nn.functional.elu(hidden)).float() * scale
        fit = self.spectrum(latent)
        # sine * sin(wt) + cosine * cos(wt) = length * sin(wt + 2 pi phase)
        length = torch.sqrt(fit.sine.square() + fit.cosine.square() + 1e-16)
        x, y = fit.sine / length, fit.cosine / length
        if self.phase_layer is not None:
            turned_x, turned_y = self.phase_layer(latent / fit.deviation)
            x, y = x + _MOST_TURN * turned_x, y + _MOST_TURN * turned_y
        return Encoding(cycles(y, x), fit.frequency, fit.amplitude, fit.offset, latent)

    def _decode(self, latent: Tensor) -> Tensor:
        scale = torch.sqrt(latent.square().mean((0, 2)) + _STILL**2)[:, None]
        hidden = self.decoder_in(latent / scale)
        return self.decoder_out(nn.functional.elu(hidden)) * scale


class PhaseCorrection(nn.Module):
    """DeepPhase's fully connected phase layer, as a correction that begins at zero."""

    def __init__(self, channels: int, window: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(channels, window, 2))

    def forward(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """(time, batch, channels) -> two of (batch, channels), in -1 to 1."""
        vector = torch.tanh(torch.bmm(latent.permute(2, 1, 0), self.weight))
        return vector[..., 0].T, vector[..., 1].T
