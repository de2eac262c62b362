"""Base class of periodic autoencoders (Starke et al. 2022, section 3)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.convolution import Convolution, downsampled_frames


class Encoding(NamedTuple):
    """Phase parameters of a batch of windows, each (batch, channels), and their latent."""

    phase: Tensor  # cycles in [-0.5, 0.5], growing with time
    frequency: Tensor  # Hz
    amplitude: Tensor
    offset: Tensor
    latent: Tensor  # (batch, channels, latent frames)


class PeriodicAutoencoder(nn.Module):
    """Windows of joint velocities -> one sinusoid a phase channel -> the windows again.

    Subclasses say how latent and phase parameters are found (`_encode`) and how windows are made
    of sinusoids again (`_decode`).

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

    The latent has as many frames as the window, or, with `config.band_hz`, every `step`-th of
    them, at the seconds `times` from the middle frame.
    """

    times: Tensor

    def __init__(self, signals: int, fps: float, config: NetworkConfig) -> None:
        super().__init__()
        self.config, self.fps, self.signals = config, fps, signals
        self.window, kernel = config.window(fps), config.kernel(fps)
        self.hidden = config.hidden or max(signals // 3, 1)

        # Nothing above band_hz is left behind the first convolution: fewer frames carry it.
        band = config.band_hz
        self.step = 1 if band is None else max(int(fps / (2.0 * band)), 1)

        def convolution(ins: int, outs: int, *steps: int) -> Convolution:
            return Convolution(
                ins, outs, kernel, self.window, fps=fps, band_hz=band, steps=(steps[0], steps[1])
            )

        self.encoder_in = convolution(signals, self.hidden, 1, self.step)
        self.encoder_out = convolution(self.hidden, config.channels, self.step, self.step)
        self.decoder_in = convolution(config.channels, self.hidden, self.step, self.step)
        self.decoder_out = convolution(self.hidden, signals, self.step, 1)
        # Seconds from the middle frame. (The paper spreads linspace(-1, 1) over the window, whose
        # step is window / (window - 1) too long for the frequencies of its own FFT.)
        times = downsampled_frames(self.window, self.step) / fps
        self.register_buffer("times", times.float(), persistent=False)

    def encode(self, windows: Tensor) -> Encoding:
        """(batch, signals, frames) -> the phase parameters of the middle frames."""
        encoding = self._encode(windows.permute(2, 0, 1))
        return encoding._replace(latent=encoding.latent.permute(1, 2, 0))

    def encode_part(self, part: Tensor) -> Encoding:
        """Phase parameters of the middle frames of less than a window.

        Here the frames that do not exist are zeros, and the network does not know of them.

        Parameters
        ----------
        part : (batch, signals, frames)
            An odd number of frames, fewer than a window; their mean need not be taken off.
        """
        return self.encode(self._filled(part))

    def _filled(self, part: Tensor) -> Tensor:
        """A window with a part, its mean taken off, in its middle and zeros beside it."""
        side = (self.window - part.shape[2]) // 2
        return nn.functional.pad(part - part.mean(2, keepdim=True), (side, side))

    def forward(self, windows: Tensor) -> Tensor:
        """(batch, signals, frames) -> their reconstruction through the sinusoids."""
        encoding = self._encode(windows.permute(2, 0, 1))
        return self._decode(self._sinusoids(encoding)).permute(1, 2, 0)

    def loss(self, windows: Tensor) -> Tensor:
        """Mean squared error of the reconstruction of (batch, signals, frames), for training."""
        return nn.functional.mse_loss(self(windows).float(), windows)

    def sinusoids(self, encoding: Encoding) -> Tensor:
        """(batch, channels, latent frames): the fitted latent. Starke et al. 2022, eq. 5."""
        return self._sinusoids(encoding).permute(1, 2, 0)

    def decode(self, latent: Tensor) -> Tensor:
        """(batch, channels, latent frames) -> (batch, signals, frames)."""
        return self._decode(latent.permute(2, 0, 1)).permute(1, 2, 0)

    # Inside, everything is (frames, batch, channels): see `convolution`.

    def _encode(self, windows: Tensor) -> Encoding:
        raise NotImplementedError

    def _decode(self, latent: Tensor) -> Tensor:
        raise NotImplementedError

    def _sinusoids(self, encoding: Encoding) -> Tensor:
        turns = encoding.frequency * self.times[:, None, None] + encoding.phase
        return encoding.amplitude * torch.sin(2.0 * math.pi * turns) + encoding.offset


def cycles(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y) in cycles; 0 with a finite derivative at the origin."""
    # A batch of held poses lands on the origin, where atan2 has no derivative.
    at_origin = (x.square() + y.square()) < 1e-16
    return torch.atan2(y, torch.where(at_origin, torch.ones_like(x), x)) / (2.0 * math.pi)
