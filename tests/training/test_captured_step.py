"""Training steps as CUDA graphs."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_batches import ControllerBatches
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.training.module import ControllerModule
from deepphase.edit.training import EditorData, EditorModule
from deepphase.phase.networks.muon import Muon
from deepphase.training.resumable import ResumableModule, adamw
from deepphase.training.steps import CapturedStep
from tests.controllers.made_controllers import FormulaPhases, walking_store
from tests.edit.conftest import tiny_config
from tests.fake_cuda import fake_cuda, to_device
from tests.formula_motion import swings

STEPS = 40


class Line(ResumableModule):
    """A small network that learns a line; `waits` makes its step impossible to capture."""

    warmup = 0.1

    def __init__(self, optimizer: str, waits: bool) -> None:
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1)
        )
        kind = {"adamw": adamw, "muon": Muon}[optimizer]
        super().__init__(network, learning_rate=0.005, weight_decay=0.1, optimizer=kind)
        self._waits = waits

    def training_step(self, batch: Tensor) -> Tensor:
        return self.stepped(self._loss, batch)

    def _loss(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        loss = (self.network(batch)[:, 0] - batch.sum(1)).square().mean()
        loss = loss * float(loss.detach() > -1.0) if self._waits else loss
        return loss, loss


def _trained(optimizer: str, *, waits: bool = False, device: str = "gpu") -> list[Tensor]:
    module = Line(optimizer, waits)
    batches = list(torch.randn(STEPS, 16, 3, generator=torch.Generator().manual_seed(1)))
    quiet = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    trainer = pl.Trainer(accelerator=device, devices=1, max_epochs=1, **dict.fromkeys(quiet, False))
    trainer.fit(module, torch.utils.data.DataLoader(batches, batch_size=None))
    assert trainer.global_step == STEPS
    return [each.detach().cpu() for each in module.network.state_dict().values()]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.gpu
def test_a_captured_training_is_that_of_single_launches(optimizer, monkeypatch, recwarn):
    captured = _trained(optimizer)
    assert not [each for each in recwarn if "captured" in str(each.message)]
    monkeypatch.setattr(CapturedStep, "from_trainer", classmethod(lambda *_: None))
    for one, other in zip(captured, _trained(optimizer), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
def test_a_step_that_waits_is_taken_without_a_graph(monkeypatch):
    with pytest.warns(UserWarning, match="cannot be captured"):
        found = _trained("adamw", waits=True)
    monkeypatch.setattr(CapturedStep, "from_trainer", classmethod(lambda *_: None))
    for one, other in zip(found, _trained("adamw", waits=True), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_a_cpu_has_lightnings_own_step():
    first = Line("adamw", waits=False).network.state_dict().values()
    trained = _trained("adamw", device="cpu")
    assert not all(torch.equal(one, other) for one, other in zip(first, trained, strict=True))


def _controller(name: str) -> tuple[Any, ResumableModule]:
    """A controller with all that its config has, which draws random numbers in its step."""
    sizes = {"hidden": 8} | ({"experts": 2, "gating_hidden": 8} if name == "experts" else {})
    options = {f"network.{key}": value for key, value in sizes.items()}
    options |= {"training.samples": 32 * STEPS, "training.batch_size": 32}
    config = ControllerConfig.load(name, **options)
    batches = ControllerBatches(
        ControllerData.read(walking_store(), config, FormulaPhases()), config
    )
    return batches, ControllerModule(batches)


def _editor() -> tuple[Any, ResumableModule]:
    data = EditorData(swings(), tiny_config(**{"training.windows": 16 * STEPS}))
    return data, EditorModule(data)


MADE = {
    "experts": partial(_controller, "experts"),
    "pfnn": partial(_controller, "pfnn"),
    "editor": _editor,
}


class Losses(pl.Callback):
    """What the steps of a training have as losses, and how many shapes were captured."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.graphs = 0

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, *_: Any) -> None:
        self.losses.append(float(module.last_loss))
        if module._captured is not None:
            self.graphs = len(module._captured._graphs)


def _losses(name: str) -> Losses:
    torch.manual_seed(0)
    (data, module), found = MADE[name](), Losses()
    data.in_segments, module.total_steps = True, data.steps(1)
    quiet = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    options = {"max_epochs": data.segments(1), "limit_val_batches": 0, "callbacks": [found]}
    trainer = pl.Trainer(accelerator="gpu", devices=1, **options, **dict.fromkeys(quiet, False))
    trainer.fit(module, datamodule=data)
    return found


@pytest.mark.parametrize("name", MADE)
@pytest.mark.gpu
def test_captured_steps_have_the_losses_of_plain_ones(name, monkeypatch):
    captured = _losses(name)
    monkeypatch.setattr(CapturedStep, "from_trainer", classmethod(lambda *_: None))
    plain = _losses(name)
    assert captured.graphs >= 1
    assert len(captured.losses) == len(plain.losses) >= STEPS
    torch.testing.assert_close(
        torch.tensor(captured.losses), torch.tensor(plain.losses), rtol=1e-3, atol=1e-4
    )


def given_trainer(data: Any, module: Any) -> SimpleNamespace:
    """What a data module and a module ask of their trainer in a step."""
    trainer = SimpleNamespace(training=True, world_size=1, global_rank=0, global_step=0)
    trainer.strategy = SimpleNamespace(root_device=module.device)
    data.trainer = module._trainer = trainer
    return trainer


def made_batch(data: Any, start: int, device: torch.device) -> Any:
    """The batch at a position of the training."""
    rows = data.batch(start, start + data.batch_size).to(device)
    return getattr(data, "on_after_batch_transfer", lambda rows, _: rows)(rows, 0)


class OnDevice(TorchDispatchMode):
    """Refuses operators that wait for the device, or copy from the CPU to it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        tensors = [each for each in tree_leaves((args, kwargs, made)) if isinstance(each, Tensor)]
        assert len({each.device.type for each in tensors}) < 2, f"{func} is on two devices"
        assert "local_scalar" not in str(func), "a value is read"
        assert "nonzero" not in str(func), "a shape depends on values"
        return made


@pytest.mark.parametrize("name", ["experts", "editor"])
def test_what_is_captured_stays_on_the_device(name, monkeypatch):
    data, module = MADE[name]()
    with fake_cuda() as device:
        to_device(module, device)
        module._device = device
        trainer = given_trainer(data, module)
        steps = []

        def stepped(loss: Any, *batch: Tensor) -> Tensor:
            with OnDevice():
                value, _ = loss(*batch)
                value.backward()
            steps.append(loss)
            return value

        monkeypatch.setattr(module, "stepped", stepped)
        # Windows before targets are drawn on the CPU, outside of the step.
        monkeypatch.setattr(module, "_targets", lambda *_: None, raising=False)
        for start in range(0, data.total_samples, STEPS // 8 * data.batch_size):
            module.training_step(made_batch(data, start, device))
            trainer.global_step += 1
    assert steps
