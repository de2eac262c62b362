"""Convolutional autoencoder around fully connected layers, the rival that DeepPhase names."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder, cycles
from deepphase.phase.networks.paper_autoencoder import FrameNorm


class EmbeddingAutoencoder(PeriodicAutoencoder):
    """The autoencoder's convolutions around two numbers a channel that nothing ties to a sinusoid.

    What comes out of the fully connected layer is the manifold itself: its pairs of numbers are
    given as amplitude and phase, so that `PhaseParameters.manifold` is the embedding. They have no
    frequency and no offset: nothing in the embedding says how time goes on.

    References
    ----------
    Starke et al. 2022, section 5.1, figs. 6 and 7: "conv + FC".
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
        pairs = (
            torch.stack([torch.sin(turns), torch.cos(turns)], -1) * encoding.amplitude[..., None]
        )
        return self._expanded(pairs.flatten(1))

    def _decode(self, latent: Tensor) -> Tensor:
        hidden = nn.functional.elu(self.decoder_in_norm(self.decoder_in(latent)))
        return self.decoder_out(hidden)
