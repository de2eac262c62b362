"""Our own periodic autoencoder: it sees amplitude, and is right between the bins of an FFT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError
from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import (
    Encoding,
    FrequencyBasis,
    PeriodicAutoencoder,
    cycles,
)

# Frequencies that are tried first lie so far apart, in spectral lines (1 / the window's seconds).
_STEP_PER_LINE = 0.2
# Fewer cycles in a window than this cannot be distinguished from a trend.
_LEAST_CYCLES = 0.8
_HIGHEST_HZ = 10.0
# How sharply the best of the tried frequencies is preferred: two that explain shares e1 and e2
# of the variance weigh as exp(_SHARPNESS * (e1 - e2)), so that the choice changes smoothly.
_SHARPNESS = 25.0
# The refinement is trusted where one sinusoid explains more than this share of the variance.
_TRUSTED, _TRUST_WIDTH = 0.5, 0.05
# No refinement moves farther than this, in steps of the first search.
_FARTHEST_STEPS = 2.0
# Latent amplitudes, in m/s, below which a channel is silent.
_SILENCE = 1e-4
# Exponents of the cosine that weights the window, and that alone to which the phase is fitted: 0 is
# flat, 1 a half cosine, 2 a Hann window.
_TAPER, _PHASE_TAPER = 1.0, 2.5
# Stands for no amplitude at all: a root has no derivative at 0.
_NO_AMPLITUDE = 1e-8


class SineFit(NamedTuple):
    """The fitted sinusoids, each (batch, channels); their phase is the angle of (sine, cosine)."""

    frequency: Tensor  # Hz
    sine: Tensor  # sine * sin + cosine * cos fits the window's middle
    cosine: Tensor
    amplitude: Tensor  # of the sinusoid that fits the whole window
    offset: Tensor
    deviation: Tensor  # the window's tapered root mean square around its mean


class SineFitLayer(nn.Module):
    """Frequency, phase, amplitude and offset of each channel by weighted least squares.

    A power centroid over FFT bins errs by up to 100 % between the bins and leaks the offset into
    the amplitude. Here the share of variance that a sinusoid of each frequency explains (a
    discrete Fourier transform against functions that are orthogonal to the constant) gives a
    first frequency, a Gauss-Newton step refines it, and linear least-squares fits at that
    frequency give the rest. Every part changes smoothly with the window, so that frequency does
    so from frame to frame.

    Where frequency changes by c Hz a second, the phase of a sinusoid fitted over times t is ahead
    of the middle frame's by c / 2 times the mean of t^2. So the phase is fitted to the window's
    middle alone; frequency, amplitude and offset, which need the length, to all of it.

    Sines and cosines around the middle frame are orthogonal for any frequency by symmetry, which
    splits all normal equations in two.
    """

    LEAST_FRAMES: ClassVar[int] = 5

    times: Tensor
    weights: Tensor
    middle: Tensor
    tried: Tensor
    basis: Tensor

    def __init__(self, window: int, fps: float) -> None:
        super().__init__()
        if window % 2 == 0 or window < self.LEAST_FRAMES:
            raise ParameterError(
                f"a window of {window} frames: must be odd and at least {self.LEAST_FRAMES}"
            )
        half = window // 2
        times = (torch.arange(window, dtype=torch.float64) - half) / fps
        bell = torch.cos(math.pi / 2 * times * fps / (half + 1))
        weights, middle = (bell**taper / (bell**taper).sum() for taper in (_TAPER, _PHASE_TAPER))
        line = fps / window
        self.step = _STEP_PER_LINE * line
        self.lowest = _LEAST_CYCLES * line
        highest = min(_HIGHEST_HZ, 0.45 * fps)
        tried = torch.arange(self.lowest, max(highest, 2 * self.lowest), self.step).double()
        angle = 2.0 * math.pi * tried[:, None] * times
        sine, cosine = torch.sin(angle), torch.cos(angle)
        cosine = cosine - (cosine @ weights)[:, None]
        waves = torch.cat([sine, cosine])
        basis = waves * weights / torch.sqrt((weights * waves * waves).sum(1, keepdim=True))
        columns = {"times": times[:, None], "weights": weights[None], "middle": middle[None]}
        for name, value in {**columns, "tried": tried, "basis": basis}.items():
            self.register_buffer(name, value.float(), persistent=False)

    def constants(self) -> dict[str, float]:
        """Numbers of the fit by name, for programs in other languages; frequencies in Hz."""
        return {
            "sharpness": _SHARPNESS,
            "trusted": _TRUSTED,
            "trust_width": _TRUST_WIDTH,
            "farthest": _FARTHEST_STEPS * self.step,
            "lowest": 0.5 * self.lowest,
            "silence": _SILENCE,
            # Those of a fit to fewer frames.
            "taper": _TAPER,
            "phase_taper": _PHASE_TAPER,
            "step_per_line": _STEP_PER_LINE,
            "least_cycles": _LEAST_CYCLES,
            "highest": _HIGHEST_HZ,
            "farthest_steps": _FARTHEST_STEPS,
            "least_frames": self.LEAST_FRAMES,
        }

    def forward(self, latent: Tensor) -> SineFit:
        """`latent` is (time, batch, channels)."""
        # Products in bfloat16 would be wrong in the third digit.
        with torch.autocast(latent.device.type, enabled=False):
            return self._fitted(latent.float())

    def _fitted(self, latent: Tensor) -> SineFit:
        time, batch, channels = latent.shape
        signal = latent.reshape(time, -1)
        # Far from zero, rounding alone would look like movement.
        level = signal.mean(0)
        signal = signal - level
        frequency = self._frequency(signal)
        angle = 2.0 * math.pi * self.times * frequency
        waves = torch.sin(angle), torch.cos(angle)
        sine, cosine, offset = _least_squares(signal, *waves, self.weights)
        amplitude = torch.sqrt(sine.square() + cosine.square() + _NO_AMPLITUDE**2)
        sine, cosine, _ = _least_squares(signal, *waves, self.middle)
        variance = self._mean((signal - self._mean(signal)).square())
        # A silent channel has no frequency; the factor is 1 for all others.
        frequency = frequency * (variance / (variance + _SILENCE**2))
        deviation = torch.sqrt(variance + _SILENCE**2)
        parts = (frequency, sine, cosine, amplitude, offset + level, deviation)
        return SineFit(*(part.view(batch, channels) for part in parts))

    def _mean(self, values: Tensor) -> Tensor:
        """Tapered mean over time: (time, columns) -> (columns,)."""
        return (self.weights @ values)[0]

    def _frequency(self, signal: Tensor) -> Tensor:
        """Frequency of each column: (time, columns) -> (columns,)."""
        mean, times = self._mean, self.times
        with torch.no_grad():
            variance = mean((signal - mean(signal)).square())
            silent = 1e-6 * _SILENCE**2
            projected = (self.basis @ signal).square().view(2, len(self.tried), -1).sum(0)
            share = projected / (variance + silent)
            first = self.tried @ torch.softmax(_SHARPNESS * share, 0)
            angle = 2.0 * math.pi * times * first
            sine, cosine = torch.sin(angle), torch.cos(angle)
            even = cosine - mean(cosine)
            sine_norm = mean(sine.square()) + 1e-6
            even_norm = mean(even.square()) + 1e-6
            # How the two parts change with frequency, without what the fit itself would absorb.
            odd_slope = times * cosine
            odd_slope -= sine * (mean(odd_slope * sine) / sine_norm)
            even_slope = times * sine
            even_slope -= mean(even_slope)
            even_slope -= even * (mean(even_slope * even) / even_norm)
            odd_norm, slope_norm = mean(odd_slope.square()), mean(even_slope.square())
        # One Newton step at the optimum also carries the optimum's derivative, so that the search
        # itself needs none.
        a = mean(sine * signal) / sine_norm
        b = mean(even * signal) / even_norm
        slope = a * mean(odd_slope * signal) - b * mean(even_slope * signal)
        curve = a * a * odd_norm + b * b * slope_norm
        step = slope / (2.0 * math.pi * curve + 1e-4 * variance + silent)
        explained = (a * a * sine_norm + b * b * even_norm).detach() / (variance + silent)
        trust = torch.sigmoid((explained - _TRUSTED) / _TRUST_WIDTH)
        farthest = _FARTHEST_STEPS * self.step
        refined = first + trust * farthest * torch.tanh(step / farthest)
        return refined.clamp(min=0.5 * self.lowest)


def _least_squares(
    signal: Tensor, sine: Tensor, cosine: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted fit of sine, cosine and constant, a column each: (time, columns) -> (columns,)."""
    cosine_mean, level = (weights @ cosine)[0], (weights @ signal)[0]
    even = cosine - cosine_mean
    a = (weights @ (sine * signal))[0] / ((weights @ sine.square())[0] + 1e-6)
    b = (weights @ (even * signal))[0] / ((weights @ even.square())[0] + 1e-6)
    return a, b, level - b * cosine_mean


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
        banded = config.band_hz is not None and all(layer.form == "fourier" for layer in ends)
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
        layer, fitted = self.spectrum, latent
        if kept >= SineFitLayer.LEAST_FRAMES:
            layer = SineFitLayer(kept, self.fps / self.step).to(latent.device)
            fitted = latent[reach]
        return self._fitted(fitted, layer)._replace(latent=latent.permute(1, 2, 0))

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
        error = nn.functional.mse_loss(outside.float(), inside, reduction="sum")
        return (error + above) / windows.numel()

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
