"""Our own periodic autoencoder: it sees amplitude, and is right between the bins of an FFT."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder, cycles
from deepphase.phase.networks.convolution import FrequencyBasis
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
        ends = self.encoder_in, self.decoder_out
        banded = config.band_hz is not None and all(each.form == "fourier" for each in ends)
        self.frequencies = FrequencyBasis(*ends) if banded else None

    def constants(self) -> dict[str, float]:
        """Numbers of the encoder by name, for programs in other languages; m/s and Hz."""
        return {**self.spectrum.constants(), "still": _STILL, "most_turn": _MOST_TURN}

    def encode_part(self, part: Tensor) -> Encoding:
        """Phase parameters of the middle frames of less than a window.

        The mean, the root mean square and the fitted sinusoids are of the frames that exist. See
        :meth:`PeriodicAutoencoder.encode_part`.
        """
        frames = part.shape[2]
        latent = self._latent(self._filled(part).permute(2, 0, 1), self.window / frames)
        reach = torch.round(self.times * self.fps).abs() <= frames // 2
        kept = int(reach.sum())
        if kept < SineFitLayer.LEAST_FRAMES:
            encoding = self._fitted(latent, self.spectrum)
        else:
            layer = SineFitLayer(kept, self.fps / self.step).to(latent.device)
            encoding = self._fitted(latent[reach], layer)
        return encoding._replace(latent=latent.permute(1, 2, 0))

    def loss(self, windows: Tensor) -> Tensor:
        """Mean squared error of the reconstruction; with a band, in coordinates below it."""
        if self.frequencies is None or self._has_other_parts():
            return super().loss(windows)
        frames = windows.permute(2, 0, 1)
        with torch.no_grad():
            total = torch.linalg.vector_norm(frames, dim=(0, 2)).square()
            inside = self.frequencies(frames)
            above = total.sum() - inside.square().sum()
        power = total[:, None] / (len(frames) * self.signals)
        latent = self._latent_of(inside, power, self.frequencies.to_bins)
        sinusoids = self._sinusoids(self._fitted(latent, self.spectrum))
        outside = self._decode(sinusoids, self.frequencies.to_time)
        return ((outside.float() - inside).square().sum() + above) / windows.numel()

    def _has_other_parts(self) -> bool:
        """Whether a subclass reads or gives frames in its own way."""
        parts = ("forward", "_encode", "_latent", "_decode")
        return any(getattr(type(self), name) != getattr(SineFitAutoencoder, name) for name in parts)

    def _encode(self, windows: Tensor) -> Encoding:
        return self._fitted(self._latent(windows), self.spectrum)

    def _latent(self, windows: Tensor, share: float = 1.0) -> Tensor:
        """`share` is the window's length over that of the frames that are not filled up."""
        return self._latent_of(windows, share * windows.square().mean((0, 2))[:, None])

    def _latent_of(self, windows: Tensor, power: Tensor, to_bins: Tensor | None = None) -> Tensor:
        """Of windows with a mean square `power` (batch, 1), in frames or other coordinates."""
        hidden = self.encoder_in(windows / torch.sqrt(power + _STILL**2)[None], to_bins)
        # 1e-6 m/s stands for no movement at all: a root has no derivative at 0.
        scale = torch.sqrt(power + 1e-12)
        return self.encoder_out(nn.functional.elu(hidden)).float() * scale

    def _fitted(self, latent: Tensor, layer: SineFitLayer) -> Encoding:
        fit = layer(latent)
        # sine * sin(wt) + cosine * cos(wt) = length * sin(wt + 2 pi phase)
        length = torch.sqrt(fit.sine.square() + fit.cosine.square() + 1e-16)
        x, y = fit.sine / length, fit.cosine / length
        # The phase layer reads whole windows.
        if self.phase_layer is not None and layer is self.spectrum:
            turned_x, turned_y = self.phase_layer(latent / fit.deviation)
            x, y = x + _MOST_TURN * turned_x, y + _MOST_TURN * turned_y
        return Encoding(cycles(y, x), fit.frequency, fit.amplitude, fit.offset, latent)

    def _decode(self, latent: Tensor, to_time: Tensor | None = None) -> Tensor:
        scale = torch.sqrt(latent.square().mean((0, 2)) + _STILL**2)[:, None]
        hidden = self.decoder_in(latent / scale)
        return self.decoder_out(nn.functional.elu(hidden), None, to_time) * scale


@torch.inference_mode()
def needed_channels(network: SineFitAutoencoder, windows: Tensor, share: float) -> list[int]:
    """Channels without which less than a share of what all explain of some windows is lost.

    Those that add least are left out first, until all that are left out together explain `share`.
    """
    latent = network.sinusoids(network.encode(windows))

    def error(kept: list[int]) -> float:
        chosen = torch.zeros_like(latent)
        chosen[:, kept] = latent[:, kept]
        return float((network.decode(chosen) - windows).square().sum())

    kept = list(range(latent.shape[1]))
    whole = error(kept)
    allowed = whole + share * (float(windows.square().sum()) - whole)
    while len(kept) > 1 and allowed > whole:
        rest = {left_out: error([one for one in kept if one != left_out]) for left_out in kept}
        least = min(rest, key=rest.__getitem__)
        if not rest[least] < allowed:
            break
        kept.remove(least)
    return kept


def with_channels(state: Mapping[str, Tensor], kept: list[int]) -> dict[str, Tensor]:
    """Weights of a network with some channels of another, which gives what the other gives by them.

    The decoder divides by the mean over channels, of which there are fewer.
    """
    ratio = (state["encoder_out.bias"].shape[0] / len(kept)) ** 0.5
    own = dict(state)
    own["encoder_out.weight"] = state["encoder_out.weight"][..., kept]
    own["encoder_out.bias"] = state["encoder_out.bias"][kept]
    own["decoder_in.weight"] = state["decoder_in.weight"][:, kept] * ratio
    for name in ("decoder_out.weight", "decoder_out.bias"):
        own[name] = state[name] / ratio
    if "phase_layer.weight" in state:
        own["phase_layer.weight"] = state["phase_layer.weight"][kept]
    return own


class PhaseCorrection(nn.Module):
    """DeepPhase's fully connected phase layer, as a correction that begins at zero."""

    def __init__(self, channels: int, window: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(channels, window, 2))

    def forward(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """(time, batch, channels) -> two of (batch, channels), in -1 to 1."""
        vector = torch.tanh(torch.bmm(latent.permute(2, 1, 0), self.weight))
        return vector[..., 0].T, vector[..., 1].T
