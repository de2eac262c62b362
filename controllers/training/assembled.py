"""Controllers assembled from a network and the data that it is trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controllers.config import ControllerConfig
from controllers.data.controller_data import ControllerData
from controllers.networks.normalised import NormalisedController
from controllers.runtime.controller import Controller


def assembled_controller(
    network: NormalisedController,
    config: ControllerConfig,
    data: ControllerData,
    provenance: Mapping[str, Any] | None = None,
) -> Controller:
    """A controller that is not measured yet.

    Parameters
    ----------
    network
        Its network, which is moved to the CPU and set to evaluation mode.
    config
        Config that the network is trained with.
    data
        Training data; the controller has their skeleton, measures and initial states.
    provenance
        Provenance of the controller.
    """
    return Controller(
        config=replace(config, schema=data.schema.config),
        schema=data.schema,
        network=network.to("cpu"),
        skeleton=data.store.skeleton,
        starts=data.starts,
        phases={} if data.phases is None else {"sha256": data.phases.sha256},
        data=data.measures,
        provenance=provenance or {},
        source=data.store.sources[0].conventions,
    )
