"""Networks of learned motion matching and their losses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.arrays import Array
from deepphase.matching.learned.body import PoseValues
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import SMOOTH, LearnedNetwork
from deepphase.matching.player.playback import Playback
from deepphase.training.resumable import ResumableModule


def layers(inputs: int, outputs: int, width: int, hidden: int, act: type[nn.Module]) -> nn.Module:
    """Linear layers with `hidden` hidden ones of a width, and an activation after each of them."""
    sizes = [inputs, *[width] * hidden]
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), act()]
    return nn.Sequential(*parts, nn.Linear(width, outputs))


class SmoothReLU(nn.Module):
    """(x + sqrt(x^2 + 1/4)) / 2, without a kink, so that motion has no jerks (Barron 2021,
    Squareplus)."""

    def forward(self, values: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return _Squareplus.apply(values)  # type: ignore[no-any-return, no-untyped-call]
        return 0.5 * (values + (values.square() + SMOOTH).sqrt())


class _Squareplus(torch.autograd.Function):
    """The activation with its derivative, output / root."""

    @staticmethod
    def forward(ctx, values):
        root = (values.square() + SMOOTH).sqrt_()
        output = (values + root).mul_(0.5)
        ctx.save_for_backward(output, root)
        return output

    @staticmethod
    def backward(ctx, grad):
        output, root = ctx.saved_tensors
        return grad * output / root


class MatchingNetworks(nn.Module):
    """Compressor and decompressor, which read and give normalised values."""

    def __init__(
        self, features: int, read: int, pose: int, states: int, config: LearnedNetwork
    ) -> None:
        super().__init__()
        state = features + config.latents
        self.compressor = layers(read, config.latents, config.compressor_width, 3, nn.ELU)
        # Of each kept state: what undoes the smoothing of interpolation, which the compressor does
        # not see.
        self.own = nn.Parameter(torch.zeros(states, config.latents))
        self.decompressor = layers(state, pose, config.width, 2, SmoothReLU)


class BodyTensors(nn.Module):
    """Positions and rotations of the body's joints in root space, in the order of their depth."""

    order: Tensor
    moved: Tensor
    above: Tensor
    parents: Tensor
    offsets: Tensor
    chains: Tensor

    def __init__(self, values: PoseValues, playback: Playback) -> None:
        super().__init__()
        self._slices, body = values.slices, list(values.body)
        place = {joint: index for index, joint in enumerate(body)}
        above = [place.get(int(playback.skeleton.parents[joint]), -1) for joint in body]
        chains = np.eye(len(body), dtype=np.float32)
        for index, parent in enumerate(above):
            if parent >= 0:
                chains[index] += chains[parent]
        depths = chains.sum(1).astype(np.int64) - 1
        order = np.argsort(depths, kind="stable")
        self._counts = np.bincount(depths).tolist()
        # Where each joint is in this order, and its parent among the joints one depth above it.
        rank = np.argsort(order)
        parents = rank[[above[index] for index in order[1:]]]
        above = parents - np.repeat(np.cumsum([0, *self._counts[:-2]]), self._counts[1:])
        translated = playback.translated_joints.tolist()
        moved = rank[[place[translated[index]] for index in values.moved]]
        for name, made in (
            ("order", order),
            ("moved", np.asarray(moved, np.int64)),
            ("above", above),
            ("parents", parents),
            ("offsets", np.asarray(playback.skeleton.offsets[body][order], np.float32)),
            ("chains", np.ascontiguousarray(chains[order][:, order])),
        ):
            self.register_buffer(name, torch.from_numpy(made), persistent=False)
        self.back = rank.tolist()

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Pose values (..., dims) -> positions (..., body, 3) m, and axes (..., body, 3, 3)."""
        shape = values.shape[:-1]
        # Joints stand first, so that those of one depth are one product without a copy.
        six = values[..., self._slices["rotations"]].reshape(-1, len(self.order), 6)
        local = axes_of_six(six.movedim(1, 0).index_select(0, self.order)).flatten(0, 1)
        rows = len(six)
        moved = values[..., self._slices["translations"]].reshape(rows, -1, 3).movedim(1, 0)
        places = self.offsets[:, None].expand(-1, rows, -1).index_copy(0, self.moved, moved)
        own = local.split([count * rows for count in self._counts])
        turns = [own[0]]
        # Columns are axes: a parent's matrix stands on the left.
        for depth, indices in enumerate(self.above.split(self._counts[1:]), start=1):
            above = turns[-1].view(-1, rows, 3, 3).index_select(0, indices)
            turns.append(torch.bmm(above.flatten(0, 1), own[depth]))
        axes = torch.cat(turns).view(-1, rows, 3, 3)
        above = axes.index_select(0, self.parents).flatten(0, 1)
        arms = torch.bmm(above, places[1:].reshape(-1, 3, 1)).view(-1, rows, 3)
        points = (self.chains @ torch.cat([places[:1], arms]).flatten(1)).view(-1, rows, 3)
        return points.movedim(0, 1).unflatten(0, shape), axes.movedim(0, 1).unflatten(0, shape)


def axes_of_six(six: Tensor) -> Tensor:
    """(..., 6) rotated x and y axes, not exactly orthonormal -> rotation matrices (..., 3, 3)."""
    x = functional.normalize(six[..., :3], dim=-1, eps=1e-6)
    y = six[..., 3:]
    y = functional.normalize(y - (x * y).sum(-1, keepdim=True) * x, dim=-1, eps=1e-6)
    return torch.stack([x, y, torch.linalg.cross(x, y)], -1)


# Weights of the losses, after Holden et al. 2020: translations and rotations of joints, velocities
# of root and feet; positions and rotations in root space; rates of change of all of these; and size
# and rate of the latents. Rates weigh more than theirs: without it, joints turn slowly and softly.
_LOCAL = {"rotations": 10.0, "translations": 75.0, "velocity": 16.0, "slips": 4.0}
_POSITIONS, _AXES = 15.0, 5.0
_LOCAL_RATES = {"rotations": 8.0, "translations": 1.0}
_POSITION_RATES, _ACCELERATIONS = 4.0, 0.3
_LATENT_SQUARES, _LATENT_SIZES, _LATENT_RATES = 0.1, 0.1, 0.01
# Noise of latents in their deviations, for files have them as 8-bit numbers.
_NOISE = 0.01
_ROWS_AT_ONCE = 1 << 13
# Most numbers of pose values that are kept: one gigabyte.
_MOST_POSES = 1 << 28


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
    feature_mean: Tensor
    feature_scale: Tensor
    weights: Tensor
    # Of kept states: what the compressor reads, features, those around them, and their rows.
    read: Tensor
    features: Tensor
    near: Tensor
    begins: Tensor
    # Normalised pose values of all rows; none where they would take too much memory.
    poses: Tensor
    steps: Tensor
    value_weights: Tensor
    rate_weights: Tensor
    sum_weights: Tensor

    def __init__(self, data: LearnedData) -> None:
        self.options = options = data.config.training
        joints, kept, fps = len(data.values.body), data.kept, data.database.fps
        super().__init__(
            MatchingNetworks(
                data.database.dims,
                data.values.dims + 6 * joints,
                data.values.dims,
                len(kept.features),
                data.config.network,
            ),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
        )
        self._data, self._fps = [data], fps
        self._latents = data.config.network.latents
        self.body = BodyTensors(data.values, data.playback)
        mean, scale = kept.features.mean(axis=0), np.maximum(kept.features.std(axis=0), 1e-3)
        self._keep(feature_mean=mean, feature_scale=scale)
        self._keep(features=(kept.features - mean) / scale)
        mean, scale = data.pose_scale
        self._keep(pose_mean=mean, pose_scale=scale)
        self._keep(value_weights=np.zeros(len(scale)), rate_weights=np.zeros(len(scale)))
        for made, weights, factor in (
            (self.value_weights, _LOCAL, 1.0),
            (self.rate_weights, _LOCAL_RATES, fps),
        ):
            for name, weight in weights.items():
                block = data.values.slices[name]
                made[block] = factor * weight / max(block.stop - block.start, 1)
            made *= self.pose_scale
        # Of sums over the joints' positions, axes, velocities and accelerations in the frames of a
        # window, and over the latents of its four states, their changes and their squares.
        frames, points, latents = kept.spacing + 1, 3 * joints, self._latents
        counts = frames * points, 3 * frames * points, (frames - 1) * points, (frames - 2) * points
        means = (
            *(_POSITIONS, _AXES, _POSITION_RATES * fps, _ACCELERATIONS * fps**2),
            *(_LATENT_SIZES, _LATENT_RATES * fps / kept.spacing, _LATENT_SQUARES),
        )
        every = (*counts, 4 * latents, 3 * latents, 4 * latents)
        self._keep(sum_weights=np.divide(means, np.maximum(every, 1)))
        read = self._read()
        mean, scale = read.mean(axis=0), np.maximum(read.std(axis=0), 1e-2)
        self._keep(read=(read - mean) / scale, weights=kept.weights)
        steps, near = np.arange(kept.spacing + 1), kept.around(kept.rows)[0]
        for name, indices in (("near", near), ("begins", data.kept_rows), ("steps", steps)):
            self.register_buffer(name, torch.from_numpy(indices), persistent=False)
        rows, poses = len(data.database), []
        if rows * data.values.dims < _MOST_POSES:
            blocks = np.array_split(np.arange(rows), max(rows // _ROWS_AT_ONCE, 1))
            poses = [self._normal(data.pose_values(block)) for block in blocks]
        self.register_buffer("poses", torch.cat(poses or [torch.empty(0)]), persistent=False)

    def _keep(self, **arrays: Any) -> None:
        """Arrays as tensors that are on the module's device, and not in checkpoints."""
        for name, values in arrays.items():
            tensor = torch.from_numpy(np.asarray(values, np.float32))
            self.register_buffer(name, tensor, persistent=False)

    def _normal(self, values: Tensor) -> Tensor:
        """Normalised pose values."""
        return (values - self.pose_mean) / self.pose_scale

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
                self._places(data.pose_values(each))
                for each in (
                    np.maximum(rows - 1, clips[0][some]), np.minimum(rows + 1, clips[1][some] - 1)
                )
            )  # fmt: skip
            places = self._places(values)
            parts.append(torch.cat([values, places, (after - before) * (0.5 * self._fps)], -1))
        return torch.cat(parts).numpy()

    def _places(self, values: Tensor) -> Tensor:
        """(..., 3 body) positions of joints in the skeleton's order."""
        return self.body(values)[0][..., self.body.back, :].flatten(-2)

    def training_step(self, firsts: Tensor) -> Tensor:
        generator = self.step_generator(self.options.seed)
        return self.stepped(self._losses, *self._windows(firsts, generator))

    def validation_step(self, firsts: Tensor, index: int) -> None:
        generator = torch.Generator(firsts.device).manual_seed(index)
        near, features, noise, truth = self._windows(firsts, generator)
        output = self._output(self._latents_of(near), features, noise)
        self.add_validated((output - truth).square().sum(), truth.square().sum())

    def _windows(self, firsts: Tensor, generator: torch.Generator | None) -> tuple[Tensor, ...]:
        """Kept states (n, 4) around windows, their features, noise of their latents, and the true
        pose values (n, spacing + 1, dims)."""
        near, rows = self.near[firsts], self.begins[firsts][:, None] + self.steps
        noise = torch.randn(*near.shape, self._latents, generator=generator, device=near.device)
        if len(self.poses):
            truth = self.poses[rows]
        else:
            truth = self._normal(self.data.pose_values(rows.cpu().numpy()).to(near.device))
        return near, self.features[near], noise, truth

    def _latents_of(self, states: Tensor) -> Tensor:
        """Latents (..., latents) of kept states (...)."""
        own = functional.embedding(states, self.network.own)
        return self.network.compressor(self.read[states]) + own

    def _output(self, latents: Tensor, features: Tensor, noise: Tensor) -> Tensor:
        """Normalised pose values (n, spacing + 1, dims) of the frames between two kept states."""
        deviation = latents.detach().std(dim=(0, 1))
        noisy = torch.addcmul(latents, deviation, noise, value=_NOISE)
        return self.network.decompressor(self.weights @ torch.cat([features, noisy], -1))

    def _losses(
        self, near: Tensor, features: Tensor, noise: Tensor, truth: Tensor
    ) -> tuple[Tensor, Tensor]:
        latents = self._latents_of(near)
        output = self._output(latents, features, noise)
        found, true = (
            torch.addcmul(self.pose_mean, values, self.pose_scale) for values in (output, truth)
        )
        points, axes = self.body(found)
        with torch.no_grad():
            true_points, true_axes = self.body(true)
        apart, away = output - truth, points - true_points
        rates = away.diff(dim=1)
        sizes = (away, axes - true_axes, rates, rates.diff(dim=1), latents, latents.diff(dim=1))
        flat = latents.flatten()
        sums = torch.stack([*torch._foreach_norm(sizes, 1), flat @ flat])
        loss = (
            apart.abs().mean((0, 1)) @ self.value_weights
            + apart.diff(dim=1).abs().mean((0, 1)) @ self.rate_weights
            + sums @ self.sum_weights / len(near)
        )
        return loss, loss

    @torch.no_grad()
    def latents(self) -> Array:
        """(kept, latents) float32 latents of the kept states."""
        parts = torch.arange(len(self.read), device=self.read.device).split(_ROWS_AT_ONCE)
        return torch.cat([self._latents_of(each).cpu() for each in parts]).numpy()
