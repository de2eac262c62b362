"""Training of motion editors on the clips of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deepphase.corpus.clip_store import ClipStore
from deepphase.easing import smoothstep
from deepphase.edit.config import EditorConfig
from deepphase.edit.data import EditorData
from deepphase.edit.editor import MotionEditor, network_inputs
from deepphase.edit.missing import made_damage, straight_path, target_gap
from deepphase.edit.networks import MotionAutoencoder
from deepphase.edit.report import editor_report
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableModule, cosine_rate
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions

# Length of the warm-up as a share of the training, and last learning rate as one of the highest.
_WARMUP, _FINAL_RATE = 0.03, 0.01
# Weight in the loss of the rows that are decoded from hidden units alone, beside those that are
# repaired.
_DECODED_WEIGHT = 0.25
# Weight in the loss of the directions of points from the joints that carry them, from which
# rotations follow.
_ARM_WEIGHT = 1.0
# In gaps before a target: weight of errors of height, in which bodies differ less than along the
# ground; of the loss of other damage; and the square of a small error.
_HEIGHT_WEIGHT, _SQUARES_WEIGHT, _SMALL = 4.0, 0.25, 1e-4


class EditorModule(ResumableModule):
    """Restore damaged windows through the hidden units.

    A LightningModule for any `pytorch_lightning.Trainer`; its batches are windows (batch, values,
    frames) of normalised rows, as `EditorData` makes them.
    """

    network: MotionAutoencoder

    def __init__(self, data: EditorData) -> None:
        options = data.config.training
        layout = data.layout
        super().__init__(
            MotionAutoencoder(len(layout.group), len(layout.depends), data.config.network),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self.options, self.layout, self._fps = options, layout, data.space.fps
        self._depends = torch.from_numpy(layout.depends)
        # Noise is given in metres; the first value is one of a position.
        self._metre = 1.0 / float(data.normalisation.scale[0])
        scale = data.normalisation
        self._root = [
            torch.from_numpy(each[layout.root])[:, None] for each in (scale.mean, scale.scale)
        ]
        carried, above = data.space.points.arms()
        self._arms, self._above = torch.from_numpy(carried), torch.from_numpy(above)
        lengths = np.linalg.norm(data.space.points.offsets[carried], axis=1)
        # Tips that are almost at their joint have no direction.
        per_metre = np.where(lengths > 0.02, 1.0 / np.maximum(lengths, 0.02), 0.0)
        self._per_length = torch.from_numpy((per_metre / self._metre).astype(np.float32))

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, _WARMUP, _FINAL_RATE)

    def _seed(self) -> int:
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        return self.options.seed * 1_000_003 + position

    def damaged(self, windows: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Windows (batch, values, frames), the same with damage, and what is known of the groups.

        In some batches windows end with a target pose.
        """
        generator = torch.Generator().manual_seed(seed)
        batch, values, frames = windows.shape
        groups = len(self._depends)
        if self._has_targets(generator):
            known = target_gap(batch, frames, groups, self._fps, generator)
            return self._to_target(windows, known.to(windows))
        known, deviation = made_damage(batch, frames, self._depends, self._fps, generator)
        group = torch.from_numpy(self.layout.group)
        noise = torch.randn(batch, values, frames, generator=generator)
        # Noise of a joint moves all that hangs on it, alike.
        shared = torch.randn(batch, groups, 3, frames, generator=generator)
        shared = shared * deviation[:, :, None]
        moved = torch.einsum("ab,nbct->nact", self._depends.float(), shared)
        points = self.layout.root.start
        axis = torch.arange(points) % 3
        moved = moved[:, group[:points], axis]
        own = 0.5 * noise[:, :points] * deviation[:, group[:points]]
        damaged = windows.clone()
        damaged[:, :points] += ((moved + own) * self._metre).to(windows)
        return windows, *network_inputs(damaged, known.to(windows), self.layout)

    def _has_targets(self, generator: torch.Generator) -> bool:
        """Whether the windows of a batch end with a target pose, by the first number drawn."""
        return bool(torch.rand(1, generator=generator) < self.options.targets)

    def _to_target(self, windows: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Windows up to their target, padded as an editor pads clips (`MotionEditor.inputs`)."""
        stop, root = known.shape[-1], self.layout.root
        extra = -stop % self.network.stride
        windows, given = windows[..., :stop], windows[..., :stop].clone()
        lost = known[:, 0] < 1
        # Clips have no velocity from the target on: the last one is repeated.
        lost[:, -1] = False
        mean, scale = (each.to(windows) for each in self._root)
        velocities = straight_path(windows[:, root] * scale + mean, lost, self._fps)
        given[:, root] = (velocities - mean) / scale
        given[:, root, -1] = given[:, root, -2]
        windows, given, known = (
            functional.pad(each, (0, extra), mode="replicate") for each in (windows, given, known)
        )
        return windows, *network_inputs(given, known, self.layout)

    def training_step(self, windows: Tensor) -> Tensor:
        seed = self._seed()
        windows, rows, known = self.damaged(windows, seed)
        restored, decoded = self.network(rows, known)
        # A few batches by lengths would outweigh the squares of all others.
        in_gaps = self.options.targets > 0.5 and self._has_targets(
            torch.Generator().manual_seed(seed)
        )
        loss = (self._in_gaps if in_gaps else self._weighted)(restored - windows, known)
        self.last_loss = loss.detach()
        return loss + _DECODED_WEIGHT * self._weighted(decoded - windows, known)

    def _weighted(self, error: Tensor, known: Tensor) -> Tensor:
        error, weights = error.float(), self._value_weights(known)
        loss = (weights * error.square()).mean()
        changes = error.diff(dim=-1).square()
        loss = loss + (weights[..., 1:] * changes).mean()
        points = slice(0, self.layout.root.start)
        places, shares = (each[:, points].unflatten(1, (-1, 3)) for each in (error, weights))
        arms = places[:, self._arms] - places[:, self._above]
        arms = arms * self._per_length.to(arms)[:, None, None]
        return loss + _ARM_WEIGHT * (shares[:, self._arms] * arms.square()).mean()

    def _in_gaps(self, error: Tensor, known: Tensor) -> Tensor:
        """Mean lengths of the errors of poses, places and rotations in gaps before a target.

        Lengths, not their squares: in-betweens are compared by them, and squares would serve the
        few gaps in which much is uncertain.
        """
        own, root = error.float(), self.layout.root
        lost = known[:, 1] < 1
        count = lost.sum(-1, keepdim=True)
        first = lost.long().argmax(-1, keepdim=True)
        share = (torch.arange(lost.shape[-1], device=lost.device) - first + 1) / (count + 1)
        ease: Tensor = smoothstep(share.clamp(0.0, 1.0))[:, None]  # type: ignore[arg-type, assignment]
        # `repaired` moves poses so that they continue both ends, and the path so that it arrives.
        ends = torch.cat([first - 1, first + count], 1)[:, None].expand(-1, own.shape[1], -1)
        start, stop = own.gather(-1, ends).split(1, dim=-1)
        places = (own - start - (stop - start) * ease)[:, : root.start].unflatten(1, (-1, 3))
        leads = torch.maximum(lost, functional.pad(lost[:, 1:], (0, 1)))[:, None]
        steps = own[:, root] * self._root[1].to(own) / self._fps * leads
        off = steps.cumsum(-1) - steps - ease * steps.sum(-1, keepdim=True)
        arms = places[:, self._arms] - places[:, self._above]
        arms = arms * self._per_length.to(arms)[:, None, None]
        turned = arms.square().sum(2).mean(1) + off[:, 2].square()
        squares = places.square().mean(1)
        place = squares[:, 0] + _HEIGHT_WEIGHT * squares[:, 1] + squares[:, 2]
        place = place + (off[:, :2] * self._metre).square().sum(1)
        lengths = (place + _SMALL).sqrt() + (turned + _SMALL).sqrt()
        mean = ((lengths * lost).sum(-1, keepdim=True) / count).mean()
        return mean + _SQUARES_WEIGHT * self._weighted(error, known)

    def _value_weights(self, known: Tensor) -> Tensor:
        group = torch.from_numpy(self.layout.group).to(known.device)
        return torch.where(known[:, group] < 1.0, 1.0, self.options.known_weight)

    def validation_step(self, windows: Tensor, index: int) -> None:
        windows, rows, known = self.damaged(windows, index)
        error = (self.network.restore(rows, known) - windows).float()
        weights = self._value_weights(known)
        self.add_validated((weights * error.square()).sum(), (weights * windows.square()).sum())

    def editor(
        self, data: EditorData, *, provenance: Mapping[str, Any] | None = None
    ) -> MotionEditor:
        """The editor with the current weights, without a report."""
        split = data.split
        made = {
            "clips": len(data.starts),
            "minutes": data.frames / data.space.fps / 60,
            "training_windows": len(split.train),
            "held_out": sorted({data.sources[i] for i in _held_out_clips(data)}),
            "clips_too_short": split.too_short,
            "seed": self.options.seed,
            "versions": versions(),
        }
        return MotionEditor(
            self.network.to("cpu"),
            data.config,
            data.space,
            data.feet,
            data.normalisation,
            data.statistics,
            provenance={**made, **(provenance or {})},
        )


def _held_out_clips(data: EditorData) -> list[int]:
    starts = set(data.split.held_out_ranges[:, 0].tolist())
    return [index for index, start in enumerate(data.starts.tolist()) if start in starts]


def train_editor(
    store: ClipStore,
    config: EditorConfig | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **trainer: Any,
) -> MotionEditor | None:
    """Train an editor on all clips of a store.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    store
        Clips of one skeleton.
    config
        Network and training; `configs/editor/masked.yaml` if None.
    description
        A skeleton description (`load_description`), for skeletons whose roles cannot be inferred
        from names and structure.

    Returns
    -------
    The editor, measured on held-out clips; None in all processes but the first of a training on
    several devices.

    Raises
    ------
    ParameterError
        If the config does not fit the clips, or Lightning refuses an option.
    SkeletonError
        If no pair of feet was found.
    """
    config = EditorConfig.load("masked") if config is None else config

    def result(data: EditorData, module: EditorModule, run: dict[str, Any]) -> MotionEditor:
        origin = {
            "store": None if store.path is None else Path(store.path).name,
            "skeleton": store.group,
        }
        editor = module.editor(data, provenance={**run, "data": origin})
        return replace(editor, report=editor_report(editor, data, progress))

    task = TrainedTask(
        config.training.seed,
        data=lambda: EditorData(store, config, description=description, progress=progress),
        module=EditorModule,
        fingerprint=lambda data: {
            "config": asdict(config),
            "joints": list(data.space.joints),
            "frames": data.frames,
            "clips": len(data.starts),
            "checksum": float(np.abs(data.values).sum(dtype=np.float64)),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)
