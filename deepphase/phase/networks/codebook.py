"""Shared codebook: the movement of a window of any body as one phase and a few codes.

The first channel of the network has the phase of the stride. Sums of the movement of trunk and limb
ends against sines and cosines of that phase say how the body moves through a stride, whenever it
began and however long it takes. They are divided by sqrt(g * leg length), the unit of speed in
which bodies of all sizes walk and run alike (Alexander and Jayes 1983), so that a code means the
same for a person and for a dog. A residual vector quantiser (Zeghidour et al. 2021) gives them
codes; a decoder of each skeleton gives the velocities and the pose that a code and a phase stand
for. Li et al. 2024 ("WalkTheDog") have such a codebook behind an encoder per skeleton.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from deepphase.motion.contacts import GRAVITY
from deepphase.phase.body_points import POINTS
from deepphase.phase.config import NetworkConfig
from deepphase.phase.networks.autoencoder import Encoding

HARMONICS = 2
"""Multiples of the stride's frequency that a code is of, and that decoders learn it by."""
DECODED = 4
"""Multiples of the stride's frequency in what a decoder gives that was solved for."""

# What is read off the body: name -> (points, axis, weight, factor of each point). Hands and front
# paws, chest and head count less: they are free to do other things than to travel.
_READ: dict[str, tuple[float, int, dict[str, float]]] = {
    "hips up": (1.0, 1, {"hips": 1.0}),
    "hips aside": (1.0, 0, {"hips": 1.0}),
    "left foot ahead": (1.0, 2, {"left foot": 1.0, "hips": -1.0}),
    "left foot up": (1.0, 1, {"left foot": 1.0, "hips": -1.0}),
    "right foot ahead": (1.0, 2, {"right foot": 1.0, "hips": -1.0}),
    "right foot up": (1.0, 1, {"right foot": 1.0, "hips": -1.0}),
    "left hand ahead": (0.3, 2, {"left hand": 1.0, "chest": -1.0}),
    "right hand ahead": (0.3, 2, {"right hand": 1.0, "chest": -1.0}),
    "chest up": (0.3, 1, {"chest": 1.0}),
    "head up": (0.3, 1, {"head": 1.0}),
    "left sole": (1.0, 2, {"left foot": 1.0}),
    "right sole": (1.0, 2, {"right foot": 1.0}),
}
# The curve that the first channel follows: feet ahead by turns, a little of both together (a
# gallop, a jump), and the hips' height where the feet stand.
_STRIDE = {"left foot ahead": 1.5, "right foot ahead": -0.5, "hips up": 0.5}
# Width of the smallest speed of a foot, in sqrt(g * leg length).
_SOFTNESS = 0.05
# Movement is compared by the power _COMPRESSED of its size, over the share _STILL of the unit.
_STILL, _COMPRESSED = 0.05, 0.5
# Least spread of the codes: before the first windows they are all alike.
_LEAST_SPREAD = 0.02
# Numbers of a code.
_VALUES = 20
# Decay of the averages of codes; a code with less than this share of an even one is placed again.
_DECAY, _DEAD = 0.99, 0.1
# Hidden units of the encoder and of the decoders.
_HIDDEN = 96
# Widths of the kernels that compare two skeletons: of codes, as multiples of their spread, and of
# the logarithm of speed.
_WIDTHS, _SPEED_WIDTH = (0.5, 1.0, 2.0), 0.15
# Windows of each skeleton that others are compared with.
_RECENT = 128
# Size of what is drawn for the hidden units of a decoder, and what keeps its weights small, as a
# share of the mean square of the units.
_SHARPNESS, _RIDGE = 2.0, 1e-3


class Decoded(NamedTuple):
    """What a body does at codes and phases."""

    velocities: Tensor  # (batch, 3 * points, times) in sqrt(g * leg length), their mean taken off
    pose: Tensor  # (batch, 3 * points) in leg lengths, at the middle frame
    mean_pose: Tensor  # (batch, 3 * points) over a stride


class DecoderSample(NamedTuple):
    """Windows of a skeleton that its decoder is to give."""

    values: Tensor  # (batch, values) the sums of their codes
    encoding: Encoding
    velocities: Tensor  # (batch, 3 * points, times) as in `Decoded`
    poses: Tensor  # (batch, 3 * points) in leg lengths


class Shape(NamedTuple):
    """How windows move, whenever the stride began and however long it takes."""

    values: Tensor  # (batch, values): what codes are of
    speed: Tensor  # (batch,) logarithm of the speed of travel in sqrt(g * leg length)
    stride: Tensor  # (batch, frames) the curve that the first channel follows, m/s


