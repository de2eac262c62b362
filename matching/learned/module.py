"""Losses of learned motion matching: decompressor, stepper and projector, one after the other."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from deepphase.matching.learned.body_tensors import BodyTensors
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.nearest import NearestStates, random_queries
from deepphase.matching.learned.networks import MatchingNetworks
from deepphase.training.resumable import ResumableModule, cosine_rate

Stage = Literal["decompressor", "stepper", "projector"]

# Length of the warm-up as a share of a network's training, and last learning rate.
_WARMUP, _FINAL_RATE = 0.02, 0.01
# Frames of a window that the decompressor learns from: two, and one more for velocities.
_FRAMES = 3
# Weights of the decompressor's losses, after Holden et al. 2020: translations and rotations of
# joints, velocities of the root, contacts and rest; positions and rotations in root space; rates
# of change of all of these; and size and rate of the latents.
_LOCAL = {
    "rotations": 10.0, "translations": 75.0, "velocity": 2.0, "contacts": 2.0, "idle": 0.5
}  # fmt: skip
_POSITIONS, _AXES = 15.0, 5.0
_LOCAL_RATES = {"rotations": 1.75, "translations": 10.0}
_POSITION_RATES = 2.0
_LATENT_SQUARES, _LATENT_SIZES, _LATENT_RATES = 0.1, 0.1, 0.01
# Share of the stepper's windows that begin in the data; others begin with noise up to so many
# deviations, and nearer to the mean by up to this share.
_ON_DATA, _ASTRAY, _SHRUNK = 0.5, 0.3, 0.4
# Weights of values and of rates of change in the stepper's loss.
_VALUES, _RATES = 1.0, 0.2
# Queries of a window, and weight of the distance to the nearest row in the projector's loss.
_QUERIES, _DISTANCE = 4, 0.3
_ROWS_AT_ONCE = 1 << 13


class LearnedModule(ResumableModule):
    """Training of the decompressor, then of the stepper, then of the projector.

    Each network has a share of the optimizer steps and a learning rate of its own. The losses are
    those of Holden et al. 2020.

    A LightningModule for any `pytorch_lightning.Trainer`; its batches are first rows of windows, as
    `LearnedData` makes them.

    Parameters
    ----------
    data
        The training data.
    """

    network: MatchingNetworks
    pose_mean: Tensor
    pose_scale: Tensor
    read_mean: Tensor
    read_scale: Tensor
    feature_mean: Tensor
    feature_scale: Tensor

    def __init__(self, data: LearnedData) -> None:
        self.options = options = data.config.training
        joints = 3 * len(data.values.body)
        super().__init__(
            MatchingNetworks(
                data.database.dims,
                data.values.dims + 2 * joints,
                data.values.dims,
                len(data.styles) + 1,
                data.config.network,
            ),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self._data = [data]
        self._fps = data.database.fps
        self.body = BodyTensors(data.values, data.playback)
        measured = data.features[data.measured_rows]
        self._keep("feature", measured.mean(axis=0), np.maximum(measured.std(axis=0), 1e-3))
        self._keep("pose", *data.pose_scale)
        rows = torch.from_numpy(data.measured_rows)
        read = self._read(self._windows(rows, 2))[:, 0]
        spread = torch.ones(read.shape[1])
        spread[: data.values.dims] = self.pose_scale
        for block in (slice(-2 * joints, -joints), slice(-joints, read.shape[1])):
            spread[block] = read[:, block].std(dim=0).mean().clamp(min=1e-3)
        self._keep("read", read.mean(dim=0).numpy(), spread.numpy())
        self.states: Tensor | None = None

    def _keep(self, name: str, mean: Any, scale: Any) -> None:
        for part, values in (("mean", mean), ("scale", scale)):
            tensor = torch.as_tensor(np.asarray(values, np.float32))
            self.register_buffer(f"{name}_{part}", tensor, persistent=False)

    @property
    def data(self) -> LearnedData:
        """The training data."""
        return self._data[0]

    @property
    def stage(self) -> Stage:
        """The network that is trained now."""
        total = self.total_steps or self.trainer.estimated_stepping_batches
        return self._stage(self.trainer.global_step, total)[0]

    def _stage(self, step: int, total: float) -> tuple[Stage, float, float]:
        """The network of an optimizer step, and its first step and number of steps."""
        options = self.options
        first, second = options.decompressor * total, options.stepper * total
        if step < first:
            return "decompressor", 0.0, first
        if step < first + second:
            return "stepper", first, second
        return "projector", first + second, total - first - second

    def rate(self, step: int, total: float) -> float:
        """Learning rate of a step as a share of the highest."""
        _, begin, steps = self._stage(step, total)
        return cosine_rate(int(step - begin), steps, _WARMUP, _FINAL_RATE)

    def training_step(self, rows: Tensor) -> Tensor:
        trainer, stage = self.trainer, self.stage
        position = trainer.global_step * trainer.world_size + trainer.global_rank
        generator = torch.Generator().manual_seed(self.options.seed * 1_000_003 + position)
        loss = self._losses(rows, stage, generator)[0]
        self.last_loss = loss.detach()
        if trainer.world_size > 1:
            # Processes share the gradients of all networks: those of the others are 0 here, and
            # are removed before the optimizer changes the weights.
            loss = loss + 0.0 * sum(each.sum() for each in self.network.parameters())
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        for name, weights in self.network.named_parameters():
            trained = name.split(".")[0]
            if trained != self.stage and (trained, self.stage) != ("compressor", "decompressor"):
                weights.grad = None

    def validation_step(self, rows: Tensor, index: int) -> None:
        generator = torch.Generator().manual_seed(index)
        self.add_validated(*self._losses(rows, self.stage, generator)[1])

    def _losses(
        self, rows: Tensor, stage: Stage, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The loss; and the squared error, with the squares that it is a share of."""
        if stage == "decompressor":
            return self._decompressor_loss(rows, generator)
        if self.states is None:
            self.set_states()
        if stage == "stepper":
            return self._stepper_loss(rows, generator)
        return self._projector_loss(rows, generator)

    def _windows(self, rows: Tensor, frames: int) -> Tensor:
        """(n, frames, dims) pose values of rows and those that follow them."""
        every = rows.cpu().numpy()[:, None] + np.arange(frames)
        return self.data.pose_values(every).to(self.feature_mean.device)

    def _read(self, values: Tensor) -> Tensor:
        """(n, frames - 1, ...) pose values, positions and velocities of all frames but the last."""
        places = self.body(values)[0].flatten(-2)
        velocities = places.diff(dim=1) * self._fps
        return torch.cat([values[:, :-1], places[:, :-1], velocities], -1)

    def _compressed(self, values: Tensor) -> Tensor:
        """(n, frames - 1, latents) latents of windows of pose values."""
        return self.network.compressor((self._read(values) - self.read_mean) / self.read_scale)

    def _decompressor_loss(
        self, rows: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        room = self.data.window - _FRAMES
        rows = rows + torch.randint(0, room + 1, rows.shape, generator=generator).to(rows)
        values = self._windows(rows, _FRAMES)
        latents = self._compressed(values)
        truth = values[:, :-1]
        features = self._normal_features(rows[:, None] + torch.arange(_FRAMES - 1).to(rows))
        output = self.network.decompressor(torch.cat([features, latents], -1))
        found = output * self.pose_scale + self.pose_mean
        slices, fps = self.data.values.slices, self._fps

        def apart(name: str) -> Tensor:
            return (found - truth)[..., slices[name]]

        points, axes = self.body(found)
        true_points, true_axes = self.body(truth)
        loss = sum(weight * apart(name).abs().mean() for name, weight in _LOCAL.items())
        loss = loss + _POSITIONS * (points - true_points).abs().mean()
        loss = loss + _AXES * (axes - true_axes).abs().mean()
        for name, weight in _LOCAL_RATES.items():
            loss = loss + weight * fps * apart(name).diff(dim=1).abs().mean() / 10.0
        rates = (points - true_points).diff(dim=1)
        loss = loss + _POSITION_RATES * fps * rates.abs().mean()
        loss = loss + _LATENT_SQUARES * latents.square().mean()
        loss = loss + _LATENT_SIZES * latents.abs().mean()
        loss = loss + _LATENT_RATES * fps * latents.diff(dim=1).abs().mean()
        normal = (truth - self.pose_mean) / self.pose_scale
        return loss, ((output - normal).square().sum(), normal.square().sum())

    def _normal_features(self, rows: Tensor) -> Tensor:
        features = torch.from_numpy(self.data.features[rows.cpu().numpy()])
        return (features.to(self.feature_mean) - self.feature_mean) / self.feature_scale

    @torch.no_grad()
    def set_states(self) -> None:
        """Compute the states of all rows, which the stepper and the projector learn from."""
        database, device = self.data.database, self.feature_mean.device
        parts = []
        for start in range(0, len(database), _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(database)))
            # At a clip's last row, the velocity is that of the row before.
            last = rows + 1 >= database.ranges_of(rows)[1]
            values = self.data.pose_values(np.stack([rows - last, rows - last + 1], 1)).to(device)
            read = self._read(values)[:, 0]
            own = self.data.pose_values(rows).to(device)
            joints = 3 * len(self.data.values.body)
            read[:, : own.shape[1]] = own
            read[:, own.shape[1] : own.shape[1] + joints] = self.body(own)[0].flatten(-2)
            parts.append(self.network.compressor((read - self.read_mean) / self.read_scale))
        latents = torch.cat(parts)
        played = torch.from_numpy(self.data.playable).to(device)
        self.latent_mean = latents[played].mean(dim=0)
        self.latent_scale = latents[played].std(dim=0).clamp(min=1e-3)
        normal = (latents - self.latent_mean) / self.latent_scale
        features = torch.from_numpy(self.data.features).to(device)
        features = (features - self.feature_mean) / self.feature_scale
        states = torch.cat([features, normal], -1)
        measured = torch.from_numpy(self.data.measured_rows).to(device)
        rates = (states[measured + 1] - states[measured]) * self._fps
        self.rate_scale = rates.std(dim=0).clamp(min=1e-3)
        metric = torch.cat(
            [self.feature_scale, torch.full_like(self.latent_mean, self.options.pose_weight)]
        )
        self._nearest = NearestStates(self.data, states, metric)
        self.states = states

    def _stepper_loss(
        self, rows: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        assert self.states is not None
        steps = torch.arange(self.data.window, device=rows.device)
        truth = self.states[rows[:, None] + steps]
        state = self._astray(truth[:, 0], generator)
        found = [state]
        for _ in range(self.data.window - 1):
            state = state + self.network.stepper(state) * self.rate_scale / self._fps
            found.append(state)
        made = torch.stack(found, 1)
        error = made - truth
        rates = error.diff(dim=1) * self._fps / self.rate_scale
        loss = _VALUES * error[:, 1:].abs().mean() + _RATES * rates.abs().mean()
        moved = truth[:, -1] - truth[:, 0]
        return loss, (error[:, -1].square().sum(), moved.square().sum())

    def _astray(self, states: Tensor, generator: torch.Generator) -> Tensor:
        """States beside the data for half of the windows, which the stepper leads back to it.

        They are those that a projector gives: a little off, and nearer to the mean.
        """
        count = len(states)
        kept, drawn = (torch.rand(count, 1, generator=generator).to(states) for _ in range(2))
        noise = torch.randn(states.shape, generator=generator).to(states)
        away = (1.0 - _SHRUNK * drawn) * states + _ASTRAY * drawn.flip(0) * noise
        return torch.where(kept < _ON_DATA, states, away)

    def _projector_loss(
        self, rows: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        assert self.states is not None
        rows = rows.repeat(_QUERIES)
        queries = random_queries(self.data, self.states, rows, generator)
        nearest = self.states[self._nearest(queries)]
        found = self.network.project(queries.states, queries.conditions)
        error = found - nearest
        away = [
            (self._nearest.metric * (queries.states - each)).square().sum(-1).add(1e-6).sqrt()
            for each in (found, nearest)
        ]
        loss = error.abs().mean() + _DISTANCE * (away[0] - away[1]).abs().mean()
        return loss, (error.square().sum(), nearest.square().sum())

    def raw_states(self) -> Tensor:
        """(rows, state) states of all rows as a matcher has them: features as in the database."""
        if self.states is None:
            self.set_states()
        assert self.states is not None
        count = len(self.feature_mean)
        features = self.states[:, :count] * self.feature_scale + self.feature_mean
        return torch.cat([features, self.states[:, count:]], -1)
