"""Training of motion editors on the clips of a store."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional

from deepphase.arrays import Array, smoothstep
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import MotionEditor, completed
from deepphase.edit.missing import made_damage, straight_path, target_gap
from deepphase.edit.motion_rows import JointStatistics, MotionSpace, RowLayout, RowScale
from deepphase.edit.networks import MotionAutoencoder
from deepphase.edit.report import editor_report
from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.phase.signal_corpus import split_by_source
from deepphase.training.resumable import ResumableData, ResumableModule
from deepphase.training.task import TrainedTask, run_task, versions
from deepphase.work import Progress, reported

_VALIDATION_WINDOWS = 256
# Weight in the loss of the rows that are decoded from hidden units alone, beside those that are
# repaired.
_DECODED_WEIGHT = 0.25
# Weight in the loss of the directions of points from the joints that carry them, from which
# rotations follow.
_ARM_WEIGHT = 1.0
# In gaps before a target: weight of errors of height, in which bodies differ less than along the
# ground; of the loss of other damage; and the square of a small error.
_HEIGHT_WEIGHT, _SQUARES_WEIGHT, _SMALL = 4.0, 0.25, 1e-4


class WindowData(ResumableData, pl.LightningDataModule):
    """Base class: windows of clips that travel to the device as their middle frames."""

    window: int

    def set_windows(self, train: Array, held_out: Array, seed: int) -> None:
        """Set the middle frames of the windows for training and of those for validation."""
        self.set_train(torch.from_numpy(train), seed)
        choice = np.linspace(0, len(held_out) - 1, _VALIDATION_WINDOWS).astype(np.int64)
        self.held_out = torch.from_numpy(held_out[np.unique(choice)])

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the training frames, overlapping by half."""
        return max(2 * len(self._train) // self.window, 1)

    def frames_of(self, centres: Tensor) -> Tensor:
        """(batch, window) frames around middle frames."""
        steps = torch.arange(self.window, device=centres.device) - self.window // 2
        return centres[:, None] + steps


class EditorData(WindowData):
    """Windows for `EditorModule` in any trainer: rows of all clips, then of their mirror images."""

    def __init__(
        self,
        store: ClipStore,
        config: EditorConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        options, network = config.training, config.network
        self.config, self.batch_size, self.window = config, options.batch_size, network.window
        first = store.clip(int(np.argmax(store.lengths)))
        given = None if description is None else dict(description)
        self.space = space = MotionSpace.from_clip(first, network.fps, given)
        roles = find_roles(first.skeleton, given, clip=first)
        self.feet = foot_contacts(first, roles).joints
        mapping = space.mirror_map(first) if options.mirror else None
        parts, images, clips, self.sources = [], [], [], []
        for own in reported(progress, "reading clips", store, len(store)):
            clip = resample(space.on_hips(own), network.fps)
            parts.append(space.rows(clip)[0].array())
            clips.append(clip)
            if mapping is not None:
                images.append(space.rows(mirrored(clip, mapping))[0].array())
            self.sources.append(clip.source.path or clip.name)
        stops = np.cumsum([len(part) for part in parts])
        self.starts = stops - [len(part) for part in parts]
        self.split = split_by_source(
            self.starts, stops, self.sources, self.window, options.held_out, options.seed,
            source_kinds(store, given),
        )  # fmt: skip
        if len(self.split.train) < options.batch_size:
            raise ParameterError(
                f"there are {len(self.split.train)} training windows, fewer than one batch of "
                f"{options.batch_size}",
                hint="choose a smaller training.batch_size or add clips",
            )
        rows = np.concatenate([*parts, *images])
        held_out = np.zeros(stops[-1], bool)
        for start, stop in self.split.held_out_ranges:
            held_out[start:stop] = True
        training = rows[: len(held_out)][~held_out] if not held_out.all() else rows
        self.normalisation = RowScale.from_rows(training, len(space.points))
        normalised = (rows - self.normalisation.mean) / self.normalisation.scale
        self.statistics = JointStatistics.from_clips(clips, space)
        self.layout = RowLayout.from_space(space, self.feet)
        self.frames, self.has_mirror = len(held_out), mapping is not None
        # (frames, values) float32
        self.values = torch.from_numpy(normalised)
        self.set_windows(self.split.train, self.split.held_out, options.seed)

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        options = self.config.training
        return options.windows or math.ceil(options.epochs * self.epoch_samples)

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> Tensor:
        """Windows (batch, values, frames) around these middle frames; some are mirrored."""
        self.values = self.values.to(batch.device)
        share = self.config.training.mirror
        if self.has_mirror and share and self.trainer.training:
            devices, rank = self.trainer.world_size, self.trainer.global_rank
            count = len(range(rank, round(share * len(batch) * devices), devices))
            batch = torch.cat([batch[:count] + self.frames, batch[count:]])
        return self.values[self.frames_of(batch)].transpose(1, 2)


class EditorModule(ResumableModule):
    """Restore damaged windows (batch, values, frames) of normalised rows by hidden units."""

    network: MotionAutoencoder
    per_length: Tensor
    root: Tensor  # mean and scale (2, 3, 1)
    group: Tensor
    depends: Tensor
    arms: Tensor
    above: Tensor
    warmup = 0.03

    def __init__(self, data: EditorData) -> None:
        options = data.config.training
        layout = data.layout
        super().__init__(
            MotionAutoencoder(len(layout.group), len(layout.depends), data.config.network),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self.options, self.layout, self._fps = options, layout, data.space.fps
        # Noise is given in metres; the first value is one of a position.
        self._metre = 1.0 / float(data.normalisation.scale[0])
        carried, above = data.space.points.arms()
        lengths = np.linalg.norm(data.space.points.offsets[carried], axis=1)
        # Tips that are almost at their joint have no direction.
        per_metre = np.where(lengths > 0.02, 1.0 / np.maximum(lengths, 0.02), 0.0)
        scale = data.normalisation
        root = (values[layout.root, None] for values in (scale.mean, scale.scale))
        for name, values in {
            "per_length": (per_metre / self._metre).astype(np.float32)[:, None, None],
            "root": np.stack([*root]).astype(np.float32),
            "group": layout.group,
            "depends": layout.depends,
            "arms": carried,
            "above": above,
        }.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def damaged(
        self, windows: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Windows, the same with damage, and what is known; None is torch's own generator."""
        batch, values, frames = windows.shape
        known, deviation = made_damage(batch, frames, self.depends, self._fps, generator)
        options: dict[str, Any] = {"generator": generator, "device": windows.device}
        noise = torch.randn(batch, values, frames, **options)
        # Noise of a joint moves all that hangs on it, alike.
        shared = torch.randn(batch, len(self.depends), 3, frames, **options)
        shared = shared * deviation[:, :, None]
        moved = torch.einsum("ab,nbct->nact", self.depends.float(), shared)
        # Points have three values each, of one group.
        points = self.layout.root.start
        group = self.group[:points]
        moved = moved.index_select(1, group[::3]).flatten(1, 2)
        own = 0.5 * noise[:, :points] * deviation.index_select(1, group)
        changed = windows[:, :points] + ((moved + own) * self._metre).to(windows)
        rows = torch.cat([changed, windows[:, points:]], 1)
        known = known.to(windows)
        return windows, completed(rows, known, self.layout.root, self.group), known

    def training_step(self, windows: Tensor) -> Tensor:
        generator = self.step_generator(self.options.seed)
        if (targets := self._targets(windows, generator)) is not None:
            # A few batches by lengths would outweigh the squares of all others.
            in_gaps = self.options.targets > 0.5
            return self.stepped(self._gap_loss if in_gaps else self._loss, *targets)
        if generator is not None:
            return self.stepped(self._loss, *self.damaged(windows, generator))
        return self.stepped(self._damaged_loss, windows)

    def _targets(
        self, windows: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """As `damaged`, of batches whose windows end with a target pose; None of others."""
        # The first number of a batch says which; how long its windows are depends on others.
        if float(torch.rand(1, generator=generator)) >= self.options.targets:
            return None
        batch, _, frames = windows.shape
        known = target_gap(batch, frames, len(self.depends), self._fps, generator).to(windows)
        stop, root = known.shape[-1], self.layout.root
        windows, given = windows[..., :stop], windows[..., :stop].clone()
        lost = known[:, 0] < 1
        # Clips have no velocity from the target on: the last one is repeated.
        lost[:, -1] = False
        mean, scale = self.root.to(windows)
        velocities = straight_path(windows[:, root] * scale + mean, lost, self._fps)
        given[:, root] = (velocities - mean) / scale
        given[:, root, -1] = given[:, root, -2]
        # As an editor pads clips (`MotionEditor.inputs`).
        windows, given, known = (
            functional.pad(part, (0, -stop % self.network.stride), mode="replicate")
            for part in (windows, given, known)
        )
        return windows, completed(given, known, root, self.group), known

    def _damaged_loss(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        return self._loss(*self.damaged(windows, None))

    def _gap_loss(self, windows: Tensor, rows: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        return self._loss(windows, rows, known, self._in_gaps)

    def _loss(
        self,
        windows: Tensor,
        rows: Tensor,
        known: Tensor,
        measure: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        restored, decoded = self.network(rows, known)
        loss = (measure or self._weighted)(restored - windows, known)
        return loss + _DECODED_WEIGHT * self._weighted(decoded - windows, known), loss

    def _weighted(self, error: Tensor, known: Tensor) -> Tensor:
        error, weights = error.float(), self._value_weights(known)
        loss = (weights * error.square()).mean()
        changes = error.diff(dim=-1).square()
        loss = loss + (weights[..., 1:] * changes).mean()
        points = slice(0, self.layout.root.start)
        places, shares = (part[:, points].unflatten(1, (-1, 3)) for part in (error, weights))
        arms = self._arm_errors(places)
        shares = shares.index_select(1, self.arms)
        return loss + _ARM_WEIGHT * (shares * arms.square()).mean()

    def _arm_errors(self, places: Tensor) -> Tensor:
        """Errors of the directions of arms, of errors (batch, points, 3, frames) of places."""
        arms = places.index_select(1, self.arms) - places.index_select(1, self.above)
        return arms * self.per_length

    def _in_gaps(self, error: Tensor, known: Tensor) -> Tensor:
        """Mean lengths of errors in gaps before a target: squares serve the uncertain ones."""
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
        steps = own[:, root] * self.root[1] / self._fps * leads
        off = steps.cumsum(-1) - steps - ease * steps.sum(-1, keepdim=True)
        turned = self._arm_errors(places).square().sum(2).mean(1) + off[:, 2].square()
        squares = places.square().mean(1)
        place = squares[:, 0] + _HEIGHT_WEIGHT * squares[:, 1] + squares[:, 2]
        place = place + (off[:, :2] * self._metre).square().sum(1)
        lengths = (place + _SMALL).sqrt() + (turned + _SMALL).sqrt()
        mean = ((lengths * lost).sum(-1, keepdim=True) / count).mean()
        return mean + _SQUARES_WEIGHT * self._weighted(error, known)

    def _value_weights(self, known: Tensor) -> Tensor:
        least = self.options.known_weight
        return least + (1.0 - least) * (known.index_select(1, self.group) < 1.0)

    def validation_step(self, windows: Tensor, index: int) -> None:
        generator = torch.Generator().manual_seed(index)
        made = self._targets(windows, generator)
        if made is None:
            if windows.device.type != "cpu":
                generator = torch.Generator(windows.device).manual_seed(index)
            made = self.damaged(windows, generator)
        windows, rows, known = made
        error = (self.network(rows, known)[0] - windows).float()
        weights = self._value_weights(known)
        self.add_validated((weights * error.square()).sum(), (weights * windows.square()).sum())


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

    Raises ParameterError if the config does not fit the clips, SkeletonError if no pair of feet
    was found.
    """
    config = EditorConfig.load("masked") if config is None else config

    def result(data: EditorData, module: EditorModule, run: dict[str, Any]) -> MotionEditor:
        split = data.split
        held_out = np.isin(data.starts, split.held_out_ranges[:, 0])
        editor = MotionEditor(
            module.network.to("cpu"),
            config,
            data.space,
            data.feet,
            data.normalisation,
            data.statistics,
            provenance={
                "clips": len(data.starts),
                "minutes": data.frames / data.space.fps / 60,
                "training_windows": len(split.train),
                "held_out": sorted({data.sources[i] for i in np.flatnonzero(held_out)}),
                "clips_too_short": split.too_short,
                "seed": config.training.seed,
                "versions": versions(),
                **run,
                "data": store.origin,
            },
        )
        motions = [editor.rows(data.values[a:b].cpu().numpy()) for a, b in split.held_out_ranges]
        return replace(editor, report=editor_report(editor, motions, progress))

    task = TrainedTask(
        config.training.seed,
        data=lambda: EditorData(store, config, description=description, progress=progress),
        module=EditorModule,
        fingerprint=lambda data: {
            "config": asdict(config),
            "joints": list(data.space.joints),
            "frames": data.frames,
            "clips": len(data.starts),
            "checksum": float(data.values.abs().sum(dtype=torch.float64)),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)
