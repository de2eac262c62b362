"""Controllers with a ball whose networks know nothing, as live assets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from deepphase.apps.live.asset import live_asset
from deepphase.controllers.ball.fitting import fit_ball
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network, network_kind
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.normalisation import Normalisation
from deepphase.motion.clip import Clip
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.ball.made_dribbling import FIRST, dribbling
from tests.controllers.replaying import unchanged


def walking() -> Clip:
    return locomotion(3, 5.0, speed=1.2, turn_rate=0.3, variety=0.0).clip


def ball_schema(walk: Clip) -> ControllerSchema:
    config = SchemaConfig(ball=True)
    return schema_of_store(ClipStore.from_clips([walk]), "none", config, channels=0, tracks=None)


def asset_of(controller: Controller, mean: np.ndarray | None = None) -> bytes:
    """The asset with a network that always says the same: 0, or a row of raw outputs."""
    dims = controller.schema.dims
    network = make_network("nn", dims, network_kind("nn").make_config(hidden=8))
    with torch.no_grad():
        for each in network.parameters():
            each.zero_()
    outputs = unchanged(dims.outputs)
    if mean is not None:
        outputs = Normalisation(mean, outputs.scale)
    running = NormalisedController(network, unchanged(dims.inputs), unchanged(0), outputs)
    return live_asset(replace(controller, network=running))


def sliding_asset() -> bytes:
    """A body that slides ahead in one pose, with a ball at its feet."""
    walk = walking()
    blocks = FrameBlocks.of_clip(walk, schema := ball_schema(walk), ball=fit_ball(walk))
    row = blocks.rows(schema.outputs)[FIRST]
    return asset_of(dribbling(walk, schema, blocks).controller, row)
