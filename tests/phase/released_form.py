"""The periodic autoencoder in the plain form in which its authors wrote it: oracle and rival.

Conv1d, one Linear and one BatchNorm a channel in a Python loop, torch.fft.rfft.
"""

import math

import torch
from torch import nn

from deepphase.phase.networks.autoencoder import PeriodicAutoencoder


class PlainAutoencoder(nn.Module):
    def __init__(self, signals: int, channels: int, window: int, fps: float = 60.0) -> None:
        super().__init__()
        hidden = signals // 3
        self.window, self.channels = window, channels
        same = {"kernel_size": window, "padding": window // 2}
        self.conv1, self.norm1 = nn.Conv1d(signals, hidden, **same), nn.BatchNorm1d(hidden)
        self.conv2, self.norm2 = nn.Conv1d(hidden, channels, **same), nn.BatchNorm1d(channels)
        self.fc = nn.ModuleList(nn.Linear(window, 2) for _ in range(channels))
        self.bn = nn.ModuleList(nn.BatchNorm1d(2) for _ in range(channels))
        self.deconv1, self.norm3 = nn.Conv1d(channels, hidden, **same), nn.BatchNorm1d(hidden)
        self.deconv2 = nn.Conv1d(hidden, signals, **same)
        self.register_buffer("bins", torch.arange(1, window // 2 + 1) * fps / window)
        self.register_buffer("times", (torch.arange(window) - window // 2) / fps)

    def encode(self, x):
        y = torch.tanh(self.norm1(self.conv1(x)))
        latent = torch.tanh(self.norm2(self.conv2(y)))
        power = torch.fft.rfft(latent, dim=2).abs()[:, :, 1:] ** 2
        total = power.sum(2)
        frequency = (power * self.bins).sum(2) / total
        amplitude = 2.0 / self.window * torch.sqrt(total)
        offset = latent.mean(2)
        phase = torch.empty_like(offset)
        for i in range(self.channels):
            v = self.bn[i](self.fc[i](latent[:, i]))
            phase[:, i] = torch.atan2(v[:, 1], v[:, 0]) / (2 * math.pi)
        return phase, frequency, amplitude, offset

    def forward(self, x):
        phase, frequency, amplitude, offset = (p.unsqueeze(2) for p in self.encode(x))
        latent = amplitude * torch.sin(2 * math.pi * (frequency * self.times + phase)) + offset
        return self.deconv2(torch.tanh(self.norm3(self.deconv1(latent))))

    def loss(self, x):
        return nn.functional.mse_loss(self(x), x)

    @torch.no_grad()
    def take_weights(self, ours: PeriodicAutoencoder) -> None:
        """Copy all weights of our network."""
        for conv, source in [
            (self.conv1, ours.encoder_in),
            (self.conv2, ours.encoder_out),
            (self.deconv1, ours.decoder_in),
            (self.deconv2, ours.decoder_out),
        ]:
            conv.weight.copy_(source.weight.permute(2, 1, 0))
            conv.bias.copy_(source.bias)
        self.norm1.load_state_dict(ours.encoder_in_norm.state_dict())
        self.norm2.load_state_dict(ours.encoder_out_norm.state_dict())
        self.norm3.load_state_dict(ours.decoder_in_norm.state_dict())
        for i in range(self.channels):
            self.fc[i].weight.copy_(ours.phase_head.weight[i].T)
            self.fc[i].bias.copy_(ours.phase_head.bias[i, 0])
            norm = ours.phase_head.norm
            for name, value in self.bn[i].state_dict().items():
                theirs = norm.state_dict()[name]
                value.copy_(theirs if value.ndim == 0 else theirs[2 * i : 2 * i + 2])
