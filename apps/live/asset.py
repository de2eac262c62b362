"""Live assets: controllers and motion databases in the form that the JavaScript runtime reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes, manifold_arrays
from deepphase.apps.live.database_asset import database_asset
from deepphase.arrays import Array
from deepphase.controllers.ball.ball_track import ball_as_mapping
from deepphase.controllers.ball.fetching import fetching_speed
from deepphase.controllers.ball.fitting import leg_joints
from deepphase.controllers.ball.running_balls import BallSettings
from deepphase.controllers.data.detail_rows import ARRAYS, DetailRows, detail_columns
from deepphase.controllers.data.rest_rows import rest_columns, rest_layout
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.detail import CONSTANTS
from deepphase.controllers.runtime.engine_description import describe_controller
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError, SkeletonError
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import FACING_SMOOTHING_S, VECTOR_SMOOTHING_S
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.signals import JointVelocities
from deepphase.steering.foot_lock import FootLockSettings

Weights = Literal["float32", "float16"]

_PHASES_HINT = "choose a model of motion with the preset sine_fit"


def live_asset(
    source: Controller | MotionDatabase | PhaseModel, *, weights: Weights = "float32"
) -> bytes:
    """The asset of a controller, a motion database or a phase model.

    Parameters
    ----------
    weights
        Type of a network's weights, or of a database's rotations. float16 halves the file and
        changes the motion slightly; all other arrays stay float32, and so do those of phase models.

    Raises
    ------
    ParameterError
        If JavaScript cannot evaluate the network, the controller reads tracks, or a database's
        features have no trajectory ahead.
    CheckpointError
        If a store of a database's clips is missing or was replaced.
    """
    if isinstance(source, MotionDatabase):
        return database_asset(source, weights)
    if isinstance(source, PhaseModel):
        return _phase_asset(source)
    kind = source.network.network.page_form
    if not kind:
        known = [name for name, each in NETWORKS.items() if each.has_page_form]
        raise ParameterError(
            f"the network {source.name!r} has no JavaScript form, which pages need",
            hint=f"networks that have one: {', '.join(known)}; your own network names its form in "
            "`page_form`",
        )
    if source.schema.config.tracks:
        raise ParameterError(
            f"the controller reads the tracks {', '.join(source.schema.config.tracks)}, which a "
            "character that is steered does not have",
            hint="choose a controller without tracks",
        )
    header: dict[str, Any] = {
        "kind": "controller",
        **describe_controller(source),
        "network": {"kind": kind, **asdict(source.config.network)},
        "starts": list(source.starts.names),
        "foot_lock": asdict(FootLockSettings()),
    }
    if header["ball"] is None:
        header["ball"] = _loose_ball(source)
    arrays = _network_arrays(source, weights)
    arrays["starts.inputs"], arrays["starts.gate"] = source.starts.inputs, source.starts.gate
    arrays["starts.frames"] = source.starts.frames.astype(np.int32)
    if source.rest is not None:
        moments = source.rest.moments(source.schema)
        blocks = rest_layout(source.schema).slices
        header["rest"] = {
            **moments.described(),
            "columns": rest_columns(source.schema),
            "blocks": {name: [place.start, place.stop] for name, place in blocks.items()},
        }
        arrays |= {"rest.outputs": source.rest.outputs, "rest.poses": moments.poses}
    if source.detail is not None:
        header["detail"] = _detail_header(source.detail, source.schema)
        arrays |= {
            f"detail.{name}": getattr(source.detail, name) for name in ARRAYS if name != "stops"
        }
    gate = source.schema.gate
    if gate is not None and "phase_manifold" in gate:
        vectors = source.starts.gate[:, gate.slices["phase_manifold"]]
        arrays |= manifold_arrays(vectors.reshape(-1, 2 * source.schema.channels))
    return asset_bytes(header, arrays)


def _detail_header(detail: DetailRows, schema: ControllerSchema) -> dict[str, Any]:
    """Entries of captured detail that are not arrays of the asset."""
    return {
        "columns": detail_columns(schema),
        "stops": detail.stops,
        "styles": list(detail.styles),
        "step": detail.step,
        "reach": detail.reach,
        "constants": asdict(CONSTANTS),
    }


def _loose_ball(controller: Controller) -> dict[str, Any] | None:
    """The ball of a character on two legs that did not learn with one; None for others."""
    roles = find_roles(controller.skeleton, description=dict(controller.schema.body))
    if roles.kind != "biped":
        return None
    try:
        legs = leg_joints(controller.skeleton, roles)
    except SkeletonError:
        return None
    return {
        **ball_as_mapping(controller.ball),
        "loose": True,
        "floor": 0.0,
        "near_m": BallSettings().near_m,
        "past": [],
        "legs": legs,
        "fetching_speed": fetching_speed(controller.data),
    }


def _network_arrays(controller: Controller, weights: Weights) -> dict[str, Array]:
    """Parameters of the network under the names of its state dict, and the normalisations."""
    arrays = {
        f"network.{name}": tensor.detach().cpu().numpy().astype(weights)
        for name, tensor in controller.network.network.state_dict().items()
    }
    for part in ("inputs_mean", "inputs_scale", "gate_mean", "gate_scale"):
        arrays[part] = controller.network.get_buffer(part).cpu().numpy()
    for part in ("outputs_mean", "outputs_unit"):
        arrays[part] = controller.network.get_buffer(part).cpu().numpy()
    carried = controller.schema.carried
    if carried is not None:
        arrays["carried_columns"], arrays["carried_shares"] = (
            carried[0].astype(np.int32),
            carried[1],
        )
    return arrays


def _phase_asset(model: PhaseModel) -> bytes:
    """The asset of a phase model, which the modules of `deepphase/viewer/runtime/encoder/` read.

    Convolutions are stored in the frequency domain: ``to_bins`` (2 * bins, frames in), ``kernel``
    (2, bins, ins, outs), its real and imaginary parts, ``to_time`` (frames out, 2 * bins) and
    ``bias``.

    Raises
    ------
    ParameterError
        If the model has another network than that of the preset sine_fit with a band, or reads
        songs.
    """
    network, signals = model.network, model.signals
    if not isinstance(network, SineFitAutoencoder) or not isinstance(signals, JointVelocities):
        raise ParameterError("the phase model has no JavaScript form", hint=_PHASES_HINT)
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
            raise ParameterError(
                "the convolutions of the phase model have no band", hint=_PHASES_HINT
            )
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
    return asset_bytes(header, arrays)
