"""Training and runs of controllers and dancers on an accelerator.

Training steps and networks are PyTorch. The state of characters around the network is NumPy: every
step hands arrays over to the device of the network and back. The precomputed forms of a PFNN sort
characters by their phases' values, which fake tensors do not have; they are not tested here.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.dance.config import DanceConfig
from deepphase.controllers.dance.training import DanceData
from deepphase.controllers.data.controller_batches import ControllerBatches
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.module import ControllerModule, new_network
from deepphase.controllers.training.train import train_controller
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.path import circle
from tests.controllers.made_controllers import (
    FormulaPhases,
    data_of,
    samples_for,
    walking_store,
)
from tests.controllers.made_dances import TINY, BeatAndBarPhases, made_dances
from tests.fake_cuda import fake_cuda, to_device

_OWN_FRAMES = ("experts", "pfnn", "mann", "nn")
_TRAINED = [name for name, kind in NETWORKS.items() if name not in ("gp", "pfgp")]
_EXPERTS = {"experts": 2, "gating_hidden": 8}


@pytest.fixture(scope="module")
def store():
    return walking_store()


def _sizes(name: str) -> dict[str, int]:
    if name in ("gp", "pfgp"):
        return {"samples": 8}
    return {"hidden": 8} | (_EXPERTS if name in ("experts", "mann", "lmp", "no_phase") else {})


def _made(name: str, store, **changes) -> tuple[ControllerConfig, ControllerData]:
    options = {f"network.{key}": value for key, value in _sizes(name).items()}
    config = ControllerConfig.load(name, **options, **{"training.batch_size": 32, **changes})
    samples = samples_for(name, store)
    rows = np.arange(len(samples))
    return config, data_of(samples, rows[:-100], rows[-100:])


def _train_and_validate(config: ControllerConfig, data: ControllerData) -> None:
    """One optimizer step and one validation, as the trainer runs them."""
    batches = ControllerBatches(data, config)
    module = ControllerModule(batches)
    with fake_cuda() as device:
        for part in (module, module.controller, *([] if module._loop is None else [module._loop])):
            to_device(part, device)
        module._device = device
        module._noise, module._weights = module._noise.to(device), module._weights.to(device)
        trainer = SimpleNamespace(
            training=True,
            world_size=1,
            global_rank=0,
            global_step=0,
            strategy=SimpleNamespace(root_device=device),
            estimated_stepping_batches=8,
        )
        batches.trainer = module._trainer = trainer
        module.on_train_batch_start()
        optimizer = module.configure_optimizers()["optimizer"]
        rows = batches.batch(0, batches.batch_size).to(device)
        module.training_step(batches.on_after_batch_transfer(rows, 0)).backward()
        optimizer.step()
        found = {each.grad.device for each in module.parameters() if each.grad is not None}
        assert found == {device}
        trainer.training = False
        module.on_validation_epoch_start()
        rows = batches.held_out[: batches.batch_size].to(device)
        module.validation_step(batches.on_after_batch_transfer(rows, 0))


def _step(network: NormalisedController, config, data, frames: int = 2, **options) -> None:
    """Characters whose network is on the device."""
    starts = InitialStates.of_samples(data.samples, np.array([3, 70]))
    controller = Controller(config, data.schema, network, data.store.skeleton, starts)
    controller.data = {"top_speed": 2.0}
    with fake_cuda() as device:
        to_device(network, device)
        characters = Characters(controller, starts)
        for _ in range(frames):
            frame = characters.step(**options)
    assert len(frame.positions) == 2


@pytest.mark.parametrize("name", _TRAINED)
def test_a_training_step_keeps_to_its_device(name, store):
    _train_and_validate(*_made(name, store))


@pytest.mark.parametrize("name", _OWN_FRAMES)
def test_a_training_step_on_own_frames_keeps_to_its_device(name, store):
    changes = {"training.unroll_frames": 3, "training.pose_noise": 0.1}
    _train_and_validate(*_made(name, store, **changes))
    terms = {"training.unroll_goals": True, "schema.pose_residual": 0.5}
    changes |= {"training.unroll_goals": True, **terms}
    _train_and_validate(*_made(name, store, **changes))


@pytest.mark.parametrize("name", NETWORKS)
def test_characters_hand_their_arrays_to_the_network(name, store):
    config, data = _made(name, store)
    goals = PathGoals(circle(1.3, 5.0, 10.0), np.zeros((2, 2)))
    network = new_network(config, data).eval()
    _step(network, config, data, goal_source=goals)


@pytest.mark.slow
def test_dancers_keep_to_their_device():
    clips, motions = made_dances((100.0, 120.0), 8.0)
    for changes in ({}, {"training.unroll_frames": 3}):
        config = DanceConfig.load("experts", **TINY, **changes)
        data = DanceData.read(clips, config, BeatAndBarPhases(motions)).data
        _train_and_validate(config.controller, data)
    schema = data.schema
    offsets = len(schema.config.offsets_s)
    tracks = {}
    for name in schema.config.tracks:
        block = schema.inputs.slices[name]
        tracks[name] = np.zeros((2, offsets, (block.stop - block.start) // offsets))
    _step(new_network(config.controller, data), config.controller, data, tracks=tracks)


@pytest.mark.parametrize("name", ["experts", "nn"])
def test_a_tensor_left_on_the_cpu_is_found(name, store, monkeypatch):
    rows = torch.ones(1)
    target = NormalisedController.target
    monkeypatch.setattr(
        NormalisedController,
        "target",
        lambda self, outputs, inputs: target(self, outputs, inputs) * rows,
    )
    with pytest.raises(RuntimeError, match="cpu"):
        _train_and_validate(*_made(name, store))
    normalised = NormalisedController.normalised
    monkeypatch.setattr(
        NormalisedController,
        "normalised",
        lambda self, inputs, gate: normalised(self, inputs * rows, gate),
    )
    config, data = _made(name, store)
    with pytest.raises(RuntimeError, match="cpu"):
        _step(new_network(config, data).eval(), config, data)


@pytest.mark.gpu
def test_a_gpu_trains_and_runs_as_the_cpu_does(store, tmp_path):
    options = {f"network.{key}": value for key, value in _sizes("experts").items()}
    options |= {"training.samples": 640, "training.batch_size": 32, "network.dropout": 0.0}
    config = ControllerConfig.load("experts", **options)
    data = ControllerData.read(store, config, FormulaPhases())
    made = {
        name: train_controller(
            data, config, folder=tmp_path / name, accelerator=name, devices=1, precision="32-true"
        )
        for name in ("cpu", "gpu")
    }
    weights = [each.network.state_dict() for each in made.values()]
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name].cpu(), rtol=1e-2, atol=1e-3)
    controller = made["cpu"]
    expected = Characters(controller, controller.starts).step().positions
    controller.network.cuda()
    found = Characters(controller, controller.starts).step().positions
    np.testing.assert_allclose(found, expected, atol=1e-3)
