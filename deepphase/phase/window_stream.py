"""Phases of the window that ends with the newest frame of a stream.

The sinusoids of a window hold for its middle, and advancing them (phase += frequency * dt) gives
the current phases, or those of any moment since. A later answer is a better one: after half a
window the middle itself is asked for.

Everything is computed from the last seconds, which are kept; nothing is summed up over time, so
an hour of frames ends as exactly as it begins.
"""

from __future__ import annotations

import math

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.motion.root_trajectory import FACING_SMOOTHING_S, VECTOR_SMOOTHING_S
from deepphase.phase.networks.convolution import Convolution
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.recent_rows import RecentRows
from deepphase.phase.streamed_body import StreamedBody

# Standard deviations at which the kernels of the facing's smoothing are cut off, and a little more
# than both together reach.
_CUT_OFF, _REACH = 4.0, 5.0
# Vectors shorter than this share of the longest have no direction.
_LEAST_LENGTH = 1e-2
_LEAST_NORM = 1e-6


class WindowStream:
    """Advanced phases of the last window.

    Parameters
    ----------
    network
        The phase model's, with a band.
    body
        Joints of the frames.
    fps
        Frames a second.
    lag_s
        Seconds that the phases are behind the newest frame. Up to half a window they are advanced
        from the middle of the window; beyond it, the window itself is behind.
    """

    def __init__(
        self, network: SineFitAutoencoder, body: StreamedBody, fps: float, lag_s: float
    ) -> None:
        self._fps, self._window, self._body = fps, network.window, body
        behind, half = round(lag_s * fps), self._window // 2
        # Frames from the newest one back to the window's last, and seconds to advance.
        self._skipped = max(behind - half, 0)
        self._ahead_s = max(half - behind, 0) / fps
        # Central differences, and facings whose smoothing has settled.
        margin = math.ceil(_REACH * FACING_SMOOTHING_S * fps)
        self._kept = self._window + self._skipped + margin
        self._smoothing = _FacingSmoothing(self._kept, fps)
        self._places = RecentRows(self._kept, (len(body.order), 3))
        self._facing = RecentRows(self._kept, (3,))
        self._frames = 0
        self._encoder = _WindowEncoder(network)

    def reset(self) -> None:
        """Forget all frames."""
        self._frames = 0

    def push(self, frame: Array) -> PhaseParameters | None:
        """Phases with the next frame (joints, 3); None until a window and its lag have arrived."""
        self._places.append(frame[self._body.order])
        self._facing.append(self._body.facing(frame))
        self._frames += 1
        if self._frames < self._window + self._skipped + 1:
            return None
        phase, *others = self._encoder(self._signals())
        phase = wrapped(phase + others[0] * self._ahead_s)
        return PhaseParameters(*(each.astype(np.float32) for each in (phase, *others)))

    def _signals(self) -> Array:
        """(window, signals) m/s of the window, as `JointVelocities.read` makes them."""
        angles = self._smoothing(self._facing.last(min(self._frames, self._kept)))
        # From the frame before the window to the one after it, if that has arrived.
        places = self._places.last(self._window + self._skipped + 1)[: self._window + 2]
        moving = np.empty((self._window, *places.shape[1:]))
        inner = self._window if self._skipped else self._window - 1
        moving[:inner] = (places[2 : inner + 2] - places[:inner]) * (0.5 * self._fps)
        if not self._skipped:
            # The newest frame has no next one: one-sided, of second order.
            moving[-1] = (1.5 * places[-1] - 2.0 * places[-2] + 0.5 * places[-3]) * self._fps
        stop = len(angles) - self._skipped
        angles = angles[stop - self._window : stop, None]
        sine, cosine = np.sin(angles), np.cos(angles)
        x, z = moving[..., 0], moving[..., 2]
        turned = np.stack([cosine * x - sine * z, moving[..., 1], sine * x + cosine * z], axis=-1)
        return turned.reshape(self._window, -1).astype(np.float32)


