"""Losses of learned motion matching: latents from which poses between them are decompressed."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.matching.learned.body_tensors import BodyTensors
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.networks import MatchingNetworks
from deepphase.training.resumable import ResumableModule, cosine_rate

# Length of the warm-up as a share of the training, and last learning rate.
_WARMUP, _FINAL_RATE = 0.02, 0.01
# Weights of the losses, after Holden et al. 2020: translations and rotations of joints, velocities
# of root and feet; positions and rotations in root space; rates of change of all of these; and size
# and rate of the latents.
_LOCAL = {"rotations": 10.0, "translations": 75.0, "velocity": 8.0, "slips": 2.0}
_POSITIONS, _AXES = 15.0, 5.0
_LOCAL_RATES = {"rotations": 0.5, "translations": 1.0}
_POSITION_RATES, _ACCELERATIONS = 2.0, 0.03
_LATENT_SQUARES, _LATENT_SIZES, _LATENT_RATES = 0.1, 0.1, 0.01
# Noise of latents in their deviations, for files have them as 8-bit numbers.
_NOISE = 0.01
_ROWS_AT_ONCE = 1 << 13


class LearnedModule(ResumableModule):
    """Training of compressor and decompressor.

    The compressor makes the latents of kept states; the decompressor makes the poses of all frames
    between them, from interpolated states. The losses are those of Holden et al. 2020.

    A LightningModule for any `pytorch_lightning.Trainer`; its batches are first kept states of
    windows, as `LearnedData` makes them.
    """

    network: MatchingNetworks
    pose_mean: Tensor
    pose_scale: Tensor
    read_mean: Tensor
    read_scale: Tensor
    feature_mean: Tensor
    feature_scale: Tensor
    weights: Tensor

    def __init__(self, data: LearnedData) -> None:
        self.options = options = data.config.training
        joints = len(data.values.body)
        super().__init__(
            MatchingNetworks(
                data.database.dims,
                data.values.dims + 6 * joints,
                data.values.dims,
                data.config.network,
            ),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self._data = [data]
        self._fps = data.database.fps
        self.body = BodyTensors(data.values, data.playback)
        features = data.kept.features
        self._keep("feature", features.mean(axis=0), np.maximum(features.std(axis=0), 1e-3))
        self._keep("pose", *data.pose_scale)
        read = self._read()
        self._keep("read", read.mean(axis=0), np.maximum(read.std(axis=0), 1e-2))
        self.register_buffer("weights", torch.from_numpy(data.kept.weights), persistent=False)
        # Beside the module, so that checkpoints do not have them.
        self._inputs = [
            (torch.from_numpy(read) - self.read_mean) / self.read_scale,
            (torch.from_numpy(features) - self.feature_mean) / self.feature_scale,
        ]

    def _keep(self, name: str, mean: Array, scale: Array) -> None:
        for part, values in (("mean", mean), ("scale", scale)):
            tensor = torch.as_tensor(np.asarray(values, np.float32))
            self.register_buffer(f"{name}_{part}", tensor, persistent=False)

    @property
    def data(self) -> LearnedData:
        """The training data."""
        return self._data[0]

    @torch.no_grad()
    def _read(self) -> Array:
        """(kept, ...) pose values, positions and velocities, which the compressor reads."""
        data, parts = self.data, []
        clips = data.database.ranges_of(data.kept_rows)
        for start in range(0, len(data.kept_rows), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            rows = data.kept_rows[some]
            values = data.pose_values(rows)
            before, after = (
                self.body(data.pose_values(each))[0].flatten(-2)
                for each in (
                    np.maximum(rows - 1, clips[0][some]), np.minimum(rows + 1, clips[1][some] - 1)
                )
            )  # fmt: skip
            places = self.body(values)[0].flatten(-2)
            parts.append(torch.cat([values, places, (after - before) * (0.5 * self._fps)], -1))
        return torch.cat(parts).numpy()

    def rate(self, step: int, total: float) -> float:
        """Learning rate of a step as a share of the highest."""
        return cosine_rate(step, total, _WARMUP, _FINAL_RATE)

    def training_step(self, firsts: Tensor) -> Tensor:
        trainer = self.trainer
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        generator = torch.Generator().manual_seed(self.options.seed * 1_000_003 + position)
        loss = self._losses(firsts, generator)[0]
        self.last_loss = loss.detach()
        return loss

    def validation_step(self, firsts: Tensor, index: int) -> None:
        self.add_validated(*self._losses(firsts, torch.Generator().manual_seed(index))[1])

    def _losses(
        self, firsts: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The loss; and the squared error, with the squares that it is a share of."""
        data, device = self.data, self.pose_mean.device
        begins = data.kept.rows[firsts.cpu().numpy()]
        near = torch.from_numpy(data.kept.around(begins)[0])
        read, features = (each[near].to(device) for each in self._inputs)
        latents = self.network.compressor(read)
        noise = torch.randn(latents.shape, generator=generator).to(device)
        noisy = latents + _NOISE * latents.detach().std(dim=(0, 1)) * noise
        # Between two kept states, from the first to the second: (n, spacing + 1, state).
        states = self.weights @ torch.cat([features, noisy], -1)
        output = self.network.decompressor(states)
        found = output * self.pose_scale + self.pose_mean
        steps = np.arange(data.kept.spacing + 1)
        truth = data.pose_values(data.rows_of(begins)[:, None] + steps).to(device)
        slices, fps = data.values.slices, self._fps
        apart = {name: (found - truth)[..., block] for name, block in slices.items()}
        points, axes = self.body(found)
        with torch.no_grad():
            true_points, true_axes = self.body(truth)
        loss = sum(
            weight * apart[name].abs().mean()
            for name, weight in _LOCAL.items()
            if apart[name].numel()
        )
        loss = loss + _POSITIONS * (points - true_points).abs().mean()
        loss = loss + _AXES * (axes - true_axes).abs().mean()
        for name, weight in _LOCAL_RATES.items():
            if apart[name].numel():
                loss = loss + weight * fps * apart[name].diff(dim=1).abs().mean()
        rates = (points - true_points).diff(dim=1)
        loss = loss + _POSITION_RATES * fps * rates.abs().mean()
        loss = loss + _ACCELERATIONS * fps**2 * rates.diff(dim=1).abs().mean()
        loss = loss + _LATENT_SQUARES * latents.square().mean()
        loss = loss + _LATENT_SIZES * latents.abs().mean()
        apart_s = data.kept.spacing / fps
        loss = loss + _LATENT_RATES / apart_s * latents.diff(dim=1).abs().mean()
        normal = (truth - self.pose_mean) / self.pose_scale
        return loss, ((output - normal).square().sum(), normal.square().sum())

    @torch.no_grad()
    def latents(self) -> Array:
        """(kept, latents) float32 latents of the kept states."""
        device = self.pose_mean.device
        parts = self._inputs[0].split(_ROWS_AT_ONCE)
        return torch.cat([self.network.compressor(each.to(device)).cpu() for each in parts]).numpy()
