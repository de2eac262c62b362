"""The number of phase channels that a body and its clips need, by short pilot trainings.

A network with more channels explains more of the motion, but its phases may keep their speed less
well. Pilot trainings with a few numbers of channels are measured on clips that they did not see, by
the explained variance, the alignment of poses and the speed of phases together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import measure
from deepphase.phase.matches import Frames, alignment_errors
from deepphase.phase.measuring import reconstruction_errors, whole_windows
from deepphase.phase.model import encode_windows
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.progress import Progress

CHANNELS = (5, 8, 12)
"""Numbers of channels that are tried: of the paper's first characters, of its dances, and of the
colours in which figures and pages show channels beside each other."""
# Windows of a pilot training, and the share of the files that it is measured on.
_WINDOWS, _HELD_OUT = 12_800, 0.3
# Trainings whose length is given as fewer times as many windows have no pilots, which would be more
# than a third of them.
_WORTH = 9
# Frames that are encoded, windows that are reconstructed and poses that are compared, about.
_FRAMES, _RECONSTRUCTED, _QUERIES = 12_000, 2_048, 2_000
# The fewest channels whose score is at most this many times the best one.
_TOLERANCE = 1.05
# Differences below these do not count: unexplained variance, phase-speed error, and metres.
_LEAST = (0.05, 0.01, 0.005)


@dataclass(frozen=True)
class Pilot:
    """Measures of a pilot training on clips that it did not see.

    Parameters
    ----------
    channels
        Its number of channels.
    explained_variance, speed_error
        As in `Health`.
    alignment_error_m
        Mean distance of joints between frames of similar phase; None of songs, and with too few
        clips to compare.
    """

    channels: int
    explained_variance: float
    speed_error: float
    alignment_error_m: float | None

    @property
    def score(self) -> float:
        """Unexplained variance times phase-speed error times alignment error: less is better."""
        errors = (1.0 - self.explained_variance, self.speed_error, self.alignment_error_m or 0.0)
        return math.prod(map(max, errors, _LEAST))


def pilots(
    clips: ClipStore | SignalCorpus,
    data: PhaseData,
    *,
    channels: Sequence[int] = CHANNELS,
    progress: Progress | None = None,
) -> list[Pilot]:
    """Measures of short trainings with several numbers of channels, on the CPU.

    Parameters
    ----------
    clips
        What `data` was made of.
    data
        Data of the training whose channels are chosen.

    Returns
    -------
    None of a training that is so short that pilots would be most of it, or of too few clips.
    """
    options, found = data.config.training, []
    if options.windows is not None and data.total_samples < _WORTH * _WINDOWS:
        return []
    short = replace(options, windows=_WINDOWS, held_out=max(_HELD_OUT, options.held_out))
    for number, count in enumerate(channels):
        if progress is not None:
            progress("choosing channels", number, len(channels), f"a short training with {count}")
        config = given_channels(replace(data.config, training=short), count)
        try:
            pilot = PhaseData(data.corpus, config)
        except ParameterError:
            return []
        found.append(_measured(_trained(pilot), pilot, clips))
    return found


def fewest_channels(measured: Sequence[Pilot]) -> int:
    """The fewest channels whose score is nearly the best; of no pilots the fewest of all."""
    bound = _TOLERANCE * min((pilot.score for pilot in measured), default=0.0)
    near = (pilot.channels for pilot in measured if pilot.score <= bound)
    return min(near, default=CHANNELS[0])


def given_channels(config: PhaseConfig, channels: int) -> PhaseConfig:
    """The config with this number of channels."""
    return replace(config, network=replace(config.network, channels=channels))


def choice_words(provenance: Mapping[str, Any]) -> Iterator[str]:
    """How a model's channels were chosen, in a sentence; nothing where their number was given."""
    tried = [Pilot(**pilot) for pilot in provenance.get("pilots", ())]
    if tried:
        measures = "; ".join(
            f"{pilot.channels} explain {pilot.explained_variance:.3f}, speed error "
            f"{pilot.speed_error:.1%}"
            + ("" if (error := pilot.alignment_error_m) is None else f", alignment {error:.3f} m")
            for pilot in tried
        )
        yield f"{fewest_channels(tried)} channels were chosen by short trainings: {measures}"


def _trained(data: PhaseData) -> PhaseModule:
    """A module after all windows of its config, on the CPU."""
    torch.manual_seed(data.config.training.seed)
    module = PhaseModule(data.config, data.signals)
    steps = data.steps(devices=1)
    optimizer, schedule = module.optimizer_over(steps)
    module.network.train()
    for step in range(steps):
        drawn = data.batch(step * data.batch_size, (step + 1) * data.batch_size)
        optimizer.zero_grad()
        module.network.loss(data.mirrored(data.gathered(drawn))).backward()
        optimizer.step()
        schedule.step()
    module.network.eval()
    return module


def _measured(module: PhaseModule, data: PhaseData, clips: ClipStore | SignalCorpus) -> Pilot:
    network, corpus = module.network, data.corpus
    starts = whole_windows(data.split.held_out_ranges, data.window, _FRAMES)
    phases = [encode_windows(network, corpus.values, each) for each in starts]
    errors = reconstruction_errors(network, corpus.values, starts, _RECONSTRUCTED)
    health = measure(phases, corpus.signals.fps, *errors, corpus.signals.groups)
    alignment = None
    if isinstance(clips, ClipStore):
        alignment = _alignment_m(clips, corpus, phases, starts, data.window // 2)
    return Pilot(
        network.config.channels,
        health.explained_variance or 0.0,
        health.speed_error or 0.0,
        alignment,
    )


def _alignment_m(
    clips: ClipStore,
    corpus: SignalCorpus[Any],
    phases: Sequence[PhaseParameters],
    starts: Sequence[Array],
    half: int,
) -> float | None:
    """Mean distance in metres of joints between frames of similar phase."""
    poses, numbers = [], []
    for first in starts:
        number = int(np.searchsorted(corpus.starts, first[0], side="right")) - 1
        own = first - corpus.starts[number] + half
        poses.append(corpus.signals.poses(clips.clip(number))[own])
        numbers.append(np.full(len(own), number))
    frames = Frames(np.concatenate(numbers), np.concatenate(starts))
    manifold = PhaseParameters.joined(list(phases)).manifold()
    try:
        found = alignment_errors(
            manifold, np.concatenate(poses), frames, queries=_QUERIES, exclude=half
        )
    except ParameterError:
        # No frame is far enough from a query.
        return None
    return float(found.mean())
