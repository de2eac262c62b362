"""Live assets: controllers in the form that the JavaScript runtime reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from apps.live.asset_file import asset_bytes
from controllers.networks.experts import Experts
from controllers.networks.pfnn import Pfnn
from controllers.networks.plain import Plain
from controllers.networks.recurrent import Recurrent
from controllers.networks.variational import Variational
from controllers.runtime.controller import Controller
from controllers.runtime.engine_description import describe_controller
from deepphase.arrays import Array
from deepphase.errors import ParameterError

Weights = Literal["float32", "float16"]

# The networks that the runtime evaluates; see `apps/live/runtime/network.js`.
_NETWORKS = {
    Experts: "experts",
    Pfnn: "pfnn",
    Plain: "plain",
    Recurrent: "recurrent",
    Variational: "variational",
}


def live_asset(source: Controller, *, weights: Weights = "float32") -> bytes:
    """The asset of a controller.

    Parameters
    ----------
    weights
        Type of the network's weights. float16 halves the file and changes the motion slightly;
        normalisations and start states stay float32.

    Raises
    ------
    ParameterError
        If the runtime cannot evaluate the network, or the controller reads tracks such as music.
    """
    kind = _NETWORKS.get(type(source.network.network))
    if kind is None:
        raise ParameterError(
            f"the network {source.name!r} has no JavaScript form",
            hint=f"networks that have one: {', '.join(sorted(set(_NETWORKS.values())))}",
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
    }
    arrays = _network_arrays(source, weights)
    arrays["starts.inputs"], arrays["starts.gate"] = source.starts.inputs, source.starts.gate
    arrays["starts.frames"] = source.starts.frames.astype(np.int32)
    gate = source.schema.gate
    if gate is not None and "phase_manifold" in gate:
        vectors = source.starts.gate[:, gate.slices["phase_manifold"]]
        arrays |= manifold_arrays(vectors.reshape(-1, 2 * source.schema.channels))
    return asset_bytes(header, arrays)


def manifold_arrays(vectors: Array) -> dict[str, Array]:
    """Projection of a phase manifold to three dimensions by its principal components.

    Parameters
    ----------
    vectors : (points, 2 * channels)
        (A sin, A cos) of each channel, interleaved.

    Returns
    -------
    ``manifold.mean`` (2 * channels,) and ``manifold.basis`` (3, 2 * channels), so that a vector is
    projected to basis @ (vector - mean); ``manifold.points`` (points, 3), the projected vectors;
    ``manifold.phase`` (points,) cycles, of the channel with the largest amplitude.
    """
    vectors = vectors.astype(np.float64)
    mean = vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors - mean, full_matrices=False)
    basis = np.zeros((3, vectors.shape[1]))
    basis[: len(axes[:3])] = axes[:3]
    pairs = vectors.reshape(len(vectors), -1, 2)
    strongest = np.square(pairs).sum(axis=(0, 2)).argmax()
    phase = np.arctan2(pairs[:, strongest, 0], pairs[:, strongest, 1]) / (2.0 * np.pi)
    arrays = {"mean": mean, "basis": basis, "points": (vectors - mean) @ basis.T, "phase": phase}
    return {f"manifold.{name}": each.astype(np.float32) for name, each in arrays.items()}


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
