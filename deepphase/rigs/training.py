"""Training of inverse rig functions on the clips of a store."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.inverse import METHODS, RigInverse
from deepphase.rigs.keying import keyed, motion_on_rig
from deepphase.rigs.regression import MultiquadricProcess, ReluNetwork, RigScale, chosen_width
from deepphase.training.resumable import ResumableData, ResumableModule
from deepphase.training.task import TrainedTask, run_task, versions
from deepphase.work import Progress, report, reported

_BATCH_SIZE = 64
# Weight of the mean absolute weight in the loss.
_SPARSITY = 0.01
# Share of the clips that is measured and not learnt.
_HELD_OUT = 0.1
_LEAST_POSES = 10
# Deviation of samples from their pose, in deviations of the data.
_NOISE = 0.5
# Share of the largest singular value of the derivatives. Half of the values may be 0, so that their
# median is not a measure.
_DAMPING = 0.005
# Principal components with a smaller share of the largest deviation carry no motion.
_LEAST_COMPONENT = 1e-6
# Poses that widths of kernels, the damping and the report are found with.
_WIDTH_POSES, _DAMPING_POSES, _REPORT_POSES = 600, 40, 300


@dataclass(frozen=True, eq=False)
class RigExamples:
    """Controls of clips, keyed by rule, with the positions that the rig gives for them."""

    values: Array  # (frames, controls)
    positions: Array  # (frames, joints, 3) metres
    clips: Array  # (frames,) number of each frame's clip

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, rows: Array) -> RigExamples:
        """Some of the frames."""
        return RigExamples(self.values[rows], self.positions[rows], self.clips[rows])

    @classmethod
    def from_store(
        cls, store: ClipStore, rig: BodyRig, frames: int = 0, progress: Progress | None = None
    ) -> RigExamples:
        """Examples of clips: `frames`, evenly, or all for 0. ParameterError below ten."""
        every = 1 if not frames else max(1, int(np.sum(store.lengths)) // frames)
        # Keyed as a whole, since angles are continuous over time.
        keys = [
            keyed(motion_on_rig(clip, rig), rig)[every // 2 :: every]
            for clip in reported(progress, "reading clips", store, len(store))
        ]
        values = np.clip(np.concatenate(keys), rig.lower, rig.upper)
        if len(values) < _LEAST_POSES:
            raise ParameterError(
                f"{len(values)} poses are too few for a rig", hint="give more clips"
            )
        clips = np.repeat(np.arange(len(keys)), list(map(len, keys)))
        return cls(values, rig.evaluate(values), clips)

    def split(self, seed: int) -> tuple[RigExamples, RigExamples]:
        """Examples to learn, and those of held-out clips; of one clip, its last frames."""
        names = np.unique(self.clips)
        held_out = np.arange(len(self)) >= max(1, round((1.0 - _HELD_OUT) * len(self)))
        if len(names) > 1:
            order = np.random.default_rng(seed).permutation(names)
            held_out = np.isin(self.clips, order[: max(1, round(_HELD_OUT * len(names)))])
        return self.rows(np.flatnonzero(~held_out)), self.rows(np.flatnonzero(held_out))


class RigData(ResumableData, pl.LightningDataModule):
    """Poses and samples of a rig, for `RigModule` in any trainer."""

    batch_size = _BATCH_SIZE

    def __init__(self, rig: BodyRig, examples: RigExamples, config: RigConfig) -> None:
        super().__init__()
        self.options = options = config.training
        seed = options.seed
        self.learnt, self.held_out_examples = examples.split(seed)
        values, positions = self.learnt.values, self.learnt.positions
        self.scale = scale = RigScale.from_examples(values, positions)
        self.position_scale = np.maximum(positions.reshape(len(values), -1).std(axis=0), 1e-3)
        samples = sampled_controls(scale.normalised(values), options.samples, seed)
        sampled = np.clip(scale.values(samples), rig.lower, rig.upper)
        every = np.concatenate([values, sampled, self.held_out_examples.values])
        joints = np.concatenate(
            [positions, rig.evaluate(sampled), self.held_out_examples.positions]
        ).reshape(len(every), -1)
        whitened = (joints - scale.position_mean) / self.position_scale
        self.train_rows = len(values) + len(sampled)
        # (rows, 3 joints) and (rows, used): poses, samples, held-out poses.
        self.inputs = torch.from_numpy(whitened.astype(np.float32))
        self.outputs = torch.from_numpy(scale.normalised(every).astype(np.float32))
        self.held_out = torch.arange(self.train_rows, len(every))
        self.set_train(torch.arange(self.train_rows), seed)

    @property
    def total_samples(self) -> int:
        return math.ceil(self.options.epochs * self.train_rows)

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> tuple[Tensor, Tensor]:
        self.inputs, self.outputs = self.inputs.to(batch.device), self.outputs.to(batch.device)
        return self.inputs[batch], self.outputs[batch]


class RigModule(ResumableModule):
    """One hidden layer with ReLU from joints to controls (Holden 2017, 3.6.3), for `RigData`."""

    network: torch.nn.Sequential
    final_rate = 0.02

    def __init__(self, data: RigData) -> None:
        inputs, outputs = data.inputs.shape[1], data.outputs.shape[1]
        hidden = data.options.hidden
        network = torch.nn.Sequential(
            torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs)
        )
        super().__init__(network, learning_rate=data.options.learning_rate, weight_decay=0.0)

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        return self.stepped(self._loss, *batch)

    def _loss(self, inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        loss = (self.network(inputs) - outputs).square().mean()
        weights = torch.cat([part.abs().flatten() for part in self.network.parameters()])
        return loss + _SPARSITY * weights.mean(), loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        inputs, outputs = batch
        error = self.network(inputs) - outputs
        self.add_validated(error.square().sum(), outputs.square().sum())

    def relu_network(self, data: RigData) -> ReluNetwork:
        """The weights, for inputs that are centred and in metres."""
        # In the order of the layers: weight and bias of the first, then of the second.
        first, *others = (part.detach().cpu().numpy() for part in self.network.parameters())
        return ReluNetwork((first / data.position_scale).astype(np.float32), *others)


def sampled_controls(values: Array, count: int, seed: int) -> Array:
    """(count, controls) samples along whitened components (Holden 2017, algorithm 2)."""
    rng = np.random.default_rng(seed)
    _, scales, axes = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    kept = scales > _LEAST_COMPONENT * scales.max(initial=1e-12)
    scales, axes = scales[kept] / np.sqrt(len(values)), axes[kept]
    moves = rng.standard_normal((count, len(scales))) * scales @ axes
    return np.asarray(values[rng.integers(len(values), size=count)] + _NOISE * moves)


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

    Raises ParameterError if there are too few poses, SkeletonError if a clip is of another kind of
    body.
    """
    config = RigConfig.load("default") if config is None else config

    def data() -> RigData:
        examples = RigExamples.from_store(store, rig, config.training.frames, progress)
        return RigData(rig, examples, config)

    def result(data: RigData, module: RigModule, run: dict[str, Any]) -> RigInverse:
        process = with_process(rig, data.learnt, config, progress)
        inverse = replace(process, network=module.relu_network(data))
        origin = {**store.origin, "clips": len(store), "frames": len(data.learnt)}
        return replace(
            inverse,
            provenance={"data": origin, "steps": run["steps"], **versions()},
            report=rig_report(inverse, data.held_out_examples, progress=progress),
        )

    task = TrainedTask(
        config.training.seed,
        data=data,
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
    rig: BodyRig, learnt: RigExamples, config: RigConfig, progress: Progress | None = None
) -> RigInverse:
    """The inverse by a Gaussian process, without a network."""
    seed, count = config.training.seed, config.training.examples
    report(progress, "fitting the Gaussian process", 0, 1, f"{count} examples")
    scale = RigScale.from_examples(learnt.values, learnt.positions)
    # The rest pose is always an example.
    values = np.concatenate([rig.rest[None], learnt.values])
    positions = np.concatenate([rig.evaluate(rig.rest[None]), learnt.positions])
    inputs = positions.reshape(len(positions), -1) - scale.position_mean
    outputs = scale.normalised(values)
    order = np.random.default_rng(seed).permutation(len(values))
    some = order[:_WIDTH_POSES]
    width = chosen_width(inputs[some], outputs[some], seed)
    rows = np.concatenate([[0], order[order > 0][: count - 1]])
    process = MultiquadricProcess.fit(inputs[rows], outputs[rows], width)
    derivatives = rig.jacobian(values[rows[:_DAMPING_POSES]], scale.used)
    singular = np.linalg.svd(derivatives * scale.value_scale, compute_uv=False)
    report(progress, "fitting the Gaussian process", 1, 1, f"width {width:.2g}")
    damping = _DAMPING * float(singular.max(axis=1).mean())
    return RigInverse(rig, scale, damping, process, config=config.as_mapping())


def rig_report(
    inverse: RigInverse, examples: RigExamples, *, progress: Progress | None = None
) -> dict[str, Any]:
    """Mean errors of joints, squares of controls in deviations, and frames a second, by method."""
    chosen = np.unique(np.linspace(0, len(examples) - 1, _REPORT_POSES).astype(np.int64))
    some = examples.rows(chosen)
    measured: dict[str, Mapping[str, float]] = {}
    for row, method in enumerate(METHODS):
        report(progress, "measuring", row, len(METHODS), method)
        start = time.process_time()
        solved = inverse.solve(some.positions, method)
        seconds = max(time.process_time() - start, 1e-6)
        off = (solved.values - some.values)[:, inverse.used] / inverse.scale.value_scale
        measured[method] = {
            "joint_m": float(solved.errors.mean()),
            "joint_cm2": float(1e4 * (solved.errors**2).mean() / 3.0),
            "controls": float((off**2).mean()),
            "usual_m": float(np.median(np.sqrt((solved.errors**2).mean(axis=1)))),
            "fps": len(some) / seconds,
        }
    report(progress, "measuring", len(METHODS), len(METHODS))
    return {"poses": len(some), "methods": measured}
