"""Networks of learned motion matching and their losses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.arrays import Array
from deepphase.matching.learned.body import PoseValues
from deepphase.matching.learned.config import LearnedNetwork
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import SMOOTH
from deepphase.matching.player.playback import Playback
from deepphase.training.resumable import ResumableModule, cosine_rate


def layers(inputs: int, outputs: int, width: int, hidden: int, act: type[nn.Module]) -> nn.Module:
    """Linear layers with `hidden` hidden ones of a width, and an activation after each of them."""
    sizes = [inputs, *[width] * hidden]
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), act()]
    return nn.Sequential(*parts, nn.Linear(width, outputs))


class SmoothReLU(nn.Module):
    """A ReLU without a kink, (x + sqrt(x^2 + 1/4)) / 2, so that motion has no jerks.

    Barron 2021, Squareplus: A Softplus-Like Algebraic Rectifier.
    """

    def forward(self, values: Tensor) -> Tensor:
        return 0.5 * (values + (values.square() + SMOOTH).sqrt())


class MatchingNetworks(nn.Module):
    """Compressor and decompressor, which read and give normalised values."""

    def __init__(self, features: int, read: int, pose: int, config: LearnedNetwork) -> None:
        super().__init__()
        state = features + config.latents
        self.compressor = layers(read, config.latents, config.compressor_width, 3, nn.ELU)
        self.decompressor = layers(state, pose, config.width, 2, SmoothReLU)


class BodyTensors(nn.Module):
    """Positions and rotations of the body's joints in root space."""

    offsets: Tensor

    def __init__(self, values: PoseValues, playback: Playback) -> None:
        super().__init__()
        self._slices = values.slices
        body = list(values.body)
        place = {joint: index for index, joint in enumerate(body)}
        parents = [place.get(int(playback.skeleton.parents[joint]), -1) for joint in body]
        depths = [0] * len(body)
        for index, parent in enumerate(parents):
            depths[index] = 0 if parent < 0 else depths[parent] + 1
        # Joints of one depth at once: index of each, and of its parent.
        self._levels = [
            (
                [index for index, each in enumerate(depths) if each == depth],
                [parents[index] for index, each in enumerate(depths) if each == depth],
            )
            for depth in range(max(depths) + 1)
        ]
        translated = playback.translated_joints.tolist()
        self._moved = [place[translated[index]] for index in values.moved]
        offsets = torch.tensor(playback.skeleton.offsets[body], dtype=torch.float32)
        self.register_buffer("offsets", offsets, persistent=False)
        order = [index for level, _ in self._levels for index in level]
        self._back = [order.index(index) for index in range(len(body))]

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Pose values (..., dims) -> positions (..., body, 3) m, and axes (..., body, 3, 3)."""
        shape = values.shape[:-1]
        six = values[..., self._slices["rotations"]].reshape(*shape, -1, 6)
        local = axes_of_six(six)
        places = self.offsets.expand(*shape, -1, -1)
        moved = values[..., self._slices["translations"]].reshape(*shape, -1, 3)
        places = places.index_copy(
            -2, torch.tensor(self._moved, device=values.device), moved.to(places)
        )
        turns: list[Tensor] = []
        points: list[Tensor] = []
        where: dict[int, tuple[int, int]] = {}
        for level, (joints, parents) in enumerate(self._levels):
            turn, point = local[..., joints, :, :], places[..., joints, :]
            if level:
                above = [where[parent][1] for parent in parents]
                parent_turn, parent_point = turns[-1][..., above, :, :], points[-1][..., above, :]
                # Columns are axes: a parent's matrix stands on the left.
                point = parent_point + (parent_turn @ point[..., None])[..., 0]
                turn = parent_turn @ turn
            turns.append(turn)
            points.append(point)
            where |= {joint: (level, index) for index, joint in enumerate(joints)}
        return (
            torch.cat(points, -2)[..., self._back, :],
            torch.cat(turns, -3)[..., self._back, :, :],
        )


def axes_of_six(six: Tensor) -> Tensor:
    """(..., 6) rotated x and y axes, not exactly orthonormal -> rotation matrices (..., 3, 3)."""
    x = functional.normalize(six[..., :3], dim=-1, eps=1e-6)
    y = six[..., 3:]
    y = functional.normalize(y - (x * y).sum(-1, keepdim=True) * x, dim=-1, eps=1e-6)
    return torch.stack([x, y, torch.linalg.cross(x, y)], -1)


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
