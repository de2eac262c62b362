"""Evaluation of a phase model on clips, as a page and as a JSON file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.reports.health_section import add_health
from deepphase.apps.reports.page import Page
from deepphase.apps.reports.player_takes import takes_of_store
from deepphase.apps.reports.report_file import save_report
from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.phase_measures import MeasuredPhases, ReportedMeasure, measured
from deepphase.phase.extractor import (
    BASELINES,
    PhaseExtractor,
    fit_phases,
    load_model,
)
from deepphase.phase.health import Health
from deepphase.phase.health import measure as measure_phases
from deepphase.phase.matches import Frames
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.progress import Progress
from deepphase.temporary_files import mapped_array

# Signals of more bytes are mapped from a temporary file.
_SIGNAL_BYTES = 1_000_000_000


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
    others
        Name -> measures of the other phases on the same frames.
    """

    page: Path
    measures: list[ReportedMeasure]
    health: Health
    others: Mapping[str, list[ReportedMeasure]]


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
    """Measure phases on all clips of a store; write index.html and report.json.

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
        Phases to measure on the same frames: names of baselines, which are fitted to these clips,
        or files of other models.
    description
        A skeleton description (`load_description`), for the other phases.

    Raises
    ------
    ParameterError
        If no clip is as long as the model's window, or a name in `against` is unknown.
    SkeletonError
        If the clips lack a joint that the model reads.
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
    frames, inside, poses = frames_and_poses(model, store, phases)

    def measures_of(encoded: list[ClipPhases], health: Health | None) -> list[ReportedMeasure]:
        whole = gathered_parameters(encoded, inside)
        return measured(
            MeasuredPhases(whole, poses, frames, model.fps, model.window, queries, seed, health)
        )

    measures = measures_of(phases, health)
    others = {
        name: measures_of(other_phases(name, model, store, description), None)
        for name in dict.fromkeys(against)
    }
    if progress is not None:
        progress("measuring", 2, 2, "")
    folder = Path(folder)
    page = _page(store, health, measures, others)
    page.add_takes(takes_of_store(model, store))
    add_health(page, health)
    compared = {name: [asdict(measure) for measure in found] for name, found in others.items()}
    written = page.write(folder / "index.html")
    save_report(
        folder,
        {"model_sha256": model.sha256},
        {
            "clips": len(store),
            "minutes": store.minutes,
            "fps": store.fps,
            "skeleton": store.group,
        },
        seed,
        [asdict(measure) for measure in measures],
        health=health.as_mapping(),
        **({"against": compared} if compared else {}),
    )
    return EvaluationResult(written, measures, health, others)


def _health(model: PhaseExtractor, store: ClipStore, phases: list[ClipPhases]) -> Health:
    if not isinstance(model, PhaseModel):
        return measure_phases([each.parameters[each.interior] for each in phases], model.fps)
    corpus = SignalCorpus.read(store, signals=model.signals, memory=_SIGNAL_BYTES)
    return measured_health(model, corpus.values, np.stack([corpus.starts, corpus.stops], axis=1))


def frames_and_poses(
    model: PhaseExtractor, store: ClipStore, phases: list[ClipPhases]
) -> tuple[Frames, list[Array], Array]:
    """The interior frames of all clips, their indices in each clip, and their poses."""
    inside = [np.flatnonzero(encoded.interior) for encoded in phases]
    counts = np.array([each.size for each in inside])
    frames = Frames(np.repeat(np.arange(len(phases)), counts), np.concatenate(inside))
    return frames, inside, _poses(model, store, inside)


def gathered_parameters(phases: Sequence[ClipPhases], inside: Sequence[Array]) -> PhaseParameters:
    """Phase parameters (frames, channels) of the frames `inside` of each clip, clip by clip."""
    return PhaseParameters.joined(
        [each.parameters[kept] for each, kept in zip(phases, inside, strict=True)]
    )


def other_phases(
    name: str,
    model: PhaseExtractor,
    store: ClipStore,
    description: Mapping[str, Any] | None = None,
) -> list[ClipPhases]:
    """Phases of every clip by a baseline, fitted to these clips, or by another model's file.

    Raises
    ------
    ParameterError
        If the other model has another frame rate.
    SkeletonError
        If the body lacks the limbs that a baseline needs, or the joints that a model reads.
    """
    other: PhaseExtractor
    if name in BASELINES:
        seconds = model.window / model.fps
        other = fit_phases(store, name, window_s=seconds, description=description)
    else:
        other = load_model(name).bound(store, description)
    if other.fps != model.fps:
        raise ParameterError(
            f"{name} has {other.fps:g} frames per second, and the model {model.fps:g}",
            hint="compare models of one frame rate",
        )
    return [other.encode(clip) for clip in store]


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


def _page(
    store: ClipStore,
    health: Health,
    measures: list[ReportedMeasure],
    others: Mapping[str, list[ReportedMeasure]],
) -> Page:
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
    if others:
        names = [each.name for found in others.values() for each in found]
        value = {
            key: {each.name: f"{each.value:.4g} {each.unit}".strip() for each in found}
            for key, found in {"this model": measures, **others}.items()
        }
        page.add_table(
            ("Measure", *value),
            [
                (name, *(found.get(name, "") for found in value.values()))
                for name in dict.fromkeys(names)
            ],
            heading="Other phases on the same frames",
        )
    return page
