"""LightningModule of a motion autoencoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepphase.editing.data import EditorData
from deepphase.editing.editor import MotionEditor, network_inputs
from deepphase.editing.missing import made_damage
from deepphase.editing.networks import MotionAutoencoder, make_motion_autoencoder
from deepphase.training.resumable import ResumableModule, cosine_rate
from deepphase.training.trainer import versions


class EditorModule(ResumableModule):
    """Restore damaged windows through the hidden units.

    A LightningModule for any `pytorch_lightning.Trainer`; its batches are windows (batch, values,
    frames) of normalised rows, as `EditorData` makes them.

    Parameters
    ----------
    data
        Training data; the network has its body and config.
    """

    network: MotionAutoencoder

    def __init__(self, data: EditorData) -> None:
        options = data.config.training
        layout = data.layout
        super().__init__(
            make_motion_autoencoder(len(layout.group), len(layout.depends), data.config.network),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self.options, self.layout, self._fps = options, layout, data.space.fps
        self._depends = torch.from_numpy(layout.depends)
        # Noise is given in metres; the first value is one of a position.
        self._metre = 1.0 / float(data.normalisation.scale[0])

    def rate(self, step: int, total: float) -> float:
        """Fraction of the highest learning rate at an optimizer step."""
        return cosine_rate(step, total, self.options.warmup, self.options.final_rate)

    def on_train_batch_start(self, *_: object) -> None:
        # Dropout and unpooling depend on the position alone, so that a resumed training is exact.
        torch.manual_seed(self._seed())

    def _seed(self) -> int:
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        return self.options.seed * 1_000_003 + position

    def damaged(self, windows: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        """Windows (batch, values, frames) with damage, and what is known of their groups."""
        generator = torch.Generator().manual_seed(seed)
        batch, values, frames = windows.shape
        groups = len(self._depends)
        if self.options.corruption == "zeros":
            kept = torch.rand(windows.shape, generator=generator) >= self.options.zeroed
            return windows * kept.to(windows), windows.new_ones(batch, groups, frames)
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
        return network_inputs(damaged, known.to(windows), self.layout)

    def training_step(self, windows: Tensor) -> Tensor:
        rows, known = self.damaged(windows, self._seed())
        restored, decoded, hidden = self.network(rows, known)
        loss = self._weighted(restored - windows, known)
        self.last_loss = loss.detach()
        if decoded is not restored:
            loss = loss + self.options.decoded_weight * self._weighted(decoded - windows, known)
        if self.options.sparsity:
            loss = loss + self.options.sparsity * self.network.penalty(hidden)
        return loss

    def _weighted(self, error: Tensor, known: Tensor) -> Tensor:
        error, weights = error.float(), self._value_weights(known)
        loss = (weights * error.square()).mean()
        if self.options.smoothness:
            changes = error.diff(dim=-1).square()
            loss = loss + self.options.smoothness * (weights[..., 1:] * changes).mean()
        return loss

    def _value_weights(self, known: Tensor) -> Tensor:
        group = torch.from_numpy(self.layout.group).to(known.device)
        least = self.options.known_weight
        if self.options.corruption == "zeros":
            least = 1.0
        return torch.where(known[:, group] < 1.0, 1.0, least)

    def validation_step(self, windows: Tensor, index: int) -> None:
        rows, known = self.damaged(windows, index)
        error = (self.network.restore(rows, known) - windows).float()
        weights = self._value_weights(known)
        self.add_validated((weights * error.square()).sum(), (weights * windows.square()).sum())

    def editor(
        self, data: EditorData, *, provenance: Mapping[str, Any] | None = None
    ) -> MotionEditor:
        """The editor with the current weights, without a report.

        Parameters
        ----------
        provenance
            Further provenance for the editor's file.
        """
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
