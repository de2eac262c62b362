"""Training on the points of several bodies: batches of one body each, of other proportions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import encode_windows, gather
from deepphase.phase.health import TrainedSkeleton, measured_health
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ManifoldProjection
from deepphase.phase.signal_corpus import CorpusBody, SignalCorpus
from deepphase.phase.signals import (
    CHAINS,
    POINTS,
    BodyPlan,
    bound_weights,
    mirrored_points,
    parent_points,
)
from deepphase.phase.training.data import PhaseData, VariedWindows
from deepphase.phase.training.module import PhaseModule
from deepphase.work import Progress, report

# Legs of one body differ less in scale than its limbs do: their feet would slide.
_LEG_SPREAD = 0.3
# No body is left with fewer joints.
_FEWEST_JOINTS = 6
# A mirror image goes to the other side.
_MIRROR = np.array([-1.0, 1.0, 1.0], np.float32)
_VALIDATION_WINDOWS = _POWER_WINDOWS = 2048
# A batch of windows that barely move is not divided by less than this share of the mean square.
_LEAST_POWER = 0.3
# Frames of each skeleton that the projection is fitted to, at most.
_PROJECTED_FRAMES = 10_000


@dataclass(frozen=True)
class Augmentation:
    """How strongly bodies are varied."""

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
        plan = BodyPlan.from_points(np.arange(len(POINTS)))
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

    @classmethod
    def from_body(
        cls, windows: Tensor | VariedWindows, change: Array, kept: Array, body: _TrainingBody
    ) -> DrawnBody:
        """Of the points `kept` of a body; `change` is (3 axes, points, points)."""
        plan = BodyPlan.from_points(kept)
        read, write = plan.points_from_joints(), plan.joints_from_points()
        _, rows, columns = change[:, kept].shape
        axes = np.einsum("arc,ab->racb", change[:, kept], np.eye(3, dtype=np.float32))
        whole = torch.from_numpy(axes.reshape(3 * rows, 3 * columns))
        parts = whole, torch.from_numpy(read), torch.from_numpy(write)
        return cls(windows, *parts, body.power)


@dataclass(frozen=True, eq=False)
class BodyBatch:
    """Windows (batch, 3 * joints, frames) of one body in m/s, and maps from and to its points."""

    windows: Tensor
    read: Tensor
    write: Tensor
    power: float

    def __len__(self) -> int:
        return len(self.windows)


class _TrainingBody:
    """One body's windows in a corpus.

    `train`, `held_out` (windows,) middle frames in the corpus. `found` indices of the points that
    the skeleton has. `power` mean square of the windows of these points, (m/s)^2.
    """

    def __init__(self, data: PhaseData, body: CorpusBody) -> None:
        corpus, split = data.corpus, data.split
        self.body = body
        self.first, stop = int(corpus.starts[body.clips][0]), int(corpus.stops[body.clips][-1])
        self.train, self.held_out, starts = (
            frames[np.searchsorted(frames, self.first) : np.searchsorted(frames, stop)]
            for frames in (split.train, split.held_out, split.held_out_ranges[:, 0])
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

    Every batch is of one skeleton, drawn by the square root of its number of windows, and
    of one body made of it. All draws depend on seed and position alone.
    """

    def __init__(
        self,
        stores: Sequence[ClipStore],
        config: PhaseConfig,
        *,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        corpus = SignalCorpus.from_stores(stores, progress, description)
        super().__init__(corpus, config)
        options = self.config.training
        self.bodies = [_TrainingBody(self, body) for body in corpus.bodies]
        counts = np.sqrt([float(len(body.train)) for body in self.bodies])
        self._share = counts / counts.sum()
        self._augmentation = Augmentation(options.proportions, options.joint_dropout)
        self._mirrored = list(mirrored_points())

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Any:
        """A share of the windows at these positions, of one body."""
        options, augmentation = self.config.training, self._augmentation
        generator = np.random.default_rng([options.seed, start])
        body = self.bodies[int(generator.choice(len(self.bodies), p=self._share))]
        drawn = body.train[generator.integers(len(body.train), size=stop - start)]
        change = augmentation.scaled(generator) * np.ones((3, 1, 1), np.float32)
        if generator.uniform() < options.mirror:
            change = change[:, self._mirrored] * _MIRROR[:, None, None]
        kept = augmentation.kept(generator, body.found)
        centres = torch.from_numpy(drawn[share])
        windows: Tensor | VariedWindows = centres
        if self._variation:
            rates, headings = self._variation.draws(start, stop)
            windows = VariedWindows(centres, rates[share], headings[share])
        return DrawnBody.from_body(windows, change, kept, body)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """The windows of a body, gathered and changed."""
        windows = self.gathered(batch.windows).permute(2, 0, 1) @ batch.change.T
        return BodyBatch(windows.permute(1, 2, 0), batch.read, batch.write, batch.power)

    def _validation(self) -> Iterator[Any]:
        rank, world = self.trainer.global_rank, self.trainer.world_size
        count = _VALIDATION_WINDOWS // len(self.bodies)
        for body in self.bodies:
            chosen = np.unique(np.linspace(0, len(body.held_out) - 1, count).astype(np.int64))
            rows = body.held_out[chosen][rank::world]
            unchanged = np.tile(np.eye(len(POINTS), dtype=np.float32), (3, 1, 1))
            for centres in torch.from_numpy(rows).split(256):
                yield DrawnBody.from_body(centres, unchanged, body.found, body)


class BodyModule(PhaseModule):
    """Reconstruct windows of any body; a batch's error is divided by its mean square."""

    # Bodies have shapes of their own, and each its power.
    is_captured = False

    def _reconstructed(self, batch: BodyBatch) -> Tensor:
        weights = bound_weights(dict(self.network.named_parameters()), batch.read, batch.write)
        return functional_call(self.network, weights, (batch.windows,)).float()

    def training_step(self, batch: BodyBatch) -> Tensor:  # type: ignore[override]
        size = batch.windows.square().mean().clamp(min=_LEAST_POWER * batch.power)
        loss = (self._reconstructed(batch) - batch.windows).square().mean() / size
        return self.stepped(lambda: (loss, loss))

    def validation_step(self, batch: BodyBatch) -> None:  # type: ignore[override]
        error = (self._reconstructed(batch) - batch.windows).square().sum() / batch.power
        self.add_validated(error, batch.windows.square().sum() / batch.power)

    def _measure(self, model: PhaseModel, data: PhaseData, progress: Progress | None) -> None:
        """Give a model its measures on each skeleton's held-out clips, and its projection."""
        assert isinstance(data, BodyData)
        measured, manifolds = [], []
        for number, body in enumerate(data.bodies):
            report(progress, "measuring", number, len(data.bodies), "on held-out clips")
            signals, values = body.body.joints.signals, body.body.joints.values
            bound = model.bound_to(signals, body.body.plan)
            health = measured_health(bound, values, body.held_out_ranges)
            measured.append(
                TrainedSkeleton(body.body.name, signals.body["kind"], len(signals.joints), health)
            )
            windows = body.train[:: max(len(body.train) // _PROJECTED_FRAMES, 1)]
            windows = windows - body.first - model.window // 2
            manifold = encode_windows(bound.network, values, windows).manifold()
            # Fast bodies alone would set the axes.
            manifolds.append(manifold / np.sqrt(np.square(manifold).mean() + 1e-12))
        model.skeletons = tuple(measured)
        model.projection = ManifoldProjection.fit(np.concatenate(manifolds))
