"""Measures of phases on clips: what `deepphase evaluate` reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import Measure
from deepphase.files import mapped_array
from deepphase.phase import health as health_measures
from deepphase.phase.extractor import BASELINES, PhaseExtractor, fit_phases, load_model
from deepphase.phase.health import Health, measured_health
from deepphase.phase.matches import (
    Frames,
    alignment_by_chance,
    alignment_errors,
    future_ranks,
    interval_95,
    query_frames,
)
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ClipPhases, PhaseParameters
from deepphase.phase.rings import steadiest
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.work import Progress, report

# Time over which phases are advanced for future ranks, in seconds.
_AHEAD_S = 0.25


@dataclass(frozen=True, eq=False)
class MeasuredPhases:
    """Phases of the interior frames of clips, with the poses there.

    `poses` (frames, joints, 3) metres, root space. `queries`, `seed`: number of random frames on
    which matches are measured, and the seed of their choice. `health` of the model on these clips.
    """

    parameters: PhaseParameters
    poses: Array
    frames: Frames
    fps: float
    window: int
    queries: int = 10_000
    seed: int = 0
    health: Health | None = None

    @cached_property
    def alignment(self) -> Array | None:
        """(queries,) metres, of `alignment_errors`; None with too few clips to compare."""
        return self._alignment(self.parameters.manifold())

    @cached_property
    def alignment_by_pose(self) -> Array | None:
        """The same where frames are matched by the pose itself."""
        return self._alignment(self.poses.reshape(len(self.poses), -1))

    def _alignment(self, features: Array) -> Array | None:
        options = {"queries": self.queries, "seed": self.seed, "exclude": self.window // 2}
        try:
            return alignment_errors(features, self.poses, self.frames, **options)
        except ParameterError:
            # No frame is far enough from a query.
            return None


def _of_health(
    name: str, field: str, better: str, limit: float, sentence: str
) -> Callable[[MeasuredPhases], Measure | None]:
    """A measure that the model's health has; None of one where it has none, as of baselines."""

    def measure(phases: MeasuredPhases) -> Measure | None:
        value = getattr(phases.health, field, None)
        if phases.health is None or value is None:
            return None
        frames = phases.health.frames
        return Measure(name, value, "", None, better, sentence, frames, fixed_limit=limit)

    return measure


def alignment_error(phases: MeasuredPhases) -> Measure | None:
    """Distance of poses with similar phases; None with too few clips."""
    errors = phases.alignment
    if errors is None:
        return None
    queries = query_frames(len(phases.poses), phases.queries, phases.seed)
    low, high = interval_95(errors, phases.frames.clip[queries])
    sentence = "mean distance of corresponding joints, 10 matches by phase manifold"
    value = float(errors.mean())
    return Measure("alignment error", value, "m", None, "less", sentence, len(errors), (low, high))


def normalised_alignment_error(phases: MeasuredPhases) -> Measure | None:
    """The same between matches by the pose and random ones; None with too few clips."""
    errors, by_pose = phases.alignment, phases.alignment_by_pose
    if errors is None or by_pose is None:
        return None
    chance = alignment_by_chance(phases.poses, queries=phases.queries, seed=phases.seed)
    best = by_pose.mean()
    sentence = "0: as good as matching by the pose itself; 1: chance"
    value = float((errors.mean() - best) / max(chance - best, 1e-9))
    return Measure("alignment error, normalised", value, "", None, "less", sentence, len(errors))


def future_rank(phases: MeasuredPhases) -> Measure:
    """Rank of the true frame among those that resemble the advanced phases."""
    ahead = round(_AHEAD_S * phases.fps)
    options = {"ahead": ahead, "queries": phases.queries, "seed": phases.seed}
    ranks = future_ranks(phases.parameters, phases.frames, phases.fps, **options)
    name = f"rank of the frame {ahead} frames ahead"
    sentence = "among all frames, by the manifold advanced by frequency * time"
    return Measure(name, float(np.mean(ranks)), "", None, "less", sentence, len(ranks))


def unevenness(phases: MeasuredPhases) -> Measure | None:
    """Variation of the steps of the steadiest cycle; None where no stretch is a cycle."""
    borders = np.flatnonzero(np.diff(phases.frames.clip)) + 1
    ring = steadiest(np.split(phases.parameters.manifold(), borders), phases.fps)
    if ring is None:
        return None
    name = "unevenness of the steadiest cycle"
    sentence = "variation of the manifold's steps within a second, in the plane of the cycle"
    frames = ring.stop - ring.start
    return Measure(name, ring.evenness, "", None, "less", sentence, frames, fixed_limit=0.1)


