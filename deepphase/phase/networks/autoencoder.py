"""Base class of periodic autoencoders (Starke et al. 2022, section 3), and their convolution.

Kernels are as long as the window (121 taps). A direct convolution then costs window * kernel
products a channel pair; through the discrete Fourier transform it is one product a frequency. The
transforms themselves are products with constant matrices: at this length they beat an FFT, run at
the speed of GEMM in any precision, and export as plain operators.

Everything inside is laid out (time, batch, channels), so that each transform is a single matrix
product without a permutation. Cosines are even in time and sines odd: sums and differences of the
frames on both sides of the middle one ("folded" frames) need half the products.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError
from deepphase.phase.config import NetworkConfig


class Convolution(nn.Module):
    """Same-padded convolution over time, equal to `torch.nn.Conv1d` to rounding.

    With `band_hz`, at `fps` frames a second, frequencies above it are left out of the product (and
    "fourier" is the only form): the kernels are low-passed, at a fraction of the cost. The input
    holds every steps[0]-th frame of the window around its middle, the output every steps[1]-th, of
    which what lies below `band_hz` needs no more: see `downsampled_frames`.

    `weight` is (kernel, in, out); Conv1d's is its `permute(2, 1, 0)`.
    """

    # Axes of the weight that count inputs, for `Muon`.
    input_axes = (0, 1)

    signal_transform: Tensor
    kernel_transform: Tensor
    inverse_transform: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: int,
        window: int,
        form: Literal["fourier", "direct"] | None = None,
        *,
        fps: float = 60.0,
        band_hz: float | None = None,
        steps: tuple[int, int] = (1, 1),
    ) -> None:
        super().__init__()
        if kernel % 2 == 0 or window % 2 == 0:
            raise ParameterError(f"kernel {kernel} and window {window} must be odd")
        self.kernel, self.window = kernel, window
        self.weight = nn.Parameter(torch.empty(kernel, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        # Conv1d's own initialisation, so that trainings compare.
        bound = 1.0 / math.sqrt(in_channels * kernel)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)
        period = _period(window, kernel)
        bins = period // 2 + 1
        # The cheaper one, by the products that each needs.
        fourier = 2 * bins * window * (in_channels + out_channels)
        fourier += 4 * bins * in_channels * out_channels
        direct = kernel * window * in_channels * out_channels
        self.form = form or ("fourier" if fourier < direct else "direct")
        self.is_whole = band_hz is None or band_hz >= 0.5 * fps
        if band_hz is not None and not self.is_whole:
            bins, self.form = int(band_hz * period / fps) + 1, "fourier"
        if max(steps) > 1 and 2 * max(steps) * (bins - 1) > period:
            raise ParameterError(
                f"every {max(steps)}th frame is too few for its frequencies",
                hint="choose smaller steps, or a lower band_hz",
            )
        if self.form == "fourier":
            signal, taps, inverse = _transform_matrices(window, kernel, bins, steps)
            self.register_buffer("signal_transform", signal, persistent=False)
            self.register_buffer("kernel_transform", taps, persistent=False)
            self.register_buffer("inverse_transform", inverse, persistent=False)

    def forward(
        self, signal: Tensor, to_bins: Tensor | None = None, to_time: Tensor | None = None
    ) -> Tensor:
        """(time, batch, in) -> (time, batch, out).

        `to_bins`, `to_time`: transforms of a signal or an output in a `FrequencyBasis`.
        """
        if self.form == "direct":
            out = nn.functional.conv1d(
                signal.permute(1, 2, 0),
                self.weight.permute(2, 1, 0),
                self.bias,
                padding=self.kernel // 2,
            )
            return out.permute(2, 0, 1)
        device = signal.device.type
        reduced = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if reduced else signal.dtype
        tensors = (
            signal,
            self.weight,
            self.signal_transform if to_bins is None else to_bins,
            self.kernel_transform,
            self.inverse_transform if to_time is None else to_time,
        )
        # Of few frequencies, folding costs what it spares; on a GPU, launches. Files have products.
        folds = self.is_whole and signal.is_cpu and not torch.compiler.is_exporting()
        with torch.autocast(device, enabled=False):
            cast = [tensor.to(dtype) for tensor in tensors]
            if not torch.is_grad_enabled():
                return _convolved(*cast, folds=folds)[0] + self.bias
            period = _period(self.window, self.kernel)
            return _FourierConvolution.apply(*cast, self.bias.to(dtype), period, folds)


class FrequencyBasis(nn.Module):
    """Coordinates of windows below the band of two convolutions, for losses.

    A convolution with `band_hz` reads nothing of a window above it, and gives nothing above it. So
    the squared error of an output differs from that of its coordinates in an orthonormal basis of
    these frequencies by what the window has above them, which no weight changes. With fewer
    coordinates than frames, a training step has fewer values to go through.
    """

    basis: Tensor
    to_bins: Tensor
    to_time: Tensor

    def __init__(self, first: Convolution, last: Convolution) -> None:
        super().__init__()
        inverse = last.inverse_transform.T.double()
        # Sines and cosines of the same frames; the sine of frequency 0 is none.
        vectors, sizes, _ = torch.linalg.svd(inverse, full_matrices=False)
        basis = vectors[:, sizes > 1e-6 * sizes[0]].T
        for name, value in (
            ("basis", basis),
            ("to_bins", first.signal_transform.double() @ basis.T),
            ("to_time", (basis @ inverse).T),
        ):
            self.register_buffer(name, value.float().contiguous(), persistent=False)

    def forward(self, windows: Tensor) -> Tensor:
        """(time, batch, channels) -> (coordinates, batch, channels)."""
        time, batch, channels = windows.shape
        return (self.basis @ windows.reshape(time, -1)).view(-1, batch, channels)


def _period(window: int, kernel: int) -> int:
    # Circular convolution wraps; the wrapped part must miss the kept frames. Odd: no Nyquist bin.
    shortest = window + kernel // 2
    return shortest + 1 - shortest % 2


def downsampled_frames(window: int, step: int) -> Tensor:
    """Frames, counted from the middle one, of a window of which every `step`-th is kept."""
    reach = window // 2 // step
    return step * torch.arange(-reach, reach + 1)


def _transform_matrices(
    window: int, kernel: int, bins: int, steps: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Real DFTs of window and kernel, real parts first, and the inverse's transpose.

    Time 0 is the centre.
    """
    period = _period(window, kernel)
    bin_ = torch.arange(bins, dtype=torch.float64)[:, None]

    def transform(frames: Tensor) -> Tensor:
        angle = 2.0 * math.pi * bin_ * frames / period
        return torch.cat([torch.cos(angle), -torch.sin(angle)])

    weight = torch.full_like(bin_, 2.0 / period)
    weight[0] = 1.0 / period
    inverse = transform(downsampled_frames(window, steps[1])) * torch.cat([weight, weight])
    # A frame stands for the ones beside it that were left out.
    signal = steps[0] * transform(downsampled_frames(window, steps[0]))
    taps = transform(downsampled_frames(kernel, 1))
    return signal.float(), taps.float(), inverse.float()


