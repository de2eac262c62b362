"""Velocities of the past, and the phases of whole windows, for the training of causal encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.config import require_in
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.phase.causal.moving_joints import MovingJoints, limbs_of
from deepphase.phase.causal.network import CausalNetwork
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from deepphase.phase.windows import WindowOrder, split_by_source
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData

_VALIDATION_FRAMES = 4096
# Shorter pieces of motion are not varied.
_LEAST_FRAMES = 3


@dataclass(frozen=True)
class CausalTraining:
    """Training of a causal encoder.

    Parameters
    ----------
    frames
        Number of frames to train on, each with its past.
    varied
        Varied copies of each clip, with another tempo and livelier or calmer limbs.
    batch_size
        Frames in a batch, on each device.
    seed
        Random seed of the copies, the initial weights and the order of the frames.

    Raises
    ------
    ParameterError
        If a number is out of its range.
    """

    frames: int = 1_500_000
    varied: int = 3
    batch_size: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        require_in(self, frames=(1, 1e12), batch_size=(1, 1e6), varied=(0, 1000))


@dataclass(frozen=True)
class CausalFrames:
    """A batch of frames.

    Parameters
    ----------
    velocities, angle
        (batch, window, joints, 3) m/s and (batch,) radians; see `CausalNetwork.features`.
    wanted
        Parameters (batch, lags, channels) that whole windows have: phase, frequency, amplitude
        and offset.
    """

    velocities: Tensor
    angle: Tensor
    wanted: tuple[Tensor, Tensor, Tensor, Tensor]

    def __len__(self) -> int:
        return len(self.velocities)


class CausalData(ResumableData, pl.LightningDataModule):
    """Frames of clips with their past, for `CausalModule` in any trainer.

    Files that were held out of the phase model's training are held out again.

    Parameters
    ----------
    store
        Clips of the model's skeleton.
    model
        Phase model of motion, whose phases of whole windows are learnt.
    network
        The network, for its window and moments.
    training
        Copies of the clips, batches and the seed.
    progress
        Called after each clip; see `Progress`.

    Attributes
    ----------
    train_frames, held_out_frames
        (frames,) indices of all frames for training and for measuring.
    clips, minutes
        Number of clips, and their length without copies.

    Raises
    ------
    ParameterError
        If no clip is long enough.
    SkeletonError
        If the clips have another skeleton, or its facing is not known without the future.
    """

    def __init__(
        self,
        store: ClipStore,
        model: PhaseModel[JointVelocities],
        network: CausalNetwork,
        training: CausalTraining,
        *,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self.training, self.batch_size = training, training.batch_size
        self._window, self._lags, self._facing = network.window, network.lags, network.facing_frames
        self._model = model
        clips = [MovingJoints.of_clip(store.clip(i), model.signals) for i in range(len(store))]
        stops = np.cumsum([len(clip) for clip in clips])
        starts = np.concatenate([[0], stops[:-1]])
        options = model.config.training
        split = split_by_source(
            starts,
            stops,
            [source.path or name for source, name in zip(store.sources, store.names, strict=True)],
            model.window,
            options.held_out,
            options.seed,
            source_kinds(store),
        )
        # Neither held-out files nor held-out ends of clips are varied.
        held_from = {int(stop): int(start) for start, stop in split.held_out_ranges}
        limbs = limbs_of(store.clip(0), model.signals)
        pieces = list(clips)
        for copy in range(training.varied):
            for index, clip in enumerate(clips):
                kept = clip[: held_from.get(int(stops[index]), int(stops[index])) - starts[index]]
                if len(kept) >= _LEAST_FRAMES:
                    random = np.random.default_rng([training.seed, copy, index])
                    pieces.append(kept.varied(random, limbs, model.signals))
        parts = []
        for index, piece in enumerate(pieces):
            parts.append(self._arrays_of(piece))
            if progress is not None:
                progress("reading clips", index + 1, len(pieces), "")
        self._arrays = [torch.from_numpy(np.concatenate(part)) for part in zip(*parts, strict=True)]
        train = [self._whole(split.train)]
        first = int(stops[-1])
        for piece in pieces[len(clips) :]:
            half = model.window // 2
            train.append(self._whole(np.arange(first + half, first + len(piece) - half)))
            first += len(piece)
        self.train_frames, self.held_out_frames = np.concatenate(train), self._whole(split.held_out)
        if not len(train[0]) or not len(self.held_out_frames):
            seconds = (model.window + max(self._lags)) / model.fps
            raise ParameterError(
                "no clip is long enough for a causal encoder",
                hint=f"clips must be longer than {seconds:g} s",
            )
        self.clips, self.minutes = len(clips), float(stops[-1] / model.fps / 60)
        few = np.linspace(0, len(self.held_out_frames) - 1, _VALIDATION_FRAMES).astype(np.int64)
        self.held_out = torch.from_numpy(self.held_out_frames[np.unique(few)])
        self._train = torch.from_numpy(self.train_frames)
        self._order = WindowOrder(len(self._train), training.seed)

    def _arrays_of(self, joints: MovingJoints) -> tuple[Array, ...]:
        """Velocities, current facing, frames so far, and the four phase parameters."""
        found = joints.phases(self._model)
        return (
            joints.velocities,
            joints.facing_of_now(self._facing),
            np.arange(1, len(joints) + 1),
            *(found.phase, found.frequency, found.amplitude, found.offset),
        )

    def _whole(self, centres: Array) -> Array:
        """Those middle frames whose earliest moment has a whole window, too."""
        return centres[np.isin(centres - max(self._lags), centres)]

    @property
    def total_samples(self) -> int:
        """Number of frames in the whole training."""
        return self.training.frames

    @property
    def epoch_samples(self) -> int:
        """Frames of one pass over the data."""
        return len(self._train)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """A share of the frames at these positions."""
        return self._train[self._order(start, stop)[share]]

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> CausalFrames:
        """The past of these frames, and what is wanted of them."""
        if self._arrays[0].device != batch.device:
            self._arrays = [each.to(batch.device) for each in self._arrays]
        return self.frames(batch)

    def frames(self, index: Tensor) -> CausalFrames:
        """The past of frames, and what is wanted of them."""
        velocities, angle, past, *parameters = self._arrays
        before = torch.arange(1 - self._window, 1, device=index.device)
        read = velocities[(index[:, None] + before).clamp(min=0)]
        moments = index[:, None] - torch.tensor(self._lags, device=index.device)
        phase, frequency, amplitude, offset = (each[moments] for each in parameters)
        wanted = (phase, frequency, amplitude, offset)
        return CausalFrames(without_older(read, past[index]), angle[index], wanted)

    def with_window_behind(self, index: Array) -> Array:
        """Those frames that have a whole window of the phase model behind them."""
        return index[self._arrays[2].cpu().numpy()[index] > self._model.window]

    def advanced(self, index: Array, frames: int) -> PhaseParameters:
        """Phases of the model, advanced by a number of frames."""
        own = PhaseParameters(*(each.cpu().numpy()[index] for each in self._arrays[3:]))
        return own.advanced(frames / self._model.fps)


def without_older(velocities: Tensor, past: Tensor) -> Tensor:
    """Velocities (batch, window, joints, 3) that are 0 before the last `past` (batch,) frames."""
    window = velocities.shape[1]
    age = torch.arange(window - 1, -1, -1, device=velocities.device)
    # The first frame of a clip has no velocity.
    exists = age < past[:, None] - 1
    return velocities * exists[..., None, None]
