"""Evaluation of a phase model on clips, as a page and as a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from apps.reports.comparison_sections import add_comparison_figures, add_verdicts
from apps.reports.feature_comparison import MODEL, FeatureComparison, compare_features
from apps.reports.health_section import add_health
from apps.reports.page import Link, Page
from apps.reports.player_takes import takes_of_store
from apps.reports.rival_features import (
    ComparedFrames,
    checked_rivals,
    gathered_parameters,
    rival_features,
)
from deepphase.arrays import Array, release_pages
from deepphase.atomic_write import atomic_write
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.frame_features import FrameFeatures
from deepphase.evaluation.matches import (
    Frames,
    alignment_by_chance,
    alignment_errors,
    future_ranks,
    interval_95,
    query_frames,
)
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.health import Health
from deepphase.phase.health import measure as measure_phases
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.progress import Progress
from deepphase.temporary_files import mapped_array
from deepphase.viewer.page import save_player

FORMAT, VERSION = "deepphase.report", 1
_PLAYER = "player.html"
# Time over which phases are advanced for future ranks, in seconds.
_AHEAD_S = 0.25
# Signals of more bytes are mapped from a temporary file.
_SIGNAL_BYTES = 1_000_000_000


@dataclass(frozen=True)
class ReportedMeasure:
    """One measured value, as report.json lists it."""

    name: str
    definition: str
    value: float
    unit: str
    n: int
    interval_95: list[float] | None = None


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Result of `evaluation_report`.

    Parameters
    ----------
    page
        Path of the page.
    measures
        The model's measures.
    health
        Its health on these clips.
    comparison
        Its measures beside those of other features, if some were given.
    """

    page: Path
    measures: list[ReportedMeasure]
    health: Health
    comparison: FeatureComparison | None = None