class _FacingSmoothing:
    """Smoothed angles of the last frames, as `root_trajectory` has them at a clip's end.

    Both smoothings are products with constant matrices, of which rows at the end count frames
    beyond it: vectors are repeated there, angles are reflected.
    """

    def __init__(self, frames: int, fps: float) -> None:
        vectors = _gaussian(frames, VECTOR_SMOOTHING_S * fps)
        self._repeated = _inside(vectors)
        self._repeated[:, -1] += vectors[:, 2 * frames :].sum(1)
        angles = _gaussian(frames, FACING_SMOOTHING_S * fps)
        self._own = _inside(angles)
        self._reflected = np.zeros_like(self._own)
        # Of a reflection about the last frame, the frame after it is the one before it.
        self._reflected[:, :-1] = angles[:, 3 * frames - 2 : 2 * frames - 1 : -1]

    def __call__(self, facing: Array) -> Array:
        """(frames, 3) vectors on the ground -> (frames,) radians from +Z towards +X."""
        frames = len(facing)
        last = slice(-frames, None)
        repeated = self._repeated[last, last]
        smooth = (repeated @ facing) / repeated.sum(1)[:, None]
        lengths = np.hypot(smooth[:, 0], smooth[:, 2])
        longest = lengths.max()
        if longest < 1e-9:
            return np.zeros(frames)
        angles = np.arctan2(smooth[:, 0], smooth[:, 2])
        if lengths.min() <= _LEAST_LENGTH * longest:
            defined = np.flatnonzero(lengths > _LEAST_LENGTH * longest)
            turned = np.unwrap(angles[defined])
            angles = np.interp(np.arange(frames), defined, turned)
        else:
            steps = angles[1:] - angles[:-1]
            angles[1:] -= 2.0 * np.pi * np.cumsum(np.round(steps / (2.0 * np.pi)))
        weights = np.maximum(lengths, 1e-6 * longest)
        own, reflected = self._own[last, last], self._reflected[last, last]
        # Angles are counted from the last one, about which they are reflected.
        away = weights * (angles - angles[-1])
        smoothed: Array = angles[-1] + (own @ away - reflected @ away) / (
            own @ weights + reflected @ weights
        )
        return smoothed


def _gaussian(frames: int, sigma: float) -> Array:
    """(frames, 3 * frames) weights of a Gaussian around each frame, frames before and after."""
    apart = np.arange(3 * frames) - frames - np.arange(frames)[:, None]
    weights = np.exp(-0.5 * np.square(apart / sigma))
    weights[np.abs(apart) > int(_CUT_OFF * sigma + 0.5)] = 0.0
    normalised: Array = weights / weights.sum(1, keepdims=True)
    return normalised


def _inside(weights: Array) -> Array:
    frames = len(weights)
    return weights[:, frames : 2 * frames].copy()


