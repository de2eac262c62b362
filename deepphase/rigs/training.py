"""Training of inverse rig functions on the clips of a store."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.windows import WindowOrder
from deepphase.progress import Progress
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.examples import RigExamples
from deepphase.rigs.gaussian_process import MultiquadricProcess, chosen_width
from deepphase.rigs.inverse import METHODS, ReluNetwork, RigInverse, RigScale
from deepphase.rigs.rig_function import RigFunction
from deepphase.training.resumable import ResumableData, ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions

# Share of the largest singular value of the derivatives. Half of the values may be 0, so that their
# median is not a measure.
_DAMPING = 0.005
_WARMUP = 0.02
# Principal components with a smaller share of the largest deviation carry no motion.
_LEAST_COMPONENT = 1e-6
# Poses that widths of kernels, the damping and the report are found with.
_WIDTH_POSES, _DAMPING_POSES, _REPORT_POSES = 600, 40, 300


class RigData(ResumableData, pl.LightningDataModule):
    """Poses and samples of a rig, for `RigModule` in any trainer.

    Attributes
    ----------
    inputs, outputs
        (rows, 3 joints) and (rows, used) float32, normalised: poses, samples, held-out poses.
    """

    def __init__(self, rig: RigFunction, examples: RigExamples, config: RigConfig) -> None:
        super().__init__()
        options = config.training
        self.rig, self.config, self.batch_size = rig, config, options.batch_size
        self.learnt, self.held_out_examples = examples.split(options.held_out, options.seed)
        values = self.learnt.values
        self.scale = scale = RigScale.of_examples(values, self.learnt.positions)
        flat = self.learnt.positions.reshape(len(values), -1)
        self.position_scale = np.maximum(flat.std(axis=0), 1e-3)
        made = sampled_controls(
            scale.normalised(values),
            config.network.samples,
            config.network.noise,
            options.seed,
        )
        sampled = np.clip(scale.values(made), rig.lower, rig.upper)
        positions = [self.learnt.positions, self.held_out_examples.positions]
        every = np.concatenate([values, sampled, self.held_out_examples.values])
        joints = np.concatenate([positions[0], rig.evaluate(sampled), positions[1]])
        self.train_rows = len(values) + len(sampled)
        self.inputs = torch.from_numpy(self.whitened(joints).astype(np.float32))
        self.outputs = torch.from_numpy(scale.normalised(every).astype(np.float32))
        self.held_out = torch.arange(self.train_rows, len(every))
        self._order = WindowOrder(self.train_rows, options.seed)

    def whitened(self, positions: Array) -> Array:
        """(poses, 3 joints) what the network reads, each value in its deviations."""
        flat = positions.reshape(len(positions), -1)
        return np.asarray((flat - self.scale.position_mean) / self.position_scale)

    @property
    def total_samples(self) -> int:
        """Number of poses in the whole training that the config asks for."""
        return math.ceil(self.config.training.epochs * self.train_rows)

    @property
    def epoch_samples(self) -> int:
        """Poses of one pass."""
        return self.train_rows

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """Indices of a share of the poses at these positions."""
        return torch.as_tensor(self._order(start, stop)[share])

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> tuple[Tensor, Tensor]:
        """Inputs and outputs of these poses."""
        if self.inputs.device != batch.device:
            self.inputs, self.outputs = self.inputs.to(batch.device), self.outputs.to(batch.device)
        return self.inputs[batch], self.outputs[batch]


class RigModule(ResumableModule):
    """One hidden layer with ReLU from joints to controls (Holden 2017, 3.6.3).

    A LightningModule for any `pytorch_lightning.Trainer`, with `RigData`.
    """

    network: torch.nn.Sequential

    def __init__(self, data: RigData) -> None:
        self.options = data.config.training
        inputs, outputs = data.inputs.shape[1], data.outputs.shape[1]
        hidden = data.config.network.hidden
        options = data.config.training
        super().__init__(
            torch.nn.Sequential(
                torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs)
            ),
            learning_rate=options.learning_rate,
            weight_decay=0.0,
        )
        self.options = options

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, _WARMUP, self.options.final_rate)

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, outputs = batch
        loss = (self.network(inputs) - outputs).square().mean()
        self.last_loss = loss.detach()
        if self.options.sparsity:
            weights = torch.cat([each.abs().flatten() for each in self.network.parameters()])
            loss = loss + self.options.sparsity * weights.mean()
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        inputs, outputs = batch
        error = self.network(inputs) - outputs
        self.add_validated(error.square().sum(), outputs.square().sum())

    def relu_network(self, data: RigData) -> ReluNetwork:
        """The weights, for inputs that are centred and in metres."""
        # In the order of the layers: weight and bias of the first, then of the second.
        arrays = [each.detach().cpu().numpy() for each in self.network.parameters()]
        scaled = (arrays[0] / data.position_scale).astype(np.float32)
        return ReluNetwork(scaled, *arrays[1:])


def sampled_controls(values: Array, count: int, noise: float, seed: int) -> Array:
    """(count, controls) values around examples, moved along their principal components.

    Parameters
    ----------
    values : (examples, controls)
        In units of their standard deviations.

    References
    ----------
    Holden 2017, algorithm 2, with components that are whitened.
    """
    rng = np.random.default_rng(seed)
    _, scales, axes = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    kept = scales > _LEAST_COMPONENT * scales.max(initial=1e-12)
    scales, axes = scales[kept] / np.sqrt(len(values)), axes[kept]
    moves = rng.standard_normal((count, len(scales))) * scales @ axes
    return np.asarray(values[rng.integers(len(values), size=count)] + noise * moves)


def train_rig(
    store: ClipStore,
    rig: BodyRig,
    config: RigConfig | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> RigInverse | None:
    """Learn the inverse of a rig function from clips.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    store
        Clips of one skeleton; on other bodies than the rig's they are retargeted.
    rig
        The rig. Its controls are set by rule, and a network learns them.
    config
        `configs/rig/default.yaml` if None.

    Returns
    -------
    The inverse, measured on held-out clips; None in all processes but the first of a training on
    several devices.

    Raises
    ------
    ParameterError
        If there are too few poses, or Lightning refuses an option.
    SkeletonError
        If a clip is of another kind of body.
    """
    config = RigConfig.load("default") if config is None else config

    def measured(inverse: RigInverse, learnt: int, held_out: RigExamples) -> RigInverse:
        origin = {
            "store": None if store.path is None else Path(store.path).name,
            "clips": len(store),
            "frames": learnt,
            "skeleton": store.group,
        }
        provenance = {"data": origin, **inverse.provenance, **versions()}
        report = rig_report(inverse, held_out, progress=progress)
        return replace(inverse, provenance=provenance, report=report)

    def result(data: RigData, module: RigModule, run: dict[str, Any]) -> RigInverse:
        process = with_process(rig, data.learnt, config, progress)
        steps = {"steps": run["steps"]}
        inverse = replace(process, network=module.relu_network(data), provenance=steps)
        return measured(inverse, len(data.learnt), data.held_out_examples)

    task = TrainedTask(
        config.training.seed,
        data=lambda: RigData(
            rig, RigExamples.of_store(store, rig, config.training.frames, progress), config
        ),
        module=RigModule,
        fingerprint=lambda data: {
            "config": config.as_mapping(),
            "controls": list(rig.names),
            "poses": len(data.learnt),
            "checksum": float(data.inputs.abs().sum(dtype=torch.float64)),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def with_process(
    rig: RigFunction,
    learnt: RigExamples,
    config: RigConfig,
    progress: Progress | None = None,
) -> RigInverse:
    """The inverse by a Gaussian process, without a network."""
    seed, count = config.training.seed, config.process.examples
    if progress is not None:
        progress("fitting the Gaussian process", 0, 1, f"{count} examples")
    scale = RigScale.of_examples(learnt.values, learnt.positions)
    values = np.concatenate([rig.rest[None], learnt.values])
    positions = np.concatenate([rig.evaluate(rig.rest[None]), learnt.positions])
    inputs = positions.reshape(len(positions), -1) - scale.position_mean
    outputs = scale.normalised(values)
    order = np.random.default_rng(seed).permutation(len(values))
    width = chosen_width(inputs[order[:_WIDTH_POSES]], outputs[order[:_WIDTH_POSES]], seed)
    rows = np.concatenate([[0], order[order > 0][: count - 1]])
    process = MultiquadricProcess.fit(inputs[rows], outputs[rows], width)
    derivatives = rig.jacobian(values[rows[:_DAMPING_POSES]], scale.used)
    singular = np.linalg.svd(derivatives * scale.value_scale, compute_uv=False)
    if progress is not None:
        progress("fitting the Gaussian process", 1, 1, f"width {width:.2g}")
    damping = _DAMPING * float(singular.max(axis=1).mean())
    return RigInverse(rig, scale, damping, process, config=config.as_mapping())


def rig_report(
    inverse: RigInverse,
    examples: RigExamples,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Errors of joints and of controls on examples, and frames a second, of each method.

    Errors of controls are mean squares in deviations of each control (Holden 2017, 3.7.1), of
    joints means in metres and mean squares in square centimetres.
    """
    chosen = np.unique(np.linspace(0, len(examples) - 1, _REPORT_POSES).astype(np.int64))
    some = examples.taken(chosen)
    measured: dict[str, Mapping[str, float]] = {}
    for row, method in enumerate(METHODS):
        if progress is not None:
            progress("measuring", row, len(METHODS), method)
        start = time.process_time()
        solved = inverse.solve(some.positions, method)
        seconds = max(time.process_time() - start, 1e-6)
        off = (solved.values - some.values)[:, inverse.used] / inverse.scale.value_scale
        spread = np.sqrt((solved.errors**2).mean(axis=1))
        measured[method] = {
            "joint_m": float(solved.errors.mean()),
            "joint_cm2": float(1e4 * (solved.errors**2).mean() / 3.0),
            "controls": float((off**2).mean()),
            "usual_m": float(np.median(spread)),
            "fps": len(some) / seconds,
        }
    if progress is not None:
        progress("measuring", len(measured), len(measured), "")
    return {"poses": len(some), "methods": measured}


def rig_report_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Rows of a table: method, joints in cm, controls in deviations, frames a second."""
    return [
        (
            name,
            f"{100.0 * each['joint_m']:.3f}",
            f"{each['controls']:.3f}",
            f"{each['fps']:.0f}",
        )
        for name, each in report["methods"].items()
    ]
