"""Measures of phases on clips, as `deepphase evaluate` reports, and joints that channels follow."""

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


# Joints slower than this share of the fastest joint count as still, and so do parts of the body
# that are slower than this share of the whole: what a channel predicts of them is noise.
_STILL = 0.02


def joints_followed(parameters: PhaseParameters, signals: Array) -> Array:
    """Share of each joint's velocity that a single channel explains by linear regression.

    The velocities of all joints, `signals` (frames, 3 * joints) m/s, are regressed on the channel's
    two manifold coordinates. The share, (channels, joints) from 0 to 1, is near 1 for a joint that
    moves at the channel's frequency with any lag, near 0 at another one, and 0 for a still joint.
    """
    frames, channels = parameters.phase.shape
    if signals.ndim != 2 or len(signals) != frames or signals.shape[1] % 3:
        raise ParameterError(f"signals must have shape ({frames}, 3 * joints), not {signals.shape}")
    if frames < 4:
        raise ParameterError(
            f"a regression on a channel needs more than {frames} frames",
            hint="choose a longer clip, or a model with a shorter window",
        )
    moved = signals.astype(np.float64)
    moved -= moved.mean(0)
    pairs = parameters.manifold().astype(np.float64)
    pairs -= pairs.mean(0)
    # The normal equations of all channels at once, (channels, 2, 2) and (channels, 2, signals).
    own = pairs.reshape(frames, channels, 2)
    gram = np.einsum("fci,fcj->cij", own, own)
    cross = (pairs.T @ moved).reshape(channels, 2, -1)
    explained = ((np.linalg.pinv(gram, hermitian=True) @ cross) * cross).sum(1)
    variance, moves = _by_joint(np.square(moved).sum(0))
    shares = np.zeros((channels, len(moves)))
    shares[:, moves] = explained.reshape(channels, -1, 3).sum(-1)[:, moves] / variance[moves]
    return shares.clip(0.0, 1.0)


def followed_parts(shares: Array, energy: Array, parts: Sequence[str]) -> dict[str, Array]:
    """The shares of joints averaged over parts of the body, weighted by the joints' energy.

    Of `joints_followed`, `joint_energy` and `body_parts`. Returns part -> (channels,) share of the
    part's movement; still parts are left out.
    """
    gathered = {}
    for part in dict.fromkeys(parts):
        inside = np.array([own == part for own in parts])
        total = float(energy[inside].sum())
        if total > _STILL**2 * float(energy.sum()):
            gathered[part] = shares[:, inside] @ energy[inside] / total
    return gathered


def part_energy(energy: Array, parts: Sequence[str]) -> dict[str, float]:
    """Part of the body -> its share of the energy of all joints, 0 to 1."""
    whole = max(float(energy.sum()), 1e-12)
    return {
        part: float(energy[[own == part for own in parts]].sum()) / whole
        for part in dict.fromkeys(parts)
    }


def joint_energy(signals: Array) -> Array:
    """(joints,) squared deviation of each joint's velocity from its mean, summed over frames."""
    moved = signals.astype(np.float64)
    return _by_joint(np.square(moved - moved.mean(0)).sum(0))[0]


def _by_joint(values: Array) -> tuple[Array, Array]:
    """(joints,) sums of three values each, and whether each joint moves."""
    joints = values.reshape(-1, 3).sum(1)
    return joints, joints > _STILL**2 * max(float(joints.max(initial=0.0)), 1e-12)
