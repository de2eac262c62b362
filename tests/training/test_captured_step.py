"""Training steps as CUDA graphs."""

from __future__ import annotations

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from deepphase.training.optimizer import CapturedStep
from deepphase.training.resumable import ResumableModule, cosine_rate

STEPS = 40


class Line(ResumableModule):
    """A small network that learns a line; `waits` makes its step impossible to capture."""

    is_captured = True

    def __init__(self, optimizer: str, waits: bool) -> None:
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)
        )
        super().__init__(network, learning_rate=0.005, weight_decay=0.1, optimizer=optimizer)
        self._waits = waits

    def rate(self, step: int, total: float) -> float:
        return cosine_rate(step, total, 0.1, 0.01)

    def training_step(self, batch: Tensor) -> Tensor:
        loss = self.stepped(self._loss, batch)
        self.last_loss = loss.detach()
        return loss

    def _loss(self, batch: Tensor) -> Tensor:
        loss = (self.network(batch)[:, 0] - batch.sum(1)).square().mean()
        return loss * float(loss.detach() > -1.0) if self._waits else loss


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
    monkeypatch.setattr(CapturedStep, "of_trainer", classmethod(lambda *_: None))
    for one, other in zip(captured, _trained(optimizer), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
def test_a_step_that_waits_is_taken_without_a_graph(monkeypatch):
    with pytest.warns(UserWarning, match="cannot be captured"):
        found = _trained("adamw", waits=True)
    monkeypatch.setattr(CapturedStep, "of_trainer", classmethod(lambda *_: None))
    for one, other in zip(found, _trained("adamw", waits=True), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_a_cpu_has_lightnings_own_step():
    first = Line("adamw", waits=False).network.state_dict().values()
    trained = _trained("adamw", device="cpu")
    assert not all(torch.equal(one, other) for one, other in zip(first, trained, strict=True))
