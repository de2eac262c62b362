"""A network that knows a clip by heart: what a runtime that is right makes the clip again of."""

from __future__ import annotations

import numpy as np
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.networks.network import ControllerNetwork, NetworkDims
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import network_kind
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import Normalisation
from deepphase.motion.clip import Clip


class Replay(ControllerNetwork):
    """Gives the rows of a table one behind the other, from a row for each character on."""

    state_names = ("row",)

    def __init__(self, dims: NetworkDims, rows: np.ndarray, first: np.ndarray) -> None:
        super().__init__(dims)
        self.rows, self.first = torch.from_numpy(rows.copy()), torch.from_numpy(first)

    def initial_state(self, batch):
        assert batch == len(self.first)
        return (self.first.clone(),)

    def step(self, inputs, gate, state):
        self.check_dims(inputs, gate)
        return self.rows[state[0] + 1], (state[0] + 1,)


def unchanged(width: int) -> Normalisation:
    return Normalisation(np.zeros(width, np.float32), np.ones(width, np.float32))


def as_controller(
    name: str,
    schema: ControllerSchema,
    network: ControllerNetwork,
    clip: Clip,
    starts: InitialStates,
) -> Controller:
    """A controller of a network whose values are not normalised."""
    dims = schema.dims
    running = NormalisedController(
        network, unchanged(dims.inputs), unchanged(dims.gate), unchanged(dims.outputs)
    )
    return Controller(ControllerConfig.load(name), schema, running, clip.skeleton, starts)


def replay_of(clip: Clip, name: str, first, phases=None, **changes):
    """A controller that replays a clip from frames on: controller, starts and the clip's blocks."""
    recipe = ControllerConfig.load(name, **changes)
    channels = 0 if phases is None else phases.encode(clip).parameters.channels
    schema = schema_of_store(
        ClipStore.from_clips([clip]),
        network_kind(name).gate,
        recipe.schema,
        channels=channels,
        tracks=None,
    )
    blocks = FrameBlocks.from_clip(clip, schema, phases)
    first = np.atleast_1d(first)
    starts = InitialStates.from_clip(clip, first, schema, phases)
    network = Replay(schema.dims, blocks.rows(schema.outputs), first)
    return as_controller(name, schema, network, clip, starts), starts, blocks
