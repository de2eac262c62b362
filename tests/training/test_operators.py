"""How much a training step asks of its device: small networks on a GPU wait for launches."""

from __future__ import annotations

from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import deepphase as dp
from deepphase.controllers.runtime.network_state import angle_of, unit_at, unit_pairs
from deepphase.phase.networks.autoencoder import cycles
from deepphase.training.task import trainer_options
from tests.formula_motion import swinging
from tests.training.test_captured_step import MADE, given_trainer, made_batch

# Operators of loss, gradients and optimizer: half of the 809 before whole derivatives and batches.
MOST = 404


class Operators(TorchDispatchMode):
    """Counts operators that compute; views do not."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


class Counter(pl.Callback):
    """Counts the operators of one step after the first ones."""

    def __init__(self) -> None:
        self.mode = Operators()

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == 3:
            self.mode.__enter__()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == 4:
            self.mode.__exit__(None, None, None)


@pytest.mark.slow
def test_operators_of_a_step_of_the_default_phase_training(tmp_path):
    clips = [swinging(rate, 6.0, seed=seed)[0] for seed, rate in enumerate((0.9, 1.1, 1.3))]
    config = dp.PhaseConfig.load(
        "default", **{"network.channels": 5, "training.windows": 96, "training.batch_size": 16}
    )
    counter = Counter()
    dp.train_phase(
        dp.ClipStore.from_clips(clips),
        config,
        folder=tmp_path / "work",
        accelerator="cpu",
        callbacks=[counter],
    )
    assert 0 < counter.mode.count <= MOST


# Of loss and gradients, at the end of the training: `experts` over eight frames. The first two have
# half of the 5,212 and 625 that they had.
@pytest.mark.parametrize(("name", "most"), [("experts", 2_600), ("editor", 430)])
def test_operators_of_other_steps(name, most):
    data, module = MADE[name]()
    given_trainer(data, module)
    batch = made_batch(data, data.total_samples - data.batch_size, module.device)
    module._targets = lambda *_: None
    with Operators() as operators:
        module.training_step(batch).backward()
    assert 0 < operators.count <= most


def test_derivatives_of_fewer_operators_are_those_of_differences():
    pairs = torch.randn(2, 7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y, x = pairs.unbind(-1)
    for function, *values in (
        (cycles, y, x),
        (angle_of, torch.complex(x, y)),
        (unit_at, y),
        (lambda values: unit_pairs(values, 1e-6), pairs),
    ):
        given = [value.clone().requires_grad_() for value in values]
        assert torch.autograd.gradcheck(function, given, check_undefined_grad=False)


def test_origins_have_finite_derivatives():
    zeros = [torch.zeros(3, requires_grad=True) for _ in range(2)]
    (cycles(*zeros) + angle_of(torch.complex(*zeros))).sum().backward()
    assert all(each.grad.isfinite().all() for each in zeros)


def test_trainings_are_in_single_precision_where_nothing_is_said():
    """CPUs without products in bfloat16 are slower by it than in float32."""
    assert pl.Trainer(**trainer_options({}, max_epochs=1)).precision == "32-true"
