"""Characters that replay a clip with its ball."""

import numpy as np

from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from tests.controllers.replaying import Replay, as_controller

FIRST = 90


def dribbling(walk, schema, blocks, count=1, *, foot_ik=False, **options):
    """Characters that replay a clip; their balls are predicted as they were fitted."""
    first = np.full(count, FIRST)
    starts = InitialStates(
        blocks.rows(schema.inputs)[first], blocks.rows(schema.gate)[first], ("w",) * count, first
    )
    network = Replay(schema.dims, blocks.rows(schema.outputs), first)
    made = as_controller("nn", schema, network, walk, starts)
    root = blocks.body.root
    return Characters(
        made,
        starts,
        positions=root.positions[first][:, ::2].astype(np.float64),
        angles=root.angles[first].astype(np.float64),
        settings=CharacterSettings(foot_ik=foot_ik),
        **options,
    )