def evaluation_report(
    model: PhaseExtractor,
    store: ClipStore,
    folder: str | Path,
    *,
    queries: int = 10_000,
    seed: int = 0,
    encoded: Iterable[ClipPhases] | None = None,
    against: Sequence[str] = (),
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Measure phases on all clips of a store; write index.html, player.html and report.json.

    Parameters
    ----------
    model
        A phase model or a baseline.
    store
        Clips that the model was not trained on.
    queries
        Number of frames on which alignment and future ranks are measured.
    seed
        Random seed for the choice of these frames.
    encoded
        Phases of every clip, in their order, as other processes encode them; the model encodes the
        clips if not given.
    against
        Names of other features to compare with, as of `checked_rivals`.
    description
        A skeleton description (`load_description`), for the baselines among them.

    Raises
    ------
    ParameterError
        If no clip is as long as the model's window, or a name is unknown.
    SkeletonError
        If the clips lack a joint that the model reads.
    """
    rivals = checked_rivals(against)
    if not (store.lengths >= model.window).any():
        raise ParameterError(f"no clip is as long as the model's window of {model.window} frames")
    if encoded is None:
        encoded = map(model.encode, store)
    phases = []
    for each in encoded:
        phases.append(each)
        if progress is not None:
            progress("encoding", len(phases), len(store), "")
    health = _health(model, store, phases)
    if progress is not None:
        progress("measuring", 1, 2, "")
    frames, inside, poses = _interior(model, store, phases)
    measures = [
        *_health_measures(health),
        *_match_measures(model, phases, frames, inside, poses, queries, seed),
    ]
    if progress is not None:
        progress("measuring", 2, 2, "")
    comparison = None
    folder = Path(folder)
    page = _page(store, health, measures)
    if rivals:
        compared = ComparedFrames.of(model, store, frames, inside, poses)
        own = compared.gathered(phases)
        comparison = compare_features(
            FrameFeatures.of_phases(MODEL, own),
            rival_features(
                rivals, model, own, store, compared, description=description, progress=progress
            ),
            compared,
            queries=queries,
            seed=seed,
            progress=progress,
        )
        add_verdicts(page, comparison)
        add_comparison_figures(page, comparison, compared, model, store)
    add_health(page, health)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": {"deepphase": metadata.version("deepphase"), "model_sha256": model.sha256},
        "data": {
            "clips": len(store),
            "minutes": store.minutes,
            "fps": store.fps,
            "skeleton": store.group,
        },
        "seeds": [seed],
        "measures": [asdict(measure) for measure in measures],
        "health": health.as_mapping(),
    }
    if comparison is not None:
        content["comparison"] = comparison.as_mapping()
    written = page.write(folder / "index.html")
    save_player(folder / _PLAYER, takes_of_store(model, store), title="Clips and their phases")
    with atomic_write(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    return EvaluationResult(written, measures, health, comparison)


def _health(model: PhaseExtractor, store: ClipStore, phases: list[ClipPhases]) -> Health:
    if not isinstance(model, PhaseModel):
        return measure_phases([each.parameters[each.interior] for each in phases], model.fps)
    corpus = SignalCorpus.read(store, signals=model.signals, memory=_SIGNAL_BYTES)
    return measured_health(model, corpus.values, np.stack([corpus.starts, corpus.stops], axis=1))


def _health_measures(health: Health) -> list[ReportedMeasure]:
    measured = (
        (
            "explained variance",
            "1 - squared reconstruction error / squared deviation from the window's mean",
            health.explained_variance,
        ),
        (
            "phase-speed error",
            "median of |phase step - F dt| / (F dt), weighted by amplitude",
            health.speed_error,
        ),
        (
            "phase goes forward",
            "share of steps in which the phase of the strongest channel grows",
            health.forward_strongest,
        ),
    )
    # Baselines reconstruct nothing, and some have no frequency: these measures are None.
    return [
        ReportedMeasure(name, definition, value, "", health.frames)
        for name, definition, value in measured
        if value is not None
    ]


def _interior(
    model: PhaseExtractor, store: ClipStore, phases: list[ClipPhases]
) -> tuple[Frames, list[Array], Array]:
    """The interior frames of all clips, their indices in each clip, and their poses."""
    inside = [np.flatnonzero(encoded.interior) for encoded in phases]
    counts = np.array([each.size for each in inside])
    frames = Frames(np.repeat(np.arange(len(phases)), counts), np.concatenate(inside))
    return frames, inside, _poses(model, store, inside)


def _match_measures(
    model: PhaseExtractor,
    phases: list[ClipPhases],
    frames: Frames,
    inside: list[Array],
    pose: Array,
    queries: int,
    seed: int,
) -> list[ReportedMeasure]:
    whole = gathered_parameters(phases, inside)
    options: dict[str, Any] = {"queries": queries, "seed": seed}
    ahead = round(_AHEAD_S * model.fps)
    measures = []
    try:
        exclude = model.window // 2
        manifold = whole.manifold()
        errors = alignment_errors(manifold, pose, frames, exclude=exclude, **options)
        query = query_frames(len(pose), queries, seed)
        best = alignment_errors(
            pose.reshape(len(pose), -1), pose, frames, exclude=exclude, **options
        ).mean()
        chance = alignment_by_chance(pose, **options)
        value = float(errors.mean())
        measures += [
            ReportedMeasure(
                "alignment error",
                "mean distance of corresponding joints, 10 matches by phase manifold",
                value,
                "m",
                len(errors),
                interval_95(errors, frames.clip[query]),
            ),
            ReportedMeasure(
                "alignment error, normalised",
                "0: as good as matching by the pose itself; 1: chance",
                float((value - best) / max(chance - best, 1e-9)),
                "",
                len(errors),
            ),
        ]
    except ParameterError:
        # With too few clips, no frame is far enough from a query to be compared.
        pass
    ranks = future_ranks(whole, frames, model.fps, ahead=ahead, **options)
    measures.append(
        ReportedMeasure(
            f"rank of the frame {ahead} frames ahead",
            "among all frames, by the manifold advanced by frequency * time",
            float(ranks.mean()),
            "",
            len(ranks),
        )
    )
    return measures


def _poses(model: PhaseExtractor, store: ClipStore, inside: list[Array]) -> Array:
    """(frames, joints, 3) m: poses of the chosen frames of all clips, mapped from a file."""
    poses: Array | None = None
    stop = 0
    for number, kept in enumerate(inside):
        own = model.signals.poses(store.clip(number))[kept]
        if poses is None:
            frames = sum(each.size for each in inside)
            poses = mapped_array((frames, *own.shape[1:]), own.dtype)
        start, stop = stop, stop + kept.size
        poses[start:stop] = own
        for array in (poses, store.rotations, store.translations):
            release_pages(array)
    assert poses is not None
    return poses


def _page(store: ClipStore, health: Health, measures: list[ReportedMeasure]) -> Page:
    page = Page(
        "Evaluation of the phase model",
        f"Measured on {len(store)} clips, {store.minutes:.1f} minutes at {store.fps:g} frames per "
        "second. The measures are valid only for clips that the model was not trained on.",
    )
    page.add_table(
        ("Measure", "Value", "95 % interval", "n", "Definition"),
        [
            (
                each.name,
                f"{each.value:.4g} {each.unit}".strip(),
                ""
                if each.interval_95 is None
                else f"{each.interval_95[0]:.4g} to {each.interval_95[1]:.4g}",
                f"{each.n:,}",
                each.definition,
            )
            for each in measures
        ],
        heading="Measures",
    )
    page.add_table(
        ("Page", "Content"),
        [(Link(_PLAYER, "Open the player"), "Some of these clips beside their phases.")],
    )
    return page
