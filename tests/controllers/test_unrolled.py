"""Training over frames that a network made itself: what it sees is what runs will show it."""

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.training.module import ClosedLoop
from tests.controllers.made_controllers import samples_for, small_controller

_SEES = CharacterSettings(feedback="prediction", foot_ik=False)


@pytest.mark.parametrize("name", ["experts", "pfnn", "mann", "no_phase", "nn"])
def test_the_next_frame_is_what_a_running_character_sees(name, store):
    samples = samples_for(name, store)
    network = small_controller(name, samples, hidden=8).eval()
    schema = samples.schema
    starts = InitialStates.from_samples(samples, np.array([3, 70]))
    controller = Controller(ControllerConfig.load(name), schema, network, store.skeleton, starts)
    character = Characters(controller, starts, settings=_SEES)
    character.step()
    inputs, gate = (torch.from_numpy(each.copy()) for each in character.network_inputs)
    with torch.no_grad():
        outputs = network(inputs, gate)
    character.step()
    seen, input_gate = (torch.from_numpy(each.copy()) for each in character.network_inputs)
    loop = ClosedLoop(schema)
    # What lies behind is what it was given, the rest is the network's own, whatever it was given.
    for given, given_gate in (
        (seen, input_gate),
        (torch.full_like(seen, 7.0), torch.full_like(input_gate, 7.0)),
    ):
        made, made_gate = loop.next_frame(given, given_gate, gate, outputs)
        for mine, its, whole in ((made, seen, given), (made_gate, input_gate, given_gate)):
            kept = mine == whole
            assert torch.where(kept, its, mine).allclose(its, atol=2e-5)
    own = made != 7.0
    slices = schema.inputs.slices
    for block in ("joint_position", "joint_velocity"):
        assert own[:, slices[block]].all()
    ahead = own[:, slices["trajectory_position"]].sum(1)
    assert (ahead == 2 * (len(schema.config.later_s) - 1)).all()
    if name == "experts":
        later = made_gate != 7.0
        assert (later.sum(1) == 2 * schema.channels * len(schema.config.later_s)).all()
    if name == "pfnn":
        assert (made_gate != 7.0).all()


def test_what_a_frame_costs_is_known_to_the_frames_before(store):
    samples = samples_for("experts", store)
    network = small_controller("experts", samples, hidden=8)
    rows = torch.tensor([5, 40])
    inputs, gates = (
        torch.from_numpy(np.stack([each[rows], each[rows + 1]], 1))
        for each in (samples.inputs, samples.gate)
    )
    outputs = network(inputs[:, 0], gates[:, 0])
    outputs.retain_grad()
    seen, gate = ClosedLoop(samples.schema).next_frame(
        inputs[:, 1], gates[:, 1], gates[:, 0], outputs
    )
    network(seen, gate).square().sum().backward()
    found = outputs.grad
    slices = samples.schema.outputs.slices
    assert found.isfinite().all()
    for block in ("joint_rotation", "trajectory_direction", "phase_manifold", "phase_frequency"):
        assert found[:, slices[block]].abs().max() > 0
    # The step of the root is not seen again.
    assert not found[:, slices["root_velocity"]].any()
