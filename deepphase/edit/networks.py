"""Convolutional autoencoder of motion: hidden units as a space of valid movement."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.edit.config import EditorNetwork


class MotionAutoencoder(nn.Module):
    """An autoencoder of rows (batch, values, frames) that reads which values are known.

    Strided convolutions lead to a quarter of the frames; residual blocks of growing dilation there
    see about four seconds. Hidden units alone decode to a motion. Repair adds a correction to the
    values that are filled in, which has the full frame rate beside the hidden units.

    Attributes
    ----------
    stride
        Number of frames of one hidden frame; the number of frames given is a multiple of it.
    """

    stride = 4

    def __init__(self, values: int, groups: int, config: EditorNetwork) -> None:
        super().__init__()
        width, hidden, kernel = config.width, config.hidden, config.kernel

        def layer(inputs: int, outputs: int, step: int = 1) -> nn.Module:
            return nn.Conv1d(inputs, outputs, kernel, step, kernel // 2, padding_mode="replicate")

        self.reading = layer(values + groups, width)
        self.encoder = nn.Sequential(
            nn.ELU(),
            layer(width, width, 2),
            nn.ELU(),
            layer(width, hidden, 2),
            *(_Residual(hidden, dilation) for dilation in (1, 2, 4)),
        )
        self.decoder = nn.Sequential(
            _Residual(hidden, 1),
            _Doubled(),
            layer(hidden, width),
            nn.ELU(),
            _Doubled(),
            layer(width, width),
            nn.ELU(),
        )
        self.writing = nn.Conv1d(width, values, 3, padding=1, padding_mode="replicate")
        self.correction = nn.Conv1d(2 * width, values, 3, padding=1, padding_mode="replicate")

    def encode(self, rows: Tensor, known: Tensor) -> Tensor:
        """Hidden units (batch, hidden, frames / stride).

        Parameters
        ----------
        rows : (batch, values, frames)
            Normalised rows; values that are not known are filled in.
        known : (batch, groups, frames)
            1 where a group of values is known, 0.5 where it is noisy, 0 where it is not known.
        """
        return self.encoder(self._read(rows, known))

    def decode(self, hidden: Tensor) -> Tensor:
        """(batch, values, frames) normalised rows of hidden units."""
        return self.writing(self.decoder(hidden))

    def restore(self, rows: Tensor, known: Tensor) -> Tensor:
        """(batch, values, frames) the network's estimate of all values, from those known."""
        return self(rows, known)[0]

    def forward(self, rows: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Restored rows, and rows decoded from the hidden units alone, for the loss."""
        details = self._read(rows, known)
        features = self.decoder(self.encoder(details))  # (batch, width, frames)
        corrected = rows + self.correction(torch.cat([features, functional.elu(details)], 1))
        return corrected, self.writing(features)

    def _read(self, rows: Tensor, known: Tensor) -> Tensor:
        return self.reading(torch.cat([rows, known - 0.5], 1))


class _Residual(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.wide = nn.Conv1d(
            width, width, 3, padding=dilation, dilation=dilation, padding_mode="replicate"
        )
        self.point = nn.Conv1d(width, width, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.point(functional.elu(self.wide(functional.elu(hidden))))


class _Doubled(nn.Module):
    """Twice the frames, by linear interpolation."""

    def forward(self, hidden: Tensor) -> Tensor:
        return functional.interpolate(hidden, scale_factor=2.0, mode="linear", align_corners=False)
