"""Convolutional autoencoders of motion: hidden units as a space of valid movement."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.editing.config import EditorNetwork

# Largest magnitude of which the inverse of tanh is taken: its slope is 50 there, and infinite at 1,
# where training of all layers at once would diverge.
_NEARLY_ONE = 0.99
# Filters of the manifold network's layers, relative to the last one.
_MANIFOLD_LAYERS = (0.25, 0.5, 1.0)


class MotionAutoencoder(nn.Module):
    """Base class: encoding of rows (batch, values, frames) and decoding of hidden units.

    Attributes
    ----------
    stride
        Number of frames of one hidden frame; the number of frames given is a multiple of it.
    """

    stride: int

    def encode(self, rows: Tensor, known: Tensor) -> Tensor:
        """Hidden units (batch, hidden, frames / stride).

        Parameters
        ----------
        rows : (batch, values, frames)
            Normalised rows; values that are not known are filled in.
        known : (batch, groups, frames)
            1 where a group of values is known, 0.5 where it is noisy, 0 where it is not known.
        """
        raise NotImplementedError

    def decode(self, hidden: Tensor) -> Tensor:
        """(batch, values, frames) normalised rows of hidden units."""
        raise NotImplementedError

    def restore(self, rows: Tensor, known: Tensor) -> Tensor:
        """(batch, values, frames) the network's estimate of all values, from those known."""
        return self.decode(self.encode(rows, known))

    def forward(self, rows: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Restored rows, decoded rows and hidden units, for the loss."""
        hidden = self.encode(rows, known)
        decoded = self.decode(hidden)
        return decoded, decoded, hidden

    def penalty(self, hidden: Tensor) -> Tensor:
        """What `sparsity` weighs in the loss."""
        return hidden.abs().mean()


class MaskedAutoencoder(MotionAutoencoder):
    """An autoencoder that reads which values are known.

    Strided convolutions lead to a quarter of the frames; residual blocks of growing dilation there
    see about four seconds. Hidden units alone decode to a motion. Repair adds a correction to the
    values that are filled in, which has the full frame rate beside the hidden units.
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
        return self.encoder(self._read(rows, known))  # (batch, hidden, frames / 4)

    def decode(self, hidden: Tensor) -> Tensor:
        return self.writing(self.decoder(hidden))

    def restore(self, rows: Tensor, known: Tensor) -> Tensor:
        return self(rows, known)[0]

    def forward(self, rows: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        details = self._read(rows, known)
        hidden = self.encoder(details)
        features = self.decoder(hidden)  # (batch, width, frames)
        corrected = rows + self.correction(torch.cat([features, functional.elu(details)], 1))
        return corrected, self.writing(features), hidden

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


class TiedAutoencoder(MotionAutoencoder):
    """Convolution and max pooling per layer; decoding with the same weights, transposed.

    With a pool of 1 there is no pooling. Unpooling puts a value at a random one of its two frames
    in training, and half of it at each otherwise (Holden et al. 2015, section 5.1).
    """

    def __init__(
        self,
        values: int,
        filters: tuple[int, ...],
        kernel: int,
        activation: Callable[[Tensor], Tensor],
        inverse: Callable[[Tensor], Tensor],
        dropout: float = 0.0,
        pool: int = 2,
    ) -> None:
        super().__init__()
        self._activation, self._inverse, self._dropout = activation, inverse, dropout
        self.stride, self._pad, self._pool = pool ** len(filters), kernel // 2, pool
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        inputs = values
        for outputs in filters:
            # Decoding sums half of kernel * outputs terms; both directions keep the variance.
            bound = (6.0 / (kernel * (inputs + outputs))) ** 0.5
            weight = torch.empty(outputs, inputs, kernel).uniform_(-bound, bound)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(outputs)))
            inputs = outputs

    def encode(self, rows: Tensor, known: Tensor) -> Tensor:
        for weight, bias in zip(self.weights, self.biases, strict=True):
            rows = functional.dropout(rows, self._dropout, self.training)
            rows = functional.conv1d(rows, weight, bias, padding=self._pad)
            rows = self._activation(functional.max_pool1d(rows, self._pool))
        return rows

    def decode(self, hidden: Tensor) -> Tensor:
        for weight, bias in zip(reversed(self.weights), reversed(self.biases), strict=True):
            hidden = self._unpooled(self._inverse(hidden)) - bias[:, None]
            hidden = functional.conv_transpose1d(hidden, weight, padding=self._pad)
        return hidden

    def _unpooled(self, hidden: Tensor) -> Tensor:
        if self._pool == 1:
            return hidden
        if not self.training:
            return 0.5 * hidden.repeat_interleave(2, -1)
        first = torch.rand_like(hidden) < 0.5
        pair = torch.stack([hidden * first, hidden * ~first], -1)
        return pair.flatten(-2)


class ManifoldAutoencoder(TiedAutoencoder):
    """Three layers with tanh and an eighth of the frames (Holden et al. 2015)."""

    def __init__(self, values: int, groups: int, config: EditorNetwork) -> None:
        filters = tuple(max(round(share * config.width), 1) for share in _MANIFOLD_LAYERS)
        super().__init__(
            values, filters, config.kernel, torch.tanh, _inverse_tanh, pool=config.pool
        )


class SynthesisAutoencoder(TiedAutoencoder):
    """One layer with ReLU and half of the frames (Holden et al. 2016)."""

    def __init__(self, values: int, groups: int, config: EditorNetwork) -> None:
        super().__init__(
            values,
            (config.width,),
            config.kernel,
            torch.relu,
            _unchanged,
            config.dropout,
            config.pool,
        )

    def penalty(self, hidden: Tensor) -> Tensor:
        return self.weights[0].abs().mean() + self.biases[0].abs().mean()


def make_motion_autoencoder(values: int, groups: int, config: EditorNetwork) -> MotionAutoencoder:
    """The autoencoder of a config, for rows of that many values in that many groups."""
    kinds: dict[str, Callable[[int, int, EditorNetwork], MotionAutoencoder]] = {
        "masked": MaskedAutoencoder,
        "manifold": ManifoldAutoencoder,
        "synthesis": SynthesisAutoencoder,
    }
    return kinds[config.architecture](values, groups, config)


def _inverse_tanh(values: Tensor) -> Tensor:
    return torch.atanh(values.clamp(-_NEARLY_ONE, _NEARLY_ONE))


def _unchanged(values: Tensor) -> Tensor:
    return values
