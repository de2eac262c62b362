"""Training of inverse rig functions on the clips of a store."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.windows import WindowOrder
from deepphase.progress import Progress
from deepphase.rigs.blender_rig import BlenderRig
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.examples import RigExamples
from deepphase.rigs.gaussian_process import (
    JACOBIAN_RIDGE,
    MultiquadricProcess,
    chosen_examples,
    chosen_width,
)
from deepphase.rigs.inverse import Method, ReluNetwork, RigInverse, RigScale
from deepphase.rigs.rig_function import RigFunction
from deepphase.rigs.sampling import sampled_controls
from deepphase.training.resumable import ResumableData, ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions

# A control that moves by less, in its unit, is not used.
_MOVES = 1e-3
# Smallest deviation of a control, in its unit: it measures errors and steps.
_LEAST_DEVIATION = 5e-3
# Share of the largest singular value of the derivatives. Half of the values may be 0, so that their
# median is not a measure.
_DAMPING = 0.005
_WARMUP = 0.02
# Poses that widths of kernels, the damping and the report are found with.
_WIDTH_POSES, _DAMPING_POSES, _REPORT_POSES = 600, 40, 300


class RigData(ResumableData, pl.LightningDataModule):
    """Poses and samples of a rig, for `RigModule` in any trainer.

    Parameters
    ----------
    rig
        The rig function.
    examples
        Poses with their controls.
    config
        Samples, batch size, epochs, split and seed.

    Attributes
    ----------
    learnt, held_out_examples
        The examples of the training and of held-out clips.
    scale, used
        See `RigInverse`.
    inputs, outputs
        (rows, 3 joints) and (rows, used) float32, normalised: poses, samples, held-out poses.
    """

    def __init__(self, rig: RigFunction, examples: RigExamples, config: RigConfig) -> None:
        super().__init__()
        options = config.training
        self.rig, self.config, self.batch_size = rig, config, options.batch_size
        self.learnt, self.held_out_examples = examples.split(options.held_out, options.seed)
        values = self.learnt.values
        deviations = values.std(axis=0)
        self.used = used = np.flatnonzero(deviations > _MOVES)
        flat = self.learnt.positions.reshape(len(values), -1)
        self.scale = RigScale(
            flat.mean(axis=0),
            values[:, used].mean(axis=0),
            np.maximum(deviations[used], _LEAST_DEVIATION),
            values.mean(axis=0),
        )
        self.position_scale = np.maximum(flat.std(axis=0), 1e-3)
        made = sampled_controls(
            self.normalised(values),
            config.network.samples,
            config.network.sampling,
            config.network.noise,
            options.seed,
        )
        sampled = np.repeat(self.scale.rest[None], len(made), axis=0)
        sampled[:, used] = made * self.scale.value_scale + self.scale.value_mean
        sampled = np.clip(sampled, rig.lower, rig.upper)
        positions = [self.learnt.positions, self.held_out_examples.positions]
        every = np.concatenate([values, sampled, self.held_out_examples.values])
        joints = np.concatenate([positions[0], rig.evaluate(sampled), positions[1]])
        self.train_rows = len(values) + len(sampled)
        self.inputs = torch.from_numpy(self.whitened(joints).astype(np.float32))
        self.outputs = torch.from_numpy(self.normalised(every).astype(np.float32))
        self.held_out = torch.arange(self.train_rows, len(every))
        self._order = WindowOrder(self.train_rows, options.seed)

    def normalised(self, values: Array) -> Array:
        """(poses, used) values (poses, controls) in deviations."""
        return np.asarray((values[:, self.used] - self.scale.value_mean) / self.scale.value_scale)

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

    Parameters
    ----------
    data
        Its data; the network has its sizes.
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


def train_rig(
    store: ClipStore | None,
    rig: BodyRig | BlenderRig,
    config: RigConfig | None = None,
    *,
    folder: str | Path,
    controls: Sequence[str] = (),
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> RigInverse | None:
    """Learn the inverse of a rig function from clips.

    Parameters
    ----------
    store
        Clips of one skeleton; on other bodies than the rig's they are retargeted. None for the
        motion in the file of a rig in Blender.
    rig
        The rig. Controls of a `BodyRig` are set by rule; those of a `BlenderRig` are fitted.
    config
        `configs/rig/default.yaml` if None.
    folder
        Folder of the resume point while the network is trained, and of `metrics.csv`.
    controls
        Names of the bones of a `BlenderRig` that may move, with * for any letters; without any they
        are chosen.
    resume
        Continue from the resume point in `folder`.
    progress
        Called regularly; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy, logger,
        callbacks ...

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
    KeyboardInterrupt
        If the training is interrupted; the resume point is kept.
    CheckpointError
        If `resume` finds no resume point, or that of another training.
    """
    config = RigConfig.load("default") if config is None else config

    def result(data: RigData, module: RigModule, run: dict[str, Any]) -> RigInverse:
        origin = {
            "store": None if store is None or store.path is None else Path(store.path).name,
            "clips": 0 if store is None else len(store),
            "frames": len(data.learnt),
            "skeleton": None if store is None else store.group,
        }
        inverse = replace(
            with_process(data, progress),
            network=module.relu_network(data),
            provenance={"data": origin, "steps": run["steps"], **versions()},
        )
        report = rig_report(inverse, data.held_out_examples, progress=progress)
        return replace(inverse, report=report)

    task = TrainedTask(
        config.training.seed,
        data=lambda: RigData(rig, _examples(store, rig, config, controls, progress), config),
        module=RigModule,
        fingerprint=lambda data: rig_fingerprint(config, data),
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def _examples(
    store: ClipStore | None,
    rig: BodyRig | BlenderRig,
    config: RigConfig,
    controls: Sequence[str],
    progress: Progress | None,
) -> RigExamples:
    frames = config.training.frames
    if isinstance(rig, BodyRig):
        if store is None:
            raise ParameterError("no poses are given")
        return RigExamples.of_store(store, rig, frames, progress)
    if store is None:
        return RigExamples.of_own_motion(rig)
    return RigExamples.of_blender(store, rig, frames, controls, progress)


def rig_fingerprint(config: RigConfig, data: RigData) -> dict[str, Any]:
    """Values that two trainings must share for one to continue the other's resume point."""
    return {
        "config": config.as_mapping(),
        "controls": list(data.rig.names),
        "poses": len(data.learnt),
        "checksum": float(data.inputs.abs().sum(dtype=torch.float64)),
    }


