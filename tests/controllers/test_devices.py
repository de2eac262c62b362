"""Training and runs of controllers and dancers on an accelerator.

Training steps and networks are PyTorch. The state of characters around the network is NumPy: every
step hands arrays over to the device of the network and back.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_batches import ControllerBatches
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.training.module import ControllerModule
from deepphase.controllers.training.train import train_controller
from tests.controllers.made_controllers import FormulaPhases, data_of, samples_for
from tests.fake_cuda import fake_cuda, to_device

_TRAINED = [name for name, kind in NETWORKS.items() if name not in ("gp", "pfgp")]
_EXPERTS = {"experts": 2, "gating_hidden": 8}


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
        to_device(module, device)
        module._device = device
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


@pytest.mark.parametrize("name", _TRAINED)
def test_a_training_step_keeps_to_its_device(name, store):
    _train_and_validate(*_made(name, store))


@pytest.mark.gpu
def test_a_gpu_trains_and_runs_as_the_cpu_does(store, tmp_path):
    options = {f"network.{key}": value for key, value in _sizes("experts").items()}
    options |= {"training.samples": 640, "training.batch_size": 32, "network.dropout": 0.0}
    # Random numbers differ between devices.
    options |= {"training.drift": 0.0, "training.unroll_goals": False}
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
