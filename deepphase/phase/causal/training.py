"""Training of causal encoders."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.causal.data import CausalData, CausalFrames, CausalTraining, without_older
from deepphase.phase.causal.encoder import CausalEncoder, parameters_of
from deepphase.phase.causal.network import LAGS_S, CausalForm, CausalNetwork
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameter_errors import PhaseErrors, parameter_errors
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from deepphase.phase.streaming import streamable
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions

_LEARNING_RATE, _WEIGHT_DECAY, _WARMUP, _FINAL_RATE = 2e-3, 1e-2, 0.05, 0.01
_DROPOUT = 0.03
# Weights in the loss of the frequency's logarithm and of the offset.
_FREQUENCY, _OFFSET = 1.0, 0.1
# Amplitudes, over their mean, beyond which a frequency weighs no more.
_MOST_WEIGHT = 3.0
# Share of the training frames whose past is cut, so that a stream that has just begun is known.
_CUT = 0.1
# Frames for the normalisation, and held-out frames that are measured, at most.
_NORMALISED, _MEASURED = 4_096, 20_000
_BLOCK = 1_024


class CausalModule(ResumableModule):
    """Phases of whole windows out of the past alone.

    A LightningModule for any `pytorch_lightning.Trainer`, with batches of `CausalData`.

    Parameters
    ----------
    network
        The network.
    data
        Training data, of which the normalisation is.
    """

    network: CausalNetwork

    def __init__(self, network: CausalNetwork, data: CausalData) -> None:
        super().__init__(network, learning_rate=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
        self.seed = data.training.seed
        few = data.train_frames[:: max(len(data.train_frames) // _NORMALISED, 1)]
        with torch.no_grad():
            frames = data.frames(torch.from_numpy(few))
            features = network.features(frames.velocities, frames.angle)
            network.mean.copy_(features.mean(0))
            network.scale.copy_(features.std(0) + 1e-3)
            network.unit.copy_(frames.wanted[2][:, 0].mean(0).clamp(min=1e-6))

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, _WARMUP, _FINAL_RATE)

    def on_train_batch_start(self, *_: object) -> None:
        # Dropout and cuts depend on the position alone, so that a resumed training is exact.
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        torch.manual_seed(self.seed * 1_000_003 + position)

    def training_step(self, batch: CausalFrames) -> Tensor:
        network = self.network
        least, most = network.facing_frames, network.window
        count = len(batch)
        kept = torch.randint(least, most, (count,), device=batch.angle.device)
        cut = torch.rand(count, device=batch.angle.device) < _CUT
        velocities = without_older(batch.velocities, torch.where(cut, kept, most + 1))
        found = network(velocities, batch.angle, _DROPOUT).float()
        wanted = network.values(*batch.wanted)
        square = (found - wanted).square()
        weights = (batch.wanted[2] / network.unit).clamp(max=_MOST_WEIGHT)
        pace = weights * (found[..., 3] - wanted[..., 3]).abs()
        loss = (square[..., :2].sum(-1) + _OFFSET * square[..., 2] + _FREQUENCY * pace).mean()
        self.last_loss = loss.detach()
        return loss

    def validation_step(self, batch: CausalFrames) -> None:
        found = self.network(batch.velocities, batch.angle)[..., :2]
        wanted = self.network.values(*batch.wanted)[..., :2]
        self.add_validated((found - wanted).square().sum(), wanted.square().sum())


def train_causal(
    store: ClipStore,
    model: PhaseModel[JointVelocities],
    training: CausalTraining | None = None,
    *,
    folder: str | Path | None = None,
    form: CausalForm | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> PhaseModel[JointVelocities] | None:
    """Train a causal encoder, which gives the phases of a model out of the past alone.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    store
        Clips of the model's skeleton, best those of its own training.
    model
        Phase model of motion with the preset sine_fit; its own network is not changed.
    training
        Length and seed of the training.
    form
        Sizes of the network.

    Returns
    -------
    The model with a causal encoder; None in all processes but the first of a training on several
    devices.

    Raises
    ------
    ParameterError
        If the model cannot be streamed, no clip is long enough, or Lightning refuses an option.
    SkeletonError
        If the clips have another skeleton, or its facing is not known without the future.
    """
    training, form = training or CausalTraining(), form or CausalForm()
    streamable(model)
    torch.manual_seed(training.seed)
    network = CausalNetwork(len(model.signals.joints), model.channels, model.fps, form)

    def result(data: CausalData, module: CausalModule, run: object) -> PhaseModel[JointVelocities]:
        provenance = {
            "clips": data.clips,
            "minutes": data.minutes,
            "training_frames": len(data.train_frames),
            "held_out_frames": len(data.held_out_frames),
            **asdict(training),
            "versions": versions(),
        }
        trained = module.network.to("cpu").eval()
        measured = _measured(trained, data, model)
        return replace(model, causal=CausalEncoder(trained, *measured, provenance))

    task = TrainedTask(
        training.seed,
        data=lambda: CausalData(store, model, network, training, progress=progress),
        module=lambda data: CausalModule(network, data),
        fingerprint=lambda data: {
            "training": asdict(training),
            "form": asdict(form),
            "model": model.sha256,
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


@torch.inference_mode()
def _measured(
    network: CausalNetwork, data: CausalData, model: PhaseModel[JointVelocities]
) -> tuple[dict[float, PhaseErrors], dict[float, PhaseErrors]]:
    """Errors of a network by seconds before now, and those of advanced windows."""
    chosen = data.with_window_behind(data.held_out_frames)
    chosen = chosen[:: max(len(chosen) // _MEASURED, 1)]
    found, wanted = [], []
    for block in torch.from_numpy(chosen).split(_BLOCK):
        frames = data.frames(block)
        found.append(network(frames.velocities, frames.angle))
        wanted.append(torch.stack(frames.wanted))
    values, truths = torch.cat(found).numpy(), torch.cat(wanted, 1).numpy()
    own, advanced = {}, {}
    half = model.window // 2
    for place, lag in enumerate(LAGS_S):
        truth = PhaseParameters(*truths[:, :, place])
        made = parameters_of(values[:, place], network.unit.numpy())
        own[lag] = parameter_errors(made, truth)
        behind = network.lags[place]
        whole = data.advanced(chosen - half, max(half - behind, 0))
        advanced[lag] = parameter_errors(whole, truth)
    return own, advanced