class Codebook(nn.Module):
    """Codes of the movement of windows, and what they are on each skeleton.

    Parameters
    ----------
    fps
        Frames a second.
    config
        Codes, stages, window, skeletons.

    Attributes
    ----------
    read : (curves, signals)
        Weights by which the curves of trunk and limb ends are read off the signals.
    leg_m
        Leg length of the body in metres.
    codes : (stages, codes, values)
        Centres of the movements that have a code; those of later stages are added.
    counts : (stages, codes)
        Share of the windows that have each code.
    recent : (skeletons, windows, values + 1)
        Values and speed of the last windows of each skeleton.
    """

    read: Tensor
    leg_m: Tensor
    codes: Tensor
    counts: Tensor
    recent: Tensor
    times: Tensor
    taper: Tensor
    stride: Tensor

    def __init__(self, fps: float, config: NetworkConfig) -> None:
        super().__init__()
        read = torch.zeros(len(_READ), len(POINTS), 3)
        for row, (weight, axis, points) in zip(read, _READ.values(), strict=True):
            for name, factor in points.items():
                row[POINTS.index(name), axis] = weight * factor
        half = config.window(fps) // 2
        times = torch.arange(-half, half + 1) / fps
        taper = torch.cos(math.pi / 2 * times * fps / (half + 1))
        shape = config.code_stages, config.codes or 0
        for name, value, kept in (
            ("read", read.flatten(1), False),
            ("leg_m", torch.tensor(1.0), False),
            ("times", times, False),
            ("taper", taper / taper.sum(), False),
            ("stride", torch.tensor([_STRIDE.get(name, 0.0) for name in _READ]), False),
            ("codes", torch.zeros(*shape, _VALUES), True),
            ("counts", torch.zeros(shape), True),
            ("recent", torch.zeros(config.skeletons, _RECENT, _VALUES + 1), True),
        ):
            self.register_buffer(name, value, persistent=kept)

        def perceptron(ins: int, outs: int) -> nn.Sequential:
            return nn.Sequential(nn.Linear(ins, _HIDDEN), nn.ELU(), nn.Linear(_HIDDEN, outs))

        self.encoder = perceptron(len(_READ) * 2 * HARMONICS + 1, _VALUES)
        # Sine and cosine of each harmonic, of velocities and of poses; poses have a mean, too.
        # Codes learn by few harmonics: by more, gaits are found less often.
        outs = 3 * len(POINTS) * (4 * HARMONICS + 1)
        self.decoders = nn.ModuleList(perceptron(_VALUES, outs) for _ in range(config.skeletons))

    def bound(self, read: Tensor, leg_m: float) -> Codebook:
        """The codebook of the joints of a body.

        Parameters
        ----------
        read : (points, joints)
            Weights of `BodyPlan.points_from_joints`.
        leg_m
            Its leg length.
        """
        made = copy.deepcopy(self)
        made.read, made.leg_m = self.read_of(read), torch.tensor(leg_m)
        return made

    def read_of(self, read: Tensor) -> Tensor:
        """(curves, 3 * joints) weights of the curves, by those of the points (points, joints)."""
        by_point = self.read.view(len(self.read), len(POINTS), 3)
        return torch.einsum("cpa,pj->cja", by_point, read).flatten(1)

    def shape(self, windows: Tensor, encoding: Encoding) -> Shape:
        """The shape of windows (batch, signals, frames), by the phase of their first channel."""
        unit = torch.sqrt(GRAVITY * self.leg_m)
        with torch.autocast(windows.device.type, enabled=False):
            curves = torch.einsum("cs,bst->bct", self.read, windows.float())
            waves = _waves(encoding, self.times, HARMONICS)
            sums = 2.0 / unit * torch.einsum("bct,bht->bch", curves, waves * self.taper)
            # Large movements differ more than small ones of the same kind.
            sums = sums.flatten(1)
            size = torch.linalg.vector_norm(sums, dim=1, keepdim=True)
            # A foot that stands has the speed of the body, less: windows lack their mean.
            soles = curves[:, -2:] / unit
            slowest = -_SOFTNESS * torch.logsumexp(-soles / _SOFTNESS, 2)
            slowest = slowest + _SOFTNESS * math.log(soles.shape[2])
            speed = torch.log(nn.functional.relu(-slowest.mean(1)) + _STILL)
            parts = sums / (size + _STILL) ** _COMPRESSED, speed[:, None]
            values = self.encoder(torch.cat(parts, 1))
            stride = torch.einsum("bct,c->bt", curves, self.stride)
            return Shape(values, speed, stride)

    def quantised(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The sums of the codes nearest to values (batch, values), and these (batch, stages)."""
        chosen, rest = [], values.detach()
        for codes in self.codes:
            code = torch.cdist(rest, codes).argmin(1)
            chosen.append(code)
            rest = rest - codes[code]
        return values.detach() - rest, torch.stack(chosen, 1)

    def spread(self) -> tuple[Tensor, Tensor]:
        """Mean (values,) of the codes, and the root mean square () of a value's distance from it.

        A code that many windows have counts as often.
        """
        weights = self.counts[0, :, None] / self.counts[0].sum().clamp(min=1e-9)
        mean = (weights * self.codes[0]).sum(0)
        square = (weights * (self.codes[0] - mean).square()).sum(0).mean()
        return mean, square.sqrt().clamp(min=_LEAST_SPREAD)

    def decoded(self, skeleton: int, values: Tensor, encoding: Encoding, times: Tensor) -> Decoded:
        """What a skeleton of the training does at codes, by the phase of the first channel.

        Parameters
        ----------
        skeleton
            Its place in the training.
        values : (batch, values)
            As of `quantised`.
        times : (times,)
            Seconds from the middle frame.
        """
        numbers = self.decoders[skeleton](values).view(len(values), 3 * len(POINTS), -1)
        harmonics = numbers.shape[2] // 4
        velocity, swing, mean = numbers.split((2 * harmonics, 2 * harmonics, 1), 2)
        waves, now = _decoded_waves(encoding, times, harmonics)
        mean = mean[..., 0]
        pose = mean + torch.einsum("bsh,bh->bs", swing, now)
        return Decoded(velocity @ waves, pose, mean)

    @torch.no_grad()
    def solve_decoder(self, skeleton: int, samples: Iterable[DecoderSample]) -> None:
        """Give a decoder the weights of least error for these codes.

        What leads from a code to the hidden units is drawn, and what leads on is solved for, so
        that a decoder costs a moment (random features, Rahimi and Recht 2007). The codes stand
        still.

        Parameters
        ----------
        skeleton
            Its place in the training.
        samples
            Windows of the skeleton.
        """
        decoders: Any = self.decoders
        first, hidden, _ = decoders[skeleton]
        mean, spread = self.spread()
        generator = torch.Generator().manual_seed(skeleton)
        for part in (first.weight, first.bias):
            part.copy_(_SHARPNESS * torch.randn(part.shape, generator=generator))
        first.weight.div_(math.sqrt(_VALUES) * spread)
        first.bias.sub_(first.weight @ mean)
        left: list[Any] = [0.0, 0.0]
        right: list[Any] = [0.0, 0.0]
        for values, encoding, velocities, poses in samples:
            units = nn.functional.pad(hidden(first(values)), (0, 1), value=1.0)
            waves, now = _decoded_waves(encoding, self.times, DECODED)
            now = nn.functional.pad(now, (0, 1), value=1.0)
            alike = waves @ waves.transpose(1, 2), now[:, :, None] * now[:, None]
            wanted = velocities @ waves.transpose(1, 2), poses[..., None] * now[:, None]
            for which in range(2):
                left[which] += torch.einsum("bu,bhk,bv->uhvk", units, alike[which], units)
                right[which] += torch.einsum("bu,bsh->uhs", units, wanted[which])
        solved = torch.cat([_solved(*each) for each in zip(left, right, strict=True)], 1)
        # (units, harmonics, signals) -> signals with their harmonics.
        by_unit = solved.transpose(1, 2).flatten(1).T
        last = nn.Linear(_HIDDEN, len(by_unit), device=by_unit.device)
        last.weight.copy_(by_unit[:, :-1])
        last.bias.copy_(by_unit[:, -1])
        decoders[skeleton] = nn.Sequential(first, hidden, last)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Decoders that were solved for give more harmonics than those that codes are learnt by.
        decoders: Any = self.decoders
        for number, decoder in enumerate(decoders):
            bias = state_dict.get(f"{prefix}decoders.{number}.2.bias")
            if bias is not None and len(bias) == 3 * len(POINTS) * (4 * DECODED + 1):
                decoder[2] = nn.Linear(_HIDDEN, len(bias))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def apart(self, skeleton: int, shape: Shape) -> Tensor:
        """How far the values of a skeleton are from those of all others at equal speed.

        Squared maximum mean discrepancy (Gretton et al. 2012) of values and speed together, as a
        share of the skeleton's own size. What a skeleton does at a speed that no other has is
        compared with nothing.
        """
        others = [each for each in range(len(self.recent)) if each != skeleton]
        compared = self.recent[others].flatten(0, 1)
        compared = compared[compared.abs().sum(1) > 0]
        if not len(compared):
            return shape.values.new_zeros(())
        own, speed = shape.values, shape.speed.detach()
        values, speeds = compared[:, :-1], compared[:, -1]
        spread = torch.linalg.vector_norm(torch.cat([own.detach(), values]).std(0)) + 1e-6

        def near(first: Tensor, second: Tensor) -> Tensor:
            return torch.exp(-0.5 * ((first[:, None] - second) / _SPEED_WIDTH).square())

        def kernel(first: Tensor, second: Tensor) -> Tensor:
            distance = torch.cdist(first, second).square() / spread**2
            return sum(torch.exp(-distance / width**2) for width in _WIDTHS)  # type: ignore[return-value]

        mine = _even(near(speed, speeds).mean(1), near(speed, speed).mean(1))
        theirs = _even(near(speeds, speed).mean(1), near(speeds, speeds).mean(1))
        size = mine @ (kernel(own, own) * near(speed, speed)) @ mine
        rest = theirs @ (kernel(values, values) * near(speeds, speeds)) @ theirs
        both = mine @ (kernel(own, values) * near(speed, speeds)) @ theirs
        return (size + rest - 2.0 * both) / size.detach()

    @torch.no_grad()
    def update(self, skeleton: int, shape: Shape) -> None:
        """Move the codes to the averages of a batch of one skeleton, and revive those of no use."""
        rest = shape.values.detach().float()
        for codes, counts in zip(self.codes, self.counts, strict=True):
            code = torch.cdist(rest, codes).argmin(1)
            chosen = nn.functional.one_hot(code, len(codes)).to(rest.dtype)
            number = (1.0 - _DECAY) * chosen.mean(0)
            mean = chosen.T @ rest / chosen.sum(0).clamp(min=1.0)[:, None]
            counts.mul_(_DECAY).add_(number)
            codes.lerp_(mean, (number / counts.clamp(min=1e-9)).clamp(max=1.0)[:, None])
            rest = rest - codes[code]
            # Few at once: batches of all skeletons take part.
            dead = torch.nonzero(counts < _DEAD / len(codes))[: max(len(codes) // 8, 1), 0]
            far = rest.square().sum(1).argsort(descending=True)[: len(dead)]
            dead = dead[: len(far)]
            codes[dead] = (rest + codes[code])[far]
            counts[dead] = 2.0 * _DEAD / len(codes)
        rows = torch.cat([shape.values, shape.speed[:, None]], 1).detach()[:_RECENT]
        self.recent[skeleton, : len(rows)] = rows


def _waves(encoding: Encoding, times: Tensor, harmonics: int) -> Tensor:
    """(batch, 2 * harmonics, times): sines and cosines of the first channel's phase."""
    turns = encoding.frequency[:, :1] * times + encoding.phase[:, :1]
    multiples = torch.arange(1, harmonics + 1, device=times.device)[:, None]
    angles = 2.0 * math.pi * turns[:, None] * multiples
    return torch.stack([torch.sin(angles), torch.cos(angles)], 2).flatten(1, 2)


def _decoded_waves(encoding: Encoding, times: Tensor, harmonics: int) -> tuple[Tensor, Tensor]:
    """(batch, waves, times) that velocities are sums of, and (batch, waves) those of poses."""
    waves = _waves(encoding, times, harmonics)
    now = _waves(encoding, times.new_zeros(1), harmonics)
    return waves - waves.mean(2, keepdim=True), now[..., 0]


def _solved(left: Tensor, right: Tensor) -> Tensor:
    """(units, waves, signals) by the normal equations of least squares."""
    units, waves, signals = right.shape
    matrix = left.reshape(units * waves, -1).double()
    matrix.diagonal().add_(_RIDGE * matrix.diagonal().mean())
    found = torch.linalg.solve(matrix, right.reshape(-1, signals).double())
    return found.view(right.shape).to(right.dtype)


def _even(others: Tensor, own: Tensor) -> Tensor:
    """Weights by which two sets of windows are equally often of each speed."""
    weights = others / (others + own)
    return weights / weights.sum()
