"""Phases of a motion as it happens: one frame in, phases out, from the past alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.formats.body_checks import LARGEST_LENGTH_M
from deepphase.phase.causal.network import LAGS_S
from deepphase.phase.causal.stream import CausalStream
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from deepphase.phase.streamed_body import StreamedBody
from deepphase.phase.window_stream import WindowStream
from deepphase.short_repr import counted, short_repr


class StreamingEncoder:
    """Phases of frames as they arrive, at the model's rate.

    With a causal encoder (`train_causal`), a network gives the current phases out of the velocities
    of the last two seconds; answers begin after a third of a second. Without it, the sinusoids of
    the window that ends now are advanced to the moment asked for.

    Parameters
    ----------
    model
        A phase model of motion with the preset sine_fit and a band (`network.band_hz`), as the
        shipped configs `default`, `styles` and `dance` make it.
    names
        Names of the joints of the frames, in their order; joints that the model does not read are
        left out.
    lag_s
        Seconds that the phases are behind the newest frame, 0 or more; a longer lag gives a smaller
        error.
    causal
        Whether to use the model's causal encoder; None: if it has one and `lag_s` is at most .5 s.
        For longer lags the window around the moment is nearly complete, and better.

    Attributes
    ----------
    fps, channels
        Frames a second, and phase channels.
    causal
        Whether the causal encoder is used.

    Raises
    ------
    ParameterError
        If the model has another network or reads songs, the lag is negative, or the model has no
        causal encoder and `causal` is true.
    SkeletonError
        If a joint that the model reads is missing, or the body has neither two hips nor two
        shoulders, so that its facing is not known without the future.
    """

    def __init__(
        self,
        model: PhaseModel,
        names: Sequence[str],
        *,
        lag_s: float = 0.0,
        causal: bool | None = None,
    ) -> None:
        network, signals = streamable(model)
        if not (math.isfinite(lag_s) and lag_s >= 0):
            raise ParameterError(f"lag_s must not be negative, not {lag_s}")
        encoder = model.causal
        if causal and encoder is None:
            raise ParameterError(
                "this phase model has no causal encoder",
                hint="`deepphase train causal CLIPS --model MODEL` trains one",
            )
        self.fps, self.channels = model.fps, model.channels
        self._joints = len(names)
        body = StreamedBody(names, signals)
        if causal is None:
            causal = encoder is not None and lag_s <= max(LAGS_S)
        self.causal = causal
        self._stream: CausalStream | WindowStream
        if encoder is not None and causal:
            self._stream = CausalStream(encoder.network, body, model.fps, lag_s)
        else:
            self._stream = WindowStream(network, body, model.fps, lag_s)

    def __repr__(self) -> str:
        kind = "out of the past" if self.causal else "of the last window"
        return short_repr(self, counted(self.channels, "channel"), f"at {self.fps:g} Hz", kind)

    def reset(self) -> None:
        """Forget all frames, as between two motions."""
        self._stream.reset()

    def push(self, positions: Array) -> PhaseParameters | None:
        """Take the next frame.

        Parameters
        ----------
        positions : (joints, 3)
            Metres, Y up, in the order of `names`.

        Returns
        -------
        Phase, frequency, amplitude and offset, (channels,) each, `lag_s` behind this frame. None
        until enough frames have arrived: a window and its lag, or with a causal encoder a third of
        a second and the lag.

        Raises
        ------
        ParameterError
            If the shape is another, or a value is not finite or beyond 1,000 km; the frame is then
            not taken.
        """
        frame = np.asarray(positions, np.float64)
        if frame.shape != (self._joints, 3):
            raise ParameterError(f"a frame has shape {frame.shape}, expected ({self._joints}, 3)")
        if not np.abs(frame).max(initial=0.0) <= LARGEST_LENGTH_M:
            raise ParameterError(
                "this frame has positions that are not finite, or beyond 1,000 km",
                hint="leave it out",
            )
        return self._stream.push(frame)


def streamable(model: PhaseModel) -> tuple[SineFitAutoencoder, JointVelocities]:
    """Network and signals of a phase model that can be streamed.

    Raises
    ------
    ParameterError
        If the model has another network or reads songs.
    """
    network, signals = model.network, model.signals
    if not isinstance(network, SineFitAutoencoder) or not isinstance(signals, JointVelocities):
        raise ParameterError(
            "this phase model cannot be streamed",
            hint="choose a model of motion with the preset sine_fit",
        )
    return network, signals
