"""Live assets of phase models, of which JavaScript computes phases of clips and of streams."""

from __future__ import annotations

from typing import Any

from apps.live.asset_file import asset_bytes
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.root_trajectory import FACING_SMOOTHING_S, VECTOR_SMOOTHING_S
from deepphase.phase.causal.encoder import network_arrays
from deepphase.phase.causal.network import STILL
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.signals import JointVelocities

_HINT = "choose a model of motion with the preset sine_fit"


def phase_asset(model: PhaseModel) -> bytes:
    """The asset of a phase model, which the modules of `deepphase/viewer/runtime/encoder/` read.

    Convolutions are stored in the frequency domain: ``to_bins`` (2 * bins, frames in), ``kernel``
    (2, bins, ins, outs), its real and imaginary parts, ``to_time`` (frames out, 2 * bins) and
    ``bias``. A causal encoder has the arrays of `network_arrays`, as ``causal.basis``.

    Raises
    ------
    ParameterError
        If the model has another network than that of the preset sine_fit with a band, or reads
        songs.
    """
    network, signals = model.network, model.signals
    if not isinstance(network, SineFitAutoencoder) or not isinstance(signals, JointVelocities):
        raise ParameterError("the phase model has no JavaScript form", hint=_HINT)
    header: dict[str, Any] = {
        "kind": "phase_model",
        "frame_rate": model.fps,
        "window": model.window,
        "channels": network.config.channels,
        "signals": signals.joints,
        "body": dict(signals.body),
        "facing_smoothing_s": [VECTOR_SMOOTHING_S, FACING_SMOOTHING_S],
        "constants": network.constants(),
    }
    arrays: dict[str, Array] = {}
    for name in ("encoder_in", "encoder_out"):
        layer = getattr(network, name)
        if layer.form != "fourier":
            raise ParameterError("the convolutions of the phase model have no band", hint=_HINT)
        kernel = layer.kernel_transform @ layer.weight.reshape(layer.kernel, -1)
        parts = {
            "to_bins": layer.signal_transform,
            "to_time": layer.inverse_transform,
            "kernel": kernel.reshape(2, -1, *layer.weight.shape[1:]),
            "bias": layer.bias,
        }
        arrays |= {f"{name}.{part}": each.detach().cpu().numpy() for part, each in parts.items()}
    fit = network.spectrum
    for part, each in (
        ("seconds", fit.times),
        ("weights", fit.weights),
        ("middle", fit.middle),
        ("tried", fit.tried),
        ("basis", fit.basis),
    ):
        arrays[f"fit.{part}"] = each.cpu().numpy()
    if network.phase_layer is not None:
        arrays["phase_layer.weight"] = network.phase_layer.weight.detach().cpu().numpy()
    if model.causal is not None:
        causal = model.causal.network
        header["causal"] = {
            "window": causal.window,
            "lags": list(causal.lags),
            "facing_frames": causal.facing_frames,
            "still": STILL,
        }
        arrays |= {f"causal.{name}": each for name, each in network_arrays(causal).items()}
    return asset_bytes(header, arrays)
