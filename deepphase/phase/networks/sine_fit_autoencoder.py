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
    """The fitted sinusoids, each (batch, channels)."""

    frequency: Tensor  # Hz
    amplitude: Tensor  # of the sinusoid that fits the whole window
    offset: Tensor
    scale: Tensor  # 1 / the window's tapered root mean square around its mean
    direction: Tensor  # (2, batch, channels) of the sine and the cosine that fit the middle


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
    turns: Tensor
    weights: Tensor
    tapers: Tensor
    first: Tensor
    signs: Tensor
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
        tapers = torch.stack(
            [bell**taper / (bell**taper).sum() for taper in (_TAPER, _PHASE_TAPER)]
        )
        weights = tapers[0]
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
        turns = 2.0 * math.pi * times[:, None]
        columns = {"times": times[:, None], "turns": turns, "weights": tapers[:1], "tapers": tapers}
        # For derivatives: the first taper alone, and plus and minus.
        for name, pair in (("first", (1.0, 0.0)), ("signs", (1.0, -1.0))):
            columns[name] = torch.tensor(pair)[:, None]
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
        fit = _Fit.apply(signal, self) if torch.is_grad_enabled() else self.fit(signal)[0]
        return SineFit(*(part.unflatten(-1, (batch, channels)) for part in fit))

    def fit(self, latent: Tensor) -> tuple[SineFit, tuple[Tensor, ...]]:
        """The fit to each column of (time, columns), and what its derivative reads of it."""
        # Far from zero, rounding alone would look like movement.
        level = latent.mean(0)
        signal = latent - level
        means = self.tapers @ signal
        centred = signal - means[0]
        variance = self._mean(centred.square())
        refined, search = self._refined(signal, variance)
        frequency = refined.clamp(min=0.5 * self.lowest)
        # Weighted fits of sine, cosine and constant, by each of the two tapers.
        angle = self.turns * frequency
        sine, cosine = torch.sin(angle), torch.cos(angle)
        levels = self.tapers @ cosine
        even = cosine - levels[:, None]
        norms = torch.cat([self.tapers @ sine.square(), self._means(even.square())]) + 1e-6
        products = torch.cat([self.tapers @ (sine * signal), self._means(even * signal)])
        parts = (products / norms).unflatten(0, (2, 2))
        whole, middle = parts.unbind(1)
        amplitude = torch.sqrt(whole.square().sum(0) + _NO_AMPLITUDE**2)
        offset = means[0] - whole[1] * levels[0] + level
        # sine * sin(wt) + cosine * cos(wt) = length * sin(wt + 2 pi phase)
        length = torch.sqrt(middle.square().sum(0) + 1e-16)
        direction = middle / length
        scale = torch.rsqrt(variance + _SILENCE**2)
        # A silent channel has no frequency; the factor is 1 for all others.
        heard = variance * scale.square()
        kept = (signal, centred, means, frequency, sine, cosine, levels, norms, parts)
        rest = (amplitude, length, heard, scale, direction, *search)
        return SineFit(frequency * heard, amplitude, offset, scale, direction), (*kept, *rest)

    def _mean(self, values: Tensor) -> Tensor:
        """Mean by the first taper: (time, ..., columns) -> (..., columns)."""
        return (self.weights @ values.flatten(1)).view(values.shape[1:])

    def _means(self, values: Tensor) -> Tensor:
        """Mean by the own taper of each: (2, time, columns) -> (2, columns)."""
        return torch.bmm(self.tapers[:, None], values)[:, 0]

    def _refined(self, signal: Tensor, variance: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Frequency of each column of (time, columns), and what its derivative reads."""
        audible = variance + 1e-6 * _SILENCE**2
        projected = (self.basis @ signal).square().view(2, len(self.tried), -1).sum(0)
        first = self.tried @ torch.softmax(_SHARPNESS * (projected / audible), 0)
        angle = self.turns * first
        sine, cosine = torch.sin(angle), torch.cos(angle)
        waves = torch.stack([sine, cosine - self._mean(cosine)], 1)
        norms = self._mean(waves.square()) + 1e-6
        # How the two change with frequency, without what the fit itself would absorb.
        slope = self.times * sine
        slopes = torch.stack([self.times * cosine, slope - self._mean(slope)], 1)
        slopes = torch.addcmul(slopes, waves, self._mean(slopes * waves) / norms, value=-1)
        slope_norms = self._mean(slopes.square())
        # One Newton step at the optimum also carries the optimum's derivative, so that the search
        # itself needs none.
        columns = signal[:, None]
        shares, rates = self._mean(waves * columns) / norms, self._mean(slopes * columns)
        both, squares = shares * rates, shares.square()
        curve = 2.0 * math.pi * (squares * slope_norms).sum(0)
        curve = curve + (1e-4 * variance + 1e-6 * _SILENCE**2)
        step = (both[0] - both[1]) / curve
        explained = (squares * norms).sum(0) / audible
        farthest = _FARTHEST_STEPS * self.step
        reach = farthest * torch.sigmoid((explained - _TRUSTED) / _TRUST_WIDTH)
        share = torch.tanh(step / farthest)
        kept = waves, slopes, norms, slope_norms, shares, rates, curve, step, reach, share
        return torch.addcmul(first, reach, share), kept

    def gradient(self, grads: SineFit, kept: tuple[Tensor, ...]) -> Tensor:
        """The gradient (time, columns) of `fit`'s latent from those of its parts."""
        signal, centred, means, frequency, sine, cosine, levels, norms, parts, *rest = kept
        amplitude, length, heard, scale, direction, *search = rest
        # Amplitude and offset are of the first taper, the phase of the second.
        along = (direction * grads.direction).sum(0)
        of_middle = torch.addcmul(grads.direction, direction, along, value=-1) / length
        of_whole = parts[:, 0] * (grads.amplitude / amplitude)
        of_whole[1].addcmul_(grads.offset, levels[0], value=-1)
        of_products = torch.stack([of_whole, of_middle], 1) / norms.view(parts.shape)
        of_norms = -2.0 * parts * of_products
        of_level = self.first * grads.offset
        # Twice that of the variance
        of_variance = grads.frequency * frequency * (2.0 * _SILENCE**2 * scale)
        of_variance = (of_variance - grads.scale) * scale.square() * scale
        constant = torch.addcmul(of_level * parts[1], of_products[1], means)
        columns = torch.stack(
            [
                *of_products,
                *of_norms,
                -constant.addcmul_(of_norms[1], levels),
                torch.addcmul(of_level, of_products[1], levels, value=-1),
                self.first * of_variance,
            ],
            1,
        )
        spread = (self.tapers.T @ columns.flatten(1)).view(len(signal), 7, -1)
        by_sine, by_cosine, by_square, by_even, constant, gradient, by_centred = spread.unbind(1)
        turned = (by_sine * signal).addcmul_(by_square, sine).mul_(cosine)
        other = torch.addcmul(constant, by_cosine, signal).addcmul_(by_even, cosine)
        of_frequency = (self.turns.T @ turned.addcmul_(other, sine, value=-1))[0]
        of_frequency = torch.addcmul(of_frequency, grads.frequency, heard)
        gradient = gradient.addcmul(by_sine, sine).addcmul_(by_cosine, cosine)
        gradient.addcmul_(by_centred, centred)
        # The refinement alone moves the frequency.
        waves, slopes, norms, slope_norms, shares, rates, curve, step, reach, share = search
        moves = reach * (frequency > 0.5 * self.lowest)
        slope = of_frequency * torch.addcmul(moves, moves, share.square(), value=-1)
        slope /= curve * (_FARTHEST_STEPS * self.step)
        signed = slope * self.signs
        bent = (shares * slope_norms).mul_(slope * step)
        to_shares = (signed * rates).sub_(bent, alpha=4.0 * math.pi) / norms
        inside = (waves * to_shares).addcmul_(slopes, signed * shares).sum(1)
        gradient.addcmul_(self.weights.T, inside)
        return gradient + (grads.offset / len(signal) - gradient.mean(0))


class _Fit(torch.autograd.Function):
    """`SineFitLayer.fit` with its derivative in closed form: a quarter of the operators."""

    @staticmethod
    def forward(ctx, latent, layer):
        fit, kept = layer.fit(latent)
        ctx.layer = layer
        ctx.save_for_backward(*kept)
        return tuple(fit)

    @staticmethod
    def backward(ctx, *grads):
        return ctx.layer.gradient(SineFit(*grads), ctx.saved_tensors), None


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
        parts = ("forward", "_encode", "_latent", "_decode")
        # A subclass may read or give frames in its own way.
        own = any(getattr(type(self), name) != getattr(SineFitAutoencoder, name) for name in parts)
        if self.frequencies is None or own:
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
        direction = fit.direction
        # The phase layer reads whole windows.
        if self.phase_layer is not None and layer is self.spectrum:
            turned = self.phase_layer(latent * fit.scale)
            direction = torch.add(direction, turned, alpha=_MOST_TURN)
        x, y = direction.unbind()
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

    def forward(self, latent: Tensor) -> Tensor:
        """(time, batch, channels) -> (2, batch, channels), in -1 to 1."""
        return torch.tanh(torch.bmm(latent.permute(2, 1, 0), self.weight)).permute(2, 1, 0)
