"""Training on the points of several bodies: batches of one body each, of other proportions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.contacts import GRAVITY
from deepphase.phase.body_points import (
    CHAINS,
    POINTS,
    BodyPlan,
    bound_weights,
    mirrored_points,
    parent_points,
)
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import TrainedSkeleton, code_health
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import PhaseModel, encode_windows
from deepphase.phase.networks.autoencoder import Encoding
from deepphase.phase.networks.codebook import Codebook, DecoderSample, Shape
from deepphase.phase.signal_corpus import CorpusBody, SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.training.variation import VariedWindows
from deepphase.phase.windows import gather
from deepphase.progress import Progress

# Legs of one body differ less in scale than its limbs do: their feet would slide.
_LEG_SPREAD = 0.3
# No body is left with fewer joints.
_FEWEST_JOINTS = 6
# A mirror image goes to the other side.
_MIRROR = np.array([-1.0, 1.0, 1.0], np.float32)
_VALIDATION_WINDOWS = _POWER_WINDOWS = 2048
_MEASURED_WINDOWS = 4096
# Windows of each skeleton that its decoder of codes is solved for, and as many mirror images.
_DECODED_WINDOWS = 8192
# A batch of windows that barely move is not divided by less than this share of the mean square.
_LEAST_POWER = 0.3
# Square of the distances of poses, in leg lengths, that count as much as all of the movement.
_POSE_SIZE = 0.02
# Frames of each skeleton that the projection is fitted to, at most.
_PROJECTED_FRAMES = 10_000
# Weights of the losses of a codebook beside that of the reconstruction: of the first channel's
# curve, of velocities and poses by codes, of the distance to the codes, and of the distance between
# skeletons.
_STRIDE_LOSS, _CODE_LOSS, _POSE_LOSS, _COMMITMENT, _APART_LOSS = 0.2, 0.3, 0.3, 0.1, 0.3


@dataclass(frozen=True)
class Augmentation:
    """How strongly bodies are varied.

    Parameters
    ----------
    proportions
        Standard deviation of the logarithm of each limb's scale.
    joint_dropout
        Largest share of the body points that is left out.
    """

    proportions: float = 0.0
    joint_dropout: float = 0.0

    def kept(self, generator: np.random.Generator, index: Array) -> Array:
        """Those of some joints that a training body has."""
        share = generator.uniform(0.0, self.joint_dropout)
        kept = index[generator.uniform(size=len(index)) >= share]
        return kept if len(kept) >= _FEWEST_JOINTS else index

    def scaled(self, generator: np.random.Generator) -> Array:
        """(points, points) float32 map of velocities to those of a body of other proportions.

        With the same rotations, the velocity of a point relative to the one before it is scaled as
        the bones between them. The hips travel with the scale of the legs, so that standing feet
        stand.
        """
        change = np.eye(len(POINTS), dtype=np.float32)
        if not self.proportions:
            return change
        legs = generator.normal()
        scale = {}
        for chain in CHAINS:
            drawn = generator.normal() * (_LEG_SPREAD if "leg" in chain else 1.0)
            scale[chain] = float(np.exp(self.proportions * (legs + drawn)))
        for limb in ("leg", "arm"):
            scale[f"right {limb}"] = scale[f"left {limb}"]
        root = float(np.exp(self.proportions * legs))
        plan = BodyPlan.of_points(np.arange(len(POINTS)))
        for point, parent in enumerate(parent_points().tolist()):
            if parent < 0:
                change[point, point] = root
                continue
            change[point] = change[parent]
            change[point, point] += scale[plan.chains[point]]
            change[point, parent] -= scale[plan.chains[point]]
        return change


class DrawnBody(NamedTuple):
    """Windows of one body before they are gathered.

    The windows' signals are `change` times those of the body points; `change` is
    (3 * joints, 3 * points). The others are as in `BodyBatch`.
    """

    windows: Tensor | VariedWindows
    change: Tensor
    read: Tensor
    write: Tensor
    power: float
    skeleton: int
    leg_m: float

    @classmethod
    def of(
        cls,
        windows: Tensor | VariedWindows,
        change: Array,
        kept: Array,
        body: _TrainingBody,
    ) -> DrawnBody:
        """Of the points `kept` of a body; `change` is (3 axes, points, points)."""
        plan = BodyPlan.of_points(kept)
        read, write = plan.points_from_joints(), plan.joints_from_points()
        whole = torch.from_numpy(_by_axis(change[:, kept]))
        leg_m = body.body.plan.leg_m * float(change[1, 0, 0])
        parts = whole, torch.from_numpy(read), torch.from_numpy(write)
        return cls(windows, *parts, body.power, body.number, leg_m)


@dataclass(frozen=True, eq=False)
class BodyBatch:
    """Windows of one body.

    Parameters
    ----------
    windows
        (batch, 3 * joints, frames) m/s.
    read : (points, joints)
    write : (joints, points)
        Interpolation between joints and body points.
    power
        Mean square of the body's windows.
    skeleton
        Number of its skeleton in the training.
    leg_m
        Length of its legs in metres.
    poses : (batch, 3 * joints)
        Metres in root space at the middle frames, for a codebook.
    """

    windows: Tensor
    read: Tensor
    write: Tensor
    power: float
    skeleton: int
    leg_m: float
    poses: Tensor | None = None

    def __len__(self) -> int:
        return len(self.windows)


class _TrainingBody:
    """One body's windows in a corpus.

    Attributes
    ----------
    body
        Its joints.
    number
        Its place among the skeletons.
    train, held_out
        (windows,) middle frames in the corpus.
    first
        Its first frame in the corpus.
    found
        (points,) indices of the points that the skeleton has.
    power
        Mean square of the windows of these points, (m/s)^2.
    """

    def __init__(self, data: PhaseData, body: CorpusBody, number: int) -> None:
        corpus, split = data.corpus, data.split
        self.body, self.number = body, number
        self.first, stop = int(corpus.starts[body.clips][0]), int(corpus.stops[body.clips][-1])
        self.train, self.held_out, starts = (
            each[np.searchsorted(each, self.first) : np.searchsorted(each, stop)]
            for each in (split.train, split.held_out, split.held_out_ranges[:, 0])
        )
        own = np.isin(split.held_out_ranges[:, 0], starts)
        self.held_out_ranges = split.held_out_ranges[own] - self.first
        self.found = np.flatnonzero(body.plan.points_from_joints().any(1))
        some = torch.from_numpy(self.train[:: max(len(self.train) // _POWER_WINDOWS, 1)])
        # Points that the skeleton lacks are zero.
        windows = gather(torch.from_numpy(corpus.values), some, data.window)
        self.power = float(windows.square().mean()) * len(POINTS) / len(self.found)
        if not self.power > 1e-12:
            raise ParameterError(
                f"nothing moves in {body.name}",
                hint="phases are learnt from movement; see `deepphase inspect`",
            )


class BodyData(PhaseData):
    """Training and held-out windows of several skeletons, for `BodyModule`.

    Every batch is of one skeleton, which is drawn with the square root of its number of windows, or
    as often as every other for a codebook, and of one body made of it. All draws depend on seed and
    position alone.

    Parameters
    ----------
    stores
        Clips of one skeleton each.
    config, description, progress
        See `PhaseData`.
    """

    def __init__(
        self,
        stores: Sequence[ClipStore],
        config: PhaseConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        network = config.network
        if network.codes is not None:
            network = replace(network, skeletons=len(stores))
        corpus = SignalCorpus.of_bodies(
            stores, progress, description, poses=network.codes is not None
        )
        super().__init__(corpus, replace(config, network=network))
        options = self.config.training
        self.bodies = [
            _TrainingBody(self, body, number) for number, body in enumerate(corpus.bodies)
        ]
        # Codes are to be those of all skeletons alike.
        power = 0.5 if network.codes is None else 0.0
        counts = np.power([float(len(body.train)) for body in self.bodies], power)
        self._share = counts / counts.sum()
        self._poses = None if corpus.poses is None else torch.from_numpy(corpus.poses)
        self._augmentation = Augmentation(options.proportions, options.joint_dropout)
        self._mirrored = list(mirrored_points())

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Any:
        """A share of the windows at these positions, of one body."""
        options, augmentation = self.config.training, self._augmentation
        generator = np.random.default_rng([options.seed, start])
        body = self.bodies[int(generator.choice(len(self.bodies), p=self._share))]
        drawn = body.train[generator.integers(len(body.train), size=stop - start)]
        change = augmentation.scaled(generator)
        change = change * np.ones((3, 1, 1), np.float32)
        if generator.uniform() < options.mirror:
            change = self._mirror_image(change)
        kept = augmentation.kept(generator, body.found)
        centres = torch.from_numpy(drawn[share])
        windows: Tensor | VariedWindows = centres
        if self._variation:
            rates, headings = self._variation.draws(start, stop)
            windows = VariedWindows(centres, rates[share], headings[share])
        return DrawnBody.of(windows, change, kept, body)

    def poses_at(self, frames: Tensor) -> Tensor:
        """(..., 3 * points) metres in root space, of a training with a codebook."""
        assert self._poses is not None
        return self._poses[frames]

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """The windows of a body, gathered and changed."""
        windows = self.gathered(batch.windows).permute(2, 0, 1) @ batch.change.T
        poses = None
        if self._poses is not None:
            centres = batch.windows if isinstance(batch.windows, Tensor) else batch.windows.centres
            self._poses = self._poses.to(centres.device)
            poses = self.poses_at(centres) @ batch.change.T
        parts = batch.read, batch.write, batch.power, batch.skeleton, batch.leg_m
        return BodyBatch(windows.permute(1, 2, 0), *parts, poses)

    def _validation(self) -> Iterator[Any]:
        rank, world = self.trainer.global_rank, self.trainer.world_size
        count = _VALIDATION_WINDOWS // len(self.bodies)
        for body in self.bodies:
            yield from self.unvaried(body, _evenly(body.held_out, count)[rank::world])

    def unvaried(
        self, body: _TrainingBody, rows: Array, *, mirrored: bool = False
    ) -> Iterator[DrawnBody]:
        """Windows around frames of a body as it is, or mirrored, in batches."""
        change = np.tile(np.eye(len(POINTS), dtype=np.float32), (3, 1, 1))
        if mirrored:
            change = self._mirror_image(change)
        for centres in torch.from_numpy(rows).split(256):
            yield DrawnBody.of(centres, change, body.found, body)

    def _mirror_image(self, change: Array) -> Array:
        """(3 axes, points, points) of the mirror image."""
        return np.asarray(change[:, self._mirrored] * _MIRROR[:, None, None])


class BodyModule(PhaseModule):
    """Reconstruct windows of the joints of any body through the sinusoids of one network.

    The error of a batch is divided by its mean square, so that a dog counts as much as a person who
    runs. With a codebook, its codes learn to be what the windows and poses of each skeleton are
    reconstructed from.
    """

    def __init__(self, config: PhaseConfig, signals: Any) -> None:
        super().__init__(config, signals)
        layer = getattr(self.network, "phase_layer", None)
        if config.network.codes is not None and layer is not None:
            # Poses of codes would turn the first channel's phase off its frequency.
            layer.weight.register_hook(_without_first)

    def _reconstructed(self, batch: BodyBatch) -> Tensor:
        weights = bound_weights(dict(self.network.named_parameters()), batch.read, batch.write)
        return functional_call(self.network, weights, (batch.windows,)).float()

    def training_step(self, batch: BodyBatch) -> Tensor:  # type: ignore[override]
        size = batch.windows.square().mean().clamp(min=_LEAST_POWER * batch.power)
        codebook = getattr(self.network, "codebook", None)
        if codebook is None:
            loss = (self._reconstructed(batch) - batch.windows).square().mean() / size
        else:
            loss = self._loss_with_codes(codebook, batch, size)
        self.last_loss = loss.detach()
        return loss

    def _with_shape(self, codebook: Codebook, batch: BodyBatch) -> tuple[Tensor, Encoding, Shape]:
        """Reconstruction, phase parameters and shape of the windows of a body."""
        weights = bound_weights(dict(self.network.named_parameters()), batch.read, batch.write)
        weights["codebook.read"] = codebook.read_of(batch.read)
        weights["codebook.leg_m"] = batch.windows.new_tensor(batch.leg_m)
        whole = {f"network.{name}": value for name, value in weights.items()}
        found: tuple[Tensor, Encoding, Shape] = functional_call(
            _WithShape(self.network), whole, (batch.windows,)
        )
        return found

    def _loss_with_codes(self, codebook: Codebook, batch: BodyBatch, size: Tensor) -> Tensor:
        """The loss of the reconstruction and those of the codes; moves the codes."""
        made, encoding, shape = self._with_shape(codebook, batch)
        leg_m = batch.windows.new_tensor(batch.leg_m)
        loss = (made.float() - batch.windows).square().mean() / size

        times = self.network.times
        kept = torch.round(times * self.network.fps).long() + self.network.window // 2
        stride = shape.stride[:, kept]
        # Where the feet stand still, the first channel may follow what moves.
        still = stride.square().mean() + _LEAST_POWER * batch.power
        loss += _STRIDE_LOSS * (encoding.latent[:, 0] - stride).square().mean() / still

        quantised, _ = codebook.quantised(shape.values)
        passed = shape.values + (quantised - shape.values).detach()
        decoded = codebook.decoded(batch.skeleton, passed, encoding, times)
        velocities = torch.sqrt(GRAVITY * leg_m) * _of_joints(decoded.velocities, batch.write)
        loss += _CODE_LOSS * (velocities - batch.windows[..., kept]).square().mean() / size
        assert batch.poses is not None
        pose = _of_joints(decoded.pose[..., None], batch.write)[..., 0]
        loss += _POSE_LOSS * (pose - batch.poses / leg_m).square().mean() / _POSE_SIZE
        loss += _COMMITMENT * nn.functional.mse_loss(shape.values, quantised)
        loss += _APART_LOSS * codebook.apart(batch.skeleton, shape)
        codebook.update(batch.skeleton, shape)
        return loss

    def validation_step(self, batch: BodyBatch) -> None:  # type: ignore[override]
        error = (self._reconstructed(batch) - batch.windows).square().sum() / batch.power
        self.add_validated(error, batch.windows.square().sum() / batch.power)

    def _measure(self, model: PhaseModel, data: PhaseData, progress: Progress | None) -> None:
        """Give a model its measures on each skeleton's held-out clips, and its projection."""
        assert isinstance(data, BodyData)
        codebook = getattr(self.network, "codebook", None)
        measured, manifolds, codes = [], [], []
        for number, body in enumerate(data.bodies):
            if progress is not None:
                progress("measuring", number, len(data.bodies), "on held-out clips")
            if codebook is not None:
                samples = self._decoder_samples(codebook, data, body)
                codebook.solve_decoder(number, samples)
            signals, values = body.body.joints.signals, body.body.joints.values
            bound = model.bound_to(signals, body.body.plan)
            health = measured_health(bound, values, body.held_out_ranges)
            measured.append(
                TrainedSkeleton(body.body.name, signals.body["kind"], len(signals.joints), health)
            )
            if codebook is not None:
                codes.append(_measured_codes(model, bound, data, body))
            seen = body.train[:: max(len(body.train) // _PROJECTED_FRAMES, 1)]
            seen = seen - body.first - model.window // 2
            manifold = encode_windows(bound.network, values, seen).manifold()
            # Fast bodies alone would set the axes.
            manifolds.append(manifold / np.sqrt(np.square(manifold).mean() + 1e-12))
        shared = code_health([each[0] for each in codes], model.config.network.codes or 0)
        for number, (use, (_, explained, error)) in enumerate(zip(shared, codes, strict=True)):
            own = replace(use, explained_variance=explained, pose_error=error)
            measured[number] = replace(measured[number], codes=own)
        model.skeletons = tuple(measured)
        together = np.concatenate(manifolds)
        # The stride is what all skeletons share.
        model.projection = (
            ManifoldProjection.of_channel(together, 0)
            if codes
            else ManifoldProjection.fit(together)
        )

    @torch.no_grad()
    def _decoder_samples(
        self, codebook: Codebook, data: BodyData, body: _TrainingBody
    ) -> Iterator[DecoderSample]:
        """Windows of a body's training clips with their codes, in batches."""
        columns = (3 * body.found[:, None] + np.arange(3)).ravel()
        rows = _evenly(body.train, _DECODED_WINDOWS)
        for mirrored in (False, True) if data.config.training.mirror else (False,):
            for drawn in data.unvaried(body, rows, mirrored=mirrored):
                batch: BodyBatch = data.on_after_batch_transfer(drawn, 0)
                _, encoding, shape = self._with_shape(codebook, batch)
                values, _ = codebook.quantised(shape.values)
                leg_m = batch.windows.new_tensor(batch.leg_m)
                velocities = batch.windows.new_zeros(len(values), 3 * len(POINTS), data.window)
                velocities[:, columns] = batch.windows / torch.sqrt(GRAVITY * leg_m)
                assert batch.poses is not None
                poses = velocities.new_zeros(velocities.shape[:2])
                poses[:, columns] = batch.poses / leg_m
                yield DecoderSample(values, encoding, velocities, poses)


def _without_first(gradient: Tensor) -> Tensor:
    """A gradient by channel that leaves the first one as it is."""
    return torch.cat([torch.zeros_like(gradient[:1]), gradient[1:]])


class _WithShape(nn.Module):
    """A network with a codebook, as a function of windows and all its weights."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, windows: Tensor) -> tuple[Tensor, Encoding, Shape]:
        """Reconstruction, phase parameters and shape of windows (batch, signals, frames)."""
        network: Any = self.network
        encoding = network.encode(windows)
        made = network.decode(network.sinusoids(encoding))
        return made, encoding, network.codebook.shape(windows, encoding)


def _evenly(rows: Array, count: int) -> Array:
    """About `count` of some rows, or all, spread evenly."""
    return np.asarray(rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))])


def _of_joints(values: Tensor, write: Tensor) -> Tensor:
    """(batch, 3 * joints, times) values of joints of those of body points."""
    by_point = values.unflatten(1, (len(POINTS), 3))
    return torch.einsum("jp,bpat->bjat", write, by_point).flatten(1, 2)


@torch.inference_mode()
def _measured_codes(
    model: PhaseModel, bound: PhaseModel, data: BodyData, body: _TrainingBody
) -> tuple[Array, float, float]:
    """Codes of held-out windows of a skeleton, and how well they reconstruct them and their poses.

    Returns
    -------
    Codes (windows,) of the first stage, explained variance, and metres from the mean pose.
    """
    codebook: Any = model.network.codebook
    own: Any = bound.network.codebook
    values = torch.from_numpy(body.body.joints.values)
    rows = _evenly(body.held_out, _MEASURED_WINDOWS)
    write = torch.from_numpy(body.body.plan.joints_from_points())
    found, error, power, apart = [], 0.0, 0.0, []
    for centres in torch.from_numpy(rows).split(256):
        windows = gather(values, centres - body.first, model.window)
        encoding = bound.network.encode(windows)
        quantised, codes = own.quantised(own.shape(windows, encoding).values)
        decoded = codebook.decoded(body.number, quantised, encoding, own.times)
        velocities = torch.sqrt(GRAVITY * own.leg_m) * _of_joints(decoded.velocities, write)
        error += float((velocities - windows).square().sum())
        power += float(windows.square().sum())
        steps = torch.arange(model.window) - model.window // 2
        poses = data.poses_at(centres[:, None] + steps).mean(1)
        away = own.leg_m * decoded.mean_pose - poses
        apart.append(away.unflatten(1, (len(POINTS), 3))[:, body.found].norm(dim=2))
        found.append(codes[:, 0])
    explained = 1.0 - error / max(power, 1e-12)
    return torch.cat(found).numpy(), explained, float(torch.cat(apart).mean())


def _by_axis(change: Array) -> Array:
    """(3 * rows, 3 * columns) map of interleaved axes, of one map (3, rows, columns) per axis."""
    _, rows, columns = change.shape
    whole = np.zeros((rows, 3, columns, 3), np.float32)
    for axis in range(3):
        whole[:, axis, :, axis] = change[axis]
    return whole.reshape(3 * rows, 3 * columns)
