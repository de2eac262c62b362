"""Live assets: controllers and motion databases in the form that the JavaScript runtime reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from apps.live.asset_file import asset_bytes
from apps.live.database_asset import database_asset
from apps.live.manifold import manifold_arrays
from apps.live.phase_asset import phase_asset
from controllers.networks.registry import NETWORKS
from controllers.runtime.controller import Controller
from controllers.runtime.engine_description import describe_controller
from controllers.runtime.int8_network import check_no_int8
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.model import PhaseModel
from deepphase.steering.foot_lock import FootLockSettings
from matching.database.database import MotionDatabase

Weights = Literal["float32", "float16"]


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
        return phase_asset(source)
    check_no_int8(source.network)
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
    arrays = _network_arrays(source, weights)
    arrays["starts.inputs"], arrays["starts.gate"] = source.starts.inputs, source.starts.gate
    arrays["starts.frames"] = source.starts.frames.astype(np.int32)
    gate = source.schema.gate
    if gate is not None and "phase_manifold" in gate:
        vectors = source.starts.gate[:, gate.slices["phase_manifold"]]
        arrays |= manifold_arrays(vectors.reshape(-1, 2 * source.schema.channels))
    return asset_bytes(header, arrays)


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