MEASURES: tuple[Callable[[MeasuredPhases], Measure | None], ...] = (
    _of_health(
        "explained variance",
        "explained_variance",
        "more",
        0.4,
        "1 - squared reconstruction error / squared deviation from the window's mean",
    ),
    _of_health(
        "phase-speed error",
        "speed_error",
        "less",
        0.15,
        "median of |phase step - F dt| / (F dt), weighted by amplitude",
    ),
    _of_health(
        "phase goes forward",
        "forward_strongest",
        "more",
        0.9,
        "share of steps in which the phase of the strongest channel grows",
    ),
    alignment_error,
    normalised_alignment_error,
    future_rank,
    unevenness,
)
"""All measures in the order of reports; None of one means that these clips do not have it."""


def measured(phases: MeasuredPhases) -> list[Measure]:
    """All measures of some phases."""
    return [found for measure in MEASURES if (found := measure(phases)) is not None]


def measure_phases(
    model: PhaseExtractor,
    store: ClipStore,
    *,
    queries: int = 10_000,
    against: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Health, dict[str, list[Measure]], int]:
    """Measure the phases of a model on clips, preferably on some that it was not trained on.

    Parameters
    ----------
    queries
        Number of frames on which alignment and future ranks are measured.
    against
        Phases to measure on the same frames: the baselines contact, pca and pfnn, which are fitted
        to these clips, or files of other models.

    Returns
    -------
    The model's health, the measures of "this model" and of each name of `against`, and the number
    of frames.

    Raises
    ------
    ParameterError
        If no clip is as long as a window, `against` has an unknown name, or another model has
        another frame rate.
    """
    for name in against:
        if name not in BASELINES and not Path(name).is_file():
            raise ParameterError(
                f"there is no baseline and no model file called {name!r}",
                hint=f"use one of {', '.join(BASELINES)}, or the file of a phase model",
            )
    if not (store.lengths >= model.window).any():
        raise ParameterError(
            f"no clip is as long as the model's window of {model.window} frames",
            hint="evaluate on longer clips",
        )
    phases = []
    for clip in store:
        phases.append(model.encode(clip))
        report(progress, "encoding", len(phases), len(store))
    if isinstance(model, PhaseModel):
        corpus = SignalCorpus.from_store(store, signals=model.signals, memory=1_000_000_000)
        ranges = np.stack([corpus.starts, corpus.stops], axis=1)
        health = measured_health(model, corpus.values, ranges)
    else:
        health = health_measures.measure(
            [own.parameters[own.interior] for own in phases], model.fps
        )
    report(progress, "measuring", 1, 2)
    frames, inside, poses = frames_and_poses(model, store, phases)
    options = (poses, frames, model.fps, model.window, queries, 0)
    own = MeasuredPhases(gathered_parameters(phases, inside), *options, health)
    measures = {"this model": measured(own)}
    for name in dict.fromkeys(against):
        other = gathered_parameters(other_phases(name, model, store), inside)
        measures[name] = measured(MeasuredPhases(other, *options))
    report(progress, "measuring", 2, 2)
    return health, measures, len(poses)


def frames_and_poses(
    model: PhaseExtractor, store: ClipStore, phases: Sequence[ClipPhases]
) -> tuple[Frames, list[Array], Array]:
    """The interior frames of all clips, their indices, and mapped poses (frames, joints, 3) m."""
    inside = [np.flatnonzero(encoded.interior) for encoded in phases]
    counts = np.array([indices.size for indices in inside])
    frames = Frames(np.repeat(np.arange(len(phases)), counts), np.concatenate(inside))
    poses: Array = np.zeros(0)
    stop = 0
    for number, kept in enumerate(inside):
        own = model.signals.poses(store.clip(number))[kept]
        if not number:
            poses = mapped_array((int(counts.sum()), *own.shape[1:]), own.dtype)
        start, stop = stop, stop + kept.size
        poses[start:stop] = own
        for array in (poses, store.rotations, store.translations):
            release_pages(array)
    return frames, inside, poses


def gathered_parameters(phases: Sequence[ClipPhases], inside: Sequence[Array]) -> PhaseParameters:
    """Phase parameters (frames, channels) of the frames `inside` of each clip, clip by clip."""
    return PhaseParameters.joined(
        [own.parameters[kept] for own, kept in zip(phases, inside, strict=True)]
    )


def other_phases(name: str, model: PhaseExtractor, store: ClipStore) -> list[ClipPhases]:
    """Phases of every clip by a baseline, fitted to these clips, or by another model's file."""
    other: PhaseExtractor
    if name in BASELINES:
        seconds = model.window / model.fps
        other = fit_phases(store, name, window_s=seconds, description=store.description)
    else:
        other = load_model(name).bound(store, store.description)
    if other.fps != model.fps:
        raise ParameterError(
            f"{name} has {other.fps:g} frames per second, and the model {model.fps:g}",
            hint="compare models of one frame rate",
        )
    return [other.encode(clip) for clip in store]