def _to_bins(signal: Tensor, matrix: Tensor, folds: bool) -> Tensor:
    """(time, ., .) -> (2, bins, ., .), real and imaginary parts."""
    time, *others = signal.shape
    columns = signal.reshape(time, -1)
    if not folds:
        return (matrix @ columns).view(2, -1, *others)
    half = time // 2
    before, after = columns[: half + 1].flip(0), columns[half:]
    folded = columns.new_empty(2, *after.shape)
    torch.add(after, before, out=folded[0])
    torch.sub(after, before, out=folded[1])
    folded[0, 0] *= 0.5
    # A batched product is shared out among threads by its parts, which costs less.
    return torch.bmm(_halves(matrix), folded).view(2, -1, *others)


def _to_time(parts: Tensor, matrix: Tensor, folds: bool) -> Tensor:
    """The transpose of `_to_bins`."""
    columns = parts.flatten(2)
    if folds:
        even, odd = torch.bmm(_halves(matrix).transpose(1, 2), columns)
        half = len(even) - 1
        signal = even.new_empty(2 * half + 1, even.shape[1])
        torch.add(even, odd, out=signal[half:])
        backwards = torch.arange(half, 0, -1)
        torch.index_select(even.sub_(odd), 0, backwards, out=signal[:half])
    else:
        signal = matrix.T @ columns.flatten(0, 1)
    return signal.view(-1, *parts.shape[2:])