class _WindowEncoder:
    """A network's encoder for one window at a time, in NumPy.

    For a single window, torch's calls cost more than its products, and the transforms of the
    kernels are made again in each call.
    """

    def __init__(self, network: SineFitAutoencoder) -> None:
        self._constants = network.constants()
        self._layers = [_BandedProduct(each) for each in (network.encoder_in, network.encoder_out)]
        fit = network.spectrum
        self._turns = 2.0 * np.pi * fit.times.numpy()[:, 0]
        self._weights, self._middle = (each.numpy()[0] for each in (fit.weights, fit.middle))
        self._tried, self._basis = fit.tried.numpy(), fit.basis.numpy()
        layer = network.phase_layer
        self._correction = None if layer is None else layer.weight.detach().numpy()

    def __call__(self, signals: Array) -> tuple[Array, Array, Array, Array]:
        """Phase, frequency, amplitude and offset (channels,) of the window's middle frame."""
        constants = self._constants
        windows = signals - signals.mean(0)
        power = float(np.square(windows).mean())
        hidden = self._layers[0](windows / np.float32(math.sqrt(power + constants["still"] ** 2)))
        hidden = np.where(hidden > 0, hidden, np.expm1(np.minimum(hidden, 0)))
        latent = self._layers[1](hidden) * np.float32(math.sqrt(power + 1e-12))
        level = latent.mean(0)
        return self._fitted(latent - level, latent, level)

    def _fitted(
        self, signal: Array, latent: Array, level: Array
    ) -> tuple[Array, Array, Array, Array]:
        constants, weights = self._constants, self._weights
        variance = weights @ np.square(signal - weights @ signal)
        frequency = self._frequency(signal, variance)
        angle = self._turns[:, None] * frequency
        sine, cosine = np.sin(angle), np.cos(angle)
        a, b, offset = _least_squares(signal, sine, cosine, weights)
        ahead, up, _ = _least_squares(signal, sine, cosine, self._middle)
        length = np.sqrt(ahead * ahead + up * up + 1e-16)
        x, y = ahead / length, up / length
        if self._correction is not None:
            deviation = np.sqrt(variance + constants["silence"] ** 2)
            turned = np.tanh(np.einsum("tc,ctk->kc", latent / deviation, self._correction))
            x, y = x + constants["most_turn"] * turned[0], y + constants["most_turn"] * turned[1]
        pace = frequency * (variance / (variance + constants["silence"] ** 2))
        return np.arctan2(y, x) / (2.0 * np.pi), pace, np.hypot(a, b), offset + level

    def _frequency(self, signal: Array, variance: Array) -> Array:
        """(channels,) Hz; see `SineFitLayer`."""
        constants, weights = self._constants, self._weights
        silent = 1e-6 * constants["silence"] ** 2
        projected = np.square(self._basis @ signal).reshape(2, len(self._tried), -1).sum(0)
        share = constants["sharpness"] * projected / (variance + silent)
        preferred = np.exp(share - share.max(0))
        first = self._tried @ (preferred / preferred.sum(0))
        angle = self._turns[:, None] * first
        sine, cosine = np.sin(angle), np.cos(angle)
        times = self._turns[:, None] / (2.0 * np.pi)
        even = cosine - weights @ cosine
        sine_norm = weights @ np.square(sine) + 1e-6
        even_norm = weights @ np.square(even) + 1e-6
        odd_slope = times * cosine
        odd_slope -= sine * ((weights @ (odd_slope * sine)) / sine_norm)
        even_slope = times * sine
        even_slope -= weights @ even_slope
        even_slope -= even * ((weights @ (even_slope * even)) / even_norm)
        a = (weights @ (sine * signal)) / sine_norm
        b = (weights @ (even * signal)) / even_norm
        slope = a * (weights @ (odd_slope * signal)) - b * (weights @ (even_slope * signal))
        curve = a * a * (weights @ np.square(odd_slope)) + b * b * (weights @ np.square(even_slope))
        step = slope / (2.0 * np.pi * curve + 1e-4 * variance + silent)
        explained = (a * a * sine_norm + b * b * even_norm) / (variance + silent)
        trust = 1.0 / (1.0 + np.exp((constants["trusted"] - explained) / constants["trust_width"]))
        farthest = constants["farthest"]
        refined: Array = first + trust * farthest * np.tanh(step / farthest)
        return np.maximum(refined, constants["lowest"])


def _least_squares(
    signal: Array, sine: Array, cosine: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Weighted fit of sine, cosine and constant to (time, channels)."""
    cosine_mean, level = weights @ cosine, weights @ signal
    even = cosine - cosine_mean
    a = (weights @ (sine * signal)) / (weights @ np.square(sine) + _LEAST_NORM)
    b = (weights @ (even * signal)) / (weights @ np.square(even) + _LEAST_NORM)
    return a, b, level - b * cosine_mean


class _BandedProduct:
    """A convolution over one window whose kernels are in the frequency domain already."""

    def __init__(self, layer: Convolution) -> None:
        if layer.form != "fourier":
            raise ParameterError(
                "this phase model cannot be streamed: its convolutions have no band",
                hint="train it with --set network.band_hz=10",
            )
        ins, outs = layer.weight.shape[1:]
        kernel = (layer.kernel_transform @ layer.weight.reshape(layer.kernel, -1)).detach().numpy()
        real, imaginary = kernel.reshape(2, -1, ins, outs)
        # Networks correlate: signal * conj(kernel), as one real product a frequency.
        rows = [np.concatenate(pair, axis=2) for pair in ((real, -imaginary), (imaginary, real))]
        self._kernel = np.ascontiguousarray(np.concatenate(rows, axis=1))
        self._to_bins = layer.signal_transform.numpy()
        self._to_time = layer.inverse_transform.numpy()
        self._bias = layer.bias.detach().numpy()

    def __call__(self, signal: Array) -> Array:
        """(time, in) -> (time, out)"""
        bins, _, both = self._kernel.shape
        spectrum = (self._to_bins @ signal).reshape(2, bins, 1, -1)
        rows = np.concatenate([spectrum[0], spectrum[1]], axis=2)
        product = np.matmul(rows, self._kernel).reshape(bins, 2, both // 2)
        out: Array = self._to_time[:, :bins] @ product[:, 0]
        out += self._to_time[:, bins:] @ product[:, 1]
        return out + self._bias
