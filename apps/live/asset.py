"""Live assets of controllers: what the JavaScript runtime reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes, manifold_arrays
from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import rest_columns, rest_layout
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.engine_export import describe_controller
from deepphase.errors import ParameterError
from deepphase.motion.roles import find_roles
from deepphase.steering.foot_lock import FootLockSettings

Weights = Literal["float32", "float16"]


def controller_asset(controller: Controller, *, weights: Weights = "float32") -> bytes:
    """The asset of a controller; ParameterError where JavaScript cannot run it."""
    kind = controller.network.network.page_form
    config = controller.schema.config
    # The page evaluates closed splines only.
    if not kind or not getattr(controller.config.network, "cyclic", True):
        known = [name for name, network in NETWORKS.items() if network.has_page_form]
        raise ParameterError(
            f"the network {controller.name!r} has no JavaScript form, which pages need",
            hint=f"networks that have one: {', '.join(known)}; your own network names its form in "
            "`page_form`",
        )
    if config.tracks or config.ball:
        lacks = f"the tracks {', '.join(config.tracks)}" if config.tracks else "a ball"
        raise ParameterError(
            f"the controller needs {lacks}, which a character of the live page does not have",
            hint="choose another controller, or move this one with `deepphase control`",
        )
    header: dict[str, Any] = {
        "kind": "controller",
        **describe_controller(controller),
        "network": {"kind": kind, **asdict(controller.config.network)},
        "starts": list(controller.starts.names),
        "foot_lock": asdict(FootLockSettings()),
    }
    roles = find_roles(controller.skeleton, description=dict(controller.schema.body))
    header["skeleton"]["tail"] = list(roles.tail)
    arrays = _network_arrays(controller, weights)
    arrays |= {"starts.inputs": controller.starts.inputs, "starts.gate": controller.starts.gate}
    arrays["starts.frames"] = controller.starts.frames.astype(np.int32)
    if controller.rest is not None:
        moments = controller.rest.moments(controller.schema)
        blocks = rest_layout(controller.schema).slices
        header["rest"] = {
            **moments.described(),
            "columns": rest_columns(controller.schema),
            "blocks": {name: [place.start, place.stop] for name, place in blocks.items()},
        }
        arrays |= {"rest.outputs": controller.rest.outputs, "rest.poses": moments.poses}
    gate = controller.schema.gate
    if gate is not None and "phase_manifold" in gate:
        vectors = controller.starts.gate[:, gate.slices["phase_manifold"]]
        arrays |= manifold_arrays(vectors.reshape(-1, 2 * controller.schema.channels))
    return asset_bytes(header, arrays)


def _network_arrays(controller: Controller, weights: Weights) -> dict[str, Array]:
    """Parameters of the network under the names of its state dict, and the normalisations."""
    arrays = {
        f"network.{name}": tensor.detach().cpu().numpy().astype(weights)
        for name, tensor in controller.network.network.state_dict().items()
    }
    names = ("inputs_mean", "inputs_scale", "gate_mean", "gate_scale", "outputs_mean")
    for part in (*names, "outputs_unit"):
        arrays[part] = controller.network.get_buffer(part).cpu().numpy()
    if controller.schema.carried is not None:
        columns, arrays["carried_shares"] = controller.schema.carried
        arrays["carried_columns"] = columns.astype(np.int32)
    return arrays