def _halves(matrix: Tensor) -> Tensor:
    """Cosines and sines, (2, bins, frames), from the middle frame on."""
    return matrix.view(2, -1, matrix.shape[1])[:, :, matrix.shape[1] // 2 :]


def _convolved(
    signal: Tensor,
    weight: Tensor,
    to_bins: Tensor,
    taps_to_bins: Tensor,
    to_time: Tensor,
    *,
    folds: bool,
    level: tuple[Tensor, int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The product in the frequency domain; also both spectra, (2, bins, ...), for the gradient.

    `level` (out,), times a number, is added to the real part of frequency 0.
    """
    spectrum = _to_bins(signal, to_bins, folds)
    kernel = _to_bins(weight, taps_to_bins, folds)
    # Networks correlate: signal * conj(kernel).
    parts = _products(spectrum, kernel, 1)
    if level is not None:
        parts[0, 0].add_(level[0], alpha=level[1])
    return _to_time(parts, to_time, folds), spectrum, kernel


class _FourierConvolution(torch.autograd.Function):
    """`_convolved` with a derivative that does not spend its time on filling zeros."""

    @staticmethod
    def forward(ctx, signal, weight, to_bins, taps_to_bins, to_time, bias, period, folds):
        # A constant is the lowest of the bins: there it costs no pass over all frames.
        tensors = signal, weight, to_bins, taps_to_bins, to_time
        out, spectrum, kernel = _convolved(*tensors, folds=folds, level=(bias, period))
        ctx.save_for_backward(spectrum, kernel, to_bins, taps_to_bins, to_time)
        ctx.period, ctx.folds = period, folds
        return out

    @staticmethod
    def backward(ctx, grad):
        spectrum, kernel, to_bins, taps_to_bins, to_time = ctx.saved_tensors
        grad = _to_bins(grad, to_time, ctx.folds)
        grad_signal = grad_weight = grad_bias = None
        if ctx.needs_input_grad[5]:
            grad_bias = ctx.period * grad[0, 0].sum(0)
        if ctx.needs_input_grad[1]:
            both = _products(spectrum.transpose(2, 3), grad, 1)
            grad_weight = _to_time(both, taps_to_bins, ctx.folds)
        if ctx.needs_input_grad[0]:
            both = _products(grad, kernel.transpose(2, 3), -1)
            grad_signal = _to_time(both, to_bins, ctx.folds)
        return grad_signal, grad_weight, None, None, None, grad_bias, None, None


def _products(left: Tensor, right: Tensor, sign: int) -> Tensor:
    """left * conj(right), or left * right where `sign` is -1, of parts (2, bins, ., .)."""
    if torch.compiler.is_exporting():
        # Files have no operator that writes into a part.
        ours = torch.bmm(left[0], right[0]) + sign * torch.bmm(left[1], right[1])
        return torch.stack(
            [ours, torch.bmm(left[1], right[0]) - sign * torch.bmm(left[0], right[1])]
        )
    out = left.new_empty(*left.shape[:3], right.shape[3])
    torch.bmm(left[0], right[0], out=out[0]).baddbmm_(left[1], right[1], alpha=sign)
    torch.bmm(left[1], right[0], out=out[1]).baddbmm_(left[0], right[1], alpha=-sign)
    return out


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
        # In the layout of memory, which the loss would not keep.
        outside, frames = (values.permute(2, 0, 1) for values in (self(windows), windows))
        return nn.functional.mse_loss(outside.float(), frames)

    def sinusoids(self, encoding: Encoding) -> Tensor:
        """(batch, channels, latent frames): the fitted latent. Starke et al. 2022, eq. 5."""
        return self._sinusoids(encoding).permute(1, 2, 0)

    def decode(self, latent: Tensor) -> Tensor:
        """(batch, channels, latent frames) -> (batch, signals, frames)."""
        return self._decode(latent.permute(2, 0, 1)).permute(1, 2, 0)

    def _encode(self, windows: Tensor) -> Encoding:
        raise NotImplementedError

    def _decode(self, latent: Tensor) -> Tensor:
        raise NotImplementedError

    def _sinusoids(self, encoding: Encoding) -> Tensor:
        turns = torch.addcmul(encoding.phase, encoding.frequency, self.times[:, None, None])
        wave = torch.sin(2.0 * math.pi * turns)
        return torch.addcmul(encoding.offset, encoding.amplitude, wave)


def cycles(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y) in cycles; 0 with a finite derivative at the origin."""
    # A batch of held poses lands on the origin, where atan2 has no derivative.
    at_origin = torch.addcmul(x.square(), y, y) < 1e-16
    x = torch.where(at_origin, 1.0, x)
    return _Cycles.apply(y, x) if torch.is_grad_enabled() else torch.atan2(y, x) / (2.0 * math.pi)


class _Cycles(torch.autograd.Function):
    """`torch.atan2` in cycles, with a derivative of fewer operators."""

    @staticmethod
    def forward(ctx, y, x):
        ctx.save_for_backward(y, x)
        return torch.atan2(y, x) / (2.0 * math.pi)

    @staticmethod
    def backward(ctx, grad):
        y, x = ctx.saved_tensors
        share = grad / torch.addcmul(x.square(), y, y).mul_(2.0 * math.pi)
        return share * x, -share * y