def with_process(data: RigData, progress: Progress | None = None) -> RigInverse:
    """The inverse by a Gaussian process, with learned derivatives, without a network."""
    options, rig, scale = data.config.process, data.rig, data.scale
    seed = data.config.training.seed
    if progress is not None:
        progress("fitting the Gaussian process", 0, 1, f"{options.examples} examples")
    positions = np.concatenate([rig.evaluate(rig.rest[None]), data.learnt.positions])
    values = data.normalised(np.concatenate([rig.rest[None], data.learnt.values]))
    inputs = positions.reshape(len(positions), -1) - scale.position_mean
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(inputs))[:_WIDTH_POSES]
    width = chosen_width(inputs[some], values[some], seed)
    rows = chosen_examples(
        inputs, values, options.examples, width, farthest=options.farthest, seed=seed
    )
    process = MultiquadricProcess.fit(inputs[rows], values[rows], width)
    kept = np.concatenate([rig.rest[None], data.learnt.values])[rows]
    derivatives = rig.jacobian(kept if options.jacobians else kept[:_DAMPING_POSES], data.used)
    derivatives = derivatives * scale.value_scale
    singular = np.linalg.svd(derivatives[:_DAMPING_POSES], compute_uv=False)
    learned = None
    if options.jacobians:
        flat = derivatives.reshape(len(derivatives), -1)
        learned = MultiquadricProcess.fit(inputs[rows], flat, width, JACOBIAN_RIDGE)
        learned = replace(learned, weights=learned.weights.astype(np.float32))
    if progress is not None:
        progress("fitting the Gaussian process", 1, 1, f"width {width:.2g}")
    return RigInverse(
        rig,
        data.used,
        scale,
        _DAMPING * float(singular.max(axis=1).mean()),
        process,
        learned,
        config=data.config.as_mapping(),
    )


def rig_report(
    inverse: RigInverse,
    examples: RigExamples,
    methods: tuple[Method, ...] | None = None,
    *,
    poses: int = _REPORT_POSES,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Errors of joints and of controls on examples, and frames a second, of each method.

    Errors of controls are mean squares in deviations of each control (Holden 2017, 3.7.1), of
    joints means in metres and mean squares in square centimetres.
    """
    chosen = np.unique(np.linspace(0, len(examples) - 1, poses).astype(np.int64))
    some = examples.taken(chosen)
    measured: dict[str, Mapping[str, float]] = {}
    names = inverse.methods if methods is None else methods
    # Blender computes in another process, whose time is not ours.
    clock = time.perf_counter if isinstance(inverse.rig, BlenderRig) else time.process_time
    for row, method in enumerate(names):
        if progress is not None:
            progress("measuring", row, len(names), method)
        start = clock()
        solved = inverse.solve(some.positions, method)
        seconds = max(clock() - start, 1e-6)
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
        progress("measuring", len(names), len(names), "")
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
